"""The tasks on a model that writes: what is asked, what is made of the answers, and what is a failure."""

import json
from collections.abc import Callable
from itertools import pairwise
from math import exp, log
from typing import Any

import pytest

import engine
from pipeline.answer.converse import Conversing
from pipeline.document import Parsed, Row
from pipeline.inbox.intake import Arrival
from pipeline.inbox.order import Work
from pipeline.outbox.markdown import format_markdown
from pipeline.outbox.schema import as_read_back
from pipeline.tasks import (
    AskSettings,
    ClassifySettings,
    ExtractSettings,
    Field,
    Label,
    SummarizeSettings,
    Task,
    TaskRefusedError,
    Writing,
)
from tests.pipeline.tasks.scribe import Scribe, document_of

INVOICE = "Invoice A-17\n\nDate: 31.12.2025\nTotal due: 1.234,50\nEUR by 15.01.2026.\n\nPlease pay to us soon."
FIELDS = (
    Field("number", "reference", "the invoice's number"),
    Field("total", "money", "what is to be paid"),
    Field("due", "date", "when it is due"),
    Field("buyer", "text"),
    Field("order", "regex", "our order", r"PO-\d+"),
)
SAID = {
    "number": "A-17",
    "total": "1.234,50 EUR",
    "due": "15.01.2026",
    "buyer": None,
    "order": None,
}
LABELS = (Label("invoice", "asks for money"), Label("invoice reminder", "asks again", ("Mahnung",)), Label("letter"))


def row_of(settings: Task, scribe: Scribe, text: str, pages: tuple[int, ...] = (), **writing: Any) -> Row:
    """The document's row as the table gives it back."""
    document = Parsed(text, "text/plain", "none", pages)
    task = settings.on_writing(scribe, Writing(**writing))
    work = Work(Arrival("0", "a.txt", 1), document, 0.0)
    ((_, row),) = [pair for group in Conversing(task, scribe)([work], lambda done, of: None) for pair in group]
    assert row is not None
    return as_read_back(row, settings)


def test_values_are_quotes_with_their_places() -> None:
    row = row_of(ExtractSettings(FIELDS), Scribe(lambda told, spec: SAID), "Cover\n" + INVOICE, (0, 6))
    fields = {field["name"]: field for field in row["fields"]}
    assert [(name, field["value"]) for name, field in fields.items()] == [
        ("number", "A-17"),
        ("total", "1234.50 EUR"),
        ("due", "2026-01-15"),
        ("buyer", None),
        ("order", None),
    ]
    assert fields["total"]["verbatim"] == "1.234,50\nEUR"
    for field in row["fields"]:
        if evidence := field["evidence"]:
            assert evidence["text"] == field["verbatim"] == ("Cover\n" + INVOICE)[evidence["start"] : evidence["end"]]
            assert evidence["page"] == 2
    assert fields["buyer"]["note"] == "the model finds none"
    assert fields["order"]["note"] == "nothing in the document matches the pattern"
    assert [passage["text"] for passage in row["evidence"]] == ["A-17", "1.234,50\nEUR", "15.01.2026"]
    assert row["state"] == "done"
    assert row["chunks"] == [
        {"start": 0, "end": len(INVOICE) + 6, "tokens": len(INVOICE) + 6, "passages": 1, "context_start": 0}
    ]


def test_the_score_of_a_value_is_the_probability_of_its_own_tokens() -> None:
    at = json.dumps(SAID, separators=(",", ":")).index("1.234")
    scribe = Scribe(lambda told, spec: SAID, surprise=lambda text, place: log(0.5) if place in (at, at + 3) else 0.0)
    fields = row_of(ExtractSettings(FIELDS), scribe, INVOICE)["fields"]
    assert [field["score"] for field in fields] == [1.0, 0.25, 1.0, 1.0, None]


def test_no_value_at_all_is_abstained() -> None:
    said = dict.fromkeys(field.name for field in FIELDS)
    row = row_of(ExtractSettings(FIELDS), Scribe(lambda told, spec: said), INVOICE)
    assert (row["state"], row["reason"]) == ("abstained", "no field has a value in this document")


