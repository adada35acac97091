"""What the cells of Excel show: results of formulas, number formats, escapes, letters that are struck out or raised."""

from collections.abc import Callable

import pytest
import xlsxwriter

from pipeline.document import Hidden, Parsed
from tests.pipeline.parse.formats.test_xlsx import R, S, workbook

COMPUTED = "results of formulas computed, as the stored ones are stale or missing: "
UNLIKE = "stored results unlike their formulas: "
DOUBTFUL = "cells that show something else than their value: "
MISSING = "results of formulas that are stale or missing, and were not computed: "
UNCHECKED = "results of formulas taken as stored, unchecked: "


def f(formula: str, stored: str | None = None, kind: str = "", more: str = "") -> str:
    """A cell with a formula."""
    value = "" if stored is None else f"<v>{stored}</v>"
    return f"<c{f' t={kind!r}' if kind else ''}><f{more}>{formula}</f>{value}</c>"


def v(stored: str, kind: str = "n", more: str = "") -> str:
    return f"<c t='{kind}' {more}><v>{stored}</v></c>"


def rows(*lines: list[str]) -> str:
    return "".join(f"<row>{''.join(cells)}</row>" for cells in lines)


@pytest.fixture
def book(parse, office, rels) -> Callable:
    """book(rows of sheet "A", rows of sheet "B 2"..., about="<calcPr/>", styles="...") -> Parsed"""

    def book(*sheets: str, about: str = "", styles: str = "", head: str = "", tail: str = ""):
        names = ["A", "B 2"][: len(sheets)]
        listed = "".join(f"<sheet name='{name}' r:id='rId{place}'/>" for place, name in enumerate(names, start=1))
        related = [("worksheet", f"sheet{place}.xml") for place in range(len(sheets))] + [("styles", "s.xml")]
        parts = {
            "xl/workbook.xml": f"<workbook {S} {R}><sheets>{listed}</sheets>{about}</workbook>",
            "xl/_rels/workbook.xml.rels": rels(*related),
            "xl/s.xml": f"<styleSheet {S}>{styles}</styleSheet>",
        } | {
            f"xl/sheet{place}.xml": f"<worksheet {S}>{head}<sheetData>{data}</sheetData>{tail}</worksheet>"
            for place, data in enumerate(sheets)
        }
        return parse(office("xlsx", parts))

    return book


LOADS = "<calcPr fullCalcOnLoad='1'/>"


def test_results_that_a_writer_leaves_to_be_computed(parse) -> None:
    def fill(made: xlsxwriter.Workbook) -> None:
        sheet = made.add_worksheet("Bill")
        sheet.write_row(0, 0, ["Net", 100])
        sheet.write_row(1, 0, ["VAT", "=B1*0.19"])
        sheet.write_row(2, 0, ["Total due", "=SUM(B1:B2)"])

    parsed = parse(workbook(fill))
    assert parsed.text == "Bill\n\nNet | 100\nVAT | 19\nTotal due | 119"
    assert parsed.notes == (COMPUTED + "2 (Bill!B2; Bill!B3)",)
    assert parsed.unsure == ()


def test_results_in_a_table(parse) -> None:
    def fill(made: xlsxwriter.Workbook) -> None:
        columns = [{"header": "Item", "total_string": "Total due"}, {"header": "Qty"}, {"header": "Price"}]
        columns.append({"header": "Net", "formula": "=[@Qty]*[@Price]", "total_function": "sum"})
        data = [["Stuhl", 4, 30], ["Tisch", 1, 200]]
        made.add_worksheet("Bill").add_table("A1:D4", {"data": data, "columns": columns, "total_row": True})

    parsed = parse(workbook(fill))
    assert (
        parsed.text
        == "Bill\n\nItem | Qty | Price | Net\nStuhl | 4 | 30 | 120\nTisch | 1 | 200 | 200\nTotal due |  |  | 320"
    )
    assert (len(parsed.notes), parsed.unsure) == (1, ())


def test_results_that_are_not_stored(book) -> None:
    parsed = book(
        rows([v("100"), f("A1*2"), f("B1+'B 2'!A1")]), rows([f("A!C1-100"), v("5"), f("B1")]).replace("A!C1", "B1")
    )
    assert parsed.text == "A\n\n100 | 200 | 105\n\nB 2\n\n-95 | 5 | 5"
    assert parsed.notes == (COMPUTED + "4 (A!B1; A!C1; B 2!A1; …)",)


