"""Formulas: what they give, and what is not known of them."""

import pytest

from pipeline.parse.office.sheets.formulas import compiled
from pipeline.parse.office.sheets.grid import Formula, Grid, Table
from pipeline.parse.office.sheets.results import Results
from pipeline.parse.office.sheets.values import Area, FaultError, Scope, UnknownError
from pipeline.parse.sight.hidden import HiddenText

CELLS = {
    (1, 1): ("n", "10"), (2, 1): ("n", "20"), (3, 1): ("n", "30"), (4, 1): ("str", "text"), (5, 1): ("b", "TRUE"),
    (1, 2): ("n", "2.5"), (2, 2): ("n", "4"), (3, 2): ("n", ""), (1, 3): ("e", "#N/A"), (2, 3): ("str", "7"),
}  # fmt: skip


def grid(cells: dict[tuple[int, int], tuple[str, str]], formulas: dict[tuple[int, int], str] | None = None) -> Grid:
    made = Grid()
    for (row, column), stored in cells.items():
        made.rows.setdefault(row, {})[column] = stored
    for place, text in (formulas or {}).items():
        made.rows.setdefault(place[0], {}).setdefault(place[1], ("n", ""))
        made.formulas[place] = Formula(text)
    return made


def computed(formula: str, names: dict[str, str] | None = None) -> tuple[str, str]:
    """What a formula in D9 gives, beside CELLS on this sheet and on "Other One"."""
    sheets = {"s": grid(CELLS, {(9, 4): formula}), "other one": grid({(1, 1): ("n", "500")})}
    results = Results(sheets.get, {("", name): text for name, text in (names or {}).items()}, stale=True)
    stored = results.settle("S", 9, 4, ("n", ""))
    if not results.finish(HiddenText(drop=True))[0].startswith("results of formulas computed"):
        raise UnknownError
    return stored


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("1+2*3", 7), ("(1+2)*3", 9), ("2^3^2", 64), ("-2^2", 4), ("10%", 0.1), ("200*19%", 38), ("7-2-1", 4),
        ("--5", 5), ("+A1", 10), ("8/2/2", 2), ("1.5E2", 150), (".5", 0.5), ("5%^2", 0.0025),
        ("A1", 10), ("$A$1+A$2", 30), ("A1*B1", 25), ("SUM(A1:A3)", 60), ("SUM(A:A)", 60), ("SUM(2:2)+0", 24),
        ("SUM(A1:B2,100,TRUE)", 137.5), ("SUM(A1:A5)", 60), ("SUM(A1,A2)/2", 15), ("B3", 0), ("B3+1", 1),
        ("'Other One'!A1*2", 1000), ("SUM('other one'!A1:A9)", 500), ("Price*2", 2000), ("SUM(Block)", 60),
        ("AVERAGE(A1:A4)", 20), ("MIN(A1:A3)", 10), ("MAX(A1:A3,99)", 99), ("COUNT(A1:A5)", 3), ("COUNTA(A1:B5)", 7),
        ("PRODUCT(A1:A2)", 200), ("ROUND(2.675,2)", 2.68), ("ROUND(-2.5,0)", -3), ("ROUND(1234,-2)", 1200),
        ("ROUNDUP(1.01,1)", 1.1), ("ROUNDDOWN(1.99,0)", 1), ("ABS(-3)", 3), ("INT(-1.5)", -2), ("MOD(-7,3)", 2),
        ("SUMPRODUCT(A1:A2,B1:B2)", 105), ("IF(A1>5,1,2)", 1), ("IF(A1>50,1)+0", 0), ("IFERROR(C1,5)", 5),
        ("IFERROR(1/0,A1)", 10), ("SQRT(16)", 4), ("N(5)", 5), ("sum(a1:a3)", 60), ("C2+1", 8), ("TRUE+1", 2),
        ("_xlfn.CONCAT(1,2)+0", 12), ("SUM(A1:A3)*(1+0.19)", 71.4), ("LOG10(1)+0", None), ("IF(FALSE,C1,3)", 3),
    ],
)  # fmt: skip
def test_numbers(formula: str, value: float | None) -> None:
    names = {"price": "1000", "block": "S!$A$1:$A$3"}
    if value is None:
        with pytest.raises(UnknownError):
            computed(formula, names)
    else:
        kind, text = computed(formula, names)
        assert (kind, float(text)) == ("n", pytest.approx(value))