def test_a_long_document_is_read_in_parts_and_the_surest_value_holds() -> None:
    """Three parts; the total stands in two of them, and the model is surer of the second."""
    filler = "Nothing of any interest is said in this sentence. " * 30
    text = f"{filler}Total 10 EUR. {filler}Total 20 EUR. {filler}"

    def answer(told: str, spec: Any) -> Any:
        read = document_of(told)
        found = next((f"{n} EUR" for n in (10, 20) if f"{n} EUR" in read), None)
        return {"total": found}

    scribe = Scribe(answer, context=3000, surprise=lambda text, at: -0.01 if "20" in text else -0.02)
    row = row_of(ExtractSettings((Field("total", "money"),)), scribe, text, max_tokens=300)
    assert (row["fields"][0]["value"], len(scribe.asked)) == ("20 EUR", len(row["chunks"]))
    assert len(scribe.asked) >= 3
    edges = [(chunk["start"], chunk["end"]) for chunk in row["chunks"]]
    assert edges[0][0] == 0
    assert edges[-1][1] == len(text)
    assert all(a[1] == b[0] for a, b in pairwise(edges))
    start = text.index("20 EUR")
    assert (row["evidence"][0]["start"], row["evidence"][0]["end"]) == (start, start + 6)


def test_labels_have_the_probabilities_of_the_model() -> None:
    """Also where one label is how another one begins: then what ends an answer tells them apart."""
    shares = {"invoice": 0.5, "invoice reminder": 0.2, "letter": 0.1, "none of these": 0.05}

    def weigh(told: str, text: str) -> float:
        return log(shares[text])

    scribe = Scribe(lambda told, spec: {"quote": "Total due: 1.234,50 EUR"}, weigh)
    row = row_of(ClassifySettings(LABELS), scribe, INVOICE)
    assert (row["label"], row["state"]) == ("invoice", "done")
    assert [(one["label"], one["score"]) for one in row["scores"]] == [
        (name, pytest.approx(share / 0.85, abs=1e-6)) for name, share in list(shares.items())[:3]
    ]
    assert [passage["text"] for passage in row["evidence"]] == ["Total due: 1.234,50\nEUR"]
    first, second = scribe.asked
    assert "- invoice reminder: asks again\n  An example: Mahnung\n" in first
    assert second.startswith(first)


def test_a_label_that_a_model_answers_to_anything_counts_for_less() -> None:
    """To nothing "letter" is answered eight times as often as each of the others; "none of these" stays as it is."""
    liked = {"invoice": 0.08, "invoice reminder": 0.08, "letter": 0.64, "none of these": 0.2}
    read = {"invoice": 0.2, "invoice reminder": 0.1, "letter": 0.4, "none of these": 0.3}
    scribe = Scribe(
        lambda told, spec: {"quote": "Invoice"}, lambda told, text: log((read if document_of(told) else liked)[text])
    )
    row = row_of(ClassifySettings(LABELS, calibrate=True), scribe, INVOICE)
    weights = {"invoice": 0.2 / 0.3, "invoice reminder": 0.1 / 0.3, "letter": 0.4 / 2.4}
    total = sum(weights.values()) + 0.3
    assert row["label"] == "invoice"
    assert {one["label"]: one["score"] for one in row["scores"]} == {
        name: pytest.approx(weight / total, abs=1e-6) for name, weight in weights.items()
    }


def test_a_label_below_the_threshold_is_not_given() -> None:
    row = row_of(ClassifySettings(LABELS), Scribe(weigh=lambda told, text: -1.0), INVOICE)
    assert (row["state"], row["label"], row["score"]) == ("abstained", None, 0.25)
    assert row["reason"] == "the best label, invoice, scored 0.250, less than 0.3"


def test_parts_speak_for_a_label_by_their_tokens() -> None:
    text = "A lease. " * 300 + "A letter. " * 100

    def weigh(told: str, label: str) -> float:
        return log(0.9 if (label in document_of(told)) == (label != "none of these") else 0.1)

    labels = (Label("lease"), Label("letter"))
    scribe = Scribe(lambda told, spec: {"quote": "A lease."}, weigh, context=3000)
    row = row_of(ClassifySettings(labels), scribe, text)
    weights = [(weigh_all(chunk, text, weigh), chunk["tokens"]) for chunk in row["chunks"]]
    assert len(weights) > 2
    expected = sum(share * tokens for share, tokens in weights) / sum(tokens for _, tokens in weights)
    assert row["score"] == pytest.approx(expected, abs=1e-6)
    assert row["label"] == "lease"


