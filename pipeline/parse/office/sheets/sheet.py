"""The rows of a sheet (ISO/IEC 29500-1, 18.3.1): cells as they come, so that one at XFD1048576 costs one cell.

Nobody sees the cells of hidden rows and columns (also filtered ones, and those of no height or width), cells that are
merged with others, and those whose format, letters or colours show nothing; but a table or a condition may fill them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

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
from pipeline.parse.office.sheets.number_formats import Shown
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
_WIDE, _CLOSED, _TIGHT = range(3)  # the width classes of columns
Rich = list[tuple[str, Font]]
"""The runs of a text, each with what it says of its letters."""
Cell = tuple[int, Stored, CellStyle, Rich | None]
"""A cell: its column from 1, what is stored in it, its style, and the runs of a rich text."""


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

    def check_count(self, cells: int) -> None:
        """Raises DocumentError(TOO_LARGE) for a sheet of too many cells."""
        if cells > self.most:
            most = f"limits.text_characters ({self.most:,})"
            raise DocumentError(Failure.TOO_LARGE, f"a sheet has more cells with text than {most} allows characters")


def write_sheet(writer: TextWriter, package: Package, part: str, strings: Strings, name: str) -> None:
    """The cells of a sheet without columns that are empty on all of it, then what is printed on its pages.

    Raises DocumentError.
    """
    data, number, printed = package.bytes(part), 0, dict[str, None]()  # a header may be the same on all kinds of pages
    sheet = _Sheet(writer, strings, name, Grid() if any(mark in data for mark in _FORMULA) else None)
    sheet.read_ahead(package, part, data)
    for element in stream(data, part, S + "sheetView", S + "sheetFormatPr", S + "col", S + "row", *_PRINTED):
        if element.tag == S + "row":
            number = whole_number(element.get("r"), number + 1)
            sheet.read(element, number)
        elif element.tag in _PRINTED:
            printed |= dict.fromkeys(printed_texts(writer, unescaped(element.text or "")))
        else:
            sheet.read_frame(element)
    sheet.finish()
    for text in printed:
        writer.block(text)


def read_grid(package: Package, part: str, strings: Strings) -> Grid:
    """The cells of a sheet as they are stored, for formulas on other sheets; raises DocumentError."""
    grid, number, count = Grid(), 0, 0
    for row in package.elements(part, S + "row"):
        number = whole_number(row.get("r"), number + 1)
        grid.hides |= row.get("hidden") in _TRUE
        for _ in _cells(row, number, strings, grid):
            pass
        count += len(row)
        strings.check_count(count)
    return grid


class _Sheet:
    """A sheet being read; rows with formulas wait until all cells are known. `_paper` is the colour of cells without a
    fill."""

    def __init__(self, writer: TextWriter, strings: Strings, name: str, grid: Grid | None) -> None:
        self._writer = writer
        self._strings = strings
        self._results = strings.results
        self._name = name
        self._grid = grid
        self._rows: dict[int, dict[int, str]] = {}
        self._columns = bytearray(_COLUMNS + 1)  # the width classes
        self._hides_rows = False  # those that say nothing of it
        self._shows_zeros = True
        self._paper: Colour = WHITE
        self._merged, self._tables, self._drawn = Areas[None](), Areas[None](), Areas[None]()
        self._conditions = Conditions()
        self._count = 0
        self._is_simple = True  # without tables, merged cells, conditions
        self._is_plain: bool | None = None  # no column is narrow, either
        self._heights: dict[int, float | None] = {}  # of rows, in points
        self._waiting: list[tuple[int, bool, list[Cell]]] = []

    def read_ahead(self, package: Package, part: str, data: bytes) -> None:
        """Take up what stands behind the rows and says how they look, in a pass of its own where there is any, then
        tables and drawings."""
        if any(name in data for name in _AHEAD):
            self._is_simple = False
            for element in stream(data, part, S + "row", S + "mergeCell", S + "picture", *_CONDITIONS):
                if element.tag == S + "mergeCell":
                    self._merged.add(element.get("ref", ""), None)
                elif element.tag == S + "picture":
                    self._paper = UNKNOWN
                elif element.tag != S + "row":
                    self._conditions.read(element, self._strings.styles)
        for table in package.related(part, "table"):
            root = package.xml(table)
            if any(style.get("name") for style in root.iterchildren(S + "tableStyleInfo")):
                self._tables.add(root.get("ref", ""), None)
                self._is_simple = False
        for drawing in package.related(part, "drawing"):
            for area in drawn_over(package.xml(drawing)):
                self._drawn.put(area, None)
                self._is_simple = False

    def read_frame(self, element: etree._Element) -> None:
        """Take up what stands before the rows: how the sheet is shown, how rows look that state nothing, columns."""
        if element.tag == S + "col":
            first = whole_number(element.get("min"), 1)
            last = min(whole_number(element.get("max"), first), _COLUMNS)
            width = _CLOSED if element.get("hidden") in _TRUE else _width(element.get("width"))
            if first <= last and (width == _CLOSED or element.get("width") is not None):
                self._columns[first : last + 1] = bytes([width]) * (last + 1 - first)
        elif element.tag == S + "sheetFormatPr":
            self._hides_rows = element.get("zeroHeight") in _TRUE or _is_cut(element.get("defaultRowHeight"))
            self._columns = bytearray([_width(element.get("defaultColWidth"))]) * (_COLUMNS + 1)
        else:
            self._shows_zeros &= element.get("showZeros", "1") in _TRUE
            self._is_simple &= self._shows_zeros
            frozen = any(one.get("state", "").startswith("frozen") for one in element)
            if frozen and element.get("topLeftCell", "A1") != "A1":
                self._writer.doubt("rows or columns that cannot be scrolled to")
            if element.get("showFormulas") in _TRUE:
                self._writer.review(SHOWS_FORMULAS.format(self._name))

    def read(self, row: etree._Element, number: int) -> None:
        """Take up a row; raises DocumentError(TOO_LARGE)."""
        if self._is_plain is None:  # columns come before the rows
            self._is_plain = self._is_simple and not any(self._columns)
        self._heights[number] = decimal(row.get("ht"))
        said = row.get("hidden") is not None or row.get("ht") is not None
        hidden = (row.get("hidden") in _TRUE or _is_cut(row.get("ht"))) if said else self._hides_rows
        cells, computes, grid = list[Cell](), False, self._grid
        if grid is not None:
            grid.hides |= hidden
        for element, column, stored, is_formula, runs in _cells(row, number, self._strings, grid):
            if element.get("vm") is not None and not hidden:
                self._results.note(RICH, self._name, number, column)
            computes |= is_formula and grid is not None
            if stored[1] or is_formula:
                cells.append((column, stored, self._strings.styles.of(element.get("s")), runs))
        if computes:
            self._waiting.append((number, hidden, cells))
            self._count += len(cells)
            self._strings.check_count(self._count)
        else:
            self._place(number, hidden, cells)

    def finish(self) -> None:
        """Take up the rows with formulas, and write all of them."""
        if self._grid is not None:
            grid = self._results.begin(self._name, self._grid)
            for number, hidden, cells in self._waiting:
                self._count -= len(cells)
                for place, (column, stored, style, runs) in enumerate(cells):
                    if (number, column) in grid.formulas:
                        cells[place] = column, self._results.settle(self._name, number, column, stored), style, runs
                self._place(number, hidden, cells)
        used = {column for cells in self._rows.values() for column in cells}
        places = {column: place for place, column in enumerate(sorted(used))}
        before = None
        for number in sorted(self._rows):
            if before is not None and number > before + 1:
                self._writer.gap()
            line, last = list[str](), -1
            for column, text in sorted(self._rows[number].items()):
                line += [*[""] * min(places[column] - last - 1, _EMPTY), text]
                last = places[column]
            self._writer.row(line)
            before = number
        self._writer.gap()

    def _place(self, number: int, hidden: bool, cells: list[Cell]) -> None:
        shown, unseen, tight = dict[int, str](), dict[str, dict[int, str]](), dict[int, bool]()
        for cell in cells:
            text, kind = self._seen(cell, number, hidden)
            if not text:
                continue
            column = cell[0]
            (unseen.setdefault(kind, {}) if kind else shown)[column] = text
            if not self._is_plain and not kind and self._width_of(column) == _TIGHT:
                tight[column] = cell[1][0] == "n"
        for column, is_number in tight.items():
            if is_number or column + 1 in shown:
                unseen.setdefault("clipped", {})[column] = shown.pop(column)
        for kind, texts in unseen.items():
            shown |= {} if self._writer.hide(kind, " ".join(texts.values())) else texts
        if shown:
            self._rows.setdefault(number, {}).update(shown)
            self._count += len(shown)
        self._strings.check_count(self._count)

    def _width_of(self, column: int) -> int:
        return self._columns[column] if column <= _COLUMNS else _WIDE

    def _seen(self, cell: Cell, row: int, hidden: bool) -> tuple[str, str | None]:
        """The seen text of a cell, and None; or all its text, and how that is hidden."""
        column, (kind, stored), style, runs = cell
        height, paper, doubt = self._heights.get(row), self._paper, ""
        if self._is_plain and style.format is None and runs is None and not hidden:  # as nearly all are
            text = number_text(stored, "", 0) if kind == "n" else stored
            how, doubt = style.sight(None, style.font, paper, height)
            return (text, how) if how else (self._shown(style.font.marks(text), doubt, style, height), None)
        number = decimal(stored) if kind == "n" else None
        if hidden or self._width_of(column) == _CLOSED:
            how = "hidden_row"
        elif number == 0 and not self._shows_zeros:
            how = "marked_hidden"
        elif not self._is_simple and self._merged.covers(row, column):
            how = "covered"
        else:
            if not self._is_simple:
                style, paper = self._changed(style, row, column, number)
            if runs is not None:
                return self._seen_runs(runs, style, paper, height), None
            how, doubt = style.sight(number, style.font, paper, height)
        shown = style.show(number, stored, self._strings.styles.epoch)
        if how:
            return shown.text or stored, how
        if kind in {"b", "e"}:
            shown = Shown(stored)
        elif shown.doubtful:
            self._results.doubt(self._name, row, column, shown.text, stored)
        return self._shown(style.font.marks(shown.text), doubt, style, height), None

    def _changed(self, style: CellStyle, row: int, column: int, number: float | None) -> tuple[CellStyle, Colour]:
        """The style of a cell, and its paper, by conditions, tables and drawings."""
        paper = self._paper
        style = self._conditions.applied(style, (row, column), number)
        if self._conditions.unsure:
            self._results.note(CONDITIONAL, self._name, row, column)
        if self._tables.at(row, column) != []:
            paper, style = UNKNOWN, self._strings.styles.in_table(style)
        if self._drawn.at(row, column) != []:
            style = style._replace(doubt="a drawing over it")
        return style, paper

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


def _is_cut(height: str | None) -> bool:
    """Whether a row of so many points shows nothing."""
    found = decimal(height)
    return found is not None and Appearance(line=found).hides is not None


def _width(letters: str | None) -> int:
    """The width class of a column as wide as so many letters."""
    found = decimal(letters)
    return _WIDE if found is None or found > _NARROW else _TIGHT if found > _SHUT else _CLOSED


def _cells(
    row: etree._Element, number: int, strings: Strings, grid: Grid | None
) -> Iterator[tuple[etree._Element, int, Stored, bool, Rich | None]]:
    """The cells of a row, put into a grid: column, what is stored, whether that is a formula's result, rich text."""
    column, known = 0, {} if grid is None else grid.rows.setdefault(number, {})
    for element in row.iterchildren(S + "c"):
        column = column_number(element.get("r", "")) or column + 1
        stored, formula, runs = _stored(element, strings)
        known[column] = stored
        if grid is not None and formula is not None:
            grid.compute(number, column, formula)
        yield element, column, stored, formula is not None, runs


