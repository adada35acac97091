"""Which sequences run, and which of their tokens go into the next step."""

from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass

from engine.generate.answers.jobs import Job, Writing
from engine.generate.cache.kv import Store, pages_of
from engine.generate.cache.prefix import common
from engine.generate.cache.sequence import NO_SLOT, Sequence
from engine.generate.counters import Counters
from engine.generate.forward import PAGE

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


class Schedule:
    """Sequences that run, oldest first; that return because they were forked or had lost their pages, oldest first; and
    fresh ones, in the order in which they shall begin."""

    def __init__(self, store: Store, limits: Limits, counters: Counters) -> None:
        self._store, self._limits, self._counters = store, limits, counters
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
        return not self._fresh and self._store.has_slot

    def begin(self, sequences: list[Sequence]) -> None:
        """Fresh ones: the longest first, so that none of them is left alone at the end."""
        self._fresh += sorted(sequences, key=lambda sequence: -sequence.ids.size)

    def fork(self, sequence: Sequence, children: list[Sequence]) -> None:
        """Children that begin with the sequence, which is done."""
        for child in children:
            self._store.fork(sequence, child)
            insort(self._returning, child, key=_order)
        self.end(sequence)

    def end(self, sequence: Sequence) -> None:
        """It is not needed any more."""
        for group in (self.running, self._returning, self._fresh):
            if sequence in group:
                group.remove(sequence)
        self._store.leave(sequence)

    def plan(self) -> dict[Sequence, int]:
        """How many rows of each sequence go into the next step, its guesses among them: those that lack few tokens
        first, then prompts, the oldest first. Empty only if there is nothing left to do."""
        self._admit()
        rows: dict[Sequence, int] = {}
        room = self._limits.rows
        for sequence in sorted(self.running, key=lambda sequence: sequence.rest > NEAR):
            count = min(sequence.rest, room)
            if count and sequence.slot != NO_SLOT and self._hold(sequence, sequence.computed + count, rows):
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
            if guesses.size and self._store.reach(sequence, sequence.size + guesses.size):
                sequence.ids[sequence.size : sequence.size + guesses.size] = guesses
                sequence.guesses = guesses.size
                rows[sequence] += guesses.size
                total += guesses.size

    def _hold(self, sequence: Sequence, tokens: int, rows: dict[Sequence, int]) -> bool:
        """Pages for so many tokens, if need be those of the youngest, which begin again later. Whether the sequence was
        not the youngest itself."""
        while not self._store.reach(sequence, tokens):
            last = max((other for other in self if other.pages), key=_order)
            rows.pop(last, None)
            self._drop(last)
            if last is sequence:
                return False
        return True

    def _drop(self, sequence: Sequence) -> None:
        self._store.leave(sequence)
        self._counters.preempted += 1
        if sequence in self.running:
            self.running.remove(sequence)
            insort(self._returning, sequence, key=_order)

    def _admit(self) -> None:
        """Lets sequences run while there are rows of the tables, and pages for all that those which run still lack."""
        promised = sum(max(0, pages_of(other.size + 1) - len(other.pages)) for other in self.running)
        for group in (self._returning, self._fresh):
            for sequence in list(group):
                if not self._store.has_slot:
                    return
                if self._follows(sequence):
                    continue
                missing = self._store.missing(sequence)
                if self.running and promised + missing > self._store.pool.available:
                    return
                group.remove(sequence)
                self._run(sequence)
                promised += max(0, pages_of(sequence.size + 1) - len(sequence.pages))

    def _run(self, sequence: Sequence) -> None:
        there = self._store.enter(sequence)
        insort(self.running, sequence, key=_order)
        job: Job = sequence.job
        if job.shared < 0:
            job.shared = there
            self._counters.shared += there

    def _follows(self, sequence: Sequence) -> bool:
        """Whether it had better wait, because one that runs is about to compute what both begin with."""
        if not self._limits.share or sequence.pages:
            return False
        if sequence.leader is None or sequence.leader.slot == NO_SLOT:
            sequence.leader, sequence.until = self._leader(sequence)
        return sequence.leader is not None and sequence.leader.computed < sequence.until

    def _leader(self, sequence: Sequence) -> tuple[Sequence | None, int]:
        """The running sequence with most in common that is not computed yet, and until where it has to be."""
        begin = sequence.ids[: sequence.wanted]
        found, until, most = None, 0, PAGE - 1
        for other in self.running:
            if other.rest > 0 and other.computed < sequence.wanted:
                count = common(begin, other.ids[: other.size])
                if count - other.computed > 0 and count > most:
                    found, until, most = other, min(pages_of(count) * PAGE, other.size), count
        return found, until


def _order(sequence: Sequence) -> tuple[int, int]:
    return sequence.order