def weigh_all(chunk: dict[str, Any], text: str, weigh: Callable[[str, str], float]) -> float:
    fenced = f"[text 12345678]\n{text[chunk['start'] : chunk['end']]}\n[end of text 12345678]"
    shares = {label: exp(weigh(fenced, label)) for label in ("lease", "letter", "none of these")}
    return shares["lease"] / sum(shares.values())


def telling(text: str, *rests: list[int]) -> Any:
    """What a scribe answers who writes this summary, and then on which passages its sentences rest."""
    places = {str(number): passages for number, passages in enumerate(rests, 1)}
    return lambda told, spec: text if isinstance(spec, engine.Pattern) else places


def test_a_summary_names_its_passages() -> None:
    text = "First page has a sentence.\n\nSecond page has another one."
    scribe = Scribe(telling("It is  an invoice. Pay.", [2, 1, 2], [1]))
    row = row_of(SummarizeSettings(sentences=2), scribe, text, (0, 28))
    assert row["summary"] == "It is an invoice. Pay."
    first = row["sentences"][0]
    assert (first["text"], first["page"], first["start"]) == ("It is an invoice.", None, None)
    assert [passage["text"] for passage in first["passages"]] == text.split("\n\n")
    assert [passage["page"] for passage in row["evidence"]] == [1, 2]
    assert row["sentences"][1]["score"] == pytest.approx(exp(-0.01), abs=1e-3)
    assert "1. It is an invoice.\n2. Pay.\n" in scribe.asked[1]


def test_other_passages_cannot_be_named() -> None:
    """The scribe is held to the rule as a model is."""
    with pytest.raises(engine.EngineError, match="is not allowed"):
        row_of(SummarizeSettings(sentences=2), Scribe(telling("There is no third one.", [3])), "One passage.")


def test_a_summary_keeps_to_its_words() -> None:
    one = "One two three four five."
    row = row_of(SummarizeSettings(words=12), Scribe(telling(f"{one} {one}", [1])), "One passage.")
    assert len(row["sentences"]) == 1
    scribe = Scribe(telling(" ".join([one] * 3), [1], [1], [1]))
    row = row_of(SummarizeSettings(words=25), scribe, "One passage.")
    assert row["summary"].split() == f"{one} {one} {one}".split()
    scribe = Scribe(telling(f"{one} {one} Then {', '.join('abcdefghijklmnopqrstuv')}, end.", [1], [1], [1]))
    assert len(row_of(SummarizeSettings(words=30), scribe, "One.")["sentences"]) == 2


def test_long_documents_are_summarized_in_parts_and_then_whole() -> None:
    """A sentence of the second summary rests on what the sentences rest on that it is made from."""
    text = "\n\n".join(f"Paragraph {n} tells of matter {n}, and of nothing else at all." for n in range(60))

    def answer(told: str, spec: Any) -> Any:
        lines = document_of(told).splitlines()
        if isinstance(spec, engine.Pattern):
            return f"About {lines[0][:24]} and {lines[-1][:24]} it is."
        return {"1": [1, len(lines)]}

    scribe = Scribe(answer, context=2600)
    row = row_of(SummarizeSettings(sentences=1), scribe, text, max_tokens=200)
    assert len(scribe.asked) == 2 * (len(row["chunks"]) + 1) > 6
    (sentence,) = row["sentences"]
    assert sentence["passages"][0]["text"].startswith("Paragraph 0 ")
    assert sentence["passages"][-1]["text"].endswith("Paragraph 59 tells of matter 59, and of nothing else at all.")
    assert row["chunks"][-1]["end"] == len(text)


SCHEMA = {
    "type": "object",
    "properties": {
        "parties": {"type": "array", "items": {"type": "string", "format": "quote"}, "maxItems": 3},
        "signed": {"type": "boolean"},
        "why": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/why"}]},
    },
    "$defs": {"why": {"type": "object", "properties": {"in words": {"type": "string"}}}},
}


def asking(schema: Any = SCHEMA) -> AskSettings:
    return AskSettings("Who are the parties?", json.dumps(schema))