def test_results_that_cannot_be_computed_are_never_zero_in_silence(book) -> None:
    parsed = book(rows([v("7"), f("VLOOKUP(1,A1:B2,2)", "0")], [f("NOW()")]), about=LOADS)
    assert parsed.text == "A\n\n7"
    assert parsed.unsure == parsed.notes == (MISSING + "2 (A!B1; A!A2)",)
    believed = book(rows([v("7"), f("VLOOKUP(1,A1:B2,2)", "9")]))
    assert (believed.text, believed.notes, believed.unsure) == ("A\n\n7 | 9", (UNCHECKED + "1",), ())


@pytest.mark.parametrize(
    ("formula", "stored", "given"),
    [
        ("1000", "987654", "1000"), ("500+500", "9000", "1000"), ("SUM(A1:A2)", "9000", "300"),
        ("$A$1", "9000", "100"), ("Price", "9", "1000"), ("Price*2", "9", "2000"), ("A1+Local", "9", "101"),
        ("IF(A1&gt;50,1000,9000)", "9000", "1000"), ("SUM('B 2'!A1:A9)", "0", "50"), ("ROUND(2.005,2)", "3", "2.01"),
    ],
)  # fmt: skip
def test_a_stored_number_unlike_its_formula_is_for_a_person(book, formula: str, stored: str, given: str) -> None:
    names = "<definedNames><definedName name='PRICE'>1000</definedName><definedName name='local' localSheetId='0'>1"
    names += "</definedName><definedName name='local' localSheetId='1'>2</definedName></definedNames>"
    parsed = book(rows([v("100"), f(formula, stored)], [v("200")]), rows([v("50")]), about=names)
    assert parsed.text.startswith(f"A\n\n100 | {stored}\n200\n")
    reading = f"{stored} stored, ={formula.replace('&gt;', '>')} gives {given}"
    assert parsed.unsure == (f"{UNLIKE}1 (A!B1: {reading})",)


@pytest.mark.parametrize(
    ("formula", "stored", "kind", "gives"),
    [
        ('"pay "&amp;"1000"', "pay 9000", "str", '"pay "&"1000" gives pay 1000'),
        ("1000", "9000", "str", "1000 gives 1000"), ("1/0", "5", "n", "1/0 gives #DIV/0!"),
        ("5", "#N/A", "e", "5 gives 5"), ('TEXT(1000,"0.00")', "9000.00", "str", 'TEXT(1000,"0.00") gives 1000.00'),
        ('HYPERLINK("x","approved")', "rejected", "str", 'HYPERLINK("x","approved") gives approved'),
    ],
)  # fmt: skip
def test_another_stored_value_unlike_its_formula(book, formula: str, stored: str, kind: str, gives: str) -> None:
    assert book(rows([f(formula, stored, kind)])).unsure == (f"{UNLIKE}1 (A!A1: {stored} stored, ={gives})",)
    assert book(rows([f("TRUE", "0", "b")])).unsure == (f"{UNLIKE}1 (A!A1: FALSE stored, =TRUE gives TRUE)",)


def test_noise_of_a_computation_is_no_difference(book) -> None:
    cells = [f("0.1+0.2", "0.3"), f("1/3", "0.33333333333333331"), f("1-0.9-0.1", "-2.7755575615628914E-17")]
    cells += [f("A1*3", "0.9")]
    parsed = book(rows([*cells, f('""', "", "str"), f("D9", "0"), f("2>1".replace(">", "&gt;"), "1", "b")]))
    assert (parsed.notes, parsed.unsure) == ((), ())


def test_constant_formulas_that_cannot_be_computed_are_for_a_person(book) -> None:
    parsed = book(rows([f("SUM({500,500})", "9000"), f('REPT("9",4)', "1000", "str"), f("CHOOSE(1,5)", "7")]))
    why = (
        'stored results of constant formulas that could not be computed: 3 (A!A1: =SUM({500,500}); A!B1: =REPT("9",4); '
    )
    assert parsed.unsure == (why + "A!C1: =CHOOSE(1,5))",)
    cells = [f(formula, "3") for formula in ("TODAY()+1", "ROW()-1", "Rate_*2", "RAND()", "VLOOKUP(A1,B1:C9,2)")]
    believed = book(rows(cells))
    assert (believed.notes, believed.unsure) == ((UNCHECKED + "5",), ())
    days = book(
        rows([f("DATE(2026,6,30)", "46203"), f("DATE(2026,6,30)", "46204"), f("TIME(8,30,0)", "0.354166666666667")])
    )
    assert days.unsure == (UNLIKE + "1 (A!B1: 46204 stored, =DATE(2026,6,30) gives 46203)",)


