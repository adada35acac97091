"""Extract: the value that the words around it name, as it stands and in its normal form."""

from typing import Any

import pytest

from pipeline.document import Parsed
from pipeline.errors import DocumentError
from pipeline.tasks import (
    ExtractSettings,
    Field,
)
from pipeline.tasks.extract import answers
from pipeline.tasks.extract.fields import LEAST
from pipeline.text.values import VALUES, base
from tests.pipeline.tasks.bag import BagOfWords
from tests.pipeline.tasks.conftest import Ask

FIELDS = (
    Field("number", "reference", "invoice number, Rechnungsnummer"),
    Field("date", "date", "invoice date, Rechnungsdatum"),
    Field("due", "date", "due date, payable by, zahlbar bis"),
    Field("net", "money", "net amount, Nettobetrag"),
    Field("total", "money", "total amount due, Gesamtbetrag"),
    Field("rate", "percent", "VAT rate, Mehrwertsteuer"),
    Field("iban", "iban", "bank account"),
    Field("email", "email"),
    Field("customer", "text", "customer, bill to, Kunde"),
    Field("order", "regex", "order", r"\bPO-\d{5}\b"),
)
ENGLISH = """Acme Tools Ltd
1 Mill Lane, Leeds
Invoice number: INV-2025/0042
Invoice date: December 1, 2025
Due date: December 31, 2025
Bill to Hartwell Instruments Ltd
Your order PO-12345 of November 3, 2025

Description | Quantity | Price
Hammer | 10 | $100.00
Net amount | | $1,000.00
VAT rate | 20%
Total amount due | | $1,200.00

Please pay to DE89 3704 0044 0532 0130 00 or ask billing@Acme.Example for help."""
GERMAN = """Müller GmbH · Hauptstr. 12 · 80331 München

Kunde: Stadtwerke Ulm

Rechnungsnummer RE-2025-77
Rechnungsdatum 01.12.2025

Nettobetrag 1.000,00 €
zuzüglich 19 % Mehrwertsteuer 190,00 €
Gesamtbetrag 1.190,00 €

Der Betrag ist zahlbar bis zum
31. Dezember 2025 ohne Abzug."""


def values(ask: Ask, text: str, *fields: Field) -> dict[str, Any]:
    answer = ask(ExtractSettings(fields or FIELDS), text)
    rows = answer.columns["fields"]
    assert [row["name"] for row in rows] == [field.name for field in fields or FIELDS]
    for row in rows:
        assert (row["value"] is None) == (row["evidence"] is None)
        if row["evidence"]:
            place = row["evidence"]
            assert text[place["start"] : place["end"]] == place["text"] == row["verbatim"]
        else:
            assert row["note"], "a missing value has a reason"
    return {row["name"]: row["value"] for row in rows}


def test_an_english_invoice(ask: Ask) -> None:
    assert values(ask, ENGLISH) == {
        "number": "INV-2025/0042",
        "date": "2025-12-01",
        "due": "2025-12-31",
        "net": "1000.00 USD",
        "total": "1200.00 USD",
        "rate": "20%",
        "iban": "DE89370400440532013000",
        "email": "billing@acme.example",
        "customer": "Hartwell Instruments Ltd",
        "order": "PO-12345",
    }


def test_a_german_invoice(ask: Ask) -> None:
    assert values(ask, GERMAN) == {
        "number": "RE-2025-77",
        "date": "2025-12-01",
        "due": "2025-12-31",
        "net": "1000.00 EUR",
        "total": "1190.00 EUR",
        "rate": "19%",
        "iban": None,
        "email": None,
        "customer": "Stadtwerke Ulm",
        "order": None,
    }


def test_the_head_of_a_column_names_its_values(ask: Ask) -> None:
    text = "Item | Delivery date | Order date\nBolt | 01.02.2025 | 05.01.2025\nNut | 03.02.2025 | 06.01.2025"
    assert values(ask, text, Field("o", "date", "order date"), Field("d", "date", "delivery date")) == {
        "o": "2025-01-05",
        "d": "2025-02-01",
    }


def test_a_label_above_its_value(ask: Ask) -> None:
    text = "Customer\nHartwell Ltd\n\nContract number\n4711-A\n\nOther number\n0815-B"
    assert values(ask, text, Field("n", "reference", "contract number"), Field("c", "text", "customer")) == {
        "n": "4711-A",
        "c": "Hartwell Ltd",
    }


def test_two_fields_share_a_value_only_when_nothing_else_fits(ask: Ask) -> None:
    text = "Invoice of 1.2.2025, to be paid before 3.3.2025."
    both = (Field("issued", "date", "date of the invoice"), Field("paid", "date", "date of the invoice payment"))
    assert set(values(ask, text, *both).values()) == {"2025-02-01", "2025-03-03"}
    assert set(values(ask, "Date of the invoice: 1.2.2025", *both).values()) == {"2025-02-01"}