def test_an_answer_to_a_question_of_ones_own() -> None:
    said = {"parties": ["Hartwell  Ltd"], "signed": True, "why": {"in words": "It says so."}}
    said["parties"] = ["Hartwell Ltd"]
    row = row_of(asking(), Scribe(lambda told, spec: said), "Between Hartwell\nLtd and others.")
    assert json.loads(row["answer"]) == said
    values = {value["pointer"]: value for value in row["values"]}
    assert values["/parties/0"]["value"] == "Hartwell Ltd"
    assert values["/parties/0"]["evidence"]["text"] == "Hartwell\nLtd"
    assert values["/signed"]["value"] == "true"
    why = values["/why/in words"]
    assert (why["value"], why["score"], why["evidence"]) == ("It says so.", pytest.approx(exp(-0.01), abs=1e-3), None)
    assert [passage["start"] for passage in row["evidence"]] == [8]
    about = {"document": "0", "audit_index": 1, "run": "r", "model_sha256": "m", "software": "s"}
    told = format_markdown(row.having(**about), "job")
    assert "| parties / 0 | Hartwell Ltd | characters 8 to 20 | 0.88 |" in told
    assert "| why / in words | It says so. |" in told


def test_a_question_to_a_long_document_is_answered_from_the_passages_that_it_needs() -> None:
    filler = "Nothing of any interest is said in this sentence. " * 30
    text = f"{filler}Hartwell Ltd lets. {filler}Lumen GmbH rents. {filler}"

    def answer(told: str, spec: Any) -> Any:
        read = document_of(told)
        if "passages" in spec.schema["properties"]:
            return {"passages": [one for one in ("Hartwell Ltd lets.", "Lumen GmbH rents.") if one in read]}
        assert read == "Hartwell Ltd lets.\n\nLumen GmbH rents."
        return {"parties": ["Lumen GmbH", "lets. Lumen"], "signed": False, "why": None}

    row = row_of(asking(), Scribe(answer, context=3200), text, max_tokens=300)
    assert row["state"] == "done"
    places = [(passage["text"][:4], passage["start"]) for passage in row["evidence"]]
    assert places == [("Lume", text.index("Lumen")), ("lets", text.index("lets"))]
    nothing = Scribe(lambda told, spec: {"passages": []}, context=3200)
    row = row_of(asking(), nothing, text, max_tokens=300)
    assert (row["state"], row["answer"]) == ("abstained", None)
    assert len(row["chunks"]) > 1


def test_a_question_without_a_schema_has_an_answer_and_quotes() -> None:
    said = {"quotes": ["Total due"], "answer": "Money."}
    row = row_of(AskSettings("What?"), Scribe(lambda told, spec: said), INVOICE)
    assert [value["pointer"] for value in row["values"]] == ["/quotes/0", "/answer"]


def test_an_answer_that_is_not_over_is_a_failure() -> None:
    row = row_of(ExtractSettings(FIELDS), Scribe(lambda told, spec: SAID), INVOICE, max_tokens=20)
    assert (row["state"], row["failure"]) == ("failed", "unanswered")
    assert row["reason"] == """the answer was not over after 20 tokens: '{"number":"A-17","to'"""
    assert row["fields"] is None


def test_a_text_that_only_a_rule_ended_is_a_failure() -> None:
    long = " ".join(map(str, range(1000)))
    row = row_of(SummarizeSettings(sentences=1), Scribe(telling(long[:600])), INVOICE)
    assert row["failure"] == "unanswered"
    assert row["reason"].startswith("a text of the answer was not over after 600 characters")
    said_of_asked = {"parties": [], "signed": True, "why": {"in words": long[:1000]}}
    row = row_of(asking(), Scribe(lambda told, spec: said_of_asked), INVOICE, max_tokens=1200)
    assert row["reason"].startswith("a text of the answer was not over after 1000 characters")


def test_sentences_that_are_said_again_and_again_stand_once() -> None:
    """Nothing that the model said is left out; who reads the row is told."""
    said = ["It is an invoice.", "The bridge is shut, and the bridge will be shut.", "Nobody crosses it."]
    text = " ".join([said[0], *said[1:] * 6])
    row = row_of(SummarizeSettings(sentences=5), Scribe(telling(text, [1], [1], [1])), INVOICE)
    assert (row["state"], row["summary"]) == ("done", " ".join(said))
    assert row["reason"] == "the model said the same again and again; it stands here once"
    row = row_of(SummarizeSettings(sentences=1), Scribe(telling(text, [1])), INVOICE)
    assert (row["summary"], row["reason"]) == (said[0], None)  # what was said again is not in it


