"""Answers that are held to values of the document: nothing else can be written, and each has its place."""

import json
from typing import Any

import pytest

import engine
from pipeline.document import Parsed, Span
from pipeline.errors import DocumentError
from pipeline.tasks import AskSettings, SettingsError
from pipeline.tasks.ask import held
from pipeline.tasks.ask.held import Held, Offered
from tests.pipeline.tasks.scribe import Scribe, document_of
from tests.pipeline.tasks.test_writing import row_of

INVOICE = (
    "Invoice A-17\n\nNet 1.000,00 EUR, VAT 19 %, 190,00 EUR\n2 pages\nTotal due: 1.190,00\nEUR by 15.\nJanuary 2026, "
    "not 16.01.2026.\n\nTotal due: 1.190,00 EUR"
)
TOTAL = {"type": "number", "format": "value", "x-type": "money"}
DUE = {"type": ["string", "null"], "format": "value", "x-type": "date"}


def asking(**properties: Any) -> AskSettings:
    return AskSettings("What is due?", json.dumps({"type": "object", "properties": properties}))


def saying(**said: Any) -> Scribe:
    return Scribe(lambda told, spec: said)


def offers(text: str, kind: Held, *spans: tuple[int, int]) -> dict[Any, str]:
    places = [Span(*span) for span in spans] or [Span(0, len(text))]
    return {
        value: text[span.start : span.end]
        for value, span in Offered(Parsed(text, "text/plain", "none"), places)[kind].items()
    }


def test_a_total_is_one_of_the_amounts_and_has_its_place() -> None:
    row = row_of(asking(total=TOTAL, due=DUE), saying(total=1190, due="2026-01-15"), INVOICE)
    assert row["state"] == "done"
    total, due = row["values"]
    assert (total["value"], total["evidence"]["text"]) == ("1190", "1.190,00\nEUR")
    assert total["evidence"]["start"] == INVOICE.index("1.190,00")
    assert (due["value"], due["evidence"]["text"]) == ("2026-01-15", "15.\nJanuary 2026")
    assert [one["text"] for one in row["evidence"]] == ["1.190,00\nEUR", "15.\nJanuary 2026"]
    assert 0 < total["score"] < 1


@pytest.mark.parametrize("total", [100000000000000.00, 1190.01, 19, 2, 1191, None, "1190"])
def test_no_other_total_can_be_written(total: Any) -> None:
    with pytest.raises(engine.EngineError, match="is not allowed"):
        row_of(asking(total=TOTAL), saying(total=total), INVOICE)


def test_what_the_model_is_told_names_the_form_of_values_and_only_where_there_are_some() -> None:
    scribe = saying(total=190)
    row_of(asking(total=TOTAL), scribe, INVOICE)
    assert 'has the format "value" stands in the text' in scribe.asked[0]
    scribe = saying(total=5)
    row_of(asking(total={"type": "number"}), scribe, INVOICE)
    assert 'the format "value"' not in scribe.asked[0]


def test_numbers_are_amounts_percentages_and_plain_numbers_as_the_document_writes_them() -> None:
    assert offers(INVOICE, Held(held.NUMERIC, "number")) == {
        1000: "1.000,00 EUR", 19: "19 %", 190: "190,00 EUR", 2: "2", 1190: "1.190,00\nEUR",
    }  # fmt: skip
    assert offers("12.5 and 1,234.25 and 0.5 %", Held(held.NUMERIC, "number")) == {
        12.5: "12.5", 1234.25: "1,234.25", 0.5: "0.5 %",
    }  # fmt: skip
    assert list(offers("12.5 and 13 and 14.00", Held(("number", "money"), "integer"))) == [13, 14]
    assert offers("1234567890123456 7", Held(("number",), "number")) == {7: "7"}


