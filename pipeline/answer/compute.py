"""Batches across documents: the spans of many documents go through the model together, the order stays."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any, Final, Protocol, TypeVar, cast

import numpy as np

from pipeline.document import Hidden
from pipeline.errors import DocumentError
from pipeline.inbox.rows import Row, Work, failed_row, input_columns
from pipeline.parse import KINDS
from pipeline.states import State
from pipeline.tasks import Answer, Embedder, EmbeddingTask, Headed, HeadedTask
from pipeline.tasks.embedding.passages import budget
from pipeline.text.chunk import Chunk, plan

BATCH_CHARACTERS: Final = 60_000  # about 15,000 tokens: enough to fill the engine, little enough to show progress
BATCH_DOCUMENTS: Final = 256
_LEAST_TOKENS, _FIRST_TOKENS, _MOST_TOKENS = 1024, 4096, 65_536  # of a slice, between which the pulse is heard
_SLICE_SECONDS = 0.25

T = TypeVar("T")


Pulse = Callable[[int, int], None]
"""Told how many of the batch's tokens are computed, of how many; what it raises ends the computing."""


class Answers(Protocol):
    """Answers documents, by whatever model and machine."""

    def __call__(
        self, items: Iterable[T], pulse: Pulse, *, review_hidden: bool = False
    ) -> Iterator[list[tuple[T, Row | None]]]:
        """Yield the items in order, in groups, as they are ready: a document with its row, anything else with None."""


Compute = Callable[[Sequence[str]], Any]
"""What a model gives for each text, in order, whatever else is among them: vectors, or what its own head says."""


@dataclass(frozen=True)
class Embedding:
    """Answers documents by a task on an encoder: one that embeds, or, with `compute`, one with a head of its own."""

    task: EmbeddingTask | HeadedTask
    model: Embedder | Headed
    compute: Compute | None = None
    timer: Callable[[], float] = time.perf_counter

    def __call__(
        self, items: Iterable[T], pulse: Pulse, *, review_hidden: bool = False
    ) -> Iterator[list[tuple[T, Row | None]]]:
        """The items in order, in groups, as they are ready: each document with its row, anything else with None."""
        batch, characters = list[T](), 0
        for item in items:
            batch.append(item)
            characters += len(item.parsed.text) if isinstance(item, Work) else 0
            if characters >= BATCH_CHARACTERS or len(batch) >= BATCH_DOCUMENTS:
                yield self._answered(batch, pulse, review_hidden)
                batch, characters = [], 0
        if batch:
            yield self._answered(batch, pulse, review_hidden)

    def _answered(self, batch: Sequence[T], pulse: Pulse, review_hidden: bool) -> list[tuple[T, Row | None]]:
        works = [item for item in batch if isinstance(item, Work)]
        more: Any = {"review_hidden": review_hidden, "compute": self.compute, "timer": self.timer}
        rows = iter(answer_all(works, self.task, self.model, pulse, **more))
        return [(item, next(rows) if isinstance(item, Work) else None) for item in batch]


def answer_all(
    works: Sequence[Work],
    task: EmbeddingTask | HeadedTask,
    model: Embedder | Headed,
    pulse: Pulse,
    *,
    review_hidden: bool = False,
    compute: Compute | None = None,
    timer: Callable[[], float] = time.perf_counter,
) -> list[Row]:
    """One row a document, in order; each document's share of the time goes by its characters.

    `review_hidden`: a document in which text is hidden is for a person to look at, whatever the answer. `compute`: what
    is computed of the spans; without it, vectors. `timer` says how long it took.
    """
    begun = timer()
    spans = [task.spans(work.parsed) for work in works]
    texts = [work.parsed.text[s.start : s.end] for work, its in zip(works, spans, strict=True) for s in its]
    tokens = model.count_tokens(texts)
    found = _computed(texts, tokens, compute or cast(Embedder, model).embed, pulse)
    rows, first = [], 0
    for work, its in zip(works, spans, strict=True):
        last = first + len(its)
        try:
            answer = task.answer(work.parsed, its, found[first:last])
            chunks = plan(work.parsed, its, tokens[first:last], budget(model))
            rows.append(answered_row(work, chunks, answer, review_hidden=review_hidden))
        except DocumentError as error:
            rows.append(failed_row(work.arrival, work.parsed, error.failure, error.reason))
        first = last
    per_character = (timer() - begun) / max(1, sum(len(work.parsed.text) for work in works))
    for row, work in zip(rows, works, strict=True):
        row["seconds"] = round(work.seconds + per_character * len(work.parsed.text), 6)
    return rows


def _computed(texts: Sequence[str], tokens: Sequence[int], compute: Compute, pulse: Pulse) -> Any:
    """Compute a result for each text, in slices between which the pulse is heard: a long document may take minutes.
    Returns vectors as float32 [n, dim], other results as a list."""
    slices: list[Sequence[Any]] = []
    first, done, total, most = 0, 0, sum(tokens), _FIRST_TOKENS
    while first < len(texts) or not slices:
        last, size = first, 0
        while last < len(texts) and size < most:
            size += tokens[last]
            last += 1
        pulse(done, total)
        begun = time.perf_counter()
        slices.append(compute(texts[first:last]))
        most = _next_size(size, time.perf_counter() - begun)
        first, done = last, done + size
    return np.concatenate(slices) if isinstance(slices[0], np.ndarray) else list(chain.from_iterable(slices))


def _next_size(size: int, seconds: float) -> int:
    """Tokens of a slice that takes a quarter of a second, by the last one: as a slow machine has to stop as soon as a
    fast one, and a fast one needs many to be busy. What is computed depends on none of it."""
    return max(_LEAST_TOKENS, min(_MOST_TOKENS, int(size * _SLICE_SECONDS / max(seconds, 1e-6))))


def answered_row(work: Work, chunks: Sequence[Chunk], answer: Answer, *, review_hidden: bool) -> Row:
    """The row of a document that has an answer; for review where its text may be hidden, or the task says so.

    `review_hidden`: where some is hidden for certain, too, which was then left out.
    """
    row = {
        **input_columns(work.arrival, work.parsed),
        "state": _state(answer).value,
        "failure": answer.failure.value if answer.failure else None,
        "reason": answer.reason,
        **answer.columns,
        "evidence": [asdict(evidence) for evidence in answer.evidence],
        "chunks": [asdict(chunk) for chunk in chunks],
        "tokens": sum(chunk.tokens for chunk in chunks),
    }
    if answer.failure:
        return row
    reasons = [answer.review] if answer.review else []
    reasons += [_what_is_hidden(work.parsed.hidden)] if review_hidden and work.parsed.hidden else []
    return _for_review(row, [*reasons, *work.parsed.unsure])


def _state(answer: Answer) -> State:
    if answer.failure:
        return State.FAILED
    return State.ABSTAINED if answer.abstained else State.DONE


def _what_is_hidden(hidden: Sequence[Hidden]) -> str:
    found = "; ".join(f"{KINDS[one.kind]}: {one.characters:,} characters" for one in hidden)
    return f"it holds what no person sees ({found})"


def _for_review(row: Row, reasons: Sequence[str]) -> Row:
    if not reasons:
        return row
    told = [row["reason"], *reasons] if row["reason"] else reasons
    return row | {"state": State.REVIEW.value, "reason": "; ".join(told)}