def _stored(cell: etree._Element, strings: Strings) -> tuple[Stored, etree._Element | None, Rich | None]:
    """What is stored in a cell, its formula, and the runs of rich text of which one says how it looks."""
    kind, value, formula = cell.get("t", "n"), "", None
    for child in cell:
        if child.tag == S + "v":
            value = child.text or ""
        elif child.tag == S + "f":
            formula = child
        elif child.tag == S + "is" and kind == "inlineStr":
            text, runs = text_and_runs(child, strings.styles)
            return ("str", text), formula, runs
    if kind == "n":
        return ("n", value), formula, None
    if kind == "s":
        place = whole_number(value, len(strings.texts) if value else -1)
        if place >= len(strings.texts):
            raise DocumentError(Failure.CORRUPT, f"a cell refers to text {value[:20]}, which there is not")
        return ("str", strings.texts[place] if value else ""), formula, strings.rich.get(place)
    if kind == "b":
        return ("b", {"1": "TRUE", "0": "FALSE"}.get(value, value)), formula, None
    return (kind if kind in {"e", "d"} else "str", unescaped(value)), formula, None


def text_and_runs(item: etree._Element | None, styles: CellStyles) -> tuple[str, Rich | None]:
    """Plain or rich text, and the runs of rich text of which one says how it looks; phonetic hints (rPh) are no part
    of it."""
    runs, is_rich = list[tuple[str, etree._Element | None]](), False
    for child in () if item is None else item:
        if child.tag == S + "t":
            runs.append((unescaped(child.text or ""), None))
        elif child.tag == S + "r":
            texts = (unescaped(text.text or "") for text in child.iterchildren(S + "t"))
            runs.append(("".join(texts), child.find(S + "rPr")))
            is_rich = True
    rich = [(text, styles.font(properties)) for text, properties in runs] if is_rich else []
    return "".join(text for text, _ in runs), rich if any(font != Font() for _, font in rich) else None
