"""The records of an Excel 97-2003 workbook ([MS-XLS] 2.1), for what calamine does not read: styles, formulas, hidden
rows and columns, comments and text boxes; XLSB says most of it in records of its own.

And for what calamine should not be asked to read: it makes a grid of all cells between the first and the last of a
sheet.
"""

import struct
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from pipeline.errors import DocumentError, Failure
from pipeline.parse.encoding import codepages
from pipeline.parse.office.cells import column_letters
from pipeline.parse.office.drawing.theme import UNKNOWN, rgb
from pipeline.parse.office.sheets.biff_formulas import XLS, written
from pipeline.parse.office.sheets.cell_styles import PLAIN, CellStyle, Font, cell_style, of_signs
from pipeline.parse.office.sheets.conditions import Areas
from pipeline.parse.office.sheets.number_formats import PALETTE
from pipeline.parse.sight.colours import RGB, Colour

_BOF, _EOF, _SHEET, _LOCKED, _CONTINUE = 0x809, 0x0A, 0x85, 0x2F, 0x3C
_NOTE, _OBJECT, _TEXT, _EXTENT, _SEVERAL = 0x1C, 0x5D, 0x1B6, 0x200, 0xBD
_FONT, _FORMAT, _STYLE, _PALETTE = 0x31, 0x41E, 0xE0, 0x92
_FORMULA, _SHARED, _ROW, _COLUMN, _MERGED, _CONDITIONS = 0x06, 0x4BC, 0x208, 0x7D, 0xE5, 0x1B0
_VIEW, _BOOK, _LINKS = 0x23E, 0x1AE, 0x17
_CELLS = dict.fromkeys((_FORMULA, 0x206, 0x406, 0x203, 0x204, 0x205, 0x27E, 0xFD, 0xD6, _SEVERAL), 6)
_LEAST = {
    _SHEET: 8, _FONT: 10, _FORMAT: 5, _STYLE: 20, _BOOK: 4, _EXTENT: 12, _VIEW: 2, _ROW: 14, _COLUMN: 10, _SHARED: 10,
    _OBJECT: 8, _TEXT: 12, _CONTINUE: 1, _NOTE: 11, **_CELLS,
}  # fmt: skip
"""Bytes of a record, without which it is passed over."""
_OWN = b"\x01\x04"  # the mark of the book itself among those that formulas name
_CHART, _OF_COMMENT = 0x20, 0x19
_EXP = b"\x01"  # the token of a formula that stands elsewhere
_SEEN_TWICE = 4  # how often more bytes than there are may belong to sheets
_LOWEST = 40  # twentieths of a point: the height of a row that shows nothing
_NARROWEST = 51  # of 256 in a usual letter: the width of a column that shows nothing
_ZEROS = 0x10
FILLED = 4
"""The alignment that repeats what a cell holds until the cell is full."""
PLACES = {1: "superscript", 2: "subscript"}