def test_formulas_that_are_shared(book) -> None:
    lines = [[v("1"), v("10"), f("A1*$B$1", "10", more=" t='shared' si='0' ref='C1:C3'")]]
    lines += [[v(str(n)), v("0"), f"<c><f t='shared' si='0'/><v>{n * 10 if n == 2 else 99}</v></c>"] for n in (2, 3)]
    assert book(rows(*lines)).unsure == (UNLIKE + "1 (A!C3: 99 stored, =A1*$B$1 gives 30)",)


def test_a_result_of_an_array_is_one_cell(book) -> None:
    one = f("SUM(A1:A1)", "9", more=" t='array' ref='B1'")
    assert book(rows([v("5"), one])).unsure == (UNLIKE + "1 (A!B1: 9 stored, =SUM(A1:A1) gives 5)",)
    assert book(rows([v("5"), f("A1:A2*2", "10", more=" t='array' ref='B1:B2'")])).notes == (UNCHECKED + "1",)


def test_what_is_shown_follows_the_computed_result(book) -> None:
    """A format that hides zeros does not hide the result; a hidden row stays hidden."""
    styles = "<numFmts><numFmt numFmtId='170' formatCode='#,##0.00 &quot;EUR&quot;;;'/></numFmts>"
    styles += "<cellXfs><xf/><xf numFmtId='170'/></cellXfs>"
    hidden = f"<row hidden='1'>{f('A1+1', '0')}</row>"
    parsed = book(f"<row>{v('1000')}<c s='1'><f>A1*2</f><v>0</v></c></row>{hidden}", about=LOADS, styles=styles)
    assert parsed.text == "A\n\n1000 | 2,000.00 EUR"
    assert parsed.hidden == (Hidden("hidden_row", 4),)


def shown(book, code: str, value: str, kind: str = "n"):
    code = code.replace("&", "&amp;").replace("'", "&apos;").replace('"', "&quot;").replace("<", "&lt;")
    styles = (
        f"<numFmts><numFmt numFmtId='170' formatCode='{code}'/></numFmts><cellXfs><xf/><xf numFmtId='170'/></cellXfs>"
    )
    return book(rows([v("x", "str"), v(value, kind, "s='1'")]), styles=styles)


@pytest.mark.parametrize(
    ("code", "value", "text"),
    [
        ("00000", "1234", "01234"), ("0%", "0.19", "19%"), ("0.00%", "0.0725", "7.25%"),
        ("0", "4711471147114711", "4711471147114711"),
        ('#,##0.00 "EUR"', "1240.5", "1,240.50 EUR"), ("[$€-407] #,##0.00", "1240.5", "€ 1,240.50"),
        ('0 "Std."', "3", "3 Std."),
        ('#,##0,"T€"', "1500000", "1,500T€"), ('0.0,,"M"', "12350000", "12.4M"), ("0.00E+00", "1.23E-7", "1.23E-07"),
        ("##0.0E+0", "12345", "12.3E+3"), ("# ?/?", "0.5", "1/2"), ("# ??/100", "2.75", "2 75/100"),
        ("0.00", "1.005", "1.01"),
        ("0.0", "0.25", "0.3"), ("0%", "0.285", "29%"), ("#,##0;(#,##0)", "-500", "(500)"),
        ("0.00;[Red]0.00", "-5", "-5.00"),
        ("[Red]0.00", "5", "5.00"), ("[>=100]0;[<100]0.0", "99", "99.0"), ('0;-0;"nil"', "0", "nil"),
        ("0.00_-", "5", "5.00"),
        ("_-* #,##0.00 €_-;-* #,##0.00 €_-", "-42.5", "-42.50 €"), ('_-* "-"??_-', "0", "-"), ("0\\d", "12", "12d"),
        ("(000) 000-0000", "7115551234", "(711) 555-1234"), ("0 Stk.", "5", "5 Stk."), ("Nr. 0", "5", "Nr. 5"),
        ("#.##", "0.5", ".5"),
        ('General" kg"', "2.5", "2.5 kg"), ("@", "46203", "46203"), ('0 "m²"', "120", "120 m²"), ("0.###", "2", "2."),
        ('dd.mm.yyyy', "46203", "2026-06-30"), ("[h]:mm", "1.25", "30:00:00"), ('dd.mm.yyyy;;"never"', "0", "never"),
        ("#,##0.00", "-0.001", "-0.00"), ("0", "1e300", "1e+300"), ("0000000.0", "-12.34", "-0000012.3"),
        ("# ##0", "12345", "12 345"), ("#,##0,", "1240000", "1,240"), ("0.0,,", "1550000", "1.6"),
        ("0,", "987654", "988"),
        ("General", "0.30000000000000004", "0.3"), ("General", "1234567890123456.5", "1234567890123460"),
        ("General", "12345678901234567890", "12345678901234600000"),
        ("0", "12345678901234567890", "12345678901234600000"),
        ("General", "1E-7", "1e-07"), ("General", "1E+20", "100000000000000000000"), ("General", "0.1", "0.1"),
        ("0.00000000000000000000", "0.1", "0.10000000000000000000"), ("0", "28.499999999999996", "29"),
    ],
)  # fmt: skip
def test_number_formats(book, code: str, value: str, text: str) -> None:
    parsed = shown(book, code, value)
    assert parsed.text == f"A\n\nx | {text}"
    assert parsed.unsure == ()


