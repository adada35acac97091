"""Documents of Office 97 to 2003 by hand, as small as they can be: what the tests of DOC, PPT, XLS and MSG read."""

import itertools
import struct
from collections.abc import Iterable, Mapping

from tests.pipeline.parse.compound import Tree, compound

STORIES = ("body", "footnotes", "headers", "comments", "endnotes", "boxes", "header boxes")
_COUNTS = (76, 80, 84, 92, 96, 100, 104)
_TEXT, _PAGE = 1024, 512
Looks = Mapping[tuple[int, int], bytes]  # from one position in the text to another


def word(
    stories: dict[str, str],
    *,
    paragraphs: Looks | None = None,
    runs: Looks | None = None,
    parts: dict[int, bytes] | None = None,
    cuts: Iterable[int] = (),
    flags: int = 0,
    ident: int = 0xA5EC,
    others: Tree | None = None,
) -> bytes:
    """A DOC of these stories, in pieces that end at `cuts`, of one and two bytes in turn; `parts` by their number."""
    text = "".join(stories.get(name, "") for name in STORIES)
    borders, places, data = sorted({0, len(text), *cuts}), list[int](), b""
    for number, (start, end) in enumerate(itertools.pairwise(borders)):
        places.append(_TEXT + len(data))
        data += text[start:end].encode(*(("utf-16-le", "surrogatepass") if number % 2 else ("cp1252",)))

    def place(position: int) -> int:
        piece = max(number for number, border in enumerate(borders[:-1]) if border <= position)
        return places[piece] + (position - borders[piece]) * (1 + piece % 2)

    pages = -(-(_TEXT + len(data)) // _PAGE)
    stream = bytearray(_TEXT) + data.ljust((pages * _PAGE) - _TEXT, b"\0")
    table, held = b"", dict(parts or {})
    stream += _page({(place(a), place(b)): b_ for (a, b), b_ in (runs or {}).items()}, 1)
    stream += _page({(place(a), place(b)): b_ for (a, b), b_ in (paragraphs or {}).items()}, 13)
    for number, page in ((12, pages), (13, pages + 1)):
        held[number] = struct.pack("<III", _TEXT, _TEXT + len(data), page)
    pieces = struct.pack(f"<{len(borders)}I", *borders)
    for number, at in enumerate(places):
        pieces += struct.pack("<HIH", 0, at if number % 2 else 2 * at | 0x40000000, 0)
    held[33] = b"\x02" + struct.pack("<I", len(pieces)) + pieces
    for number, part in held.items():
        struct.pack_into("<II", stream, 154 + 8 * number, len(table), len(part))
        table += part
    struct.pack_into("<HH", stream, 0, ident, 0xC1)
    struct.pack_into("<H", stream, 10, 0x0200 | flags)
    for name, at in zip(STORIES, _COUNTS, strict=True):
        struct.pack_into("<I", stream, at, len(stories.get(name, "")))
    return compound({"WordDocument": bytes(stream), "1Table": table, **(others or {})})


def _page(looks: Looks, width: int) -> bytes:
    """A page of formatted runs (FKP), whatever lies between two looks having none."""
    borders = sorted({border for span in looks for border in span}) or [0, 1]
    page, free = bytearray(_PAGE), 510
    struct.pack_into(f"<{len(borders)}I", page, 0, *borders)
    for number, span in enumerate(itertools.pairwise(borders)):
        if look := looks.get(span):
            # a count of words for paragraphs, of bytes for characters
            packed = (b"\0" + bytes([-(-len(look) // 2)]) if width == 13 else bytes([len(look)])) + look
            free = (free - len(packed)) & ~1
            page[free : free + len(packed)] = packed
            page[4 * len(borders) + width * number] = free // 2
    page[511] = len(borders) - 1
    return bytes(page)


def plc(*positions: int, data: bytes = b"") -> bytes:
    """Positions, then what belongs to them."""
    return struct.pack(f"<{len(positions)}I", *positions) + data


def record(kind: int, *inside: bytes, instance: int = 0) -> bytes:
    """A container of PowerPoint's."""
    data = b"".join(inside)
    return struct.pack("<HHI", instance << 4 | 0xF, kind, len(data)) + data


def atom(kind: int, data: bytes = b"", instance: int = 0) -> bytes:
    """A record that holds no others."""
    return struct.pack("<HHI", instance << 4, kind, len(data)) + data


def text_atoms(text: str, kind: int = 4, signs: bytes = b"") -> bytes:
    """A text of a placeholder kind, in one byte for each character where that does."""
    header = atom(0x0F9F, struct.pack("<I", kind))
    if text.isascii():
        return header + atom(0x0FA8, text.encode()) + signs
    return header + atom(0x0FA0, text.encode("utf-16-le")) + signs


def shape(*inside: bytes) -> bytes:
    """A shape with what is inside its text box."""
    return record(0xF004, record(0xF00D, *inside))


def slide(*shapes: bytes, notes: int = 0, hidden: bool = False, more: bytes = b"", kind: int = 0x03EE) -> bytes:
    """A slide or page of notes."""
    head = atom(0x03EF, struct.pack("<I8xIIHH", 0, 0, notes, 0, 0))
    transition = atom(0x03F9, struct.pack("<10xHI", 4 * hidden, 0))
    return record(kind, head, transition, more, record(0x040C, record(0xF002, record(0xF003, *shapes))))


def presentation(
    slides: list[tuple[bytes, bytes]],
    notes: Iterable[bytes] = (),
    *,
    more: bytes = b"",
    stored: Iterable[bytes] = (),
    token: int = 0xE391C05F,
    others: Tree | None = None,
) -> bytes:
    """A PPT of (slide, texts of its placeholders), pages of notes with the numbers 1, 2, ..., and other objects."""
    notes = list(notes)

    def listed(first: int, texts: Iterable[bytes], instance: int) -> bytes:
        rows = [
            atom(0x03F3, struct.pack("<IIIII", first + number, 0, 0, number + 1, 0)) + text
            for number, text in enumerate(texts)
        ]
        return record(0x0FF0, *rows, instance=instance)

    document = record(
        0x03E8,
        atom(0x03E9, struct.pack("<32xH6x", 1)),
        listed(2, [texts for _, texts in slides], 0),
        listed(2 + len(slides), [b""] * len(notes), 2),
        more,
    )
    stream, places = b"", list[int]()
    for one in [document, *(one for one, _ in slides), *notes, *stored]:
        places.append(len(stream))
        stream += one
    directory = len(stream)
    stream += atom(0x1772, struct.pack(f"<{len(places) + 1}I", len(places) << 20 | 1, *places))
    edit = len(stream)
    stream += atom(0x0FF5, struct.pack("<IIIIIIHH", 0, 0, 0, directory, 1, 9, 0, 0))
    current = atom(0x0FF6, struct.pack("<III", 0x14, token, edit) + bytes(12))
    return compound({"Current User": current, "PowerPoint Document": stream, **(others or {})})


def item(
    texts: dict[int, str | bytes], fixed: dict[int, tuple[int, int]] | None = None, header: int = 32, **more: Tree
) -> Tree:
    """The storage of a message, recipient or attachment: texts (or bytes) and numbers (type, value) by property."""
    properties = b"".join(
        struct.pack("<HHIQ", kind, number, 6, value) for number, (kind, value) in (fixed or {}).items()
    )
    tree: Tree = {"__properties_version1.0": bytes(header) + properties}
    for number, value in texts.items():
        kind = "001F" if isinstance(value, str) else "0102"
        tree[f"__substg1.0_{number:04X}{kind}"] = value.encode("utf-16-le") if isinstance(value, str) else value
    return {**tree, **more}


def biff(kind: int, data: bytes = b"") -> bytes:
    """A record of Excel's."""
    return struct.pack("<HH", kind, len(data)) + data


def workbook(sheets: dict[str, bytes], *, hidden: Iterable[str] = (), head: bytes = b"") -> bytes:
    """An XLS of these sheets, each as the records on it."""
    hidden = set(hidden)
    begin = biff(0x809, struct.pack("<HHHHII", 0x600, 5, 0, 0, 0, 6)) + head
    place = len(begin) + sum(12 + len(name) for name in sheets) + 4
    bodies = b""
    for name, records in sheets.items():
        entry = struct.pack("<IBBBB", place + len(bodies), name in hidden, 0, len(name), 0) + name.encode()
        begin += biff(0x85, entry)
        bodies += biff(0x809, struct.pack("<HHHHII", 0x600, 0x10, 0, 0, 0, 6)) + records + biff(0x0A)
    return compound({"Workbook": begin + biff(0x0A) + bodies})


def cell(row: int, column: int, value: float | str) -> bytes:
    """A number or a text."""
    if isinstance(value, str):
        return biff(0x204, struct.pack("<HHHHB", row, column, 0, len(value), 0) + value.encode())
    return biff(0x203, struct.pack("<HHHd", row, column, 0, value))
