"""A batch of documents: rows in order, and a document that fails takes nobody with it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import engine
from pipeline import DocumentError, Failure
from pipeline.answer.compute import Embedding, answer_all
from pipeline.document import Parsed, Span
from pipeline.inbox.intake import Arrival
from pipeline.inbox.order import Work
from pipeline.plan import Bounds
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
        assert rows[0]["reason"] == "page 2: a; page 3: b"
        assert rows[0]["last"] == "a"


def test_no_documents(model: engine.Model) -> None:
    assert answer_all([], LastCharacter(), model, lambda done, total: None) == []


def works_of(*texts: str) -> list[Work]:
    return [Work(Arrival(str(n), str(n), 1), Parsed(text, "text/plain", "txt"), 0.5) for n, text in enumerate(texts)]


def test_a_text_of_too_many_tokens_fails_alone_before_anything_of_it_is_computed(model: engine.Model) -> None:
    asked: list[str] = []

    def embed(texts: Sequence[str]) -> Any:
        asked.extend(texts)
        return model.embed(texts)

    bounds = Bounds(tokens=12, seconds=9.0)
    for texts in (["a b", "c d " * 20, "e f"], ["c d " * 20, "e f"], ["a b", "c d " * 20], ["c d " * 20]):
        asked.clear()
        rows = answer_all(works_of(*texts), LastCharacter(), model, lambda d, t: None, compute=embed, bounds=bounds)
        alone = [answer_all(works_of(text), LastCharacter(), model, lambda d, t: None)[0] for text in texts]
        for text, row, single in zip(texts, rows, alone, strict=True):
            if len(text) > 9:
                counted = sum(model.count_tokens([text[:40], text[40:]]))
                assert (row["state"], row["failure"]) == ("failed", "too_long")
                limit = "the limit is 12 (limits.document_tokens in site.yaml): split it, or raise the limit"
                assert row["reason"] == f"its text has {counted} tokens; {limit}"
            else:
                assert (row["state"], row["last"], row["chunks"]) == ("done", single["last"], single["chunks"])
        assert not any("c d" in text for text in asked)


def test_a_document_that_takes_too_long_is_stopped_and_has_no_part_of_an_answer(model: engine.Model) -> None:
    clock, computed = [0.0], list[int]()

    class Pages(LastCharacter):
        def spans(self, document: Parsed) -> list[Span]:
            return [Span(at, at + 4000) for at in range(0, len(document.text), 4000)] or [Span(0, 0)]

        def answer(self, document: Parsed, spans: Sequence[Span], vectors: Any) -> Answer:
            assert len(spans) == len(vectors)
            assert abs(vectors).sum(axis=1).all()
            return Answer({"last": document.text[-1]})

    def embed(texts: Sequence[str]) -> Any:
        computed.append(len(texts))
        clock[0] += len(texts)
        return model.embed([text[:9] for text in texts])

    texts = ["a b c", "d e " * 40_000, "f g h"]
    more: Any = {"compute": embed, "timer": lambda: clock[0]}
    rows = answer_all(works_of(*texts), Pages(), model, lambda d, t: None, bounds=Bounds(10**9, 10.0), **more)
    assert [row["state"] for row in rows] == ["done", "failed", "done"]
    assert rows[1]["failure"] == "too_long"
    limit = "the limit is 10 s (limits.document_seconds in site.yaml): split it, or raise the limit"
    assert rows[1]["reason"].endswith(f" s and had not come to an end; {limit}")
    assert "last" not in rows[1]
    assert sum(computed) < 30
    whole = answer_all(works_of(*texts), Pages(), model, lambda d, t: None, bounds=Bounds(10**9, 1000.0), **more)
    assert [row["state"] for row in whole] == ["done"] * 3
    assert [rows[n]["last"] for n in (0, 2)] == [whole[n]["last"] for n in (0, 2)]


def test_short_documents_do_not_wait_for_a_long_one_behind_them(model: engine.Model) -> None:
    works = works_of("a b", "c d", "e f " * 20_000, "g h")
    groups = list(Embedding(LastCharacter(), model, lambda texts: model.embed([t[:9] for t in texts]))(works, print))
    assert [[item.arrival.path for item, _ in group] for group in groups] == [["0", "1"], ["2"], ["3"]]
