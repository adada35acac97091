"""The scheduler: which sequences run, and which of their tokens go into the next step.

Rows of a step are prefill (tokens of prompts) and decode (the last token of an answer, and guesses). Sequences that
lack at most a page, those that decode among them, go first. When pages are short, the youngest sequence is preempted:
it loses its pages and begins again later.
"""

from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter

from engine.generate.jobs import Job, Writing
from engine.generate.kv import NO_SLOT, KvCache, Sequence, pages_of
from engine.generate.pages import common
from engine.generate.request import PAGE, Counters

_order = attrgetter("order")
NEAR = PAGE
"""Tokens that a sequence lacks at most to go before prompts."""


@dataclass(frozen=True)
class Limits:
    """None of them changes a result. sequences: at a time; rows: of a step; ahead: requests that are taken from the
    caller before they can begin, so that long ones begin first; share: whether prefixes are shared; guess: whether
    answers are guessed."""

    sequences: int = 64
    rows: int = 512
    ahead: int = 64
    share: bool = True
    guess: bool = True


class Scheduler:
    """Sequences that run, oldest first; that return because they were forked or had lost their pages, oldest first; and
    fresh ones, in the order in which they shall begin."""

    def __init__(self, cache: KvCache, limits: Limits, counters: Counters) -> None:
        self._cache, self._limits, self._counters = cache, limits, counters
        self.running: list[Sequence] = []
        self._returning: list[Sequence] = []
        self._fresh: list[Sequence] = []

    def __iter__(self) -> Iterator[Sequence]:
        yield from self.running
        yield from self._returning
        yield from self._fresh

    @property
    def wants_more(self) -> bool:
        """Whether a fresh sequence could begin if there was one. Not before: what a caller asks next may depend on
        answers."""
        return not self._fresh and self._cache.has_slot

    def add(self, sequences: list[Sequence]) -> None:
        """Adds fresh sequences, the longest first, so that none of them is left alone at the end."""
        self._fresh += sorted(sequences, key=lambda sequence: -sequence.ids.size)

    def fork(self, sequence: Sequence, children: list[Sequence]) -> None:
        """Adds the children of a sequence that is done; they begin with its tokens and share its pages."""
        for child in children:
            self._cache.fork(sequence, child)
            insort(self._returning, child, key=_order)
        self.finish(sequence)

    def finish(self, sequence: Sequence) -> None:
        """Removes a sequence and frees its pages."""
        for group in (self.running, self._returning, self._fresh):
            if sequence in group:
                group.remove(sequence)
        self._cache.free(sequence)

    def plan(self) -> dict[Sequence, int]:
        """Returns how many rows of each sequence go into the next step, its guesses included: first sequences that lack
        few tokens, then prompts, the oldest first. It is empty only if there is nothing left to do."""
        self._admit()
        rows: dict[Sequence, int] = {}
        room = self._limits.rows
        for sequence in sorted(self.running, key=lambda sequence: sequence.rest > NEAR):
            count = min(sequence.rest, room)
            if count and sequence.slot != NO_SLOT and self._allocate(sequence, sequence.computed + count, rows):
                rows[sequence] = count
                room -= count
        if self._limits.guess:
            self._guess(rows)
        return rows

    def _guess(self, rows: dict[Sequence, int]) -> None:
        """Adds guesses where that is likely to save time."""
        total = sum(rows.values())
        for sequence, count in rows.items():
            job, room = sequence.job, self._limits.rows - total
            if count < sequence.rest or not isinstance(job, Writing) or room <= 0:
                continue
            guesses = job.guess(total, room)
            if guesses.size and self._cache.allocate(sequence, sequence.size + guesses.size):
                sequence.ids[sequence.size : sequence.size + guesses.size] = guesses
                sequence.guesses = guesses.size
                rows[sequence] += guesses.size
                total += guesses.size

    def _allocate(self, sequence: Sequence, tokens: int, rows: dict[Sequence, int]) -> bool:
        """Gives a sequence pages for `tokens` tokens, and preempts the youngest ones for that if need be. Returns False
        if the sequence was the youngest and lost its own."""
        while not self._cache.allocate(sequence, tokens):
            last = max((other for other in self if other.pages), key=_order)
            rows.pop(last, None)
            self._preempt(last)
            if last is sequence:
                return False
        return True

    def _preempt(self, sequence: Sequence) -> None:
        self._cache.free(sequence)
        self._counters.preempted += 1
        if sequence in self.running:
            self.running.remove(sequence)
            insort(self._returning, sequence, key=_order)

    def _admit(self) -> None:
        """Admits sequences while there are rows of the page tables, and pages for all that running sequences lack."""
        promised = sum(max(0, pages_of(other.size + 1) - len(other.pages)) for other in self.running)
        for group in (self._returning, self._fresh):
            for sequence in list(group):
                if not self._cache.has_slot:
                    return
                if self._follows(sequence):
                    continue
                missing = self._cache.missing(sequence)
                if self.running and promised + missing > self._cache.pool.available:
                    return
                group.remove(sequence)
                self._run(sequence)
                promised += max(0, pages_of(sequence.size + 1) - len(sequence.pages))

    def _run(self, sequence: Sequence) -> None:
        there = self._cache.admit(sequence)
        insort(self.running, sequence, key=_order)
        job: Job = sequence.job
        if job.shared < 0:
            job.shared = there
            self._counters.shared += there

    def _follows(self, sequence: Sequence) -> bool:
        """Whether a sequence had better wait, because a running one is about to compute their common beginning."""
        if not self._limits.share or sequence.pages:
            return False
        if sequence.leader is None or sequence.leader.slot == NO_SLOT:
            sequence.leader, sequence.until = self._leader(sequence)
        return sequence.leader is not None and sequence.leader.computed < sequence.until

    def _leader(self, sequence: Sequence) -> tuple[Sequence | None, int]:
        """Returns the running sequence whose uncomputed tokens have the longest common beginning with this one, and up
        to which token it has to be computed; None and 0 if there is none."""
        begin = sequence.ids[: sequence.wanted]
        found, until, most = None, 0, PAGE - 1
        for other in self.running:
            if other.rest > 0 and other.computed < sequence.wanted:
                count = common(begin, other.ids[: other.size])
                if count - other.computed > 0 and count > most:
                    found, until, most = other, min(pages_of(count) * PAGE, other.size), count
        return found, until
