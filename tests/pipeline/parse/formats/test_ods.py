"""OpenDocument spreadsheets: cells as they are stored, read sparsely."""

import io
import time

import pytest
import python_calamine

from pipeline.document import Hidden
from pipeline.errors import Failure
from pipeline.parse.office.cells import (
    column_letters,
    column_number,
    iso_duration,
    iso_moment,
    reads_as,
    reads_as_moment,
)
from pipeline.parse.office.odf.cells import a1_formula
from pipeline.parse.options import Options
from tests.pipeline.parse.odf import flat, opendocument

HIDDEN = (
    '<style:style style:name="off" style:family="table"><style:table-properties table:display="false"/></style:style>'
)


def cell(text: str = "", more: str = "", name: str = "table-cell") -> str:
    return f"<table:{name} {more}>{f'<text:p>{text}</text:p>' if text else ''}</table:{name}>"


def value(kind: str, stored: str, shown: str) -> str:
    name = {"date": "date", "time": "time", "boolean": "boolean"}.get(kind, "")
    return cell(shown, f'office:value-type="{kind}" office:{f"{name}-value" if name else "value"}="{stored}"')


def string(text: str) -> str:
    return cell(text, 'office:value-type="string"') if text else cell()


def row(*cells: str, more: str = "") -> str:
    return f"<table:table-row {more}>{''.join(cells)}</table:table-row>"


def sheet(*inside: str, name: str = "A", style: str = "") -> str:
    return f'<table:table table:name="{name}" table:style-name="{style}">{"".join(inside)}</table:table>'


def times(rows: int) -> str:
    return f'table:number-rows-repeated="{rows}"'


def across(columns: int) -> str:
    return f'table:number-columns-repeated="{columns}"'


def workbook(*sheets: str, **more: str | bytes) -> bytes:
    return opendocument("spreadsheet", "".join(sheets), automatic=HIDDEN, **more)


def test_numbers_are_read_as_shown_and_dates_in_iso_form(parse) -> None:
    values = [
        value("float", "1.50", "1,5"), value("float", "2", "2.00"), value("percentage", "0.25", "25%"),
        value("currency", "12.5", "12,50 €"), value("boolean", "true", "WAHR"), value("date", "2026-11-20", "20.11."),
        value("date", "2026-11-20T13:30:00.000000000", "x"), value("time", "PT13H30M00S", "13:30"),
        cell("#DIV/0!", 'office:value-type="string" office:string-value=""'),
        cell("", 'office:value-type="string" office:string-value="only stored"'),
        "<table:table-cell><text:p>two</text:p><text:p>lines</text:p></table:table-cell>", cell("100"),
    ]  # fmt: skip
    parsed = parse(workbook(sheet(*(row(one) for one in values))))
    assert parsed.text.split("\n")[2:] == [
        "1,5", "2.00", "25%", "12,50 €", "TRUE", "2026-11-20", "2026-11-20 13:30:00", "13:30:00", "#DIV/0!",
        "only stored", "two lines", "100",
    ]  # fmt: skip
    assert (parsed.notes, parsed.unsure) == ((), ())


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1.240,50 €", 1240.5), ("1,240.50 EUR", 1240.5), ("1 240,5", 1240.5), ("1'240.50", 1240.5),
        ("1.24E+03", 1240.5), ("7,25 %", 0.0725), ("19%", 0.19), ("3 Std.", 3), ("-5,00", -5), ("(5.00)", -5),
        ("\u22125", -5), ("5.00-", -5),
        ("-", 0), ("01234", 1234), ("1,000", 1), ("1.000", 1000), ("12.345.678", 12345678), ("1,4", 1.35), ("1/2", 0.5),
        ("2 3/4", 2.75), ("0711 123-45", 71112345), ("12,4 Mio.", 12_350_000), ("+49301234567", 49301234567), ("", 0),
        ("1.234567890123E+20", 123456789012300000000), ("120 m²", 120), ("9,99", 9.989),
    ],
)  # fmt: skip
def test_texts_that_show_a_number(text: str, number: float) -> None:
    assert reads_as(text, float(number))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,000.00", 987654), ("9000", 1000), ("5", -5), ("-5", 5), ("(5)", 5), ("none", 5), ("1,5", 15), ("19%", 19),
        ("12 (was 15)", 12), ("988", 987654), ("1 000 000", 1000), ("1.23E+05", 1230), ("1,00,00", 10000), ("1/3", 5),
        ("10.5", 10), ("1000.00", 1000.01), ("0", 1), ("9,000 EUR (5)", 9000),
    ],
)  # fmt: skip
def test_texts_that_show_another_number(text: str, number: float) -> None:
    assert not reads_as(text, float(number))


