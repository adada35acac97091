"""The rows of a sheet (ISO/IEC 29500-1, 18.3.1): cells as they come, so that one at XFD1048576 costs one cell.

Nobody sees the cells of hidden rows and columns (also filtered ones, and those of no height or width), of a number
format that shows nothing, in tiny letters, or in the colour of their fill; but a table or a condition may fill them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from lxml import etree

from pipeline.errors import DocumentError, Failure
from pipeline.parse.office.cell_styles import CellStyles
from pipeline.parse.office.cells import column_number, number_text
from pipeline.parse.office.package import Package, whole_number
from pipeline.parse.writer import TextWriter

S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_TRUE = {"1", "true"}
_COLUMNS = 16_384
_EMPTY = 50  # empty cells in a row, between two that are not, that are written
_DIGITS = re.compile(r"\d+")
_COMPARED = 10_000_000
_PRINTED = [S + name for name in ("oddHeader", "evenHeader", "firstHeader", "oddFooter", "evenFooter", "firstFooter")]
_CODES = re.compile(r'&(?:"[^"]*"|K[0-9A-Fa-f]{6}|K\d\d[+-]\d{3}|\d+|[BEHISUXY])')  # fonts, colours...
_FILLED_IN = re.compile(r"(?<!&)(?:&&)*&[ADFGNPTZ]")
_Area = tuple[int, int, int, int]


@dataclass(frozen=True)
class Strings:
    """What the cells of a workbook refer to: texts and styles; and how many cells its text has room for."""

    texts: list[str]
    styles: CellStyles
    most: int


@dataclass
class _Sheet:
    """What is gathered while a sheet is read."""

    rows: dict[int, dict[int, str]] = field(default_factory=dict)
    hidden_columns: bytearray = field(default_factory=lambda: bytearray(_COLUMNS + 1))
    merged: list[tuple[int, int]] = field(default_factory=list)  # cells in the colour of their fill
    filled: list[_Area] = field(default_factory=list)  # what may have another fill than its cells say
    cells: int = 0


def write_sheet(writer: TextWriter, package: Package, part: str, strings: Strings) -> None:
    """The cells of a sheet without columns that are empty on all of it, then what is printed on its pages.

    Raises DocumentError.
    """
    sheet, number, printed = _Sheet(), 0, dict[str, None]()  # a header may be the same on all kinds of pages
    for table in package.related(part, "table"):
        sheet.filled += _areas(package.xml(table).get("ref", ""))
    for element in package.elements(part, S + "col", S + "row", S + "conditionalFormatting", *_PRINTED):
        if element.tag == S + "row":
            number = whole_number(element.get("r"), number + 1)
            _read_row(writer, sheet, element, number, strings)
        elif element.tag == S + "col":
            _read_column(sheet, element)
        elif element.tag in _PRINTED:
            printed |= dict.fromkeys(_printed(element.text or ""))
        else:
            sheet.filled += _areas(element.get("sqref", ""))
    _hide_merged(writer, sheet)
    _write(writer, sheet.rows)
    for text in printed:
        writer.block(text)


def text_runs(item: etree._Element | None) -> Iterator[str]:
    """The text of plain or rich text; phonetic hints (rPh) are not part of it."""
    for child in () if item is None else item:
        if child.tag == S + "t":
            yield child.text or ""
        elif child.tag == S + "r":
            yield from (text.text or "" for text in child.iterchildren(S + "t"))


def _printed(code: str) -> Iterator[str]:
    """The left, middle and right of a header, without what Excel fills in, such as the number of the page."""
    for piece in re.split("&[LCR]", code):
        if not _FILLED_IN.search(piece):
            yield " ".join(_CODES.sub(" ", piece).replace("&&", "&").split())


def _read_column(sheet: _Sheet, element: etree._Element) -> None:
    first = whole_number(element.get("min"), 1)
    last = min(whole_number(element.get("max"), first), _COLUMNS)
    if first <= last and (element.get("hidden") in _TRUE or _is_zero(element.get("width"))):
        sheet.hidden_columns[first : last + 1] = b"\1" * (last + 1 - first)


def _read_row(writer: TextWriter, sheet: _Sheet, row: etree._Element, number: int, strings: Strings) -> None:
    hidden = row.get("hidden") in _TRUE or _is_zero(row.get("ht"))
    shown, unseen = dict[int, str](), dict[str, dict[int, str]]()
    column = 0
    for cell in row.iterchildren(S + "c"):
        column = column_number(cell.get("r", "")) or column + 1
        text = _text(cell, strings)
        if not text:
            continue
        kind = strings.styles.of(cell.get("s")).hides
        if hidden or (column <= _COLUMNS and sheet.hidden_columns[column]):
            kind = "hidden_row"
        if kind == "same_colour":
            sheet.merged.append((number, column))
        if kind in {None, "same_colour"}:
            shown[column] = text
        else:
            unseen.setdefault(kind or "", {})[column] = text
    for kind, cells in unseen.items():
        shown |= {} if writer.hide(kind, " ".join(cells.values())) else cells
    if shown:
        sheet.rows.setdefault(number, {}).update(shown)
        sheet.cells += len(shown)
    if sheet.cells > strings.most:
        raise DocumentError(Failure.TOO_LARGE, f"a sheet has more than {strings.most:,} cells with text")


def _is_zero(size: str | None) -> bool:
    return size is not None and bool(re.fullmatch(r"0*(\.0*)?", size.strip() or "1"))


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


def _hide_merged(writer: TextWriter, sheet: _Sheet) -> None:
    """Cells in the colour of their fill; too many to compare with what else may fill them count as seen."""
    if len(sheet.merged) * len(sheet.filled) > _COMPARED:
        return
    for row, column in sheet.merged:
        if any(top <= row <= bottom and left <= column <= right for top, left, bottom, right in sheet.filled):
            continue
        text = sheet.rows[row].get(column)
        if text and writer.hide("same_colour", text):
            del sheet.rows[row][column]


def _areas(references: str) -> Iterator[_Area]:
    """The areas of "A1:B5 C3": top, left, bottom and right."""
    for reference in references.split():
        first, _, last = reference.partition(":")
        (top, left), (bottom, right) = _place(first), _place(last or first)
        yield top, left, bottom, right


def _place(address: str) -> tuple[int, int]:
    row = _DIGITS.search(address)
    return whole_number(row[0] if row else None, 0), column_number(address)


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