@pytest.mark.parametrize(
    ("code", "value", "text", "kind"),
    [
        ('"1,000.00"', "987654", "1,000.00", "n"), ("\\1\\0\\0\\0", "9", "1000", "n"), ('0"000"', "9", "9000", "n"),
        ("1000", "5", "1005", "n"), ('0"½"', "5", "5½", "n"), ('"EUR 1,000";;', "5", "EUR 1,000", "n"),
        ("*90", "5", "5", "n"), ('0"OOO"', "5", "5OOO", "n"),
        ('0"."00', "123456", "1234.56", "n"), ("0;0", "-5", "5", "n"),
        ("-0", "5", "-5", "n"),
        ("(0)", "5", "(5)", "n"), ('"five"', "9", "five", "n"), ('[>5]"1,000";0', "9", "1,000", "n"),
        ("[$1-407]0", "5", "15", "n"),
        ('dd.mm.yyyy "paid 9,000"', "46203", "2026-06-30", "n"), ('0;0;0;"Approved"', "Rejected", "Approved", "str"),
        ('"9"@', "500", "9500", "str"), ('@" (void)";;;"ok"', "bad", "ok", "str"), ('"一千"0', "5", "一千5", "n"),
    ],
)  # fmt: skip
def test_a_format_that_shows_another_value_is_for_a_person(book, code: str, value: str, text: str, kind: str) -> None:
    parsed = shown(book, code, value, kind)
    assert parsed.text == f"A\n\nx | {text}"
    assert parsed.unsure == (f"{DOUBTFUL}1 (A!B1 shows {text} of {value})",)


def test_a_white_number_format_hides(book) -> None:
    for code in ("[White]0", "[Color2]0", "0;0;0;[white]@"):
        parsed = shown(book, code, "9000", "str" if "@" in code else "n")
        assert (parsed.text, parsed.hidden) == ("A\n\nx", (Hidden("same_colour", 4),))


def test_built_in_formats_without_a_code(book) -> None:
    numbers = {1: "1", 2: "1.50", 4: "1,234.50", 9: "19%", 10: "7.25%", 11: "1.50E+00", 12: "1 1/2", 14: "2026-06-30"}
    stored = {1: "1.4", 2: "1.5", 4: "1234.5", 9: "0.19", 10: "0.0725", 11: "1.5", 12: "1.5", 14: "46203"}
    styles = "".join(f"<xf numFmtId='{number}'/>" for number in numbers)
    cells = [v(stored[number], "n", f"s='{place}'") for place, number in enumerate(numbers)]
    assert book(rows(cells), styles=f"<cellXfs>{styles}</cellXfs>").text == "A\n\n" + " | ".join(numbers.values())


def test_escapes(book) -> None:
    inline = "<c t='inlineStr'><is><t>line_x000D_\nnext _x0041_ end_x005F_x000D_ _x00e9 x_X0041_</t></is></c>"
    rich = "<c t='inlineStr'><is><r><t>_xD83D__xDE00_</t></r><r><rPr><b/></rPr><t>_x0042_</t></r></is></c>"
    parsed = book(rows([inline, rich, f('"x"&amp;A9', "x_x000A_", "str").replace("<f>", "<f>NOW()&amp;")]), tail=
                  "<headerFooter><oddHeader>&amp;C_x0041_B</oddHeader></headerFooter>")  # fmt: skip
    assert parsed.text == "A\n\nline next A end_x000D_ _x00e9 x_X0041_ | 😀B | x\n\nAB"


