"""The numbers of lists in Word 97-2003 ([MS-DOC] 2.4.6.3): in no text, yet others refer to them ("3.2", "(b)").

A paragraph names an instance of a list (LFO, from 1) and a level, itself or through its style. An instance refers to a
list (LSTF) of nine levels or one, and may put other levels in their place.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from pipeline.parse.office.numerals import count_on, format_number

_LEVELS = 9
_LIST, _LEVEL, _INSTANCE = struct.Struct("<i22xBx"), struct.Struct("<iB9x2x8xBBxx"), struct.Struct("<i8xBxxx")
_FORMS = {1: "upperRoman", 2: "lowerRoman", 3: "upperLetter", 4: "lowerLetter", 22: "decimalZero"}
_BULLET, _NONE = 23, 255
_OWN_START, _OWN_FORM = 0x10, 0x20


class _Level(NamedTuple):
    """A level of a list: its first number, the form of numbers, the text drawn, with levels as characters 0 to 8."""

    start: int
    form: int
    pattern: str


class WordLists:
    """The lists of a document and how far each has counted. `lists` runs on behind its stated length, to the levels."""

    def __init__(self, lists: bytes, stated: int, instances: bytes) -> None:
        known = _read_lists(lists, stated)
        self._instances = list(_read_instances(instances, known))
        self._counts: dict[int, list[int | None]] = {}

    def label(self, number: int, level: int) -> str:
        """Count a paragraph of a list (a number from 1) and return its label with a space after it; "" for none."""
        if not 1 <= number <= len(self._instances):
            return ""
        key, levels = self._instances[number - 1]
        if level not in levels:
            return ""
        counts = self._counts.setdefault(key, [None] * _LEVELS)
        count_on(counts, level, levels[level].start)
        _, form, shown = levels[level]
        if form in {_BULLET, _NONE}:
            return "- " if form == _BULLET and shown.strip() else ""
        for place in levels.keys() & set(range(level + 1)):
            count = counts[place]
            first = levels[place].start if count is None else count
            shown = shown.replace(chr(place), format_number(first, _FORMS.get(levels[place].form)))
        return shown.strip() + " " if shown.strip() else ""


def _read_lists(data: bytes, at: int) -> dict[int, dict[int, _Level]]:
    """The levels of each list, by its number; what is cut off is not there."""
    known: dict[int, dict[int, _Level]] = {}
    for place in range(int.from_bytes(data[:2], "little")):
        if 2 + _LIST.size * (place + 1) > len(data):
            break
        number, flags = _LIST.unpack_from(data, 2 + _LIST.size * place)
        levels: dict[int, _Level] = {}
        for level in range(1 if flags & 1 else _LEVELS):
            found = _read_level(data, at)
            if found is None:
                return known
            levels[level], at = found
        known[number] = levels
    return known


def _read_level(data: bytes, at: int) -> tuple[_Level, int] | None:
    """A level, and where what follows it begins."""
    if at + _LEVEL.size + 2 > len(data):
        return None
    start, form, look, paragraph = _LEVEL.unpack_from(data, at)
    at += _LEVEL.size + look + paragraph
    end = at + 2 + 2 * int.from_bytes(data[at : at + 2], "little")
    return _Level(start, form, data[at + 2 : end].decode("utf-16-le", "replace")), end


def _read_instances(data: bytes, known: dict[int, dict[int, _Level]]) -> Iterator[tuple[int, dict[int, _Level]]]:
    """The key by which each instance counts (its list's, or its own if it has levels of its own), and its levels."""
    count = min(int.from_bytes(data[:4], "little"), max(0, len(data) - 4) // _INSTANCE.size)
    at = 4 + _INSTANCE.size * count
    for place in range(count):
        number, changes = _INSTANCE.unpack_from(data, 4 + _INSTANCE.size * place)
        levels, at = dict(known.get(number, {})), at + 4
        for _ in range(changes):
            if at + 8 > len(data):
                break
            start, flags = struct.unpack_from("<iI", data, at)
            at += 8
            own = _read_level(data, at) if flags & _OWN_FORM else None
            level = flags & 0xF
            if own:
                at = own[1]
                levels |= {level: own[0]} if level < _LEVELS else {}
            elif flags & _OWN_START and level in levels:
                levels[level] = levels[level]._replace(start=start)
        yield (-1 << 40) - place if changes else number, levels