@dataclass
class Sheet:
    """What a sheet says beside the values of its cells; rows and columns count from 0.

    `cells` is the size of the grid around its cells, `said` the size that its header states. `comments` have place and
    author. `strikes_parts`: parts of its texts may be struck out.
    """

    name: str
    strikes_parts: bool = False
    cells: int = 0
    said: int = 0
    comments: list[tuple[str, str, str]] = field(default_factory=list)
    boxes: list[str] = field(default_factory=list)
    charts: int = 0
    conditions: int = 0  # ranges with conditional formats, which are not read
    styles: dict[int, dict[int, CellStyle]] = field(default_factory=lambda: defaultdict(dict))
    formulas: dict[tuple[int, int], str] = field(default_factory=dict)
    rows: set[int] = field(default_factory=set)  # hidden ones
    columns: list[tuple[int, int]] = field(default_factory=list)  # the first and last of each hidden stretch
    merged: Areas[None] = field(default_factory=Areas)
    shows_zeros: bool = True
    shows_formulas: bool = False

    def read_view(self, flags: int, of_formulas: int) -> None:
        """Take up the flags of a window on the sheet, of which one stands for formulas in place of results."""
        self.shows_zeros &= bool(flags & _ZEROS)
        self.shows_formulas |= bool(flags & of_formulas)

    def read_row(self, row: int, is_hidden: int, height: int) -> None:
        """Take up whether a row shows anything."""
        if is_hidden or 0 < height <= _LOWEST:
            self.rows.add(row)

    def read_columns(self, first: int, last: int, is_hidden: int, width: int) -> None:
        """Take up whether columns show anything."""
        if is_hidden or width <= _NARROWEST:
            self.columns.append((first, last))

    def style(self, row: int, column: int) -> CellStyle:
        """The style of a cell."""
        return self.styles[row].get(column, PLAIN) if row in self.styles else PLAIN

    def hides(self, row: int, column: int) -> str | None:
        """How the place of a cell hides it, if it does."""
        place = bisect_right(self.columns, (column, 1 << 20))
        near = self.columns[max(0, place - 8) : place]
        if row in self.rows or any(first <= column <= last for first, last in near):
            return "hidden_row"
        return "covered" if self.merged.covers(row + 1, column + 1) else None


@dataclass
class BookStyles:
    """The styles of a workbook by their number; colours may be told after what is drawn in them."""

    fonts: list[tuple[Font, int | None]] = field(default_factory=list)  # with the number of its colour
    formats: dict[str, str] = field(default_factory=dict)
    styles: list[tuple[int, int, int | Colour | None, bool]] = field(default_factory=list)
    """Font, number format, fill or the number of its colour, whether the cell is filled with what it holds."""
    palette: list[RGB | None] = field(default_factory=lambda: [rgb(one) for one in PALETTE])
    _made: dict[int, CellStyle] = field(default_factory=dict)

    def of(self, number: int) -> CellStyle:
        """The style by its number; a plain one where there is none."""
        if number not in self._made:
            self._made[number] = self._make(*self.styles[number]) if number < len(self.styles) else PLAIN
        return self._made[number]

    def _make(self, font: int, code: int, fill: int | Colour | None, repeats: bool) -> CellStyle:
        letters, colour = self.fonts[font] if font < len(self.fonts) else (Font(), None)
        letters = letters if colour is None else letters._replace(colour=self._colour(colour))
        behind = (self._colour(fill) or UNKNOWN) if isinstance(fill, int) else fill
        return cell_style(str(code), self.formats, letters, behind, repeats=repeats)

    def _colour(self, number: int) -> RGB | None:
        return self.palette[number] if number < len(self.palette) else None

    @property
    def strikes_parts(self) -> bool:
        """Whether there are struck-out letters that no cell as a whole has, so that parts of texts have them."""
        used = {font for font, _, _, _ in self.styles}
        return any(font.struck for place, (font, _) in enumerate(self.fonts) if place not in used)


