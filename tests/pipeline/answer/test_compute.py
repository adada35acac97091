"""A batch of documents: rows in order, and a document that fails takes nobody with it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import engine
from pipeline import DocumentError, Failure
from pipeline.answer.compute import answer_all
from pipeline.document import Parsed, Span
from pipeline.inbox.intake import Arrival
from pipeline.inbox.rows import Work
from pipeline.tasks import Answer


class LastCharacter:
    """The smallest task: two halves to embed, the last character for an answer; it fails on texts that end with "!"."""

    def spans(self, document: Parsed) -> list[Span]:
        half = len(document.text) // 2
        return [Span(0, half), Span(half, len(document.text))]

    def answer(self, document: Parsed, spans: Sequence[Span], vectors: Any) -> Answer:
        assert len(spans) == len(vectors) == 2
        if document.text.endswith("!"):
            raise DocumentError(Failure.TIMEOUT, "it ends with an exclamation mark")
        return Answer({"last": document.text[-1]}, abstained=document.text.endswith("?"))


@pytest.fixture(scope="module")
def model(tiny_model: Path) -> engine.Model:
    return engine.load(tiny_model)


def test_rows_in_order_with_their_own_spans(model: engine.Model) -> None:
    texts = ["the lease a", "total due!", "an invoice?", "b c d"]
    works = [Work(Arrival(str(i), str(i), 1), Parsed(text, "text/plain", "txt"), 0.5) for i, text in enumerate(texts)]
    rows = answer_all(works, LastCharacter(), model, lambda done, total: None)
    assert [row["path"] for row in rows] == ["0", "1", "2", "3"]
    assert [row["state"] for row in rows] == ["done", "failed", "abstained", "done"]
    assert [row.get("last") for row in rows] == ["a", None, "?", "d"]
    assert (rows[1]["failure"], rows[1]["reason"]) == ("timeout", "it ends with an exclamation mark")
    assert all(row["seconds"] >= 0.5 for row in rows)
    assert rows[3]["chunks"] == [{"start": 0, "end": 5, "tokens": 7, "passages": 2, "context_start": 0}]


def test_a_document_that_may_hold_hidden_text_is_for_review(model: engine.Model) -> None:
    """Whether the job drops hidden text or asks for review; one that cannot be answered stays failed."""
    for review_hidden in (False, True):
        works = [
            Work(Arrival(text, text, 1), Parsed(text, "text/plain", "txt", unsure=("page 2: a", "page 3: b")), 0.5)
            for text in ("the lease a", "an invoice?", "total due!")
        ]
        rows = answer_all(works, LastCharacter(), model, lambda done, total: None, review_hidden=review_hidden)
        assert [row["state"] for row in rows] == ["review", "review", "failed"]
        told = "it may hold what no person sees, which could not be told: "
        assert rows[0]["reason"] == f"{told}page 2: a; {told}page 3: b"
        assert rows[0]["last"] == "a"


def test_no_documents(model: engine.Model) -> None:
    assert answer_all([], LastCharacter(), model, lambda done, total: None) == []
