"""Money, numbers, percentages: German, English, Swiss, Indian, French ways to write them."""

# ruff: noqa: RUF001  typographic marks are meant
import pytest

from pipeline.text.values import VALUES, Reading, read_habits
from pipeline.text.values.amounts import parse_decimal


def found(name: str, text: str) -> list[tuple[str, str]]:
    return [(text[v.start : v.end], v.value) for v in VALUES[name](text, read_habits(text))]


@pytest.mark.parametrize(
    ("text", "verbatim", "value"),
    [
        ("Summe 1.234,56 € brutto", "1.234,56 €", "1234.56 EUR"),
        ("Total: $1,234.56", "$1,234.56", "1234.56 USD"),
        ("EUR 1.234,50", "EUR 1.234,50", "1234.50 EUR"),
        ("EUR 1.234", "EUR 1.234", "1234 EUR"),
        ("$ 1,000", "$ 1,000", "1000 USD"),
        ("1'234.50 CHF", "1'234.50 CHF", "1234.50 CHF"),
        ("Rs. 1,23,456.00", "Rs. 1,23,456.00", "123456.00 INR"),
        ("1 234,56 €", "1 234,56 €", "1234.56 EUR"),
        ("5 120 000,00 zł", "5 120 000,00 zł", "5120000.00 PLN"),
        ("1\u202f234,56\u00a0€", "1\u202f234,56\u00a0€", "1234.56 EUR"),
        ("2,5 Mio. EUR", "2,5 Mio. EUR", "2500000 EUR"),
        ("$5 million", "$5 million", "5000000 USD"),
        ("£1.2 bn", "£1.2 bn", "1200000000 GBP"),
        ("12,- €", "12,- €", "12 EUR"),
        ("-12,00 €", "-12,00 €", "-12.00 EUR"),
        ("€ -12", "€ -12", "-12 EUR"),
        ("−$3.50", "−$3.50", "-3.50 USD"),
        ("99,99- EUR", "99,99- EUR", "-99.99 EUR"),
        ("EUR12.50", "EUR12.50", "12.50 EUR"),
        ("US$ 1,000", "US$ 1,000", "1000 USD"),
        ("100 dollars", "100 dollars", "100 USD"),
        ("0,50 EUR", "0,50 EUR", "0.50 EUR"),
        ("007,00 EUR", "007,00 EUR", "7.00 EUR"),
    ],
)
def test_money(text: str, verbatim: str, value: str) -> None:
    assert found("money", text) == [(verbatim, value)]


def test_a_currency_belongs_to_one_amount() -> None:
    assert found("money", "12 EUR 14 USD") == [("12 EUR", "12 EUR"), ("14 USD", "14 USD")]
    assert found("money", "EUR 12 USD 14") == [("EUR 12", "12 EUR"), ("USD 14", "14 USD")]
    assert found("money", "DUE ON August 3 , 2014 $4.11") == [("$4.11", "4.11 USD")]


def test_an_amount_without_a_currency_has_that_of_the_document_and_a_note() -> None:
    text = "All amounts in GBP.\nNet 100.00\nTax 20.00"
    values = list(VALUES["money"](text, read_habits(text)))
    assert [(v.value, v.sure) for v in values] == [("100.00 GBP", False), ("20.00 GBP", False)]
    assert values[0].note == "GBP is the only currency in the document"
    assert [v.note for v in VALUES["money"]("Net 100.00", Reading())] == ["no currency beside it"]


@pytest.mark.parametrize("text", ["20 %", "12.5%", "12:30", "31.12.2025", "Version 1.2.3", "A4", "Seite 3", "12/2025"])
def test_no_money(text: str) -> None:
    assert found("money", text) == []


