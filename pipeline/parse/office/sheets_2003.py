"""XML of Excel 2003 (SpreadsheetML, "urn:schemas-microsoft-com:office:spreadsheet"), as the parts of a package.

Sheets, columns, rows and cells keep what hides them: marks, widths, formats, colours, merged neighbours.
"""

import re
from collections.abc import Iterator

from lxml import etree

from pipeline.parse.markup.reading import decimal, local_name, whole_number
from pipeline.parse.office.cells import column_letters

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
    (styles, style_sheet), sheets = _styles(root), list(root.iterchildren(_OLD + "Worksheet"))
    book = etree.Element(f"{{{_MAIN}}}workbook", nsmap={None: _MAIN, "r": _OFFICE})
    listed = _in(book, "sheets")
    for number, sheet in enumerate(sheets, start=1):
        visible = sheet.findtext(f"{_EXCEL}WorksheetOptions/{_EXCEL}Visible", "")
        said = {"state": _HIDDEN[visible]} if visible in _HIDDEN else {}
        entry = _in(listed, "sheet", name=sheet.get(_OLD + "Name", ""), sheetId=str(number), **said)
        entry.set(f"{{{_OFFICE}}}id", f"sheet{number}")
    main = "xl/workbook.xml"
    yield main, "", "officeDocument", book
    yield "xl/styles.xml", main, "styles", style_sheet
    for number, sheet in enumerate(sheets, start=1):
        part, comments = f"xl/worksheets/sheet{number}.xml", etree.Element(f"{{{_MAIN}}}comments", nsmap={None: _MAIN})
        yield part, main, "worksheet", _sheet(sheet, styles, comments)
        yield f"xl/comments{number}.xml", part, "comments", comments


def _styles(book: etree._Element) -> tuple[dict[str, str], etree._Element]:
    """The numbers of the styles of cells by their names, and the part that holds the styles."""
    root, numbers = etree.Element(f"{{{_MAIN}}}styleSheet", nsmap={None: _MAIN}), dict[str, str]()
    formats, fonts, fills, cells = (_in(root, name) for name in ("numFmts", "fonts", "fills", "cellXfs"))
    found = {one.get(_OLD + "ID", ""): one for one in book.iterfind(f"{_OLD}Styles/{_OLD}Style")}
    for place, name in enumerate(["Default", *(name for name in found if name != "Default")]):
        number = numbers[name] = str(place)
        font, fill, said = (
            _said(name, kind, found) if name in found else {} for kind in ("Font", "Interior", "NumberFormat")
        )
        code, letters = said.get("Format", ""), _in(fonts, "font")
        if "Color" in font:
            _in(letters, "color", rgb="FF" + font["Color"].lstrip("#"))
        if "Size" in font:
            _in(letters, "sz", val=font["Size"])
        pattern = _in(_in(fills, "fill"), "patternFill", patternType="solid" if "Color" in fill else "none")
        if "Color" in fill:
            _in(pattern, "fgColor", rgb="FF" + fill["Color"].lstrip("#"))
        format_number = str(_CUSTOM + place) if code else "0"
        if code:
            _in(formats, "numFmt", numFmtId=format_number, formatCode=_FORMATS.get(code, code))
        _in(cells, "xf", numFmtId=format_number, fontId=number, fillId=number,
            applyNumberFormat="1", applyFont="1", applyFill="1")  # fmt: skip
    return numbers, root


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


def _sheet(sheet: etree._Element, styles: dict[str, str], comments: etree._Element) -> etree._Element:
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
        width = decimal(column.get(_OLD + "Width"))
        hidden = column.get(_OLD + "Hidden") == "1" or (width is not None and width <= 1)
        _in(columns, "col", min=str(first), max=str(at), width="0" if hidden else "10", hidden=str(int(hidden)))
    at = 0
    for row in table.iterchildren(_OLD + "Row"):
        first = whole_number(row.get(_OLD + "Index"), at + 1)
        at = first + min(whole_number(row.get(_OLD + "Span"), 0), _MOST)
        said = {"hidden": "1"} if row.get(_OLD + "Hidden") == "1" else {}
        said |= {"ht": row.get(_OLD + "Height", "")} if row.get(_OLD + "Height") else {}
        made, end = _in(rows, "row", r=str(first), **said), 0
        for cell in row.iterchildren(_OLD + "Cell"):
            start = whole_number(cell.get(_OLD + "Index"), end + 1)
            across, down = (whole_number(cell.get(_OLD + name), 0) for name in ("MergeAcross", "MergeDown"))
            place, end = f"{column_letters(start)}{first}", start + across
            if across or down:
                _in(merged, "mergeCell", ref=f"{place}:{column_letters(end)}{first + down}")
            _fill(made, place, cell, styles.get(cell.get(_OLD + "StyleID") or row.get(_OLD + "StyleID") or "", "0"))
            for comment in cell.iterchildren(_OLD + "Comment"):
                _in(authors, "author").text = comment.get(_OLD + "Author", "")
                said_of = _in(comments, "comment", ref=place, authorId=str(len(authors) - 1))
                _in(_in(said_of, "text"), "t").text = "".join(map(str, comment.itertext()))
    return root


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


def _in(parent: etree._Element, tag: str, /, **said: str) -> etree._Element:
    return etree.SubElement(parent, f"{{{_MAIN}}}{tag}", said)