@pytest.mark.parametrize(
    ("formula", "stored"),
    [
        ('"a"&"b"', ("str", "ab")), ('"say ""x"""', ("str", 'say "x"')), ('"Total: "&A1', ("str", "Total: 10")),
        ("A4", ("str", "text")), ('"A1"', ("str", "A1")), ('A4&", "&B1', ("str", "text, 2.5")), ("A1>5", ("b", "TRUE")),
        ('A4="TEXT"', ("b", "TRUE")), ("AND(A1>5,A2>50)", ("b", "FALSE")), ("NOT(FALSE)", ("b", "TRUE")),
        ("1/0", ("e", "#DIV/0!")), ("C1+1", ("e", "#N/A")), ("AVERAGE(B3:B3)", ("e", "#DIV/0!")),
        ('TEXT(1000,"#,##0.00")&" EUR"', ("str", "1,000.00 EUR")), ('HYPERLINK("http://x","Pay 5")', ("str", "Pay 5")),
        ('IF(A1=10,"ok","no")', ("str", "ok")), ('LEFT("abc",2)&RIGHT("xyz")', ("str", "abz")),
        ('B3&"x"', ("str", "x")),
        ('UPPER("a")&LEN("abc")', ("str", "A3")), ('"a"<"B"', ("b", "TRUE")), ('A4>5', ("b", "TRUE")),
    ],
)  # fmt: skip
def test_texts_truths_and_errors(formula: str, stored: tuple[str, str]) -> None:
    assert computed(formula) == stored


@pytest.mark.parametrize(
    "formula",
    [
        "NOW()", "VLOOKUP(1,A1:B2,2)", "A1:A3", "A1:A3*2", "[1]Sheet1!A1", "Table1[Amount]", "{1,2}", "Missing!A1",
        "nothing", "1+", "(1", "A1 A2", "SUM(1", ")", '"open', "A1#", "S:S!A1",
        '"12.50"+1,', '"1,5"+1', "1" + "+1" * 9000,
        "(" * 100 + "1" + ")" * 100, "IF(1,2,3,4)", "D9+1", "LET(x,1,x)", "", "SUM(1)(2)", "A1:B", "@A1",
    ],
)  # fmt: skip
def test_what_is_not_known_is_not_computed(formula: str) -> None:
    with pytest.raises(UnknownError):
        computed(formula)


def test_formulas_that_are_filled_down_are_read_once() -> None:
    one, other = Formula("$A1*B$2"), Formula("=$A7*B$2")
    assert one.read() == ("\0*\0", [(1, 1), (2, 2)])
    assert one.read()[0] == other.read()[0]
    assert one._replace(moved=(6, 3)).read()[1] == [(7, 1), (2, 5)]


def test_numbers_that_are_too_large_are_not_computed() -> None:
    for formula in ("ROUND(1E308,300)", "MOD(1E308*10,3)", 'LEFT("a",1E308*10)', "SUM(1E308,1E308)", "9^9^9^9"):
        results = Results({"s": grid({}, {(1, 1): formula})}.get, {}, stale=False)
        assert results.settle("S", 1, 1, ("n", "5")) == ("n", "5")


def test_results_wait_for_those_that_they_need() -> None:
    """A chain that runs upwards, longer than programs nest calls."""
    cells = {(row, 1): f"A{row + 1}+1" for row in range(1, 3000)} | {(3000, 1): "1"}
    results = Results({"s": grid({}, cells)}.get, {}, stale=False)
    assert results.settle("S", 1, 1, ("n", "")) == ("n", "3000")


def test_cycles_have_no_result() -> None:
    results = Results({"s": grid({}, {(1, 1): "A2", (2, 1): "A3+SUM(A1:A2)", (3, 1): "A1"})}.get, {}, stale=True)
    assert results.settle("S", 1, 1, ("n", "5")) == ("n", "5")
    hidden = HiddenText(drop=True)
    why = "results of formulas that are stale or missing, and were not computed: 1 (S!A1)"
    assert (results.finish(hidden), hidden.unsure) == ([why], (why,))