@pytest.mark.parametrize(
    ("text", "comma", "value"),
    [
        ("1.234", True, "1234"),
        ("1.234", False, "1.234"),
        ("1,234", True, "1.234"),
        ("1,234", False, "1234"),
        ("1.234,5", False, "1234.5"),
        ("1,234.5", True, "1234.5"),
        ("1.234.567", False, "1234567"),
        ("0.125", True, "0.125"),
        ("1234,567", False, "1234.567"),
        ("3,5", False, "3.5"),
        ("1.2.3", False, None),
        ("12.34.567", False, None),
        ("1,234,5", False, None),
        ("٣٤", False, "34"),
    ],
)
def test_marks(text: str, comma: bool, value: str | None) -> None:
    parsed = parse_decimal(text, Reading(decimal_comma=comma, decimal_shown=True))
    assert (parsed and parsed[0]) == value


def test_a_mark_that_could_be_either_is_noted() -> None:
    parsed = parse_decimal("1.234", Reading())
    assert parsed is not None
    assert parsed[1] is not None
    assert "decimal mark" in parsed[1]
    assert parse_decimal("1.234", Reading(decimal_shown=True)) == ("1.234", None)


def test_the_document_shows_its_decimal_mark() -> None:
    assert read_habits("Preis 3,50 und 1.200,00 und 7.125").decimal_comma
    assert not read_habits("Price 3.50 and 1,200.00").decimal_comma
    assert read_habits("der Preis und die Menge sind mit dem Vertrag von 7.125 nicht").decimal_comma, "German"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12 Stück, 7,5 kg und -5 Grad", [("12", "12"), ("7,5", "7.5"), ("-5", "-5")]),
        ("v2 A4 12/3 2025-01 1.2.2025", []),
        ("(3) x", [("3", "3")]),
    ],
)
def test_numbers(text: str, expected: list[tuple[str, str]]) -> None:
    assert found("number", text) == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12,5 %", "12.5%"),
        ("19 Prozent", "19%"),
        ("3 per cent", "3%"),
        ("-2%", "-2%"),
        ("7 v.H.", "7%"),
        ("0.5percent", "0.5%"),
    ],
)
def test_percent(text: str, value: str) -> None:
    assert found("percent", f"mit {text} dabei") == [(text, value)]


@pytest.mark.parametrize(
    "label", ["Grand total", "Amount due:", "Gesamtbetrag", "Somme à payer", "Totaal te betalen", "Należność ogółem:"]
)
def test_the_sum_of_an_invoice_has_cues(label: str) -> None:
    text = f"Item 12.00 EUR\n{label} 14.40 EUR"
    part, whole = VALUES["money"](text, read_habits(text))
    assert part.cues == ()
    assert "total" in whole.cues


@pytest.mark.parametrize(
    ("kind", "text", "values"),
    [
        ("money", "EUR 1,240^1 net", ["1240 EUR"]),
        ("money", "1,240^1 EUR 500", ["1240 EUR"]),
        ("money", "1,240.^3 EUR", ["1240 EUR"]),
        ("money", "rent 950² EUR", ["950 EUR"]),
        ("money", "EUR 1,240^(1)", ["1240 EUR"]),
        ("money", "~~EUR 900~~ EUR 950", ["950 EUR"]),
        ("money", "EUR 1,240^50", ["1240 EUR"]),
        ("money", "19,^99 €", ["19 EUR"]),
        ("number", "10^9/l or 10^6 cells", []),
        ("number", "120^2 m, 7^(8)", ["120", "7"]),
        ("number", "~~3~~ 5", ["5"]),
        ("percent", "19^1 %", ["19%"]),
        ("date", "30 June 2026^2)", ["2026-06-30"]),
        ("date", "~~1 May 2026~~ 2 May 2026", ["2026-05-02"]),
    ],
)
def test_raised_and_struck_out_digits_are_no_part_of_a_value(kind: str, text: str, values: list[str]) -> None:
    assert [one.value for one in VALUES[kind](text, read_habits(text))] == values


def test_raised_cents_are_not_guessed() -> None:
    for text in ("EUR 1,240^50", "EUR 1,240⁵⁰", "19,^99 €"):
        (value,) = VALUES["money"](text, read_habits(text))
        assert not value.sure
        assert "cents or a footnote" in str(value.note)
