"""Values that a person gives: how one of each type may be written."""

import pytest

from pipeline.tasks.correcting import EXAMPLES, Given, Place, ReviewRefusedError, settled


@pytest.mark.parametrize(("kind", "example"), EXAMPLES.items())
def test_what_a_refusal_proposes_is_taken(kind: str, example: str) -> None:
    assert settled("field", kind, None, Given(example), None, None).value.replace(" ", "") == example.replace(" ", "")
    with pytest.raises(ReviewRefusedError, match=r"or like ") as refused:
        settled("field", kind, None, Given("a b c"), None, None)
    assert str(refused.value).endswith(example)


@pytest.mark.parametrize(
    ("kind", "before", "given", "value", "note"),
    [
        ("money", ("1663.20 GBP",), "2400.00", "2400.00 GBP", "GBP is that of the value before"),
        ("money", ("1663.20 GBP",), "2400", "2400 GBP", "GBP is that of the value before"),
        ("money", ("1663.20 GBP",), "-12", "-12 GBP", "GBP is that of the value before"),
        ("money", ("1663.20 GBP",), "EUR 2,400.00", "2400.00 EUR", None),
        ("money", ("1663.20 GBP",), "2400 €", "2400 EUR", None),
        ("money", ("5 JPY", "7 JPY"), "9", "9 JPY", "JPY is that of the value before"),
        ("money", ("1663.20",), "2400.00", "2400.00", "no currency beside it"),
        ("money", (), "2400.00", "2400.00", "no currency beside it"),
        ("percent", ("19%",), "21", "21%", None),
        ("percent", ("19%",), "7.5 %", "7.5%", None),
        ("phone", ("+4930901820",), "+49 30 90 18 21", "+4930901821", None),
        ("phone", ("030901820",), "030 901821", "030901821", "no country given"),
        ("number", ("12.5",), "13", "13", None),
        ("reference", ("R-0977/26",), "0978", "0978", None),
    ],
)
def test_a_part_that_is_not_named_stays(
    kind: str, before: tuple[str, ...], given: str, value: str, note: str | None
) -> None:
    its = settled("field", kind, None, Given(given), None, None, before)
    assert (its.value, its.note) == (value, note)


@pytest.mark.parametrize(
    ("kind", "before", "given", "why"),
    [
        ("money", ("5 EUR", "7 USD"), "9.00", "total: '9.00' has no currency, and those before had one; write it"),
        ("phone", ("+4930901820",), "030 901821", "total: '030901821' has no country, and the value before had one"),
        ("money", ("5 EUR",), "nine", "total: 'nine' is no money"),
        ("money", (), "2400", "total: '2400' is no money"),
        ("percent", (), "21", "total: '21' is no percent"),
        ("date", ("2026-03-04",), "2026-03", "total: '2026-03' is no date"),
        ("date", ("2026-03-04",), "5 March", "total: '5 March' is no date"),
        ("number", ("12.5",), "12.5 kg", "total: '12.5 kg' is no number"),
    ],
)
def test_a_part_that_cannot_be_told_is_asked_for(kind: str, before: tuple[str, ...], given: str, why: str) -> None:
    with pytest.raises(ReviewRefusedError) as refused:
        settled("total", kind, None, Given(given), None, None, before)
    assert str(refused.value).startswith(why)
    assert "write it as the document does, or like " in str(refused.value)


TEXT = "Net EUR 2,400.00 and 30.00 USD\nold 2,500.00, tel. 030 901821, rate 21 or 7.5%\n"


@pytest.mark.parametrize(
    ("kind", "before", "given", "marked", "value", "there"),
    [
        ("money", ("1 GBP",), "2400.00", "2,400.00", "2400.00 EUR", "EUR 2,400.00"),
        ("money", ("1 GBP",), "2,400.00", "EUR 2,400.00", "2400.00 EUR", "EUR 2,400.00"),
        ("money", ("1 GBP",), "2500.00", "2,500.00", "2500.00 GBP", "2,500.00"),
        ("money", ("1 GBP",), "2500.00 CHF", "2,500.00", "2500.00 CHF", "2,500.00"),
        ("money", ("1 GBP",), "2500.00 CHF", "old 2,500.00,", "2500.00 CHF", "2,500.00"),
        ("phone", ("+49301",), "030 901821", "030 901821", "030901821", "030 901821"),
        ("percent", ("19%",), "7.5", "7.5%", "7.5%", "7.5%"),
    ],
)
def test_a_part_is_that_of_the_marked_text_first(
    kind: str, before: tuple[str, ...], given: str, marked: str, value: str, there: str
) -> None:
    start = TEXT.index(marked)
    its = settled("total", kind, None, Given(given, Place(start, start + len(marked))), TEXT, None, before)
    assert (its.value, TEXT[its.start : its.end]) == (value, there)


def test_a_marked_text_that_names_another_part_is_refused() -> None:
    start = TEXT.index("30.00 USD")
    with pytest.raises(ReviewRefusedError, match="does not stand at"):
        settled("total", "money", None, Given("30.00 EUR", Place(start, start + 9)), TEXT, None, ("1 EUR",))
