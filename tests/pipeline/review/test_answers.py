"""What a person may say is right: labels that the job had, values as the job reads them, where they really stand."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.document import Row
from pipeline.outbox.placement import archive_folder
from pipeline.outbox.schema import table_schema
from pipeline.plan import Site
from pipeline.records.types import KINDS, Document
from pipeline.review.seen import Seen
from pipeline.states import State
from pipeline.tasks import (
    AskSettings,
    BatchSettings,
    ClassifySettings,
    ExtractSettings,
    Field,
    Label,
    SummarizeSettings,
    Task,
)
from pipeline.tasks.correcting import ReviewRefusedError
from tests.pipeline.records.samples import completed

TEXT = "Invoice RE-17 of 3 April 2024\nTotal due: 1.234,50 EUR\nBitte zahlen Sie bis zum 1. Mai 2024 an die ACME\nGmbH."
SCORES = [{"label": "lease", "score": 0.7}, {"label": "invoice", "score": 0.3}]
LABELS = ClassifySettings(labels=(Label("lease"), Label("invoice")))
FIELDS = ExtractSettings(
    fields=(
        Field("total", "money"),
        Field("due", "date"),
        Field("party", "organisation", many=True),
        Field("number", "regex", pattern="RE-[0-9]+"),
        Field("subject"),
    )
)
SCHEMA = {
    "type": "object",
    "properties": {
        "total": {"type": "number"},
        "kind": {"type": "string", "enum": ["invoice", "lease"]},
        "why": {"type": ["string", "null"]},
        "list": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["total", "kind", "why", "list"],
    "additionalProperties": False,
}


@pytest.fixture
def see(site: Site) -> Any:
    """A row of a task with these columns, whose document has TEXT."""
    sha256 = hashlib.sha256(TEXT.encode()).hexdigest()
    said = {"type": "document", "n": 7, "job": "sort", "document": "ab" * 32, "text_sha256": sha256}
    entry = KINDS["document"].from_json(completed(said))
    assert isinstance(entry, Document)
    file = archive_folder(site.root, "sort", "ab" * 32) / "text" / f"{sha256}.txt"
    file.parent.mkdir(parents=True)
    file.write_text(TEXT)

    def seen(task: Task, state: str = "done", **columns: Any) -> Seen:
        row = dict.fromkeys(table_schema().names) | {"state": state, "reason": "so", "evidence": [], "pages": 2}
        return Seen(site, entry, Row(row | columns), task)

    return seen


def element(name: str, kind: str, value: str | None = None, start: int | None = None) -> dict[str, Any]:
    members = ("name", "type", "value", "verbatim", "score", "note", "evidence")
    place = None
    if value is not None and start is not None:
        place = {"page": 2, "start": start, "end": start + len(value), "text": value, "section": "Sums"}
    return dict.fromkeys(members) | {"name": name, "type": kind, "value": value, "score": 0.5, "evidence": place}


def extracted(see: Any) -> Seen:
    elements = [element(one.name, one.type) for one in FIELDS.fields]
    elements[1] = element("due", "date", "3 April 2024", TEXT.index("3 April"))
    seen: Seen = see(FIELDS, fields=elements, evidence=[elements[1]["evidence"]])
    return seen


def corrected(seen: Seen, answer: Mapping[str, Any]) -> dict[str, Any]:
    return seen.decided("corrected", answer)


def value(seen: Seen, name: str, said: Any) -> dict[str, Any]:
    row = corrected(seen, {"fields": {name: said}})
    (found,) = [each for each in row["fields"] if each["name"] == name]
    return found  # type: ignore[no-any-return]


def span(text: str) -> dict[str, int]:
    return {"start": TEXT.index(text), "end": TEXT.index(text) + len(text)}


def test_a_label_is_one_that_the_job_had(see: Any) -> None:
    seen = see(LABELS, label="lease", score=0.7, scores=SCORES)
    row = corrected(seen, {"label": "invoice"})
    assert (row["label"], row["score"], row["scores"], row["state"], row["reason"]) == (
        "invoice", None, SCORES, State.DONE, None
    )  # fmt: skip
    with pytest.raises(ReviewRefusedError, match="no label 'letter' when it made this row; it had lease, invoice"):
        corrected(seen, {"label": "letter"})
    with pytest.raises(ReviewRefusedError, match="says that already"):
        corrected(seen, {"label": "lease"})
    with pytest.raises(ReviewRefusedError, match="says 'label' and nothing else"):
        corrected(seen, {"label": "invoice", "score": 1.0})
    review = see(LABELS, "review", label="lease", score=0.7, scores=SCORES)
    assert corrected(review, {"label": "lease"})["score"] == 0.7


def test_labels_of_the_model_are_those_it_scored(see: Any) -> None:
    seen = see(ClassifySettings(labels=()), label="lease", score=0.7, scores=SCORES)
    assert corrected(seen, {"label": "invoice"})["label"] == "invoice"
    with pytest.raises(ReviewRefusedError, match="it had lease, invoice"):
        corrected(seen, {"label": "letter"})


@pytest.mark.parametrize(
    ("name", "said", "expected"),
    [
        ("total", {"value": "1234.50 EUR"}, ("1234.50 EUR", None)),
        ("total", {"value": "€ 1.234,50"}, ("1234.50 EUR", None)),
        ("total", {"value": "1.234,50 EUR", **span("Total due: 1.234,50 EUR")}, ("1234.50 EUR", "1.234,50 EUR")),
        ("total", {"value": "1234.50 EUR", **span("1.234,50 EUR")}, ("1234.50 EUR", "1.234,50 EUR")),
        ("due", {"value": "2024-05-01", **span("1. Mai 2024")}, ("2024-05-01", "1. Mai 2024")),
        ("due", {"value": "1 May 2024"}, ("2024-05-01", None)),
        ("number", {"value": "RE-17", **span("Invoice RE-17 of")}, ("RE-17", "RE-17")),
        ("party", {"value": "ACME GmbH", **span("die ACME\nGmbH.")}, ("ACME GmbH", "ACME\nGmbH")),
        ("subject", {"value": " an  invoice "}, ("an invoice", None)),
        ("due", None, (None, None)),
    ],
)
def test_a_value_is_read_as_the_job_reads_values(
    see: Any, name: str, said: Any, expected: tuple[str | None, str | None]
) -> None:
    found = value(extracted(see), name, said)
    assert (found["value"], found["verbatim"]) == expected
    assert found["score"] is None
    if found["evidence"]:
        at = found["evidence"]
        assert TEXT[at["start"] : at["end"]] == at["text"] == found["verbatim"]


@pytest.mark.parametrize(
    ("name", "said", "why"),
    [
        ("total", {"value": "twelve"}, "total: 'twelve' is no money"),
        ("due", {"value": "soon"}, "due: 'soon' is no date"),
        ("number", {"value": "17"}, "number: '17' is no regex"),
        ("total", {"value": "99.00 EUR", **span("1.234,50 EUR")}, "'99.00 EUR' does not stand at"),
        ("total", {"value": "1.234,50 EUR", "start": 0, "end": 5}, "does not stand at 0 to 5"),
        ("subject", {"value": "a lease", "start": 0, "end": 40}, "'a lease' does not stand at 0 to 40"),
        ("total", {"value": "1 EUR", "start": 5, "end": 5}, "is no place in it"),
        ("total", {"value": "1 EUR", "start": -1, "end": 5}, "is no place in it"),
        ("total", {"value": "1 EUR", "start": 0, "end": 10_000}, "is no place in it"),
        ("total", {"value": "1 EUR", "start": 0}, "a place is a start and an end"),
        ("total", {"value": "1 EUR", "start": True, "end": 5}, "a place is a start and an end"),
        ("total", {"value": "1 EUR", "start": 0, "end": 5, "page": 9}, "no page 9"),
        ("total", {"value": "  "}, "the value is empty"),
        ("total", {"value": 12}, "the value is empty"),
        ("total", {"start": 1, "end": 2}, "a value is given as"),
        ("total", "12 EUR", "a value is given as"),
        ("total", {"value": "x" * 5000}, "5,000 characters"),
        ("total", [{"value": "1 EUR"}, {"value": "2 EUR"}], "the field has one value, and 2 were given"),
        ("net", {"value": "1 EUR"}, "no field 'net' when it made this row; it had total, due"),
    ],
)
def test_a_value_that_cannot_be_is_refused_in_a_sentence(see: Any, name: str, said: Any, why: str) -> None:
    with pytest.raises(ReviewRefusedError, match=why):
        value(extracted(see), name, said)


def test_other_fields_stay_and_a_known_place_keeps_its_page(see: Any) -> None:
    seen = extracted(see)
    row = corrected(seen, {"fields": {"total": {"value": "1234.50 EUR", "page": 1, **span("1.234,50 EUR")}}})
    assert [each["name"] for each in row["fields"]] == ["total", "due", "party", "number", "subject"]
    assert row["fields"][1] == seen.row["fields"][1]
    assert row["fields"][0]["evidence"]["page"] == 1
    assert [place["page"] for place in row["evidence"]] == [1, 2]
    again = value(seen, "due", {"value": "2024-04-03", **span("3 April 2024")})
    assert (again["evidence"]["page"], again["evidence"]["section"]) == (2, "Sums")


def test_a_field_with_several_values(see: Any) -> None:
    row = corrected(extracted(see), {"fields": {"party": [{"value": "A Ltd"}, {"value": "B AG"}]}})
    assert [each["value"] for each in row["fields"] if each["name"] == "party"] == ["A Ltd", "B AG"]


def test_without_the_text_no_place_is_marked(see: Any, site: Site, tmp_path: Path) -> None:
    seen = replace(extracted(see), site=replace(site, root=tmp_path / "elsewhere"))
    assert value(seen, "total", {"value": "12.00 EUR"})["value"] == "12.00 EUR"
    with pytest.raises(ReviewRefusedError, match="not in the archive any more"):
        value(seen, "total", {"value": "1.234,50 EUR", **span("1.234,50 EUR")})


def test_a_summary(see: Any) -> None:
    seen = see(SummarizeSettings(sentences=2), summary="It is a bill.", sentences=[], evidence=[1])
    row = corrected(seen, {"summary": " An invoice over 1,234.50 EUR. "})
    assert (row["summary"], row["sentences"], row["evidence"]) == ("An invoice over 1,234.50 EUR.", [], [])
    for wrong in ({"summary": " "}, {"summary": 1}, {"summary": "x" * 70_000}, {}):
        with pytest.raises(ReviewRefusedError):
            corrected(seen, wrong)


def asked(see: Any) -> Seen:
    answer = {"total": 12.5, "kind": "lease", "why": None, "list": ["a", "b"]}
    pointers = {"/total": "12.5", "/kind": "lease", "/why": None, "/list/0": "a", "/list/1": "b"}
    values = [{"pointer": at, "value": text, "score": 0.5, "evidence": None} for at, text in pointers.items()]
    seen: Seen = see(AskSettings("What?", json.dumps(SCHEMA)), answer=json.dumps(answer), values=values)
    return seen


@pytest.mark.parametrize(
    ("pointer", "said", "expected"),
    [
        ("/total", {"value": "1234.5"}, 1234.5),
        ("/total", {"value": 7}, 7),
        ("/kind", {"value": "invoice"}, "invoice"),
        ("/why", {"value": "Total due", **span("Total due: ")}, "Total due"),
        ("/why", None, None),
        ("/list/1", {"value": "c"}, "c"),
    ],
)
def test_a_value_of_an_answer(see: Any, pointer: str, said: Any, expected: Any) -> None:
    row = corrected(asked(see), {"fields": {pointer: said, "/list/0": {"value": "z"}}})
    whole = json.loads(row["answer"])
    assert whole["list"][0] == "z"
    at: Any = whole
    for step in pointer[1:].split("/"):
        at = at[int(step)] if isinstance(at, list) else at[step]
    assert at == expected
    (its,) = [each for each in row["values"] if each["pointer"] == pointer]
    assert its["value"] == (expected if isinstance(expected, str | None) else json.dumps(expected))


@pytest.mark.parametrize(
    ("pointer", "said", "why"),
    [
        ("/total", {"value": "much"}, "wants a number there"),
        ("/kind", {"value": "letter"}, 'wants one of "invoice", "lease" there'),
        ("/kind", None, "wants a string there"),
        ("/net", {"value": "1"}, "no value at '/net'"),
        ("/why", {"value": "nowhere", "start": 0, "end": 5}, "does not stand at"),
    ],
)
def test_a_value_that_the_schema_does_not_take(see: Any, pointer: str, said: Any, why: str) -> None:
    with pytest.raises(ReviewRefusedError, match=why):
        corrected(asked(see), {"fields": {pointer: said}})


def test_what_is_accepted_or_rejected(see: Any) -> None:
    seen = see(LABELS, "review", label="lease", score=0.7, scores=SCORES)
    row = seen.decided("accepted", None)
    assert (row["label"], row["score"], row["state"], row["reason"]) == ("lease", 0.7, "done", None)
    row = seen.decided("rejected", None)
    assert (row["label"], row["score"], row["scores"], row["state"]) == (None, None, None, "rejected")
    with pytest.raises(ReviewRefusedError, match="only a correction has an answer"):
        seen.decided("accepted", {"label": "lease"})
    with pytest.raises(ReviewRefusedError, match="says what is right"):
        seen.decided("corrected", None)
    for state, why in (
        ("abstained", "no answer that could be accepted"),
        ("rejected", "it was rejected|the row was rejected"),
    ):
        with pytest.raises(ReviewRefusedError, match=why):
            see(LABELS, state, scores=SCORES).decided("accepted", None)
    with pytest.raises(ReviewRefusedError, match="answers of batch files"):
        see(BatchSettings(models=("m",))).decided("accepted", None)
    empty = see(FIELDS, "abstained", fields=[element(one.name, one.type) for one in FIELDS.fields])
    assert empty.decided("accepted", None)["state"] == "done"  # that there is none is an answer