def read_sheets(stream: bytes) -> list[Sheet]:
    """The sheets in their order; raises DocumentError."""
    sheets, places, styles = list[Sheet](), list[int](), BookStyles()
    own_book, books, links = -1, 0, list[tuple[int, int, int]]()
    for kind, data in _records(stream, 0):
        if kind == _LOCKED:
            raise DocumentError(Failure.ENCRYPTED, "a workbook with a password")
        if kind == _SHEET:
            places.append(int.from_bytes(data[:4], "little"))
            sheets.append(Sheet(_string(data[7:], data[6])))
        elif kind == _BOOK:
            own_book = books if data[2:4] == _OWN else own_book
            books += 1
        elif kind == _LINKS:
            links += struct.iter_unpack("<Hhh", data[2 : 2 + (len(data) - 2) // 6 * 6])
        else:
            _read_style(kind, data, styles)
    named = [  # the sheets that formulas name by number; "" for several, and for those of other workbooks
        sheets[first].name if book == own_book and first == last and 0 <= first < len(sheets) else ""
        for book, first, last in links
    ]
    left = _SEEN_TWICE * len(stream)
    for sheet, place in zip(sheets, places, strict=True):
        sheet.strikes_parts = styles.strikes_parts
        reading = _SheetReading(sheet, styles, named)
        for kind, data in _records(stream, place):
            left -= 4 + len(data)
            if left < 0:
                raise DocumentError(Failure.CORRUPT, "its sheets lie over one another")
            reading.record(kind, data)
        reading.finish()
    return sheets


def _read_style(kind: int, data: bytes, styles: BookStyles) -> None:
    """Take up a palette, a number format, a font or a style ([MS-XLS] 2.4.122, 2.4.188 and 2.4.353)."""
    if kind == _PALETTE:  # from number 8 on
        own: list[RGB | None] = [(data[at], data[at + 1], data[at + 2]) for at in range(2, len(data) - 3, 4)]
        styles.palette[8 : 8 + len(own)] = own[: len(styles.palette) - 8]
    elif kind == _FORMAT:
        number, count = struct.unpack_from("<HH", data)
        styles.formats[str(number)] = _string(data[4:], count)
    elif kind == _FONT:
        height, flags, colour, _, place = struct.unpack_from("<HHHHH", data)
        wide = 1 + (data[15:16] == b"\1")
        name = data[16 : 16 + wide * sum(data[14:15])].decode("utf-16-le" if wide == 2 else "latin-1", "replace")
        signs = of_signs(name, sum(data[12:13]))
        styles.fonts.append((Font(None, height / 20, bool(flags & 8), PLACES.get(place), signs), colour))
    elif kind == _STYLE:
        font, number = struct.unpack_from("<HH", data)
        pattern, colours = struct.unpack_from("<IH", data, 14)
        fill = {0: None, 1: colours & 0x7F}.get(pattern >> 26, UNKNOWN)
        styles.styles.append((font - (font > 4), number, fill, data[6] & 7 == FILLED))  # there is no font number 4


class _SheetReading:
    """One sheet being read."""

    def __init__(self, sheet: Sheet, styles: BookStyles, links: list[str]) -> None:
        self._sheet = sheet
        self._styles = styles
        self._links = links
        self._shared: dict[bytes, bytes] = {}  # the tokens of formulas that cells share, by their first cell
        self._sharing: list[tuple[int, int, bytes]] = []  # cells that name one of these
        self._depth = 0  # charts lie inside the sheet
        self._rows, self._columns = (0xFFFFFFFF, 0), (0xFFFF, 0)
        self._object = (0, 0)  # kind and number of the last one
        self._wanted = 0  # characters of a text that are still to come
        self._texts: dict[tuple[int, int], str] = {}
        self._notes: list[tuple[str, int, str]] = []

    def record(self, kind: int, data: bytes) -> None:
        """Take up a record by its type."""
        sheet = self._sheet
        if kind in {_BOF, _EOF}:
            self._depth += 1 if kind == _BOF else -1
            sheet.charts += kind == _BOF and int.from_bytes(data[2:4], "little") == _CHART
        elif kind == _EXTENT:
            top, bottom, left, right = struct.unpack_from("<IIHH", data)
            sheet.said = max(sheet.said, max(0, bottom - top + 1) * max(0, right - left + 1))
        elif kind == _CONDITIONS:
            sheet.conditions += 1
        elif kind == _OBJECT:
            self._object = struct.unpack_from("<HH", data, 4)
        elif kind == _TEXT:
            self._wanted = int.from_bytes(data[10:12], "little")
        elif kind == _CONTINUE and self._wanted:
            text = _string(data, self._wanted)
            self._wanted -= len(text)
            self._texts[self._object] = self._texts.get(self._object, "") + text
        elif kind == _NOTE:
            row, column, _, number, length = struct.unpack_from("<HHHHH", data)
            self._notes.append((f"{column_letters(column + 1)}{row + 1}", number, _string(data[10:], length)))
        elif self._depth <= 1:
            self._read_grid(kind, data)

    def _read_grid(self, kind: int, data: bytes) -> None:
        """Take up cells, which rows and columns are hidden, which cells are merged, and formulas that cells share."""
        sheet = self._sheet
        if kind in _CELLS:
            self._read_cells(kind, data)
        elif kind == _ROW:
            row, height, flags = struct.unpack_from("<H4xH4xH", data)
            sheet.read_row(row, flags & 0x20, height & 0x7FFF)
        elif kind == _COLUMN:
            first, last, width, _, flags = struct.unpack_from("<HHHHH", data)
            sheet.read_columns(first, last, flags & 1, width)
        elif kind == _MERGED:
            for top, bottom, left, right in struct.iter_unpack("<HHHH", data[2 : 2 + (len(data) - 2) // 8 * 8]):
                sheet.merged.put((top + 1, left + 1, bottom + 1, right + 1), None)
        elif kind == _SHARED:
            first_cell = data[:2] + bytes([data[4], 0])
            self._shared[first_cell] = data[10 : 10 + int.from_bytes(data[8:10], "little")]
        elif kind == _VIEW:
            sheet.read_view(data[0], 1)

    def _read_cells(self, kind: int, data: bytes) -> None:
        """Take up the styles of cells, and a formula."""
        row, first = struct.unpack_from("<HH", data)
        last = int.from_bytes(data[-2:], "little") if kind == _SEVERAL else first
        self._rows = min(self._rows[0], row), max(self._rows[1], row)
        self._columns = min(self._columns[0], first), max(self._columns[1], last)
        places = range(4, len(data) - 1, 6 if kind == _SEVERAL else 2)
        for column, at in zip(range(first, last + 1), places, strict=False):
            style = self._styles.of(int.from_bytes(data[at : at + 2], "little"))
            if style != PLAIN:
                self._sheet.styles[row][column] = style
        if kind == _FORMULA and len(data) >= 22:
            tokens = data[22 : 22 + int.from_bytes(data[20:22], "little")]
            if tokens[:1] == _EXP:
                self._sharing.append((row, first, tokens[1:5]))
            self._sheet.formulas[row, first] = written(tokens, XLS, self._links)

    def finish(self) -> None:
        """Join comments with their texts, and cells with the formulas that they share."""
        sheet = self._sheet
        sheet.columns.sort()
        for row, column, first in self._sharing:
            sheet.formulas[row, column] = written(self._shared.get(first, b""), XLS, self._links, (row, column))
        rows, columns = (max(0, end - start + 1) for start, end in (self._rows, self._columns))
        sheet.cells = rows * columns
        for place, number, author in self._notes:
            if text := self._texts.pop((_OF_COMMENT, number), ""):
                sheet.comments.append((place, author, text))
        sheet.boxes += self._texts.values()


def _records(stream: bytes, at: int) -> Iterator[tuple[int, bytes]]:
    """The records of the substream that begins at a place, up to its end, and those of substreams in it; the type
    of one that is too short is 0."""
    depth = 0
    while at + 4 <= len(stream):
        kind, length = struct.unpack_from("<HH", stream, at)
        depth += (kind == _BOF) - (kind == _EOF)
        data = stream[at + 4 : at + 4 + length]
        yield kind if len(data) >= _LEAST.get(kind, 0) else 0, data
        if depth <= 0:
            return
        at += 4 + length


def _string(data: bytes, length: int) -> str:
    """The string of `length` characters behind the byte whose lowest bit says that each takes two bytes, not one."""
    if data[:1] and data[0] & 1:
        return data[1 : 1 + 2 * length].decode("utf-16-le", "replace")
    return codepages.low_bytes(data[1 : 1 + length])
