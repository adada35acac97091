"""XML of Excel 2003 (SpreadsheetML, "urn:schemas-microsoft-com:office:spreadsheet"), as the parts of a package.

Sheets, columns, rows and cells keep what hides them: marks, widths, formats, colours, merged neighbours.
"""

import re
from collections.abc import Iterator

from lxml import etree

from pipeline.parse.markup.reading import local_name, whole_number

_OLD = "{urn:schemas-microsoft-com:office:spreadsheet}"
ROOT = _OLD + "Workbook"
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_EXCEL = "{urn:schemas-microsoft-com:office:excel}"
_HIDDEN = {"SheetHidden": "hidden", "SheetVeryHidden": "veryHidden"}
_FORMATS = {
    "General Number": "General", "Fixed": "0.00", "Standard": "#,##0.00", "Percent": "0.00%", "Scientific": "0.00E+00",
    **dict.fromkeys(("Short Date", "Medium Date", "Long Date"), "yyyy-mm-dd"), "General Date": "yyyy-mm-dd hh:mm",
    "Short Time": "hh:mm", "Medium Time": "hh:mm", "Long Time": "hh:mm:ss", "Yes/No": '"Yes";"Yes";"No"',
    "True/False": '"True";"True";"False"', "On/Off": '"On";"On";"Off"',
}  # fmt: skip
_CONSTANT = re.compile(r"=[\d.+\-*/() ]+")  # others name cells in another way than formulas of today
_CUSTOM = 164  # the first number of a format that is no built-in one
_MOST = 1 << 20  # rows that one element may stand for


def parts_of(root: etree._Element) -> Iterator[tuple[str, str, str, etree._Element | bytes]]:
    """The parts of the package: name, the part that relates to it, kind of relation, content; the main one is first."""
    styles, sheets = _Styles(root), list(root.iterchildren(_OLD + "Worksheet"))
    book = etree.Element(f"{{{_MAIN}}}workbook", nsmap={None: _MAIN, "r": _OFFICE})
    listed = _in(book, "sheets")
    for number, sheet in enumerate(sheets, start=1):
        visible = sheet.findtext(f"{_EXCEL}WorksheetOptions/{_EXCEL}Visible", "")
        said = {"state": _HIDDEN[visible]} if visible in _HIDDEN else {}
        entry = _in(listed, "sheet", name=sheet.get(_OLD + "Name", ""), sheetId=str(number), **said)
        entry.set(f"{{{_OFFICE}}}id", f"sheet{number}")
    main = "xl/workbook.xml"
    yield main, "", "officeDocument", book
    yield "xl/styles.xml", main, "styles", styles.root
    for number, sheet in enumerate(sheets, start=1):
        part, comments = f"xl/worksheets/sheet{number}.xml", etree.Element(f"{{{_MAIN}}}comments", nsmap={None: _MAIN})
        yield part, main, "worksheet", _sheet(sheet, styles, comments)
        yield f"xl/comments{number}.xml", part, "comments", comments


class _Styles:
    """The styles of the cells by their names, and the part that holds them by number."""

    def __init__(self, book: etree._Element) -> None:
        self.root = etree.Element(f"{{{_MAIN}}}styleSheet", nsmap={None: _MAIN})
        self._formats, self._fonts, self._fills, self._cells = (
            _in(self.root, name) for name in ("numFmts", "fonts", "fills", "cellXfs")
        )
        self._numbers: dict[str, str] = {}
        found = {one.get(_OLD + "ID", ""): one for one in book.iterfind(f"{_OLD}Styles/{_OLD}Style")}
        for name in ["Default", *(name for name in found if name != "Default")]:
            self._add(name, found)

    def number(self, name: str | None) -> str:
        """The number of a style; that of the usual one for a name that is none."""
        return self._numbers.get(name or "", "0")

    def _add(self, name: str, found: dict[str, etree._Element]) -> None:
        number = str(len(self._numbers))
        self._numbers[name] = number
        font, fill, code = ({}, {}, "") if name not in found else (
            _said(name, "Font", found), _said(name, "Interior", found),
            _said(name, "NumberFormat", found).get("Format", ""),
        )  # fmt: skip
        letters = _in(self._fonts, "font")
        if "Color" in font:
            _in(letters, "color", rgb="FF" + font["Color"].lstrip("#"))
        if "Size" in font:
            _in(letters, "sz", val=font["Size"])
        pattern = _in(_in(self._fills, "fill"), "patternFill", patternType="solid" if "Color" in fill else "none")
        if "Color" in fill:
            _in(pattern, "fgColor", rgb="FF" + fill["Color"].lstrip("#"))
        if code:
            _in(self._formats, "numFmt", numFmtId=str(_CUSTOM + int(number)), formatCode=_FORMATS.get(code, code))
        _in(self._cells, "xf", numFmtId=str(_CUSTOM + int(number)) if code else "0", fontId=number, fillId=number,
            applyNumberFormat="1", applyFont="1", applyFill="1")  # fmt: skip