def test_letters_that_are_struck_out_or_raised(parse) -> None:
    def fill(made: xlsxwriter.Workbook) -> None:
        sheet = made.add_worksheet("A")
        struck, plain, up = map(made.add_format, ({"font_strikeout": True}, {}, {"font_script": 1}))
        sheet.write_rich_string(0, 0, "rent ", struck, "900", plain, " 950")
        sheet.write(0, 1, 900, struck)
        sheet.write_rich_string(0, 2, "EUR 1,240", up, "1")
        sheet.write(0, 3, 1, up)
        sheet.write_rich_string(0, 4, "no ", plain, "line")

    parsed = parse(workbook(fill))
    assert parsed.text == "A\n\nrent ~~900~~ 950 | ~~900~~ | EUR 1,240^1 | 1 | no line"
    assert parsed.notes == ("struck-out text, marked ~~ ~~: 6 characters",)


def test_conditions_that_cannot_be_told(parse) -> None:
    def of(looks: dict) -> tuple[str, ...]:
        def fill(made: xlsxwriter.Workbook) -> None:
            sheet = made.add_worksheet("A")
            sheet.write_row(0, 0, [1000, "x"])
            rule = {"type": "formula", "criteria": '=$B1="x"', "format": made.add_format(looks)}
            sheet.conditional_format("A1:A9", rule)

        return parse(workbook(fill)).unsure

    why = ("whether conditional formats strike out cells, or show other numbers in them, could not be told: 1 (A!A1)",)
    assert of({"font_strikeout": True}) == of({"num_format": '"9,000"'}) == why
    assert of({"bold": True}) == of({"bg_color": "red"}) == ()


def test_a_workbook_of_many_formulas_is_bounded(parse) -> None:
    def fill(made: xlsxwriter.Workbook) -> None:
        sheet = made.add_worksheet("A")
        for row in range(3000):
            sheet.write_row(row, 0, [1, f"=SUM(A$1:A{row + 1})"])

    parsed = parse(workbook(fill))
    assert parsed.text.splitlines()[-1] == "1"
    assert any(why.startswith(MISSING) for why in parsed.unsure)


def test_values_that_stand_in_for_pictures_and_data_types(book) -> None:
    parsed = book(rows([v("x", "str"), v("#VALUE!", "e", "vm='1'")]))
    why = "cells that show a picture or a data type, for which another value stands in: 1 (A!B1)"
    assert (parsed.text, parsed.unsure) == ("A\n\nx | #VALUE!", (why,))


def test_values_that_are_repeated_to_fill_their_cell(book) -> None:
    styles = "<cellXfs><xf/><xf><alignment horizontal='fill'/></xf></cellXfs>"
    parsed = book(rows([v("9", "n", "s='1'"), v("-", "str", "s='1'")]), styles=styles)
    assert (parsed.text, parsed.unsure) == ("A\n\n9 | -", (DOUBTFUL + "1 (A!A1 shows 9 of 9)",))


def test_cells_in_fonts_of_signs(book) -> None:
    fonts = (
        "<fonts><font/><font><name val='Wingdings'/></font><font><name val='Symbol'/><charset val='2'/></font>"
        "<font><name val='House Icons'/><charset val='2'/></font></fonts>"
    )
    styles = fonts + "<cellXfs>" + "".join(f"<xf fontId='{number}'/>" for number in range(4)) + "</cellXfs>"
    texts = [("\u00fe", 1), ("\u00a8", 1), ("m", 2), ("m", 0), ("m", 3), ("\uf06d", 0)]
    cells = [f"<c t='inlineStr' s='{style}'><is><t>{text}</t></is></c>" for text, style in texts]
    parsed = book(rows(cells), styles=styles)
    assert parsed.text == "A\n\n[x] | [ ] | \u00b5 | m | \ufffd | \ufffd"
    assert "signs of symbol fonts that are in no table, written as U+FFFD: 2" in parsed.notes


@pytest.mark.parametrize("value", ["0", "0.0"])
def test_a_sheet_that_shows_no_zeros_or_formulas_in_place_of_results(book, value: str) -> None:
    def read(view: str) -> Parsed:
        cells = rows([v("x", "str"), v(value), v("5"), v("0", "str"), f("1+1", "2")])
        return book(cells, head=f"<sheetViews><sheetView workbookViewId='0' {view}/></sheetViews>")

    assert read("").text == read("showZeros='1' showFormulas='0'").text == "A\n\nx | 0 | 5 | 0 | 2"
    hidden = read("showZeros='0'")
    assert (hidden.text, hidden.hidden) == ("A\n\nx | 5 | 0 | 2", (Hidden("marked_hidden", 1),))
    shown = read("showFormulas='true'")
    assert shown.unsure == ("sheet A shows formulas in place of their results, which were read",)