def test_bounds_leave_out_values_and_are_no_business_of_the_model() -> None:
    node = {"type": "number", "format": "value", "minimum": 100, "exclusiveMaximum": 1000}
    assert list(offers(INVOICE, held.held_by(node))) == [190]
    with pytest.raises(engine.EngineError, match="is not allowed"):
        row_of(asking(total=node), saying(total=1000), INVOICE)
    assert row_of(asking(total=node), saying(total=190), INVOICE)["state"] == "done"


@pytest.mark.parametrize(
    ("text", "kind", "found"),
    [
        ("Pay on 3 May\n2026 to us.", "date", {"2026-05-03": "3 May\n2026"}),
        ("3 May 2026\n4 June 2027", "date", {"2026-05-03": "3 May 2026", "2027-06-04": "4 June 2027"}),
        ("Total 100\nEUR 5", "money", {"5 EUR": "EUR 5"}),
        ("a | 100\nEUR | 5", "money", {}),
        ("1\n234,50", "money", {"234.50": "234,50"}),
        ("1\n\n234,50 EUR", "money", {"234.50 EUR": "234,50 EUR"}),
        ("call +49 731\n1234567", "phone", {}),
    ],
)
def test_values_go_over_the_end_of_a_line_but_numbers_do_not(text: str, kind: str, found: dict[str, str]) -> None:
    assert offers(text, Held((kind,), "string")) == found


def test_what_a_cut_leaves_of_a_value_is_not_offered() -> None:
    text = "Total 1,234.50 EUR and 7.25 EUR."
    at = text.index("234")
    assert offers(text, Held(("money",), "string"), (0, at), (at, len(text))) == {"7.25 EUR": "7.25 EUR"}
    assert offers(text, Held(("money",), "number"), (0, len(text) - 7)) == {1234.5: "1,234.50 EUR"}


def test_values_are_read_as_the_whole_document_reads() -> None:
    text = "Prices: 1,50 and 2,75 and 3,10.\nWeight 1,234"
    assert list(offers(text, Held(("number",), "number"), (32, len(text)))) == [1.234]


def test_of_a_long_document_only_what_the_model_reads_is_offered() -> None:
    filler = "Nothing of any interest is said in this sentence. " * 30
    text = f"{filler}Paid were 10 EUR. {filler}Due are 20 EUR. {filler}"

    def answer(told: str, spec: Any) -> Any:
        if "passages" in spec.schema["properties"]:
            return {"passages": [one for one in ("Due are 20 EUR.",) if one in document_of(told)]}
        assert spec.values == {"/properties/total": (20,)}
        return {"total": 20}

    row = row_of(asking(total=TOTAL), Scribe(answer, context=3200), text, max_tokens=300)
    assert (row["state"], row["values"][0]["evidence"]["start"]) == ("done", text.index("20 EUR"))


def test_without_a_value_null_stands_there_or_nothing_is_answered() -> None:
    assert row_of(asking(due=DUE), saying(due=None), "No day.")["values"][0]["evidence"] is None
    row = row_of(asking(total=TOTAL), saying(total=1), "No amount.")
    assert (row["state"], row["failure"], row["answer"]) == ("failed", "unanswered", None)
    assert row["reason"] == (
        "no value of the type money stands in what was read, and the schema does not allow null at /total"
    )


@pytest.mark.parametrize(
    ("node", "said"),
    [
        ({"type": "array", "items": TOTAL}, []),
        ({"anyOf": [TOTAL, {"type": "string", "format": "quote"}]}, "No"),
        ({"anyOf": [TOTAL, {"type": "null"}]}, None),
        ({"type": ["object", "null"], "properties": {"in": TOTAL}}, None),
        ({"type": ["array", "boolean"], "items": TOTAL, "minItems": 1}, True),
        ({"$ref": "#/$defs/maybe"}, None),
        ({"type": "object", "properties": {"a": {"type": "array", "items": {"$ref": "#/$defs/maybe"}}}}, {"a": [None]}),
    ],
)
def test_what_would_need_a_value_that_is_not_there_is_left_out(node: Any, said: Any) -> None:
    schema = {"type": "object", "properties": {"x": node}, "$defs": {"maybe": {"anyOf": [TOTAL, {"type": "null"}]}}}
    row = row_of(AskSettings("What?", json.dumps(schema)), saying(x=said), "No amount.")
    assert (row["state"], json.loads(row["answer"])) == ("done", {"x": said})


