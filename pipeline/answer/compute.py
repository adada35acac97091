"""Batches across documents: the spans of many documents go through the model together, the order stays."""

import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import accumulate, chain, pairwise
from typing import Any, Final, Protocol, TypeVar, cast

import numpy as np

from pipeline.document import Hidden, Row
from pipeline.errors import DocumentError
from pipeline.inbox.order import Work, failed_row, input_columns
from pipeline.parse import KINDS
from pipeline.plan import UNBOUND, Bounds
from pipeline.states import State
from pipeline.tasks import Answer, Embedder, EmbeddingTask, Headed, HeadedTask
from pipeline.tasks.passages import budget
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
    bounds: Bounds = UNBOUND

    def __call__(
        self, items: Iterable[T], pulse: Pulse, *, review_hidden: bool = False
    ) -> Iterator[list[tuple[T, Row | None]]]:
        """The items in order, in groups, as they are ready: each document with its row, anything else with None."""
        batch, characters = list[T](), 0
        for item in items:
            size = len(item.parsed.text) if isinstance(item, Work) else 0
            if batch and size >= BATCH_CHARACTERS:  # those before it do not wait for it
                yield self._answered(batch, pulse, review_hidden)
                batch, characters = [], 0
            batch.append(item)
            characters += size
            if characters >= BATCH_CHARACTERS or len(batch) >= BATCH_DOCUMENTS:
                yield self._answered(batch, pulse, review_hidden)
                batch, characters = [], 0
        if batch:
            yield self._answered(batch, pulse, review_hidden)

    def _answered(self, batch: Sequence[T], pulse: Pulse, review_hidden: bool) -> list[tuple[T, Row | None]]:
        works = [item for item in batch if isinstance(item, Work)]
        by: Any = {"compute": self.compute, "timer": self.timer, "bounds": self.bounds}
        rows = iter(answer_all(works, self.task, self.model, pulse, review_hidden=review_hidden, **by))
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
    bounds: Bounds = UNBOUND,
) -> list[Row]:
    """One row a document, in order; each document's share of the time goes by its characters.

    `review_hidden`: a document in which text is hidden is for a person to look at, whatever the answer. `compute`: what
    is computed of the spans; without it, vectors. `timer` says how long it took. A document beyond `bounds` fails, and
    no other: by its tokens before anything of it is computed, by its seconds as soon as it has had them.
    """
    begun = timer()
    spans = [task.spans(work.parsed) for work in works]
    texts = [work.parsed.text[s.start : s.end] for work, its in zip(works, spans, strict=True) for s in its]
    tokens = model.count_tokens(texts)
    spending = _Spending(bounds, tokens, [*accumulate(map(len, spans))], timer)
    found = _computed(texts, tokens, compute or cast(Embedder, model).embed, pulse, spending)
    rows, first = [], 0
    for number, (work, its) in enumerate(zip(works, spans, strict=True)):
        last = first + len(its)
        try:
            spending.check(number)
            answer = task.answer(work.parsed, its, found[first:last])
            chunks = plan(work.parsed, its, tokens[first:last], budget(model))
            rows.append(answered_row(work, chunks, answer, review_hidden=review_hidden))
        except DocumentError as error:
            rows.append(failed_row(work.arrival, work.parsed, error.failure, error.reason))
        first = last
    per_character = (timer() - begun) / max(1, sum(len(work.parsed.text) for work in works))
    seconds = [round(work.seconds + per_character * len(work.parsed.text), 6) for work in works]
    return [row.having(seconds=its) for row, its in zip(rows, seconds, strict=True)]


@dataclass
class _Spending:
    """The documents of a batch as they have the model; the texts of each, which have `tokens`, end before `ends`."""

    bounds: Bounds
    tokens: Sequence[int]
    ends: Sequence[int]
    timer: Callable[[], float]
    seconds: list[float] = field(init=False)

    def __post_init__(self) -> None:
        self.seconds = [0.0] * len(self.ends)
        self._sums = [sum(self.tokens[first:last]) for first, last in pairwise([0, *self.ends])]

    def check(self, document: int) -> None:
        """Raise DocumentError for a document beyond the bounds."""
        self.bounds.check(self._sums[document], self.seconds[document])

    def next(self, text: int) -> int:
        """The first text from this one on whose document is within the bounds."""
        while text < len(self.tokens) and self._is_over(document := bisect_right(self.ends, text)):
            text = self.ends[document]
        return text

    def take(self, first: int, last: int, seconds: float) -> None:
        """Take in how long these texts took, to each its share by its tokens."""
        whole = sum(self.tokens[first:last])
        for text in range(first, last):
            self.seconds[bisect_right(self.ends, text)] += seconds * self.tokens[text] / max(whole, 1)

    def _is_over(self, document: int) -> bool:
        return self._sums[document] > self.bounds.tokens or self.seconds[document] > self.bounds.seconds


def _computed(texts: Sequence[str], tokens: Sequence[int], compute: Compute, pulse: Pulse, spending: _Spending) -> Any:
    """Compute a result for each text, in slices between which the pulse is heard: a long document may take minutes.
    Returns vectors as float32 [n, dim], other results as a list; of documents beyond their bounds they are nothing."""
    slices: list[Sequence[Any]] = []
    first, done, total, most = 0, 0, sum(tokens), _FIRST_TOKENS
    while first < len(texts) or not slices:
        if (last := spending.next(first)) > first:
            slices.append(_nothing(slices[-1] if slices else compute(()), last - first))
            first, done = last, done + sum(tokens[first:last])
            continue
        size = 0
        while last < len(texts) and size < most and spending.next(last) == last:
            size += tokens[last]
            last += 1
        pulse(done, total)
        begun = spending.timer()
        slices.append(compute(texts[first:last]))
        spending.take(first, last, took := spending.timer() - begun)
        most = _next_size(size, took)
        first, done = last, done + size
    return np.concatenate(slices) if isinstance(slices[0], np.ndarray) else list(chain.from_iterable(slices))


def _nothing(like: Any, number: int) -> Any:
    """In the place of so many results of this kind."""
    return np.zeros((number, *like.shape[1:]), like.dtype) if isinstance(like, np.ndarray) else [None] * number


def _next_size(size: int, seconds: float) -> int:
    """Tokens of a slice that takes a quarter of a second, by the last one: as a slow machine has to stop as soon as a
    fast one, and a fast one needs many to be busy. What is computed depends on none of it."""
    return max(_LEAST_TOKENS, min(_MOST_TOKENS, int(size * _SLICE_SECONDS / max(seconds, 1e-6))))


def answered_row(work: Work, chunks: Sequence[Chunk], answer: Answer, *, review_hidden: bool) -> Row:
    """The row of a document that has an answer; for review where its text may be hidden, or the task says so.

    `review_hidden`: where some is hidden for certain, too, which was then left out.
    """
    row = input_columns(work.arrival, work.parsed).having(
        state=_state(answer).value,
        failure=answer.failure.value if answer.failure else None,
        reason=answer.reason,
        **answer.columns,
        evidence=[asdict(evidence) for evidence in answer.evidence],
        chunks=[asdict(chunk) for chunk in chunks],
        tokens=sum(chunk.tokens for chunk in chunks),
    )
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
    told = [row.reason, *reasons] if row.reason else reasons
    return row.having(state=State.REVIEW.value, reason="; ".join(told))