def _said(name: str, kind: str, styles: dict[str, etree._Element]) -> dict[str, str]:
    """What a style says of one kind, its own before that of its parents and of the usual style."""
    chain = dict[str, None]()
    while name in styles and name not in chain:
        chain[name] = None
        name = styles[name].get(_OLD + "Parent", "")
    said: dict[str, str] = {}
    for one in [*chain, "Default"]:
        own = styles[one].find(_OLD + kind) if one in styles else None
        for key, value in own.attrib.items() if own is not None else ():
            said.setdefault(local_name(str(key)), str(value))
    return said


def _sheet(sheet: etree._Element, styles: _Styles, comments: etree._Element) -> etree._Element:
    root = etree.Element(f"{{{_MAIN}}}worksheet", nsmap={None: _MAIN})
    table = sheet.find(_OLD + "Table")
    columns, rows, merged = (_in(root, name) for name in ("cols", "sheetData", "mergeCells"))
    printed = _in(root, "headerFooter")
    for name in ("Header", "Footer"):
        for one in sheet.iterfind(f"{_EXCEL}WorksheetOptions/{_EXCEL}PageSetup/{_EXCEL}{name}"):
            _in(printed, f"odd{name}").text = one.get(_EXCEL + "Data", "")
    if table is None:
        return root
    authors, at = _in(comments, "authors"), 0
    for column in table.iterchildren(_OLD + "Column"):
        first = whole_number(column.get(_OLD + "Index"), at + 1)
        at = first + whole_number(column.get(_OLD + "Span"), 0)
        hidden = column.get(_OLD + "Hidden") == "1" or _is_shut(column.get(_OLD + "Width"))
        _in(columns, "col", min=str(first), max=str(at), width="0" if hidden else "10", hidden=str(int(hidden)))
    at = 0
    for row in table.iterchildren(_OLD + "Row"):
        first = whole_number(row.get(_OLD + "Index"), at + 1)
        at = first + min(whole_number(row.get(_OLD + "Span"), 0), _MOST)
        said = {"hidden": "1"} if row.get(_OLD + "Hidden") == "1" else {}
        said |= {"ht": row.get(_OLD + "Height", "")} if row.get(_OLD + "Height") else {}
        made = _in(rows, "row", r=str(first), **said)
        for place, cell in _cells(row, first, merged):
            _fill(made, place, cell, styles.number(cell.get(_OLD + "StyleID") or row.get(_OLD + "StyleID")))
            for comment in cell.iterchildren(_OLD + "Comment"):
                _in(authors, "author").text = comment.get(_OLD + "Author", "")
                said_of = _in(comments, "comment", ref=place, authorId=str(len(authors) - 1))
                _in(_in(said_of, "text"), "t").text = "".join(map(str, comment.itertext()))
    return root


def _is_shut(width: str | None) -> bool:
    try:
        return width is not None and float(width) <= 1
    except ValueError:
        return False


def _cells(row: etree._Element, number: int, merged: etree._Element) -> Iterator[tuple[str, etree._Element]]:
    """The cells of a row with their places; those that are merged with others go to `merged`."""
    at = 0
    for cell in row.iterchildren(_OLD + "Cell"):
        at = whole_number(cell.get(_OLD + "Index"), at + 1)
        across, down = (whole_number(cell.get(_OLD + name), 0) for name in ("MergeAcross", "MergeDown"))
        place = f"{_letters(at)}{number}"
        if across or down:
            _in(merged, "mergeCell", ref=f"{place}:{_letters(at + across)}{number + down}")
        yield place, cell
        at += across


def _fill(row: etree._Element, place: str, old: etree._Element, style: str) -> None:
    """Add a cell: a number as one, a truth as 1 or 0, all else as the text that it is; a formula without places."""
    data = old.find(_OLD + "Data")
    if data is None:
        return
    cell, formula = _in(row, "c", r=place, s=style), old.get(_OLD + "Formula", "")
    kind, text = data.get(_OLD + "Type", "String"), "".join(map(str, data.itertext()))
    if _CONSTANT.fullmatch(formula):
        _in(cell, "f").text = formula[1:]
    if kind in {"Number", "Boolean", "Error"}:
        cell.set("t", {"Number": "n", "Boolean": "b", "Error": "e"}[kind])
        _in(cell, "v").text = text
    else:
        cell.set("t", "inlineStr")
        _in(_in(cell, "is"), "t").text = text.removesuffix("T00:00:00.000") if kind == "DateTime" else text


def _letters(column: int) -> str:
    """The name of a column: A, Z, AA."""
    name = ""
    while column > 0:
        column, place = divmod(column - 1, 26)
        name = chr(ord("A") + place) + name
    return name


def _in(parent: etree._Element, tag: str, /, **said: str) -> etree._Element:
    return etree.SubElement(parent, f"{{{_MAIN}}}{tag}", said)
