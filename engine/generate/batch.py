"""Requests in, completions out: continuous batches. A step is: plan, compute, choose."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Sequence as Many
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from engine.errors import EngineError
from engine.generate.constraint.spec import Makes
from engine.generate.endings import detokenize
from engine.generate.jobs import Job, Scoring, Writing, check
from engine.generate.kv import KvCache, Sequence, pages_of
from engine.generate.outcome import score, write
from engine.generate.pages import page_count
from engine.generate.request import I32, PAGE, Completion, Counters, Forward, Request
from engine.generate.scheduler import Limits, Scheduler
from engine.machine import give_back

I64 = NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """ids, positions, slots, wanted: what `Forward.step` takes. Of each sequence of the plan: `asked`, how many of its
    rows are wanted, `at`, which logits are those of the first of these, and `ends`, up to where it is computed then."""

    ids: I32
    positions: I32
    slots: I32
    wanted: I32
    asked: I64
    at: I64
    ends: I64


def arrange(plan: Mapping[Sequence, int]) -> Rows:
    """Lays out the next tokens of each sequence, as many as the plan says, one sequence after another."""
    facts = np.array([(s.computed, count, s.wanted, s.slot) for s, count in plan.items()], np.int64)
    starts, counts, firsts, slots = facts.T
    ends = starts + counts
    firsts = np.maximum(firsts, starts)
    asked = np.maximum(ends - firsts, 0)
    rows, at = np.cumsum(counts) - counts, np.cumsum(asked) - asked
    ids = np.concatenate([s.ids[s.computed : s.computed + count] for s, count in plan.items()])
    positions = np.arange(ids.size) + np.repeat(starts - rows, counts)
    wanted = np.arange(asked.sum()) + np.repeat(rows + firsts - starts - at, asked)
    return Rows(
        ids, positions.astype(np.int32), np.repeat(slots, counts).astype(np.int32), wanted.astype(np.int32),
        asked, at, ends,
    )  # fmt: skip


Progress = Callable[[Counters], None]
_WARM = 8  # steps, by which what all others need has been loaded


class Batch:
    """The decoder, its pages, and what they hold; one `run` at a time."""

    def __init__(
        self, decoder: Forward, token_bytes: Many[bytes], end_ids: Iterable[int], makes: Makes, *,
        limits: Limits, kind: str, mib: float | None,
    ) -> None:  # fmt: skip
        self._decoder, self._bytes, self._ends, self._makes = decoder, token_bytes, frozenset(end_ids), makes
        self._limits, self.counters = limits, Counters()
        useful = limits.sequences * (pages_of(decoder.shape.context) + 1)
        count = page_count(decoder.pages(1, kind).bytes_per_page, useful, mib)
        self._cache = KvCache(decoder, kind, count, limits.sequences, share=limits.share)
        self._busy = False

    def run(self, requests: Iterable[Request], progress: Progress) -> Iterator[tuple[int, Completion]]:
        """The completion of each request, with its number, as they are done. Raises EngineError if another run is
        under way; what `requests` raises."""
        if self._busy:
            raise EngineError("the model generates already: one `generate` at a time")
        self._busy, sound = True, False
        scheduler, waiting = Scheduler(self._cache, self._limits, self.counters), enumerate(requests)
        try:
            while True:
                done = self._take(scheduler, waiting) if scheduler.wants_more else []
                if plan := scheduler.plan():
                    done += self._step(scheduler, plan)
                    progress(replace(self.counters))
                elif not done:
                    break
                sound = True
                yield from done
                sound = False
            sound = True
        finally:
            self._busy = False
            self._clear(scheduler, sound)

    @property
    def room(self) -> int:
        """How many tokens' keys and values fit into the memory."""
        return self._cache.count * PAGE

    def _clear(self, scheduler: Scheduler, sound: bool) -> None:
        """Frees all pages. After an exception in the middle of a step their contents are forgotten too."""
        if sound:
            for sequence in scheduler:
                self._cache.free(sequence)
        else:
            self._cache.reset()

    def _take(self, scheduler: Scheduler, waiting: Iterator[tuple[int, Request]]) -> list[tuple[int, Completion]]:
        """Makes jobs of the next requests. Returns the completions of those that are done already."""
        jobs = [self._job(index, request) for index, request in islice(waiting, self._limits.ahead)]
        scheduler.add([sequence for job in jobs if job.finish is None for sequence in job.sequences])
        return [(job.index, self._complete(job)) for job in jobs if job.finish is not None]

    def _job(self, index: int, request: Request) -> Job:
        shape = self._decoder.shape
        try:
            check(request, shape.context, shape.vocab, self.room)
            if request.choices:
                return Scoring(index, request)
            constraint = self._makes.make(request.constraint) if request.constraint is not None else None
            return Writing(index, request, constraint, self._ends, self._bytes)
        except EngineError as error:
            job = Job(index, request)
            job.fail(str(error))
            return job

    def _step(self, scheduler: Scheduler, plan: dict[Sequence, int]) -> list[tuple[int, Completion]]:
        """Computes the rows of a plan and hands out the logits. Returns the completions of jobs that are done then."""
        rows = arrange(plan)
        logits = self._decoder.step(
            rows.ids, rows.positions, rows.slots, self._cache.tables, self._cache.pages, rows.wanted
        )
        self._count(plan, rows)
        asked = list(zip(plan, rows.at.tolist(), rows.asked.tolist(), strict=True))
        for sequence, end in zip(plan, rows.ends.tolist(), strict=True):
            sequence.computed = end
        writing = [(s.job, at) for s, at, n in asked if n and isinstance(s.job, Writing)]
        write(logits, writing, self._makes, self.counters)
        for sequence in plan:
            self._cache.publish(sequence)
        scored = [(s, s.job, at, n) for s, at, n in asked if n and isinstance(s.job, Scoring)]
        for sequence, children in score(logits, scored) if scored else []:
            scheduler.fork(sequence, children)
        jobs = {sequence.job: None for sequence in plan if sequence.job.finish is not None}
        for job in jobs:
            for sequence in list(job.sequences):
                scheduler.finish(sequence)
        if self.counters.steps == _WARM:
            give_back()
        return [(job.index, self._complete(job)) for job in jobs]

    def _count(self, plan: dict[Sequence, int], rows: Rows) -> None:
        counters, pool = self.counters, self._cache.pool
        counters.steps += 1
        counters.rows += rows.ids.size
        counters.prompt_rows += sum(
            max(0, min(s.job.request.prompt.size, s.computed + count) - s.computed) for s, count in plan.items()
        )
        counters.pages = pool.count - pool.available

    def _complete(self, job: Job) -> Completion:
        assert job.finish is not None
        self.counters.requests += 1
        self.counters.failed += job.finish == "failed"
        text, offsets = detokenize(job.ids, self._bytes)
        scores = job.scores if job.finish != "failed" else []
        return Completion(
            np.array(job.ids, np.int32),
            text,
            np.array(job.logprobs, np.float32),
            offsets,
            job.finish,
            job.reason,
            scores=np.array(scores, np.float32),
            prompt_tokens=job.request.prompt.size,
            shared_tokens=max(0, job.shared),
        )
