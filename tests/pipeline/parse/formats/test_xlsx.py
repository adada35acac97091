"""Excel: cells as they are stored and meant, without a grid that costs memory."""

import io
import zipfile
from collections.abc import Callable
from datetime import date, datetime, time

import pytest
import python_calamine
import xlsxwriter

from pipeline.document import Hidden
from pipeline.errors import Failure
from pipeline.parse.office.cells import column_number, number_text
from pipeline.parse.options import Options

S = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'


def workbook(fill, **options) -> bytes:
    file = io.BytesIO()
    with xlsxwriter.Workbook(file, options) as book:
        fill(book)
    return file.getvalue()


@pytest.fixture
def one_sheet(office, rels) -> Callable[..., bytes]:
    """one_sheet("<sheetData/>", styles="s.xml", **parts) -> a workbook of a sheet "A", in parts of its own"""

    def one_sheet(inside: str, related: dict[str, str] | None = None, **parts: str) -> bytes:
        book = {
            "xl/workbook.xml": f"<workbook {S} {R}><sheets><sheet name='A' r:id='rId1'/></sheets></workbook>",
            "xl/_rels/workbook.xml.rels": rels(("worksheet", "sheet.xml"), *(related or {}).items()),
            "xl/sheet.xml": f"<worksheet {S}>{inside}</worksheet>",
        }
        return office("xlsx", book | {f"xl/{name}": part for name, part in parts.items()})

    return one_sheet


def everything(book: xlsxwriter.Workbook) -> None:
    sheet = book.add_worksheet("Übersicht")
    formats = {name: book.add_format({"num_format": code}) for name, code in {
        "date": "dd.mm.yyyy", "moment": "yyyy-mm-dd hh:mm", "time": "hh:mm:ss",
        "money": '#,##0.00 "days"', "span": "[h]:mm",
    }.items()}  # fmt: skip
    sheet.write_row(0, 0, ["name", "when", 1.5, 2, True])
    sheet.write_datetime(1, 1, date(2026, 11, 20), formats["date"])
    sheet.write_datetime(2, 1, datetime(2026, 11, 20, 13, 30), formats["moment"])
    sheet.write_datetime(3, 1, time(13, 30), formats["time"])
    sheet.write_number(4, 1, 1.25, formats["span"])
    sheet.write_number(5, 1, 45000, formats["money"])
    sheet.write_formula(6, 1, "=1/3", None, 1 / 3)
    sheet.write_formula(7, 1, '="a"&"b"', None, "ab")
    sheet.write_formula(8, 1, "=1/0", None, "#DIV/0!")
    sheet.write_rich_string(9, 1, "two ", book.add_format({"bold": True}), "runs")
    sheet.write_comment(9, 1, "look here", {"author": "Ann"})
    sheet.insert_textbox(12, 1, "in a box")
    book.add_worksheet("Empty")
    sums = book.add_worksheet("Sums")
    sums.write(20, 5, "far away")
    chart = book.add_chart({"type": "column"})
    chart.add_series({"values": "=Sums!$A$1:$A$2", "name": "Series name"})
    chart.set_title({"name": "Chart title"})
    sums.insert_chart("A1", chart)


def test_a_workbook_of_excel(parse) -> None:
    parsed = parse(workbook(everything))
    assert parsed.media_type == "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
    pages = [parsed.text[a:b] for a, b in zip(parsed.page_starts, [*parsed.page_starts[1:], None], strict=True)]
    assert pages[0] == (
        "Übersicht\n\nname | when | 1.5 | 2 | TRUE\n | 2026-11-20\n | 2026-11-20 13:30:00\n | 13:30:00\n | 30:00:00\n"
        " | 45,000.00 days\n | 0.333333333333333\n | ab\n | #DIV/0!\n | two runs\n\n"
        "in a box\n\nComment (B10, Ann): look here\n\n"
    )
    assert pages[1] == "Empty\n\n"
    assert pages[2].startswith("Sums\n\nfar away\n\n")
    assert "Chart title" in pages[2]
    assert "Series name" in pages[2]


def test_dates_since_1904(parse) -> None:
    def fill(book: xlsxwriter.Workbook) -> None:
        book.add_worksheet().write_datetime(0, 0, date(2026, 11, 20), book.add_format({"num_format": "yyyy-mm-dd"}))

    assert parse(workbook(fill, date_1904=True)).text == "Sheet1\n\n2026-11-20"


