"""Excel workbooks (SpreadsheetML, ISO/IEC 29500-1, 18): each sheet a page with its name as heading, then its rows.

Cells are read as they come, so that one cell at XFD1048576 costs one cell. Columns that are empty on the whole sheet
are left out. Values are the stored ones: formulas' results, numbers at full precision, dates and times in ISO form.
"""

from collections.abc import Iterator

from lxml import etree

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse.formats.base import Source, finish
from pipeline.parse.office.cells import Styles, column_number, number_text
from pipeline.parse.office.drawing import R, write_shapes
from pipeline.parse.office.embedded import add_embedded
from pipeline.parse.office.package import LXML, Package, Relation, whole_number
from pipeline.parse.writer import TextWriter

PARSER = f"xlsx/1 {LXML}"
S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_Rows = dict[int, dict[int, str]]


def parse(source: Source, media_type: str) -> Parsed:
    """The workbook; raises DocumentError."""
    package, writer = Package(source.data), source.writer()
    workbook = package.xml(package.main)
    relations = package.relations(package.main)
    strings = [text for part in package.related(package.main, "sharedStrings") for text in _strings(package, part)]
    styles = Styles(package, workbook)
    empty = True
    for sheet in workbook.iterfind(f"{S}sheets/{S}sheet"):
        writer.page()
        writer.block(sheet.get("name", ""))
        before = writer.length
        _write_sheet(writer, package, relations.get(sheet.get(R + "id", "")), strings, styles)
        empty = empty and writer.length == before
    if empty:  # names of sheets are no content
        failure = Failure.NEEDS_OCR if package.count("media") else Failure.EMPTY
        raise DocumentError(failure, "its sheets hold no text")
    return finish(source, writer, media_type, PARSER, notes=add_embedded(source.members, package))


def _write_sheet(
    writer: TextWriter, package: Package, relation: Relation | None, strings: list[str], styles: Styles
) -> None:
    if relation is None or not package.has(relation.target):
        raise DocumentError(Failure.CORRUPT, "one of its sheets is missing")
    root = package.xml(relation.target)
    _write_rows(writer, _rows(root, strings, styles))
    persons = _persons(package)
    for part in package.related(relation.target, "drawing"):
        write_shapes(writer, package, part, package.xml(part))
    for kind in ("comments", "threadedComment"):
        for part in package.related(relation.target, kind):
            _write_comments(writer, package.xml(part), persons)


def _rows(root: etree._Element, strings: list[str], styles: Styles) -> _Rows:
    rows: _Rows = {}
    row_number = 0
    for row in root.iterfind(f"{S}sheetData/{S}row"):
        row_number = _place(row.get("r"), row_number)
        column, cells = 0, {}
        for cell in row.iterchildren(S + "c"):
            column = column_number(cell.get("r", "")) or column + 1
            if text := _cell(cell, strings, styles):
                cells[column] = text
        if cells:
            rows.setdefault(row_number, {}).update(cells)
    return rows


def _place(reference: str | None, before: int) -> int:
    return whole_number(reference, before + 1)


def _cell(cell: etree._Element, strings: list[str], styles: Styles) -> str:
    kind, value = cell.get("t", "n"), str(cell.findtext(S + "v", ""))
    if kind == "inlineStr":
        return "".join(_runs(cell.find(S + "is")))
    if kind == "s":
        return _shared(value, strings)
    if kind == "b":
        return {"1": "TRUE", "0": "FALSE"}.get(value, value)
    return number_text(value, styles.kind_of(cell.get("s")), styles.epoch) if kind == "n" else value


def _shared(value: str, strings: list[str]) -> str:
    if not value:
        return ""
    place = whole_number(value, len(strings))
    if place >= len(strings):
        raise DocumentError(Failure.CORRUPT, f"a cell refers to text {value[:20]}, which there is not")
    return strings[place]


def _write_rows(writer: TextWriter, rows: _Rows) -> None:
    columns = sorted({column for cells in rows.values() for column in cells})
    before = None
    for number in sorted(rows):
        if before is not None and number > before + 1:
            writer.gap()
        writer.row(rows[number].get(column, "") for column in columns)
        before = number
    writer.gap()


def _write_comments(writer: TextWriter, root: etree._Element, persons: dict[str, str]) -> None:
    authors = {str(place): author.text or "" for place, author in enumerate(root.iter(S + "author"))}
    for comment in root.iter(S + "comment"):
        author = authors.get(comment.get("authorId", ""), "")
        writer.block(f"Comment ({comment.get('ref', '')}, {author}): {''.join(_runs(comment.find(S + 'text')))}")
    for comment in root.iter("{*}threadedComment"):
        author = persons.get(comment.get("personId", ""), "")
        writer.block(f"Comment ({comment.get('ref', '')}, {author}): {comment.findtext('{*}text', '')}")


def _persons(package: Package) -> dict[str, str]:
    persons = [one for part in package.related(package.main, "person") for one in package.xml(part).iter("{*}person")]
    return {person.get("id", ""): person.get("displayName", "") for person in persons}


def _strings(package: Package, part: str) -> Iterator[str]:
    for item in package.xml(part).iterchildren(S + "si"):
        yield "".join(_runs(item))


def _runs(item: etree._Element | None) -> Iterator[str]:
    """The text of plain or rich text; phonetic hints (rPh) are not part of it."""
    for child in () if item is None else item:
        if child.tag == S + "t":
            yield child.text or ""
        elif child.tag == S + "r":
            yield from (text.text or "" for text in child.iterchildren(S + "t"))