@pytest.mark.parametrize(
    ("text", "iso", "does"),
    [
        ("20.11.2026", "2026-11-20", True), ("20.11.26", "2026-11-20", True), ("Nov 20", "2026-11-20", True),
        ("", "2026-11-20", True),
        ("1:30 PM", "2026-11-20T13:30:00", True), ("20.11.2030", "2026-11-20", False),
        ("21.11.2026", "2026-11-20", False),
        ("25:30", "PT25H30M00S", True), ("90", "PT1H30M00S", True), ("1:45", "PT1H30M00S", False), ("soon", "", True),
    ],
)  # fmt: skip
def test_texts_that_show_a_moment(text: str, iso: str, does: bool) -> None:
    assert reads_as_moment(text, iso) is does


def test_a_date_that_says_another_day_is_for_a_person(parse) -> None:
    parsed = parse(workbook(sheet(row(value("date", "2026-11-20", "20.11.2030")))))
    assert parsed.text == "A\n\n2026-11-20"
    assert parsed.unsure == (
        "cells that show something else than their value: 1 (A!A1 shows 20.11.2030 of 2026-11-20)",
    )


def test_a_text_unlike_its_value_is_for_a_person(parse) -> None:
    said = 'office:value-type="string" office:string-value="rejected"'
    parsed = parse(workbook(sheet(row(value("float", "9000", "1,000.00"), cell("approved", said)), name="Bill")))
    assert parsed.text == "Bill\n\n1,000.00 | approved"
    assert parsed.unsure == (
        "cells that show something else than their value: 2 "
        "(Bill!A1 shows 1,000.00 of 9000; Bill!B1 shows approved of rejected)",
    )


def computed(formula: str, stored: str = "", shown: str = "") -> str:
    value = f'office:value-type="float" office:value="{stored}"' if stored else ""
    return cell(shown, f'table:formula="{formula}" {value}')


def test_formulas(parse) -> None:
    names = '<table:named-expressions><table:named-expression table:name="Rate" table:expression="of:=0.19"/>'
    names += (
        '<table:named-range table:name="Net" table:cell-range-address="$Bill.$A$1:.$A$1"/></table:named-expressions>'
    )
    first = sheet(
        row(value("float", "100", "100"), computed("of:=[.A1]*Rate")),
        row(computed("of:=SUM([.A1:.B1];[$&apos;Other One&apos;.A1])", "126", "126,00"),
            computed("of:=SUM(Net)", "100", "100")),
        row(computed("of:=1000", "987654", "987654"), computed("of:=VLOOKUP(1;[.A1:.B1];2)", "7", "7")), name="Bill",
    )  # fmt: skip
    parsed = parse(workbook(names, first, sheet(row(value("float", "7", "7")), name="Other One")))
    assert parsed.text == "Bill\n\n100 | 19\n126,00 | 100\n987654 | 7\n\nOther One\n\n7"
    assert parsed.notes == (
        "results of formulas computed, as the stored ones are stale or missing: 1 (Bill!B1)",
        "results of formulas taken as stored, unchecked: 1",
    )
    assert parsed.unsure == ("stored results unlike their formulas: 1 (Bill!A3: 987654 stored, =1000 gives 1000)",)


@pytest.mark.parametrize(
    ("formula", "meaning"),
    [
        ("of:=[.A1]+[.$B$2]", "A1+$B$2"), ("of:=SUM([Other.A1:.B2])", "SUM('Other'!A1:B2)"), ("=1+2", "1+2"),
        ("of:=SUM([$'My Sheet'.A1:$'My Sheet'.B2])", "SUM('My Sheet'!A1:B2)"), ('of:="[.A1]"', '"[.A1]"'),
        ("of:=[.#REF!]", "#REF!"), ("of:=SUM([.A:.A])", "SUM(A:A)"),
    ],
)  # fmt: skip
def test_addresses_of_formulas(formula: str, meaning: str) -> None:
    assert a1_formula(formula) == meaning


def test_columns_of_no_width_are_hidden(parse) -> None:
    shut = '<style:style style:name="shut" style:family="table-column"><style:table-column-properties '
    shut += 'style:column-width="0cm"/></style:style>'
    columns = '<table:table-column/><table:table-column table:style-name="shut"/>'
    body = sheet(columns, row(cell("a"), cell("unseen"), cell("c")))
    parsed = parse(opendocument("spreadsheet", body, automatic=shut))
    assert parsed.text == "A\n\na | c"
    assert parsed.hidden == (Hidden("hidden_row", 6),)