@pytest.mark.parametrize(
    ("stored", "kind", "text"),
    [
        ("1", "date", "1900-01-01"), ("59", "date", "1900-02-28"), ("61", "date", "1900-03-01"),
        ("0.5", "time", "12:00:00"), ("45000.5", "date", "2023-03-15 12:00:00"), ("-1", "date", "-1"),
        ("1e300", "date", "1e+300"), ("0.1", "", "0.1"), ("1E2", "", "100"), ("1e22", "", "1e+22"), ("x", "", "x"),
        ("nan", "", "nan"), ("inf", "date", "inf"), ("nan", "date", "nan"), ("2958465", "date", "9999-12-31"),
    ],
)  # fmt: skip
def test_numbers(stored: str, kind: str, text: str) -> None:
    assert number_text(stored, kind, 0) == text


def test_addresses() -> None:
    found = [column_number(one) for one in ("A1", "Z9", "AA7", "XFD1048576", "", "7", "A")]
    assert found == [1, 26, 27, 16384, 0, 0, 0]


def test_one_cell_in_the_last_corner_costs_one_cell(parse) -> None:
    def fill(book: xlsxwriter.Workbook) -> None:
        book.add_worksheet("A").write_row(0, 0, ["first", "second"])
        book.get_worksheet_by_name("A").write(1048575, 16383, "corner")

    assert parse(workbook(fill)).text == "A\n\nfirst | second\n\n |  | corner"


def test_the_same_words_as_calamine_finds(parse) -> None:
    """Another reader as the oracle, on a sheet without dates."""

    def fill(book: xlsxwriter.Workbook) -> None:
        sheet = book.add_worksheet()
        for row in range(40):
            sheet.write_row(row, 0, [f"r{row}", row * 1.1, row, "", "x y" if row % 3 else None])

    data = workbook(fill)
    sheet = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data)).get_sheet_by_index(0)
    expected = [
        str(int(v)) if isinstance(v, float) and v.is_integer() else f"{v:.15g}" if isinstance(v, float) else str(v)
        for row in sheet.to_python()
        for v in row
    ]
    found = [cell.strip() for line in parse(data).text.splitlines()[2:] for cell in line.split(" | ")]
    assert [cell for cell in found if cell] == [cell for cell in expected if cell]


def test_names_of_sheets_are_no_content(fail) -> None:
    assert fail(workbook(lambda book: book.add_worksheet("A name"))).failure is Failure.EMPTY


def test_a_missing_text_is_corrupt(fail, one_sheet) -> None:
    data = one_sheet("<sheetData><row><c t='s'><v>7</v></c></row></sheetData>")
    assert fail(data).failure is Failure.CORRUPT


def by_rule(parse_members, data: bytes):
    """The document with what is hidden dropped, and with it kept."""
    return parse_members(data)[0], parse_members(data, options=Options(hidden="keep"))[0]


def test_hidden_sheets_are_empty_pages_by_the_rule(parse_members) -> None:
    def fill(book: xlsxwriter.Workbook) -> None:
        for name in ("A", "B", "C", "D"):
            book.add_worksheet(name).write(0, 0, name.lower())
        book.get_worksheet_by_name("B").hide()
        book.get_worksheet_by_name("B").write_comment(0, 0, "remark")
        book.get_worksheet_by_name("B").set_row(0, None, None, {"hidden": True})
        book.get_worksheet_by_name("C").very_hidden()

    dropped, kept = by_rule(parse_members, workbook(fill))
    assert dropped.text == "A\n\na\n\nD\n\nd"
    assert (dropped.page_of(6), [one.title for one in dropped.sections]) == (4, ["A", "D"])
    assert kept.text.replace(", ", "") == "A\n\na\n\nB\n\nb\n\nComment (A1): remark\n\nC\n\nc\n\nD\n\nd"
    assert dropped.hidden == kept.hidden == (Hidden("hidden_sheet", len("BbComment(A1,):remarkCc")),)


def test_a_workbook_that_is_hidden_as_a_whole_is_empty(fail) -> None:
    def fill(book: xlsxwriter.Workbook) -> None:
        book.add_worksheet("A")
        book.add_worksheet("B").write(0, 0, "secret")
        book.get_worksheet_by_name("B").hide()

    error = fail(workbook(fill))
    assert error.failure is Failure.EMPTY
    assert "7 characters of hidden text" in error.reason


