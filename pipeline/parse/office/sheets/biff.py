"""The records of an Excel 97-2003 workbook ([MS-XLS] 2.1), for what calamine does not read: styles, formulas, hidden
rows and columns, comments and text boxes.

And for what it should not be asked to read: it makes a grid of all cells between the first and the last of a sheet.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from pipeline.errors import DocumentError, Failure
from pipeline.parse.encoding import codepages
from pipeline.parse.office.cells import column_letters
from pipeline.parse.office.sheets.biff_cells import LOWEST, NARROWEST, Beside, BookStyles
from pipeline.parse.office.sheets.biff_formulas import XLS, written
from pipeline.parse.office.sheets.cell_styles import PLAIN

_BOF, _EOF, _SHEET, _LOCKED, _CONTINUE = 0x809, 0x0A, 0x85, 0x2F, 0x3C
_NOTE, _OBJECT, _TEXT, _EXTENT, _SEVERAL = 0x1C, 0x5D, 0x1B6, 0x200, 0xBD
_CELLS = {0x06, 0x206, 0x406, 0x203, 0x204, 0x205, 0x27E, 0xFD, 0xD6, _SEVERAL}
_FONT, _FORMAT, _STYLE, _PALETTE = 0x31, 0x41E, 0xE0, 0x92
_FORMULA, _SHARED, _ROW, _COLUMN, _MERGED, _CONDITIONS = 0x06, 0x4BC, 0x208, 0x7D, 0xE5, 0x1B0
_VIEW = 0x23E
_BOOK, _LINKS, _OWN = 0x1AE, 0x17, 0x0401
_CHART, _OF_COMMENT = 0x20, 0x19
_EXP = b"\x01"  # the token of a formula that stands elsewhere
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
    conditions: int = 0  # ranges with conditional formats, which are not read
    strikes_parts: bool = False  # whether parts of texts may be struck out
    beside: Beside = field(default_factory=Beside)


@dataclass
class _Globals:
    """What the sheets of a workbook share. `links` are sheets by the number by which formulas name them."""

    styles: BookStyles = field(default_factory=BookStyles)
    own_book: int = -1
    books: int = 0
    links: list[tuple[int, int, int]] = field(default_factory=list)

    def record(self, kind: int, data: bytes) -> None:
        """Take up a record by its type."""
        if kind == _FONT and len(data) >= 10:
            self.styles.read_font(data)
        elif kind == _FORMAT and len(data) >= 5:
            number, count = struct.unpack_from("<HH", data)
            self.styles.read_format(number, _string(data[4:], count))
        elif kind == _STYLE and len(data) >= 20:
            self.styles.read_style(data)
        elif kind == _PALETTE:
            self.styles.read_palette(data)
        elif kind == _BOOK and len(data) >= 4:
            self.own_book = self.books if data[2:4] == _OWN.to_bytes(2, "little") else self.own_book
            self.books += 1
        elif kind == _LINKS:
            self.links += struct.iter_unpack("<Hhh", data[2 : 2 + (len(data) - 2) // 6 * 6])

    def sheets(self, names: list[str]) -> list[str]:
        """The names of the sheets that formulas name by number; "" for several, and for those of other workbooks."""
        return [
            names[first] if book == self.own_book and first == last and 0 <= first < len(names) else ""
            for book, first, last in self.links
        ]


def read_sheets(stream: bytes) -> list[Sheet]:
    """The sheets in their order; raises DocumentError."""
    sheets, places, common = list[Sheet](), list[int](), _Globals()
    for kind, data in _records(stream, 0):
        common.record(kind, data)
        if kind == _LOCKED:
            raise DocumentError(Failure.ENCRYPTED, "a workbook with a password")
        if kind == _SHEET and len(data) >= 8:
            places.append(int.from_bytes(data[:4], "little"))
            sheets.append(Sheet(_string(data[7:], data[6])))
    left, links = _SEEN_TWICE * len(stream), common.sheets([sheet.name for sheet in sheets])
    for sheet, place in zip(sheets, places, strict=True):
        reading = _SheetReading(sheet, common.styles, links)
        for kind, data in _records(stream, place):
            left -= 4 + len(data)
            if left < 0:
                raise DocumentError(Failure.CORRUPT, "its sheets lie over one another")
            reading.record(kind, data)
        reading.finish()
        sheet.strikes_parts = common.styles.strikes_parts
    return sheets


class _SheetReading:
    """One sheet being read."""

    def __init__(self, sheet: Sheet, styles: BookStyles, links: list[str]) -> None:
        self._sheet = sheet
        self._styles = styles
        self._links = links
        self._shared: list[tuple[int, int, bytes]] = []  # the first cells and tokens of formulas that cells share
        self._sharing: list[tuple[int, int, bytes]] = []  # cells that name one of these
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
            last = int.from_bytes(data[-2:], "little") if kind == _SEVERAL else first
            self._extend(row, row, first, last)
            self._look(kind, data, row, first, last)
        elif kind == _EXTENT and len(data) >= 12:
            top, bottom, left, right = struct.unpack_from("<IIHH", data)
            self._sheet.said = max(self._sheet.said, max(0, bottom - top + 1) * max(0, right - left + 1))
        elif kind == _CONDITIONS:
            self._sheet.conditions += 1
        elif kind in {_ROW, _COLUMN, _MERGED, _SHARED} and self._depth <= 1:
            self._place(kind, data)
        elif kind == _VIEW and self._depth <= 1 and len(data) >= 2:
            self._sheet.beside.read_view(data[0], 1)
        else:
            self._aside(kind, data)

    def _look(self, kind: int, data: bytes, row: int, first: int, last: int) -> None:
        """Take up the styles of cells, and a formula."""
        wide = 6 if kind == _SEVERAL else 2
        for column, at in enumerate(range(4, len(data) - 1, wide), start=first):
            if column > last:
                break
            style = self._styles.of(int.from_bytes(data[at : at + 2], "little"))
            if style != PLAIN:
                self._sheet.beside.styles[row][column] = style
        if kind == _FORMULA and len(data) >= 22:
            tokens = data[22 : 22 + int.from_bytes(data[20:22], "little")]
            if tokens[:1] == _EXP:
                self._sharing.append((row, first, tokens[1:5]))
            self._sheet.beside.formulas[row, first] = written(tokens, XLS, self._links)

    def _place(self, kind: int, data: bytes) -> None:
        """Take up which rows and columns are hidden, which cells are merged, and formulas that cells share."""
        beside = self._sheet.beside
        if kind == _ROW and len(data) >= 14:
            row, height, flags = struct.unpack_from("<H4xH4xH", data)
            if flags & 0x20 or 0 < height & 0x7FFF <= LOWEST:
                beside.rows.add(row)
        elif kind == _COLUMN and len(data) >= 10:
            first, last, width, _, flags = struct.unpack_from("<HHHHH", data)
            if flags & 1 or width <= NARROWEST:
                beside.columns.append((first, last))
        elif kind == _MERGED:
            for top, bottom, left, right in struct.iter_unpack("<HHHH", data[2 : 2 + (len(data) - 2) // 8 * 8]):
                beside.merged.add(f"{column_letters(left + 1)}{top + 1}:{column_letters(right + 1)}{bottom + 1}", None)
        elif kind == _SHARED and len(data) >= 10:
            self._shared.append(
                (int.from_bytes(data[:2], "little"), data[4], data[10 : 10 + int.from_bytes(data[8:10], "little")])
            )

    def finish(self) -> None:
        """Join comments with their texts, and cells with the formulas that they share."""
        self._sheet.beside.columns.sort()
        shared = {struct.pack("<HH", row, column): tokens for row, column, tokens in self._shared}
        for row, column, first in self._sharing:
            found = written(shared.get(first, b""), XLS, self._links, (row, column))
            self._sheet.beside.formulas[row, column] = found
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
