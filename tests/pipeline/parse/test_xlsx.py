"""Excel: cells as they are stored and meant, without a grid that costs memory."""

import io
from datetime import date, datetime, time

import pytest
import python_calamine
import xlsxwriter

from pipeline.errors import Failure
from pipeline.parse.office.cells import column_number, number_text

S = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'


def workbook(fill, **options) -> bytes:
    file = io.BytesIO()
    with xlsxwriter.Workbook(file, options) as book:
        fill(book)
    return file.getvalue()


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
        " | 45000\n | 0.3333333333333333\n | ab\n | #DIV/0!\n | two runs\n\n"
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
        str(int(v)) if isinstance(v, float) and v.is_integer() else str(v) for row in sheet.to_python() for v in row
    ]
    found = [cell.strip() for line in parse(data).text.splitlines()[2:] for cell in line.split(" | ")]
    assert [cell for cell in found if cell] == [cell for cell in expected if cell]


def test_names_of_sheets_are_no_content(fail) -> None:
    assert fail(workbook(lambda book: book.add_worksheet("A name"))).failure is Failure.EMPTY


def test_a_missing_text_is_corrupt(fail, office, rels) -> None:
    parts = {
        "xl/workbook.xml": f"<workbook {S} {R}><sheets><sheet name='A' r:id='rId1'/></sheets></workbook>",
        "xl/_rels/workbook.xml.rels": rels(("worksheet", "sheet.xml")),
        "xl/sheet.xml": f"<worksheet {S}><sheetData><row><c t='s'><v>7</v></c></row></sheetData></worksheet>",
    }
    assert fail(office("xlsx", parts)).failure is Failure.CORRUPT