def test_names_that_name_each_other_have_no_value() -> None:
    with pytest.raises(UnknownError):
        computed("a_", {"a_": "b_+1", "b_": "a_"})


def test_the_work_is_bounded_and_says_so() -> None:
    rows = {(row, 1): ("n", "1") for row in range(1, 4000)}
    formulas = {(row, 2): f"SUM(A1:A{row})" for row in range(1, 4000)}
    results, hidden = Results({"s": grid(rows, formulas)}.get, {}, stale=False), HiddenText(drop=False)
    found = [results.settle("S", row, 2, ("n", str(row))) for row in range(1, 4000)]
    assert found == [("n", str(row)) for row in range(1, 4000)]
    assert results.finish(hidden)[0].startswith("results of formulas taken as stored, unchecked: ")
    assert hidden.unsure == ("there are too many formulas to hold their results against what they give",)


def test_an_error_is_no_value() -> None:
    with pytest.raises(FaultError, match="#REF!"):
        compiled("#REF!")(Scope(Results({}.get, {}, stale=False), ("s", 0, 0), []))


def test_columns_of_tables() -> None:
    table = Table(Area("s", 1, 1, 4, 3), ["item", "net price", "total"], 1, 1)
    assert table.part("Net Price", 9) == Area("s", 2, 2, 3, 2)
    assert table.part("[#This Row],[Net Price]", 3) == Area("s", 3, 2, 3, 2)
    assert table.part("[Item]:[Total]", 9) == Area("s", 2, 1, 3, 3)
    for unknown in ("none", "[#Totals],[Total]", "#Totals", "[#This Row],[gone]", ""):
        with pytest.raises(UnknownError):
            table.part(unknown, 2)
    with pytest.raises(UnknownError):
        table.part("[#This Row],[Item]", 4)


def test_subtotals() -> None:
    cells = {(row, 1): ("n", str(row)) for row in (1, 2, 3)}
    formulas = {(4, 1): "SUBTOTAL(9,A1:A3)", (5, 1): "SUBTOTAL(109,A1:A4)", (6, 1): "SUBTOTAL(99,A1:A3)"}
    shown, hiding = grid(cells, formulas), grid(cells, formulas)
    hiding.hides = True
    for sheet, found in ((shown, ("n", "6")), (hiding, ("n", ""))):
        results = Results({"s": sheet}.get, {}, stale=True)
        assert results.settle("S", 4, 1, ("n", "0")) == found
        assert results.settle("S", 5, 1, ("n", "0")) == results.settle("S", 6, 1, ("n", "0")) == ("n", "")


def test_dates() -> None:
    cells = {(1, 1): ("d", "2026-06-30"), (2, 1): ("d", "2026-06-30T12:00:00"), (3, 1): ("d", "PT5H00M00S")}
    formulas = {(1, 2): "A1+14", (2, 2): "A2-A1", (3, 2): "A3*2", (4, 2): "DATE(2026,6,30)"}
    results = Results({"s": grid(cells, formulas)}.get, {}, stale=False)
    for row, stored in ((1, ("d", "2026-07-14")), (2, ("n", "0.5")), (3, ("d", "PT1H")), (4, ("d", "2026-06-30"))):
        assert results.settle("S", row, 2, stored) == stored
    hidden = HiddenText(drop=True)
    assert results.finish(hidden) == ["results of formulas taken as stored, unchecked: 1"]
    results.settle("S", 1, 2, ("d", "2026-07-15"))
    results.finish(hidden)
    assert hidden.unsure == ("stored results unlike their formulas: 1 (S!B1: 2026-07-15 stored, =A1+14 gives 46217)",)
    since_1904 = Results({"s": grid({}, {(1, 1): "DATE(1904,1,2)"})}.get, {}, stale=False, epoch=1462)
    assert since_1904.settle("S", 1, 1, ("n", "")) == ("n", "1")