def test_of_equal_values_the_first_place_is_given(ask: Ask) -> None:
    answer = ask(ExtractSettings((Field("total", "money", "total"),)), "Total: 5,00 EUR\n\nTotal: 5,00 EUR")
    assert answer.evidence[0].start == 7


def test_notes_go_with_the_value(ask: Ask) -> None:
    rows = ask(ExtractSettings((Field("date", "date", "date"),)), "date: 3/4/2025").columns["fields"]
    assert rows[0]["note"] == "ambiguous, read as day/month"


def test_why_there_is_no_value(ask: Ask) -> None:
    answer = ask(ExtractSettings((Field("iban", "iban"), Field("total", "money", "sum"))), "The fee was 12.00 then.")
    notes = [row["note"] for row in answer.columns["fields"]]
    assert notes == [
        "nothing in the document has the type iban",
        "nothing that fits well enough; nearest was '12.00' (0.00)",
    ]
    assert answer.abstained
    assert answer.reason == "no field has a value in this document"


def test_a_pattern_without_a_match_says_so(ask: Ask) -> None:
    answer = ask(ExtractSettings((Field("order", "regex", "", r"PO-\d{5}"),)), "No order here.")
    assert answer.columns["fields"][0]["note"] == "the pattern matches nothing in the document"


def test_a_number_that_is_not_there_stays_empty(ask: Ask) -> None:
    bed = Field("bed", "number", "bed number, Bettnummer")
    assert values(ask, "Bettnummer 17. Eigenanteil 200,00 €.", bed) == {"bed": "17"}
    for text in ("Fallnummer: 88,10 €", "Case number: F-2026-00555, 12,5 %", "Date: 13 Oct 2026 08:00", "Rooms: 4"):
        assert values(ask, text, bed) == {"bed": None}


def test_each_type_has_its_own_threshold(ask: Ask) -> None:
    assert LEAST.keys() == {*VALUES, "regex"}
    answer = ask(ExtractSettings((Field("policy", "reference", "policy number"),)), "Invoice number: INV-2025")
    assert answer.columns["fields"][0]["value"] is None
    assert answer.columns["fields"][0]["note"].startswith("nothing that fits well enough; nearest was 'INV-2025' (0.")


LINES = "\n\n".join(f"[{place}].Fallnummer: F-2026-{place:05}\n[{place}].Text: Beschwerde" for place in range(5))
CASES = (
    Field("ref", "reference", "Fallnummer"),
    Field("n", "number", "Fallnummer"),
    Field("line", "reference", "line"),
)


def test_the_ways_to_values_of_json_hold_no_values() -> None:
    model, settings = BagOfWords(), ExtractSettings(CASES)
    document = Parsed(f"{LINES}\n\nuser.line2: none", "application/x-ndjson", "none")
    task = settings.on_embedding(model)
    spans = task.spans(document)
    vectors = model.embed([document.text[span.start : span.end] for span in spans])
    rows = task.answer(document, spans, vectors).columns["fields"]
    assert [row["value"] for row in rows] == ["F-2026-00000", None, None]


def test_of_values_that_fit_nearly_equally_the_first_is_given(ask: Ask) -> None:
    text = "Amount A: 12,50 EUR\n\nAmount B: 15,00 EUR"
    assert values(ask, text, Field("a", "money", "amount")) == {"a": "12.50 EUR"}
    rows = ask(ExtractSettings((Field("b", "money", "amount b"),)), text).columns["fields"]
    assert rows[0]["value"] == "15.00 EUR"


def test_a_text_that_only_names_the_field_is_no_value(ask: Ask) -> None:
    assert values(ask, "Customer", Field("c", "text", "customer")) == {"c": None}


def test_of_too_many_values_the_nearest_in_meaning_are_looked_at(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MOST_VALUES", 3)
    text = "A fee of 5 EUR was paid. " * 10 + "The rent for the flat is 700 EUR. " + "A fee of 6 EUR was paid. " * 10
    row = ask(ExtractSettings((Field("rent", "money", "rent for the flat"),)), text).columns["fields"][0]
    assert row["value"] == "700 EUR"
    assert row["note"] == "18 values in passages of less likeness were too many to be looked at"


def test_names_are_no_patterns(ask: Ask) -> None:
    assert values(ask, "C++ (x) total: 5 EUR", Field("c++ [x", "money", "((total"))["c++ [x"] == "5 EUR"
    assert "_" in values(ask, "5 EUR", Field("_", "money", ",;("))


def test_a_pattern_that_explodes_fails_the_document(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "_SECONDS", 0.05)
    with pytest.raises(DocumentError):
        ask(ExtractSettings((Field("x", "regex", "", r"(?:x+x+)+y"),)), "x" * 5000)