@pytest.mark.parametrize(
    ("stored", "text"),
    [("2026-11-20", "2026-11-20"), ("2026-11-20T01:02:03,5Z", "2026-11-20 01:02:03"), ("soon", "soon"), ("", "")],
)
def test_moments(stored: str, text: str) -> None:
    assert iso_moment(stored) == text


@pytest.mark.parametrize(
    ("stored", "text"), [("PT1H02M03.9S", "01:02:03"), ("PT100H00M00S", "100:00:00"), ("P1D", "P1D"), ("", "")]
)
def test_durations(stored: str, text: str) -> None:
    assert iso_duration(stored) == text


def test_letters_are_the_inverse_of_numbers() -> None:
    assert [column_number(f"{column_letters(number)}1") for number in range(1, 2000)] == list(range(1, 2000))


def test_sheets_are_pages_and_rows_keep_their_places(parse) -> None:
    first = sheet(
        row(cell("", across(3)), more=times(2)), row(cell(), cell("a"), cell("b", across(2)), cell("", across(16380))),
        row(cell(), cell("again"), more=times(2)), row(cell("", across(16384)), more=times(1_000_000)),
        row(cell("", across(4)), cell("far")),
    )  # fmt: skip
    parsed = parse(workbook(first, sheet(row(cell("z")), name="B")))
    assert parsed.text == "A\n\na | b | b\nagain\nagain\n\n |  |  | far\n\nB\n\nz"
    assert [(section.kind, section.title) for section in parsed.sections] == [("sheet", "A"), ("sheet", "B")]
    assert parsed.page_of(parsed.text.index("z")) == 2


def test_what_hangs_on_cells_follows_the_rows(parse) -> None:
    comment = "<office:annotation><dc:creator>Ann</dc:creator><text:p>look</text:p></office:annotation>"
    box = "<draw:frame><draw:text-box><text:p>in a box</text:p></draw:text-box></draw:frame>"
    noted = f"<table:table-cell>{comment}<text:p>x</text:p></table:table-cell>"
    parsed = parse(workbook(sheet(f"<table:shapes>{box}</table:shapes>", row(cell("a")), row(cell("b"), noted))))
    assert parsed.text == "A\n\na\nb | x\n\nin a box\n\nComment (B2, Ann): look"


def test_what_hangs_on_a_line_of_a_cell(parse) -> None:
    box = "<draw:frame><draw:text-box><text:p>in a box</text:p></draw:text-box></draw:frame>"
    note = "<text:note text:note-class='footnote'><text:note-body><text:p>of it</text:p></text:note-body></text:note>"
    assert parse(workbook(sheet(row(cell(f"x{box}{note}"))))).text == "A\n\nx[1]\n\nin a box\n\n[1] of it"


def concealed() -> bytes:
    columns = '<table:table-column/><table:table-column table:visibility="collapse"/><table:table-column/>'
    rows = row(cell("a"), cell("column"), cell("b")) + row(cell("row", across(2)), more='table:visibility="filter"')
    rows += row(cell("c"), cell("below", name="covered-table-cell"), cell("d"))
    return workbook(sheet(columns, rows), sheet(row(cell("secret")), name="Hidden", style="off"))


def test_hidden_sheets_rows_and_columns_are_dropped(parse) -> None:
    parsed = parse(concealed())
    assert parsed.text == "A\n\na | b\n\nc | d"
    assert parsed.hidden == (
        Hidden("covered", 5),
        Hidden("hidden_sheet", len("Hiddensecret")),
        Hidden("hidden_row", 12),
    )


def test_hidden_sheets_rows_and_columns_are_kept_by_the_rule(parse_members) -> None:
    parsed, _ = parse_members(concealed(), options=Options(hidden="keep"))
    assert parsed.text == "A\n\na | column | b\nrow | row\nc | below | d\n\nHidden\n\nsecret"
    assert Hidden("hidden_sheet", len("Hiddensecret")) in parsed.hidden


def test_groups_of_rows_and_columns(parse) -> None:
    folded = f'<table:table-column {across(2)} table:visibility="collapse"/>'
    columns = f"<table:table-column-group>{folded}</table:table-column-group>"
    rows = row(cell("x", across(3)))
    for _ in range(2):
        rows = f"<table:table-row-group>{rows}</table:table-row-group>"
    parsed = parse(workbook(sheet(columns, rows)))
    assert parsed.text == "A\n\nx"
    assert parsed.hidden == (Hidden("hidden_row", 2),)