def test_hidden_rows_and_columns(parse_members) -> None:
    def fill(book: xlsxwriter.Workbook) -> None:
        sheet = book.add_worksheet("A")
        for row in range(5):
            sheet.write_row(row, 0, [f"{column}{row}" for column in "abc"])
        sheet.set_row(1, None, None, {"hidden": True})
        sheet.set_row(2, 0)
        sheet.set_column(1, 1, None, None, {"hidden": True})
        sheet.autofilter(0, 0, 4, 2)
        sheet.filter_column(0, "x == a4")
        sheet.set_row(3, None, None, {"hidden": True})

    dropped, kept = by_rule(parse_members, workbook(fill))
    assert dropped.text == "A\n\na0 | c0\n\na4 | c4"
    assert kept.text == "A\n\n" + "\n".join(f"a{row} | b{row} | c{row}" for row in range(5))
    assert dropped.hidden == kept.hidden == (Hidden("hidden_row", 2 * (3 * 3 + 2)),)


@pytest.mark.parametrize(
    ("looks", "kind"),
    [
        ({"num_format": ";;;"}, "marked_hidden"),
        ({"num_format": "0;;"}, None),
        ({"font_color": "white"}, "same_colour"),
        ({"font_color": "#FAFAFA"}, "same_colour"),
        ({"font_color": "white", "bg_color": "navy"}, None),
        ({"font_color": "navy", "bg_color": "navy"}, "same_colour"),
        ({"font_color": "white", "bg_color": "navy", "pattern": 5}, None),
        ({"font_size": 1}, "tiny"),
        ({}, None),
    ],
)
def test_cells_that_nobody_sees(parse_members, looks: dict, kind: str | None) -> None:
    def fill(book: xlsxwriter.Workbook) -> None:
        book.add_worksheet("A").write_row(0, 0, ["seen", "x"])
        book.get_worksheet_by_name("A").write(0, 1, 42, book.add_format(looks))

    dropped, kept = by_rule(parse_members, workbook(fill))
    assert kept.text == "A\n\nseen | 42"
    assert dropped.text == ("A\n\nseen" if kind else kept.text)
    assert dropped.hidden == kept.hidden == ((Hidden(kind, 2),) if kind else ())


def test_white_text_where_something_else_may_fill_the_cell(parse) -> None:
    def fill(book: xlsxwriter.Workbook) -> None:
        white, sheet = book.add_format({"font_color": "white"}), book.add_worksheet("A")
        for row in range(4):
            sheet.write_row(row, 0, [f"a{row}", f"b{row}", f"c{row}"], white)
        navy = book.add_format({"bg_color": "navy"})
        sheet.conditional_format("A1:A2", {"type": "no_blanks", "format": navy, "multi_range": "A1:A2 C4"})
        sheet.add_table("B1:B3", {"columns": [{"header": "b0", "header_format": white}]})

    parsed = parse(workbook(fill))
    assert parsed.text == "A\n\na0 | b0\na1 | b1\n | b2\n |  | c3"
    assert parsed.hidden == (Hidden("same_colour", 2 * 6),)


def test_colours_of_the_theme(parse, one_sheet) -> None:
    a = "http://schemas.openxmlformats.org/drawingml/2006/main"
    fonts = "".join(f"<font><color {said}/></font>" for said in ("theme='0'", "theme='1'", "theme='0' tint='-0.5'"))
    styles = "".join(f"<xf fontId='{number}'/>" for number in range(3)) + "<xf fontId='9' fillId='9'/>"
    cells = "".join(f"<c s='{number}'><v>{number}</v></c>" for number in range(5))
    parts = {
        "theme.xml": f"<a:theme xmlns:a='{a}'><a:clrScheme><a:dk1><a:sysClr lastClr='000000'/></a:dk1><a:lt1>"
        "<a:srgbClr val='FFFFFF'/></a:lt1></a:clrScheme></a:theme>",
        "s.xml": f"<styleSheet {S}><fonts>{fonts}</fonts><cellXfs>{styles}</cellXfs></styleSheet>",
    }
    data = one_sheet(f"<sheetData><row>{cells}</row></sheetData>", {"styles": "s.xml", "theme": "theme.xml"}, **parts)
    assert (parse(data).text, parse(data).hidden) == ("A\n\n1 | 2 | 3 | 4", (Hidden("same_colour", 1),))


