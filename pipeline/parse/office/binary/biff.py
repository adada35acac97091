"""The records of an Excel 97-2003 workbook ([MS-XLS] 2.1), for comments and text boxes, which calamine does not read.

And for what it should not be asked to read: it makes a grid of all cells between the first and the last of a sheet.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from pipeline.errors import DocumentError, Failure
from pipeline.parse.encoding import codepages
from pipeline.parse.office.cells import column_letters

_BOF, _EOF, _SHEET, _LOCKED, _CONTINUE = 0x809, 0x0A, 0x85, 0x2F, 0x3C
_NOTE, _OBJECT, _TEXT, _EXTENT, _SEVERAL = 0x1C, 0x5D, 0x1B6, 0x200, 0xBD
_CELLS = {0x06, 0x206, 0x406, 0x203, 0x204, 0x205, 0x27E, 0xFD, 0xD6, _SEVERAL}
_CHART, _OF_COMMENT = 0x20, 0x19
_SEEN_TWICE = 4  # how often more bytes than there are may belong to sheets


@dataclass
class Sheet:
    """A sheet as it was read: `cells` is the size of the grid around its cells, `said` the size that its header states.

    `comments` have place and author.
    """

    name: str
    cells: int = 0
    said: int = 0
    comments: list[tuple[str, str, str]] = field(default_factory=list)
    boxes: list[str] = field(default_factory=list)
    charts: int = 0


def read_sheets(stream: bytes) -> list[Sheet]:
    """The sheets in their order; raises DocumentError."""
    sheets, places = list[Sheet](), list[int]()
    for kind, data in _records(stream, 0):
        if kind == _LOCKED:
            raise DocumentError(Failure.ENCRYPTED, "a workbook with a password")
        if kind == _SHEET and len(data) >= 8:
            places.append(int.from_bytes(data[:4], "little"))
            sheets.append(Sheet(_string(data[7:], data[6])))
    left = _SEEN_TWICE * len(stream)
    for sheet, place in zip(sheets, places, strict=True):
        reading = _SheetReading(sheet)
        for kind, data in _records(stream, place):
            left -= 4 + len(data)
            if left < 0:
                raise DocumentError(Failure.CORRUPT, "its sheets lie over one another")
            reading.record(kind, data)
        reading.finish()
    return sheets


class _SheetReading:
    """One sheet being read."""

    def __init__(self, sheet: Sheet) -> None:
        self._sheet = sheet
        self._depth = 0  # charts lie inside the sheet
        self._rows, self._columns = (0xFFFFFFFF, 0), (0xFFFF, 0)
        self._object = (0, 0)  # kind and number of the last one
        self._wanted = 0  # characters of a text that are still to come
        self._texts: dict[tuple[int, int], str] = {}
        self._notes: list[tuple[str, int, str]] = []

    def record(self, kind: int, data: bytes) -> None:
        """Take up a record by its type."""
        if kind in {_BOF, _EOF}:
            self._depth += 1 if kind == _BOF else -1
            self._sheet.charts += kind == _BOF and int.from_bytes(data[2:4], "little") == _CHART
        elif kind in _CELLS and self._depth <= 1 and len(data) >= 6:
            row, first = struct.unpack_from("<HH", data)
            self._extend(row, row, first, int.from_bytes(data[-2:], "little") if kind == _SEVERAL else first)
        elif kind == _EXTENT and len(data) >= 12:
            top, bottom, left, right = struct.unpack_from("<IIHH", data)
            self._sheet.said = max(self._sheet.said, max(0, bottom - top + 1) * max(0, right - left + 1))
        else:
            self._aside(kind, data)

    def finish(self) -> None:
        """Join comments with their texts."""
        rows, columns = (max(0, end - start + 1) for start, end in (self._rows, self._columns))
        self._sheet.cells = rows * columns
        for place, number, author in self._notes:
            if text := self._texts.pop((_OF_COMMENT, number), ""):
                self._sheet.comments.append((place, author, text))
        self._sheet.boxes += self._texts.values()

    def _extend(self, top: int, bottom: int, left: int, right: int) -> None:
        self._rows = min(self._rows[0], top), max(self._rows[1], bottom)
        self._columns = min(self._columns[0], left), max(self._columns[1], right)

    def _aside(self, kind: int, data: bytes) -> None:
        if kind == _OBJECT and len(data) >= 8:
            self._object = struct.unpack_from("<HH", data, 4)
        elif kind == _TEXT and len(data) >= 12:
            self._wanted = int.from_bytes(data[10:12], "little")
        elif kind == _CONTINUE and self._wanted and data:
            text = _string(data, self._wanted)
            self._wanted -= len(text)
            self._texts[self._object] = self._texts.get(self._object, "") + text
        elif kind == _NOTE and len(data) >= 11:
            row, column, _, number, length = struct.unpack_from("<HHHHH", data)
            self._notes.append((f"{column_letters(column + 1)}{row + 1}", number, _string(data[10:], length)))


def _records(stream: bytes, at: int) -> Iterator[tuple[int, bytes]]:
    """The records of the substream that begins at a place, up to its end, and those of substreams in it."""
    depth = 0
    while at + 4 <= len(stream):
        kind, length = struct.unpack_from("<HH", stream, at)
        depth += (kind == _BOF) - (kind == _EOF)
        yield kind, stream[at + 4 : at + 4 + length]
        if depth <= 0:
            return
        at += 4 + length


def _string(data: bytes, length: int) -> str:
    """The string of `length` characters behind the byte whose lowest bit says that each takes two bytes, not one."""
    if data[:1] and data[0] & 1:
        return data[1 : 1 + 2 * length].decode("utf-16-le", "replace")
    return codepages.low_bytes(data[1 : 1 + length])
