"""Form fields of a Word 97-2003 document ([MS-DOC] 2.9.78, FFData): which entry is chosen, whether a box is ticked."""

from typing import NamedTuple

_HEADER, _BOX, _LIST, _UNSAID = 68, 1, 2, 25


class Form(NamedTuple):
    """A form field: the entries of a list (none for a box to tick), and the number of the chosen one; 1 is a tick."""

    entries: list[str]
    choice: int


def read_form(stream: bytes, at: int) -> Form | None:
    """The form field at a place in the stream Data; None where there is none, or only a text to fill in."""
    size = int.from_bytes(stream[at : at + 4], "little")
    data = stream[at + _HEADER : at + max(size, _HEADER)]
    bits = int.from_bytes(data[4:6], "little")
    kind, result = bits & 3, bits >> 2 & 0x1F
    if data[:4] != b"\xff\xff\xff\xff" or kind not in {_BOX, _LIST}:
        return None

    def behind(at: int) -> int:  # a text and the zero after it
        return at + 4 + 2 * int.from_bytes(data[at : at + 2], "little")

    place = behind(10)
    usual = int.from_bytes(data[place : place + 2], "little")
    place += 2
    for _ in range(5):  # its format, its help, the text below the window, two macros
        place = behind(place)
    entries: list[str] = []
    listed, at = data[place:], 6
    for _ in range(int.from_bytes(listed[2:4], "little") if kind == _LIST else 0):
        if at >= len(listed):
            break
        length = 2 * int.from_bytes(listed[at : at + 2], "little")
        entries.append(listed[at + 2 : at + 2 + length].decode("utf-16-le", "replace"))
        at += 2 + length
    return Form(entries, usual if result == _UNSAID else result)
