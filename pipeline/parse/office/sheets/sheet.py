"""The rows of a sheet (ISO/IEC 29500-1, 18.3.1): cells as they come, so that one at XFD1048576 costs one cell.

Nobody sees the cells of hidden rows and columns (also filtered ones, and those of no height or width), cells that are
merged with others, and those whose format, letters or colours show nothing; but a table or a condition may fill them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from lxml import etree

from pipeline.errors import DocumentError, Failure
from pipeline.parse.markup.reading import decimal, stream, whole_number
from pipeline.parse.office.cells import column_number, number_text, unescaped
from pipeline.parse.office.drawing.theme import UNKNOWN
from pipeline.parse.office.package import Package
from pipeline.parse.office.sheets.cell_styles import CellStyle, CellStyles, Font
from pipeline.parse.office.sheets.conditions import X14, Areas, Conditions
from pipeline.parse.office.sheets.drawn import drawn_over, printed_texts
from pipeline.parse.office.sheets.grid import Grid, Stored
from pipeline.parse.office.sheets.results import CONDITIONAL, RICH, Results
from pipeline.parse.sight.colours import WHITE, Colour
from pipeline.parse.sight.look import Appearance
from pipeline.parse.writer import TextWriter

S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
SHOWS_FORMULAS = "sheet {} shows formulas in place of their results, which were read"
_TRUE = {"1", "true"}
_COLUMNS = 16_384
_EMPTY = 50  # empty cells in a row, between two that are not, that are written
_SHUT = 0.2  # of a usual letter: the width of a column that is not to be seen
_NARROW = 0.7  # ... of one that shows less than a letter of what does not run over into an empty cell
_CONDITIONS = (S + "conditionalFormatting", X14 + "conditionalFormatting")
_AHEAD = (b"conditionalFormatting", b"mergeCell", b"picture")  # what stands behind the rows and changes what is seen
_PRINTED = [S + name for name in ("oddHeader", "evenHeader", "firstHeader", "oddFooter", "evenFooter", "firstFooter")]
_FORMULA = (b"<f>", b"<f ", b"<f/>", b":f>", b":f ", b":f/>")
_LETTERS, _LINES = 11.0, 2.0  # points of usual letters, and heights of a row that lines may take without a doubt
_WIDE, _CLOSED, _TIGHT = range(3)
Rich = list[tuple[str, Font]]
"""The runs of a text, each with what it says of its letters."""


@dataclass(frozen=True)
class Strings:
    """The texts, styles and results that the cells of a workbook refer to, and the most cells that a sheet may have.

    `rich` are the runs of those texts, by their place, of which a run says how it looks.
    """

    texts: list[str]
    rich: dict[int, Rich]
    styles: CellStyles
    results: Results
    most: int


Cell = tuple[int, Stored, CellStyle, Rich | None]
"""A cell: its column from 1, what is stored in it, its style, and the runs of a rich text."""


@dataclass
class _Sheet:
    """The state of a sheet as it is read. `paper` is the colour of cells without a fill."""

    rows: dict[int, dict[int, str]] = field(default_factory=dict)
    columns: bytearray = field(default_factory=lambda: bytearray(_COLUMNS + 1))  # what _width makes of each
    hidden_row: bool = False  # rows that say nothing of it
    shows_zeros: bool = True
    paper: Colour = WHITE
    merged: Areas[None] = field(default_factory=Areas)
    tables: Areas[None] = field(default_factory=Areas)
    drawn: Areas[None] = field(default_factory=Areas)  # areas over which something is drawn
    conditions: Conditions = field(default_factory=Conditions)
    cells: int = 0
    is_plain: bool = True  # without tables, merged cells, conditions

    def width(self, column: int) -> int:
        """The width class of a column, from 1: _WIDE, _TIGHT or _CLOSED."""
        return self.columns[column] if column <= _COLUMNS else _WIDE

    def covers(self, row: int, column: int) -> bool:
        """Whether a cell is merged with one to the left of it or above."""
        found = self.merged.at(row, column)
        return any(area[:2] != (row, column) for area, _ in found or ())


def write_sheet(writer: TextWriter, package: Package, part: str, strings: Strings, name: str) -> None:
    """The cells of a sheet without columns that are empty on all of it, then what is printed on its pages.

    Raises DocumentError.
    """
    data, number, printed = package.bytes(part), 0, dict[str, None]()  # a header may be the same on all kinds of pages
    sheet = _ahead(data, part, strings)
    rows = _Rows(writer, sheet, strings, name, Grid() if any(mark in data for mark in _FORMULA) else None)
    for table in package.related(part, "table"):
        root = package.xml(table)
        if any(style.get("name") for style in root.iterchildren(S + "tableStyleInfo")):
            sheet.tables.add(root.get("ref", ""), None)
            sheet.is_plain = False
    for drawing in package.related(part, "drawing"):
        for area in drawn_over(package.xml(drawing)):
            sheet.drawn.add(area, None)
            sheet.is_plain = False
    for element in stream(data, part, S + "sheetView", S + "sheetFormatPr", S + "col", S + "row", *_PRINTED):
        if element.tag == S + "row":
            number = whole_number(element.get("r"), number + 1)
            rows.read(element, number)
        elif element.tag == S + "col":
            _read_column(sheet, element)
        elif element.tag == S + "sheetFormatPr":
            _read_usual(sheet, element)
        elif element.tag == S + "sheetView":
            sheet.shows_zeros &= element.get("showZeros", "1") in _TRUE
            frozen = any(one.get("state", "").startswith("frozen") for one in element)
            if frozen and element.get("topLeftCell", "A1") != "A1":
                writer.doubt("rows or columns that cannot be scrolled to")
            sheet.is_plain &= sheet.shows_zeros
            if element.get("showFormulas") in _TRUE:
                writer.review(SHOWS_FORMULAS.format(name))
        else:
            printed |= dict.fromkeys(printed_texts(writer, unescaped(element.text or "")))
    rows.finish()
    _write(writer, sheet.rows)
    for text in printed:
        writer.block(text)


def read_grid(package: Package, part: str, strings: Strings) -> Grid:
    """The cells of a sheet as they are stored, for formulas on other sheets; raises DocumentError."""
    grid, number, count = Grid(), 0, 0
    for row in package.elements(part, S + "row"):
        number, column = whole_number(row.get("r"), number + 1), 0
        known = grid.rows.setdefault(number, {})
        grid.hides |= row.get("hidden") in _TRUE
        for element in row.iterchildren(S + "c"):
            column = column_number(element.get("r", "")) or column + 1
            stored, formula, _ = _stored(element, strings)
            known[column] = stored
            if formula is not None:
                grid.compute(number, column, formula)
        count += len(row)
        _check_count(count, strings)
    return grid


def _ahead(data: bytes, part: str, strings: Strings) -> _Sheet:
    """A sheet with what stands behind its rows and says how they look, read in a pass of its own where there is any."""
    sheet = _Sheet()
    if not any(name in data for name in _AHEAD):
        return sheet
    sheet.is_plain = False
    for element in stream(data, part, S + "row", S + "mergeCell", S + "picture", *_CONDITIONS):
        if element.tag == S + "mergeCell":
            sheet.merged.add(element.get("ref", ""), None)
        elif element.tag == S + "picture":
            sheet.paper = UNKNOWN
        elif element.tag != S + "row":
            sheet.conditions.read(element, strings.styles)
    return sheet


def rich_runs(item: etree._Element | None, styles: CellStyles) -> Rich | None:
    """The runs of rich text of which one says how it looks; None where none does."""
    runs: Rich = []
    for child in () if item is None else item:
        if child.tag in {S + "t", S + "r"}:
            texts = [child] if child.tag == S + "t" else child.iterchildren(S + "t")
            text = unescaped("".join(text.text or "" for text in texts))
            runs.append((text, styles.font(child.find(S + "rPr"))))
    return runs if any(font != Font() for _, font in runs) else None


def text_runs(item: etree._Element | None) -> Iterator[str]:
    """The text of plain or rich text; phonetic hints (rPh) are not part of it."""
    for child in () if item is None else item:
        if child.tag == S + "t":
            yield unescaped(child.text or "")
        elif child.tag == S + "r":
            yield from (unescaped(text.text or "") for text in child.iterchildren(S + "t"))


def _read_usual(sheet: _Sheet, element: etree._Element) -> None:
    """Take up how rows and columns look that state nothing themselves."""
    sheet.hidden_row = element.get("zeroHeight") in _TRUE or _is_cut(element.get("defaultRowHeight"))
    sheet.columns = bytearray([_width(element.get("defaultColWidth"))]) * (_COLUMNS + 1)


def _read_column(sheet: _Sheet, element: etree._Element) -> None:
    first = whole_number(element.get("min"), 1)
    last = min(whole_number(element.get("max"), first), _COLUMNS)
    width = _CLOSED if element.get("hidden") in _TRUE else _width(element.get("width"))
    if first <= last and (width == _CLOSED or element.get("width") is not None):
        sheet.columns[first : last + 1] = bytes([width]) * (last + 1 - first)


class _Rows:
    """Reads the rows of a sheet. Those with formulas wait until all cells are known."""

    def __init__(self, writer: TextWriter, sheet: _Sheet, strings: Strings, name: str, grid: Grid | None) -> None:
        self._writer = writer
        self._sheet = sheet
        self._strings = strings
        self._name = name
        self._grid = grid
        self._is_plain: bool | None = None  # no column is narrow, and there is nothing but cells
        self._heights: dict[int, float | None] = {}  # of rows, in points
        self._waiting: list[tuple[int, bool, list[Cell]]] = []

    def read(self, row: etree._Element, number: int) -> None:
        """Take up a row; raises DocumentError(TOO_LARGE)."""
        sheet, column, cells, computes = self._sheet, 0, list[Cell](), False
        self._heights[number] = decimal(row.get("ht"))
        if self._is_plain is None:  # columns come before the rows
            self._is_plain = sheet.is_plain and not any(sheet.columns)
        said = row.get("hidden") is not None or row.get("ht") is not None
        hidden = (row.get("hidden") in _TRUE or _is_cut(row.get("ht"))) if said else sheet.hidden_row
        grid = self._grid
        known = {} if grid is None else grid.rows.setdefault(number, {})
        if grid is not None:
            grid.hides |= hidden
        for element in row.iterchildren(S + "c"):
            column = column_number(element.get("r", "")) or column + 1
            stored, formula, runs = _stored(element, self._strings)
            if element.get("vm") is not None and not hidden:
                self._strings.results.note(RICH, self._name, number, column)
            if grid is not None:
                known[column] = stored
                if formula is not None:
                    grid.compute(number, column, formula)
                    computes = True
            if stored[1] or formula is not None:
                cells.append((column, stored, self._strings.styles.of(element.get("s")), runs))
        if computes:
            self._waiting.append((number, hidden, cells))
            sheet.cells += len(cells)
            _check_count(sheet.cells, self._strings)
        else:
            self._place(number, hidden, cells)

    def finish(self) -> None:
        """Take up the rows with formulas."""
        if self._grid is None:
            return
        grid, results = self._strings.results.begin(self._name, self._grid), self._strings.results
        for number, hidden, cells in self._waiting:
            self._sheet.cells -= len(cells)
            for place, (column, stored, style, runs) in enumerate(cells):
                if (number, column) in grid.formulas:
                    cells[place] = column, results.settle(self._name, number, column, stored), style, runs
            self._place(number, hidden, cells)

    def _place(self, number: int, hidden: bool, cells: list[Cell]) -> None:
        sheet = self._sheet
        shown, unseen, tight = dict[int, str](), dict[str, dict[int, str]](), dict[int, bool]()
        for cell in cells:
            text, kind = self._seen(cell, number, hidden)
            if not text:
                continue
            column = cell[0]
            (unseen.setdefault(kind, {}) if kind else shown)[column] = text
            if not self._is_plain and not kind and sheet.width(column) == _TIGHT:
                tight[column] = cell[1][0] == "n"
        for column, is_number in tight.items():
            if is_number or column + 1 in shown:
                unseen.setdefault("clipped", {})[column] = shown.pop(column)
        for kind, texts in unseen.items():
            shown |= {} if self._writer.hide(kind, " ".join(texts.values())) else texts
        if shown:
            sheet.rows.setdefault(number, {}).update(shown)
            sheet.cells += len(shown)
        _check_count(sheet.cells, self._strings)

    def _seen(self, cell: Cell, row: int, hidden: bool) -> tuple[str, str | None]:
        """The seen text of a cell, and None; or all its text, and how that is hidden."""
        sheet, (column, (kind, stored), style, runs) = self._sheet, cell
        height = self._heights.get(row)
        if self._is_plain and style.format is None and runs is None and not hidden:  # as nearly all are
            text = number_text(stored, "", 0) if kind == "n" else stored
            how, doubt = style.sight(None, style.font, sheet.paper, height)
            return (text, how) if how else (self._shown(style.font.marks(text), doubt, style, height), None)
        number, epoch = decimal(stored) if kind == "n" else None, self._strings.styles.epoch
        if hidden or sheet.width(column) == _CLOSED:
            return style.show(number, stored, epoch).text or stored, "hidden_row"
        paper = sheet.paper
        if number == 0 and not sheet.shows_zeros:
            return style.show(number, stored, epoch).text or stored, "marked_hidden"
        if not sheet.is_plain:
            if sheet.covers(row, column):
                return style.show(number, stored, epoch).text or stored, "covered"
            style = sheet.conditions.applied(style, (row, column), number)
            if sheet.conditions.unsure:
                self._strings.results.note(CONDITIONAL, self._name, row, column)
            if sheet.tables.at(row, column) != []:
                paper, style = UNKNOWN, self._strings.styles.in_table(style)
            if sheet.drawn.at(row, column) != []:
                style = style._replace(doubt="a drawing over it")
        if runs is not None:
            return self._seen_runs(runs, style, paper, height), None
        how, doubt = style.sight(number, style.font, paper, height)
        if how:
            return style.show(number, stored, epoch).text or stored, how
        if kind in {"b", "e"}:
            return self._shown(style.font.marks(stored), doubt, style, height), None
        shown = style.show(number, stored, epoch)
        if shown.doubtful:
            self._strings.results.doubt(self._name, row, column, shown.text, stored)
        return self._shown(style.font.marks(shown.text), doubt, style, height), None

    def _shown(self, text: str, doubt: str, style: CellStyle, height: float | None) -> str:
        """A text that is seen as far as is known; one of more lines than its row has room for may be cut off."""
        if height is not None and text.count("\n") * (style.font.size or _LETTERS) > _LINES * height:
            doubt = doubt or "more lines than its row has room for"
        if doubt and text:
            self._writer.doubtful(doubt, text)
        return text

    def _seen_runs(self, runs: Rich, style: CellStyle, paper: Colour, height: float | None) -> str:
        pieces = []
        for piece, own in runs:
            font = style.font if own == Font() else own
            kind, doubt = style.sight(None, font, paper, height)
            is_hidden = kind and piece.strip() and self._writer.hide(kind, piece)
            pieces.append("" if is_hidden else self._shown(font.marks(piece), "" if kind else doubt, style, None))
        return "".join(pieces)


def _check_count(cells: int, strings: Strings) -> None:
    if cells > strings.most:
        most = f"limits.text_characters ({strings.most:,})"
        raise DocumentError(Failure.TOO_LARGE, f"a sheet has more cells with text than {most} allows characters")


def _is_cut(height: str | None) -> bool:
    """Whether a row of so many points shows nothing."""
    found = decimal(height)
    return found is not None and Appearance(line=found).hides is not None


def _width(letters: str | None) -> int:
    """The width class (_WIDE, _TIGHT or _CLOSED) of a column as wide as so many letters."""
    found = decimal(letters)
    return _WIDE if found is None or found > _NARROW else _TIGHT if found > _SHUT else _CLOSED


def _stored(cell: etree._Element, strings: Strings) -> tuple[Stored, etree._Element | None, Rich | None]:
    """What is stored in a cell, its formula, and the runs of rich text of which one says how it looks."""
    kind, value, formula = cell.get("t", "n"), "", None
    for child in cell:
        if child.tag == S + "v":
            value = child.text or ""
        elif child.tag == S + "f":
            formula = child
        elif child.tag == S + "is" and kind == "inlineStr":
            runs = rich_runs(child, strings.styles) if child.find(S + "r") is not None else None
            return ("str", "".join(text_runs(child))), formula, runs
    if kind == "n":
        return ("n", value), formula, None
    if kind == "s":
        runs = strings.rich.get(whole_number(value, -1)) if strings.rich else None
        return ("str", _shared(value, strings.texts)), formula, runs
    if kind == "b":
        return ("b", {"1": "TRUE", "0": "FALSE"}.get(value, value)), formula, None
    return (kind if kind in {"e", "d"} else "str", unescaped(value)), formula, None


def _shared(value: str, texts: list[str]) -> str:
    if not value:
        return ""
    place = whole_number(value, len(texts))
    if place >= len(texts):
        raise DocumentError(Failure.CORRUPT, f"a cell refers to text {value[:20]}, which there is not")
    return texts[place]


def _write(writer: TextWriter, rows: dict[int, dict[int, str]]) -> None:
    columns = sorted({column for cells in rows.values() for column in cells})
    places = {column: place for place, column in enumerate(columns)}
    before = None
    for number in sorted(number for number, cells in rows.items() if cells):
        if before is not None and number > before + 1:
            writer.gap()
        writer.row(_line(rows[number], places))
        before = number
    writer.gap()


def _line(cells: dict[int, str], places: dict[int, int]) -> Iterator[str]:
    """The cells of a row with empty ones between them; the text's length stays in proportion to what is in it."""
    before = -1
    for column in sorted(cells):
        yield from [""] * min(places[column] - before - 1, _EMPTY)
        yield cells[column]
        before = places[column]
