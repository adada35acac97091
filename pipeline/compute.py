"""Batches across documents: the spans of many documents go through the model together, the order stays."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pipeline.document import Parsed, Span
from pipeline.errors import DocumentError, Failure
from pipeline.intake import Arrival
from pipeline.language import language
from pipeline.states import State
from pipeline.tasks import Answer, Embedder, Task


@dataclass(frozen=True)
class Work:
    """A parsed document on its way to an answer; `seconds` is what it took so far."""

    arrival: Arrival
    parsed: Parsed
    seconds: float


def answer_all(works: Sequence[Work], task: Task, model: Embedder) -> list[dict[str, Any]]:
    """One row a document, in order; each document's share of the time goes by its characters."""
    begun = time.perf_counter()
    spans = [task.spans(work.parsed) for work in works]
    texts = [work.parsed.text[s.start : s.end] for work, its in zip(works, spans, strict=True) for s in its]
    tokens, vectors = model.count_tokens(texts), model.embed(texts)
    rows, first = [], 0
    for work, its in zip(works, spans, strict=True):
        last = first + len(its)
        try:
            answer = task.answer(work.parsed, its, vectors[first:last])
            rows.append(_row(work, its, tokens[first:last], answer))
        except DocumentError as error:
            rows.append(failed_row(work.arrival, work.parsed, error.failure, error.reason))
        first = last
    per_character = (time.perf_counter() - begun) / max(1, sum(len(work.parsed.text) for work in works))
    for row, work in zip(rows, works, strict=True):
        row["seconds"] = round(work.seconds + per_character * len(work.parsed.text), 6)
    return rows


def failed_row(arrival: Arrival, parsed: Parsed | None, failure: Failure, reason: str) -> dict[str, Any]:
    """The row of a document that has no answer."""
    ended = {"state": State.FAILED.value, "failure": failure.value, "reason": reason, "tokens": 0, "seconds": 0.0}
    return input_columns(arrival, parsed) | ended


def _row(work: Work, spans: Sequence[Span], tokens: Sequence[int], answer: Answer) -> dict[str, Any]:
    return {
        **input_columns(work.arrival, work.parsed),
        "state": (State.ABSTAINED if answer.abstained else State.DONE).value,
        "reason": answer.reason,
        **answer.columns,
        "evidence": [asdict(evidence) for evidence in answer.evidence],
        "chunks": [{"start": s.start, "end": s.end, "tokens": t} for s, t in zip(spans, tokens, strict=True)],
        "tokens": sum(tokens),
    }


def input_columns(arrival: Arrival, parsed: Parsed | None) -> dict[str, Any]:
    """The columns that say what came in."""
    columns: dict[str, Any] = {"document": arrival.sha256, "path": arrival.path, "size": arrival.size}
    if parsed:
        columns |= {
            "media_type": parsed.media_type,
            "encoding": parsed.encoding,
            "language": language(parsed.text),
            "pages": len(parsed.page_starts) or None,
            "notes": list(parsed.notes),
            "parser": parsed.parser,
            "text_sha256": parsed.text_sha256,
        }
    return columns