@pytest.mark.parametrize(
    "node",
    [
        {"type": "array", "items": TOTAL, "minItems": 1},
        {"type": "object", "properties": {"in": TOTAL}},
        {"anyOf": [TOTAL, {"type": "array", "items": TOTAL, "minItems": 2}]},
    ],
)
def test_where_nothing_is_left_it_is_unanswered(node: Any) -> None:
    row = row_of(asking(x=node), saying(x=None), "No amount.")
    assert row["reason"].startswith("no value of the type money stands in what was read")


def test_values_and_quotes_stand_beside_each_other_and_behind_references() -> None:
    schema = {
        "type": "object",
        "properties": {
            "lines": {"type": "array", "items": {"$ref": "#/$defs/line"}},
            "rate": {"type": "integer", "format": "value", "x-type": "percent"},
            "paid": {"type": "boolean"},
            "said": {"type": "string", "format": "quote"},
        },
        "$defs": {"line": {"type": "object", "properties": {"amount": TOTAL, "why": {"type": "string"}}}},
    }
    said = {"lines": [{"amount": 1000, "why": "net"}, {"amount": 190, "why": "19"}], "rate": 19, "paid": True,
            "said": "Net 1.000,00 EUR"}  # fmt: skip
    row = row_of(AskSettings("What?", json.dumps(schema)), Scribe(lambda told, spec: said), INVOICE)
    values = {value["pointer"]: value["evidence"] and value["evidence"]["text"] for value in row["values"]}
    assert values == {
        "/lines/0/amount": "1.000,00 EUR", "/lines/0/why": None, "/lines/1/amount": "190,00 EUR",
        "/lines/1/why": None, "/rate": "19 %", "/paid": None, "/said": "Net 1.000,00 EUR",
    }  # fmt: skip


def test_thousands_of_values_are_offered_and_more_are_a_failure() -> None:
    text = "\n".join(f"{number} EUR" for number in range(1, 3001))
    scribe = Scribe(lambda told, spec: {"total": 2999}, context=120_000)
    row = row_of(asking(total=TOTAL), scribe, text, context=120_000)
    assert row["values"][0]["evidence"]["text"] == "2999 EUR"
    offered = Offered(Parsed(text, "text/plain", "none"), [Span(0, len(text))])
    assert len(offered[Held(("money",), "number")]) == 3000
    many = "\n".join(f"{number} EUR" for number in range(1, held.MOST + 2))
    with pytest.raises(DocumentError, match="10,001 values may be meant, at most 10,000 can be"):
        Offered(Parsed(many, "text/plain", "none"), [Span(0, len(many))])[Held(("money",), "number")]


@pytest.mark.parametrize(
    ("node", "found"),
    [
        ({"type": "boolean", "format": "value"}, "a value of the type 'boolean'"),
        ({"type": ["string", "number"], "format": "value", "x-type": "money"}, "a value of the type"),
        ({"type": "string", "format": "value"}, "a text that is a value, without x-type"),
        ({"type": "number", "format": "value", "x-type": "date"}, "the x-type 'date'"),
        ({"type": "string", "format": "value", "x-type": "text"}, "the x-type 'text'"),
        ({"type": "string", "format": "value", "x-type": "date", "maxLength": 3}, "'maxLength' beside format: value"),
        ({"type": "number", "format": "value", "minimum": 3, "maximum": 2}, "maximum: found 2"),
        ({"type": "number", "x-type": "money"}, "x-type: found 'money'"),
    ],
)
def test_what_cannot_be_a_value_is_refused_at_its_place(node: Any, found: str) -> None:
    with pytest.raises(SettingsError, match=found) as raised:
        asking(total=node)
    assert raised.value.at[:3] == ("schema", "properties", "total")