@pytest.mark.parametrize(
    "text", ["It is paid. It is " + "paid and paid and " * 30, "paid " * 200, "Paid! " + "-" * 500]
)
def test_what_is_said_again_and_again_within_a_sentence_is_a_failure(text: str) -> None:
    row = row_of(SummarizeSettings(sentences=2), Scribe(telling(text)), INVOICE)
    assert (row["state"], row["failure"], row["summary"]) == ("failed", "unanswered", None)
    assert row["reason"].startswith("the model said the same again and again, and was stopped after ")


def test_a_text_of_an_answer_that_says_the_same_again_and_again_is_a_failure() -> None:
    said = {"parties": [], "signed": True, "why": {"in words": "It is so, as it is. " * 20}}
    row = row_of(asking(), Scribe(lambda told, spec: said), INVOICE)
    assert row["reason"].startswith("the model said the same again and again, and was stopped after ")
    said["why"] = {"in words": "yes, yes, " * 12}
    assert row_of(asking(), Scribe(lambda told, spec: said), INVOICE)["state"] == "done"


@pytest.mark.parametrize(
    "settings", [ClassifySettings(LABELS), ExtractSettings(FIELDS), SummarizeSettings(words=9), asking()]
)
def test_a_document_of_nothing_is_abstained_and_not_asked_about(settings: Task) -> None:
    scribe = Scribe(weigh=lambda told, text: -1.0)
    row = row_of(settings, scribe, " \n ")
    assert row["state"] == "abstained"
    assert not scribe.asked


def test_what_leaves_no_room_for_a_document_is_refused() -> None:
    with pytest.raises(TaskRefusedError, match="leaves no room for a document"):
        ExtractSettings(FIELDS).on_writing(Scribe(context=700), Writing())


def test_a_schema_that_no_answer_can_keep_is_refused_with_its_pointer() -> None:
    schema = {"type": "object", "properties": {"a/b": {"type": "string", "maxLength": -1}}}
    with pytest.raises(ValueError, match=r"#/properties/a~1b: maxLength: found -1"):
        asking(schema)


PARTIES = (
    Field("parties", "organisation", "who signs", many=True),
    Field("title", "title"),
    Field("sums", "money", many=True),
)


def test_a_field_may_have_several_values_each_with_its_place_and_score() -> None:
    text = "SUPPLY AGREEMENT\n\nThis agreement is between Hartwell Ltd and Lumen GmbH.\n\nPaid: 10 EUR and 12 EUR.\n"
    said = {"parties": ["Lumen GmbH", "Hartwell Ltd", "Lumen GmbH"], "title": "SUPPLY AGREEMENT", "sums": None}
    row = row_of(ExtractSettings(PARTIES), Scribe(lambda told, spec: said), text)
    fields = [
        (field["name"], field["value"], field["evidence"] and field["evidence"]["text"]) for field in row["fields"]
    ]
    assert [(name, place) for name, _, place in fields] == [
        ("parties", "Hartwell Ltd"), ("parties", "Lumen GmbH"), ("title", "SUPPLY AGREEMENT"), ("sums", None),
    ]  # fmt: skip
    assert row["fields"][-1]["note"] == "the model finds none"
    for wrong in ({**said, "parties": ["Other Ltd"]}, {**said, "sums": []}, {**said, "sums": ["11 EUR"]}):
        with pytest.raises(engine.EngineError, match="is not allowed"):
            row_of(ExtractSettings(PARTIES), Scribe(lambda told, spec, wrong=wrong: wrong), text)


def test_a_value_of_which_the_model_is_less_sure_than_the_field_asks_is_not_given() -> None:
    fields = (Field("total", "money", threshold=0.99),)
    row = row_of(ExtractSettings(fields), Scribe(lambda told, spec: {"total": "1.234,50 EUR"}), INVOICE)
    (total,) = row["fields"]
    assert (total["value"], row["state"]) == (None, "abstained")
    assert total["note"].startswith("nothing that fits well enough; nearest was '1.234,50")


def test_a_quote_that_begins_within_a_number_is_the_number_of_the_document() -> None:
    """With more values than are offered any passage may be quoted, also half of a number."""
    text = "\n".join(f"{number}.00 EUR" for number in range(400)) + "\nDue: 9,234.50\nEUR"
    fields = (Field("due", "money"),)
    scribe = Scribe(lambda told, spec: {"due": "234.50 EUR"}, context=60_000)
    row = row_of(ExtractSettings(fields), scribe, text, context=60_000)
    assert (row["fields"][0]["value"], row["fields"][0]["verbatim"]) == ("9234.50 EUR", "9,234.50")