def test_what_is_printed_around_a_sheet(parse) -> None:
    def fill(book: xlsxwriter.Workbook) -> None:
        sheet = book.add_worksheet("A")
        sheet.write(0, 0, "x")
        sheet.set_header('&L&"Arial,Bold"&12&KFF0000R&&D report&CPage &P of &N&R&D')
        sheet.set_footer("&CConfidential")

    assert parse(workbook(fill)).text == "A\n\nx\n\nR&D report\n\nConfidential"


def test_threads_of_comments_come_once(parse, one_sheet, rels) -> None:
    threads = "http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments"
    parts = {
        "person.xml": f"<personList xmlns='{threads}'><person id='p' displayName='Ann'/></personList>",
        "_rels/sheet.xml.rels": rels(("comments", "c.xml"), ("threadedComment", "t.xml")),
        "c.xml": f"<comments {S}><authors><author>tc={{1}}</author><author>Bob</author></authors><commentList>"
        "<comment ref='A1' authorId='0'><text><t>Your version of Excel</t></text></comment>"
        "<comment ref='A2' authorId='1'><text><t>old</t></text></comment></commentList></comments>",
        "t.xml": f"<ThreadedComments xmlns='{threads}'><threadedComment ref='A1' id='{{1}}' personId='p'>"
        "<text>why?</text></threadedComment></ThreadedComments>",
    }
    data = one_sheet("<sheetData/>", {"person": "person.xml"}, **parts)
    assert parse(data).text == "A\n\nComment (A2, Bob): old\n\nComment (A1, Ann): why?"


def test_wide_and_sparse_rows_stay_in_proportion(parse) -> None:
    """A row over all columns, then rows with a cell at its end: the text does not grow with what is empty."""

    def fill(book: xlsxwriter.Workbook) -> None:
        sheet = book.add_worksheet("A")
        sheet.write_row(0, 0, [1] * 16_384)
        for row in range(1, 1000):
            sheet.write(row, 16_383, row)

    lines = parse(workbook(fill)).text.splitlines()
    assert len(lines) == 2 + 1000
    assert lines[-1] == " | " * 50 + "999"


DRAWN = "charts and text boxes that show something else than their cells: "


def charted(cells: list[float], kept: list[float], name: str = "Sales") -> bytes:
    """A workbook with a chart over A1:A3 and a name in B1, that keeps other numbers."""

    def fill(made: xlsxwriter.Workbook) -> None:
        sheet = made.add_worksheet("A")
        sheet.write_column(0, 0, kept)
        sheet.write(0, 1, "Sales")
        chart = made.add_chart({"type": "column"})
        chart.add_series({"values": f"=A!$A$1:$A${len(kept)}", "name": "=A!$B$1"})
        sheet.insert_chart("D1", chart)

    def changed(part: str, text: str) -> str:
        for before, after in zip(kept, cells, strict=True):
            text = text.replace(f"<v>{before}</v>", f"<v>{after}</v>") if "worksheets" in part else text
        return text.replace("Sales", name) if "sharedStrings" in part else text

    return rewritten(workbook(fill), changed)


def rewritten(data: bytes, change: Callable[[str, str], str]) -> bytes:
    """A package with other texts in its parts."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(buffer, "w") as target:
        for name in source.namelist():
            target.writestr(name, change(name, source.read(name).decode()))
    return buffer.getvalue()


def test_charts_that_keep_other_numbers_than_their_cells(parse) -> None:
    assert parse(charted([100, 200, 300], [100, 200, 300])).unsure == ()
    assert parse(charted([100, 900, 300], [100, 200, 300])).unsure == (DRAWN + "1 (chart '200' of A!$A$1:$A$3)",)
    assert parse(charted([1], [1], name="Losses")).unsure == (DRAWN + "1 (chart 'Sales' of A!$B$1)",)


def test_text_boxes_that_show_a_cell(parse) -> None:
    def boxed(cell: float | str, text: str) -> tuple[str, ...]:
        def fill(made: xlsxwriter.Workbook) -> None:
            sheet = made.add_worksheet("A")
            sheet.write(0, 0, cell)
            sheet.insert_textbox(2, 2, text, {"textlink": "=A!$A$1"})

        return parse(workbook(fill)).unsure

    assert boxed(1000, "1,000.00 EUR") == boxed("approved", "approved") == boxed(46203, "30.06.2026") == ()
    assert boxed(9000, "1,000.00") == (DRAWN + "1 (text box '1,000.00' of A!$A$1)",)
    assert boxed("rejected", "approved") == (DRAWN + "1 (text box 'approved' of A!$A$1)",)