def test_what_is_no_cell_is_not_read(parse) -> None:
    help_text = "<table:help-message><text:p>help</text:p></table:help-message>"
    validation = f"<table:content-validations>{help_text}</table:content-validations>"
    changes = f"<table:tracked-changes><table:deletion>{cell('gone')}</table:deletion></table:tracked-changes>"
    assert parse(workbook(validation, changes, sheet(row(cell("x"))))).text == "A\n\nx"


def test_repeated_cells_cost_nothing_or_are_too_large(parse, fail) -> None:
    start = time.monotonic()
    empty = row(cell("", across(16384)), more=times(1_048_576))
    assert parse(workbook(sheet(empty * 50, row(cell("x"))))).text == "A\n\nx"
    for full in (row(cell("x", across(16384)), more=times(1_048_576)), row(cell("x", across(999_999_999))),
                 row(cell("x"), more=times(999_999_999)) * 3):  # fmt: skip
        assert fail(workbook(sheet(full))).failure is Failure.TOO_LARGE
    hidden = sheet(row(cell("x"), more=times(1_048_576)) * 3, style="off")
    assert fail(workbook(hidden)).failure is Failure.TOO_LARGE
    assert time.monotonic() - start < 10


def test_names_of_sheets_are_no_content(fail) -> None:
    assert fail(workbook(sheet())).failure is Failure.EMPTY
    assert "hidden" in fail(workbook(sheet(row(cell("x")), style="off"))).reason


def test_flat_files(parse) -> None:
    assert parse(flat("spreadsheet", sheet(row(cell("flat")))), "x.fods").text == "A\n\nflat"


def test_the_same_cells_as_calamine_finds(parse) -> None:
    """Another reader as the oracle."""
    rows = [[f"r{number}", number * 1.1, number, "", "x y" if number % 3 else ""] for number in range(40)]
    cells = [
        row(*(string(one) if isinstance(one, str) else value("float", str(one), f"{one:.15g}") for one in line))
        for line in rows
    ]
    data = workbook(sheet(*cells))
    oracle = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data)).get_sheet_by_index(0).to_python()
    expected = [f"{one:.15g}" if isinstance(one, float) else str(one) for line in oracle for one in line]
    found = [one.strip() for line in parse(data).text.splitlines()[2:] for one in line.split(" | ")]
    assert [one for one in found if one] == [one for one in expected if one]


def test_cells_that_are_struck_out_or_white(parse) -> None:
    styles = "".join(
        f'<style:style style:name="{name}" style:family="table-cell"><style:text-properties {said}/></style:style>'
        for name, said in {"gone": 'style:text-line-through-style="solid"', "white": 'fo:color="#ffffff"'}.items()
    )

    def styled(name: str, more: str, shown: str = "") -> str:
        return cell(shown, f'table:style-name="{name}" {more}')

    number, text = 'office:value-type="float" office:value="900"', 'office:value-type="string"'
    said = f'{text} office:string-value="unseen"'
    cells = [string("a"), styled("gone", number, "900.00"), styled("gone", text, "void")]
    cells += [
        styled("white", number, "900"),
        styled("white", text, "secret"),
        styled("white", said),
        styled("white", said, "unseen"),
        string("z"),
    ]
    parsed = parse(opendocument("spreadsheet", sheet(row(*cells)), automatic=styles))
    assert parsed.text == "A\n\na | ~~900.00~~ | ~~void~~ | z"
    assert parsed.hidden == (Hidden("same_colour", 3 + 3 * 6),)
    assert parsed.notes == ("struck-out text, marked ~~ ~~: 10 characters",)


def test_sheets_that_show_no_zeros_or_formulas_in_place_of_results(parse) -> None:
    cells = sheet(row(string("x"), value("float", "0", "0,00"), value("float", "5", "5"), string("0")))

    def read(name: str, said: str):
        config = 'xmlns:config="urn:oasis:names:tc:opendocument:xmlns:config:1.0"'
        item = f'<config:config-item config:name="{name}" config:type="boolean">{said}</config:config-item>'
        return parse(workbook(cells, **{"settings.xml": f"<settings {config}>{item}</settings>"}))

    assert read("ShowZeroValues", "true").text == read("ShowFormulas", "false").text == "A\n\nx | 0,00 | 5 | 0"
    hidden = read("ShowZeroValues", "false")
    assert (hidden.text, hidden.hidden) == ("A\n\nx | 5 | 0", (Hidden("marked_hidden", 4),))
    shown = read("ShowFormulas", "true")
    assert shown.unsure == ("its sheets show formulas in place of their results, which were read",)
    assert parse(workbook(cells, **{"settings.xml": "<settings"})).text == "A\n\nx | 0,00 | 5 | 0"
