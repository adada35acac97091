"""The rows of a sheet (ISO/IEC 29500-1, 18.3.1): cells as they come, so that one at XFD1048576 costs one cell.

Nobody sees the cells of hidden rows and columns (also filtered ones, and those of no height or width), cells that are
merged with others, and those whose format, letters or colours show nothing; but a table or a condition may fill them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from lxml import etree

from pipeline.errors import DocumentError, Failure
from pipeline.parse.look.appearance import Appearance
from pipeline.parse.look.colours import BLACK, WHITE, Colour
from pipeline.parse.markup.reading import decimal, stream, whole_number
from pipeline.parse.office.cells import column_number, number_text
from pipeline.parse.office.drawing.theme import UNKNOWN, rgb
from pipeline.parse.office.package import Package
from pipeline.parse.office.sheets.cell_styles import CellStyles, Font
from pipeline.parse.office.sheets.conditions import X14, Areas, Conditions
from pipeline.parse.writer import TextWriter

S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_TRUE = {"1", "true"}
_COLUMNS = 16_384
_EMPTY = 50  # empty cells in a row, between two that are not, that are written
_SHUT = 0.2  # of a usual letter: the width of a column that is not to be seen
_NARROW = 0.7  # ... of one that shows less than a letter of what does not run over into an empty cell
_CONDITIONS = (S + "conditionalFormatting", X14 + "conditionalFormatting")
_AHEAD = (b"conditionalFormatting", b"mergeCell", b"picture")  # what stands behind the rows and changes what is seen
_PRINTED = [S + name for name in ("oddHeader", "evenHeader", "firstHeader", "oddFooter", "evenFooter", "firstFooter")]
_CODES = re.compile(r'&(?:"[^"]*"|K[0-9A-Fa-f]{6}|K\d\d[+-]\d{3}|\d+|[BEHISUXY])')  # fonts, colours...
_FILLED_IN = re.compile(r"(?<!&)(?:&&)*&[ADFGNPTZ]")
_WIDE, _CLOSED, _TIGHT = range(3)
Rich = list[tuple[str, Font]]
"""The runs of a text, each with what it says of its letters."""


@dataclass(frozen=True)
class Strings:
    """The texts and styles that the cells of a workbook refer to, and the most cells with text that a sheet may have.

    `rich` are the runs of those texts, by their place, of which a run says how it looks.
    """

    texts: list[str]
    rich: dict[int, Rich]
    styles: CellStyles
    most: int


@dataclass
class _Sheet:
    """The state of a sheet as it is read. `paper` is the colour of cells without a fill."""

    rows: dict[int, dict[int, str]] = field(default_factory=dict)
    columns: bytearray = field(default_factory=lambda: bytearray(_COLUMNS + 1))  # what _width makes of each
    hidden_row: bool = False  # rows that say nothing of it
    paper: Colour = WHITE
    merged: Areas[None] = field(default_factory=Areas)
    tables: Areas[None] = field(default_factory=Areas)
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


def write_sheet(writer: TextWriter, package: Package, part: str, strings: Strings) -> None:
    """The cells of a sheet without columns that are empty on all of it, then what is printed on its pages.

    Raises DocumentError.
    """
    data, number, printed = package.bytes(part), 0, dict[str, None]()  # a header may be the same on all kinds of pages
    sheet = _ahead(data, part, strings)
    rows = _Rows(writer, sheet, strings)
    for table in package.related(part, "table"):
        root = package.xml(table)
        if any(style.get("name") for style in root.iterchildren(S + "tableStyleInfo")):
            sheet.tables.add(root.get("ref", ""), None)
            sheet.is_plain = False
    for element in stream(data, part, S + "sheetFormatPr", S + "col", S + "row", *_PRINTED):
        if element.tag == S + "row":
            number = whole_number(element.get("r"), number + 1)
            rows.read(element, number)
        elif element.tag == S + "col":
            _read_column(sheet, element)
        elif element.tag == S + "sheetFormatPr":
            _read_usual(sheet, element)
        else:
            printed |= dict.fromkeys(_printed(writer, element.text or ""))
    _write(writer, sheet.rows)
    for text in printed:
        writer.block(text)


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
            sheet.conditions.read(element, strings.styles.changes)
    return sheet


def rich_runs(item: etree._Element | None, styles: CellStyles) -> Rich | None:
    """The runs of rich text of which one says how it looks; None where none does."""
    runs: Rich = []
    for child in () if item is None else item:
        if child.tag in {S + "t", S + "r"}:
            texts = [child] if child.tag == S + "t" else child.iterchildren(S + "t")
            runs.append(("".join(text.text or "" for text in texts), styles.font(child.find(S + "rPr"))))
    return runs if any(font != Font() for _, font in runs) else None


def text_runs(item: etree._Element | None) -> Iterator[str]:
    """The text of plain or rich text; phonetic hints (rPh) are not part of it."""
    for child in () if item is None else item:
        if child.tag == S + "t":
            yield child.text or ""
        elif child.tag == S + "r":
            yield from (text.text or "" for text in child.iterchildren(S + "t"))


def _printed(writer: TextWriter, code: str) -> Iterator[str]:
    """The left, middle and right of a header, without what Excel fills in, such as the number of the page."""
    for piece in re.split("&[LCR]", code):
        if not _FILLED_IN.search(piece):
            yield " ".join("".join(_seen_runs(writer, piece)).replace("&&", "&").split())


def _seen_runs(writer: TextWriter, piece: str) -> Iterator[str]:
    """The texts between codes for fonts and colours, as far as they can be seen on white paper."""
    font, place = Font(), 0
    for code in [*_CODES.finditer(piece), None]:
        text = piece[place : code.start() if code else None]
        kind = Appearance(colour=font.colour, background=WHITE, size=font.size).hides
        yield " " if kind and text.strip() and writer.hide(kind, text) else text + " "
        if code:
            said, place = code.group()[1:], code.end()
            font = font._replace(size=float(said)) if said.isdecimal() else font
            font = font._replace(colour=_printed_colour(said)) if said.startswith("K") else font


def _printed_colour(said: str) -> Colour | None:
    """A colour of a header: six digits, or a number of the theme with a tint, of which white and black are known."""
    return rgb(said[1:]) or {"K00+000": WHITE, "K01+000": BLACK}.get(said)


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
    """Reads the rows of a sheet."""

    def __init__(self, writer: TextWriter, sheet: _Sheet, strings: Strings) -> None:
        self._writer = writer
        self._sheet = sheet
        self._strings = strings

    def read(self, row: etree._Element, number: int) -> None:
        """Take up a row; raises DocumentError(TOO_LARGE)."""
        sheet, column = self._sheet, 0
        said = row.get("hidden") is not None or row.get("ht") is not None
        hidden = (row.get("hidden") in _TRUE or _is_cut(row.get("ht"))) if said else sheet.hidden_row
        shown, unseen, tight = dict[int, str](), dict[str, dict[int, str]](), dict[int, bool]()
        for cell in row.iterchildren(S + "c"):
            column = column_number(cell.get("r", "")) or column + 1
            if text := _text(cell, self._strings):
                text, kind = (text, "hidden_row") if hidden else self._seen(cell, (number, column), text)
                (unseen.setdefault(kind, {}) if kind else shown)[column] = text
                if not kind and sheet.width(column) == _TIGHT:
                    tight[column] = cell.get("t", "n") == "n"
        for column, is_number in tight.items():
            if is_number or column + 1 in shown:
                unseen.setdefault("clipped", {})[column] = shown.pop(column)
        for kind, cells in unseen.items():
            shown |= {} if self._writer.hide(kind, " ".join(cells.values())) else cells
        if shown:
            sheet.rows.setdefault(number, {}).update(shown)
            sheet.cells += len(shown)
        if sheet.cells > self._strings.most:
            most = f"limits.text_characters ({self._strings.most:,})"
            raise DocumentError(Failure.TOO_LARGE, f"a sheet has more cells with text than {most} allows characters")

    def _seen(self, cell: etree._Element, place: tuple[int, int], text: str) -> tuple[str, str | None]:
        """The seen text of a cell at (row, column), and None; or all its text, and how that is hidden."""
        sheet, style, runs = self._sheet, self._strings.styles.of(cell.get("s")), self._runs(cell)
        if sheet.width(place[1]) == _CLOSED:
            return text, "hidden_row"
        if sheet.is_plain and runs is None and style.format is None:  # as nearly all are
            return text, style.hides(None, style.font, sheet.paper)
        if sheet.covers(*place):
            return text, "covered"
        number = decimal(cell.findtext(S + "v")) if cell.get("t", "n") == "n" else None
        style = sheet.conditions.applied(style, place, text, number)
        paper = sheet.paper if sheet.tables.at(*place) == [] else UNKNOWN
        if runs is None:
            return text, style.hides(number, style.font, paper)
        pieces = []
        for piece, font in runs:
            kind = style.hides(None, style.font if font == Font() else font, paper)
            pieces.append("" if kind and piece.strip() and self._writer.hide(kind, piece) else piece)
        return "".join(pieces), None

    def _runs(self, cell: etree._Element) -> Rich | None:
        """The runs of a cell with rich text of which one says how it looks."""
        kind = cell.get("t")
        if kind == "s":
            return self._strings.rich.get(whole_number(cell.findtext(S + "v"), -1)) if self._strings.rich else None
        inline = cell.find(S + "is") if kind == "inlineStr" else None
        return None if inline is None or inline.find(S + "r") is None else rich_runs(inline, self._strings.styles)


def _is_cut(height: str | None) -> bool:
    """Whether a row of so many points shows nothing."""
    found = decimal(height)
    return found is not None and Appearance(line=found).hides is not None


def _width(letters: str | None) -> int:
    """The width class (_WIDE, _TIGHT or _CLOSED) of a column as wide as so many letters."""
    found = decimal(letters)
    return _WIDE if found is None or found > _NARROW else _TIGHT if found > _SHUT else _CLOSED


def _text(cell: etree._Element, strings: Strings) -> str:
    kind, value = cell.get("t", "n"), ""
    for child in cell:
        if child.tag == S + "v":
            value = child.text or ""
        elif child.tag == S + "is" and kind == "inlineStr":
            return "".join(text_runs(child))
    if kind == "s":
        return _shared(value, strings.texts)
    if kind == "b":
        return {"1": "TRUE", "0": "FALSE"}.get(value, value)
    if kind != "n" or not value:
        return value
    return number_text(value, strings.styles.of(cell.get("s")).kind, strings.styles.epoch)


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
