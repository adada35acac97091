"""Shares of a night are gathered row by row, and those of its runs are added up."""

import heapq
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from pipeline.document import Row
from pipeline.records.types import Pace, Shares
from pipeline.reports.rows import ShownRow, certainty, shown_row
from pipeline.states import State
from pipeline.tasks import kind_of

BINS: Final = 20
LISTED: Final = 20
"""Rows of each list of a report."""
OTHERS: Final = ""
"""Stands for labels beyond the first _LABELS."""
_LABELS: Final = 60
_NAME: Final = 80  # characters of a label
_TIMES: Final = 120  # equal times of a Pace, at most


@dataclass
class Lists:
    """The rows to be shown, of each list the first LISTED: which failed, at which a person has to look, and which of
    those that are done are the least certain."""

    failed: list[ShownRow] = field(default_factory=list)
    look: list[ShownRow] = field(default_factory=list)
    uncertain: list[tuple[float, int, ShownRow]] = field(default_factory=list)  # a heap: the most certain one first

    def add(self, row: Row, job: str) -> None:
        """Add a row, if there is room or it is less certain than one that is there."""
        state, score = row.state, certainty(row)
        if state == State.FAILED:
            _append(self.failed, row, job)
        elif state in (State.REVIEW, State.ABSTAINED):
            _append(self.look, row, job)
        elif state == State.DONE and score is not None:
            key = (-score, -row.audit_index)
            if len(self.uncertain) < LISTED:
                heapq.heappush(self.uncertain, (*key, shown_row(row, job)))
            elif key > self.uncertain[0][:2]:
                heapq.heapreplace(self.uncertain, (*key, shown_row(row, job)))

    def without(self, numbers: Iterable[int]) -> None:
        """Take out the rows of these entries."""
        gone = set(numbers)
        self.failed = [row for row in self.failed if row.n not in gone]
        self.look = [row for row in self.look if row.n not in gone]
        self.uncertain = [each for each in self.uncertain if each[2].n not in gone]
        heapq.heapify(self.uncertain)

    @property
    def least_certain(self) -> list[ShownRow]:
        """The least certain rows, from the least on."""
        return [row for *_, row in sorted(self.uncertain, reverse=True)]

    @property
    def numbers(self) -> tuple[int, ...]:
        """The entries of all rows."""
        return tuple(sorted(row.n for row in (*self.failed, *self.look, *self.least_certain)))


def _append(rows: list[ShownRow], row: Row, job: str) -> None:
    if len(rows) < LISTED:
        rows.append(shown_row(row, job))


@dataclass
class Tally:
    """The shares of rows as they come. `replaced`: the entries whose rows these took the place of. Memory does not grow
    with the rows, but for eight bytes of each that took the place of another."""

    job: str
    lists: Lists = field(default_factory=Lists)
    rows: int = 0
    first: int | None = None
    digests: set[str] = field(default_factory=set)
    replaced: "array[int]" = field(default_factory=lambda: array("Q"))
    _states: Counter[str] = field(default_factory=Counter)
    _failures: Counter[str] = field(default_factory=Counter)
    _labels: Counter[str] = field(default_factory=Counter)
    _scores: list[int] = field(default_factory=lambda: [0] * BINS)
    _pace: "Times" = field(default_factory=lambda: Times())

    def take(self, row: Row) -> None:
        """Take in a row that was committed; no correction by a person, which is no work of the night."""
        if row.decided:
            return
        self.first = row.audit_index if self.first is None else min(self.first, row.audit_index)
        self.rows += 1
        self.replaced.extend(row.replaces or ())
        self.digests.add(row.job_digest or "")
        self._count(row, 1)
        self.lists.add(row, self.job)

    def take_back(self, row: Row) -> None:
        """Take out a row whose place one of tonight took: a document that was tried twice is one document."""
        self._count(row, -1)

    def _count(self, row: Row, by: int) -> None:
        self._states[row.state] += by
        if row.failure:
            self._failures[row.failure] += by
        if row.state == State.DONE:
            kind = kind_of(row)
            for topic in kind.topics(row) if kind else ():
                name = topic[:_NAME]
                self._labels[name if name in self._labels or len(self._labels) < _LABELS else OTHERS] += by
            if (score := certainty(row)) is not None:
                self._scores[min(max(int(score * BINS), 0), BINS - 1)] += by
        if isinstance(row.finished_at, datetime):
            self._pace.add(int(row.finished_at.timestamp()), by)

    def shares(self, seconds: float, runs: int) -> Shares:
        """The shares of all rows, of `runs` runs that took so many seconds."""
        return Shares(
            states=dict(self._states), failures=dict(self._failures), labels=dict(self._labels),
            scores=tuple(self._scores), pace=self._pace.made(), seconds=round(seconds, 3), runs=runs,
        )  # fmt: skip


class Times:
    """Counts of equal times, which become twice as long whenever there would be too many of them."""

    def __init__(self, pace: Pace | None = None) -> None:
        self._seconds = pace.seconds if pace and pace.counts else 1
        self._counts: dict[int, int] = {}
        if pace and pace.counts:
            begin = pace.start // pace.seconds
            self._counts = {begin + at: count for at, count in enumerate(pace.counts) if count}

    def add(self, second: int, count: int) -> None:
        """Add documents that ended in the second, counted from 1970."""
        at = second // self._seconds
        if at not in self._counts and self._counts:
            low, high = min(at, min(self._counts)), max(at, max(self._counts))
            while high - low >= _TIMES:
                self._double()
                low, high = low // 2, high // 2
            at = second // self._seconds
        self._counts[at] = self._counts.get(at, 0) + count

    def _double(self) -> None:
        counts: dict[int, int] = {}
        for at, count in self._counts.items():
            counts[at // 2] = counts.get(at // 2, 0) + count
        self._seconds, self._counts = 2 * self._seconds, counts

    def join(self, pace: Pace) -> None:
        """Add those of another pace, whose times are as long, or half or twice as long, again and again."""
        while self._seconds < pace.seconds:
            self._double()
        for at, count in enumerate(pace.counts):
            if count:
                self.add(pace.start + at * pace.seconds, count)

    def made(self) -> Pace:
        """The times from the first to the last that has any."""
        there = sorted(at for at, count in self._counts.items() if count)
        if not there:
            return Pace()
        counts = tuple(self._counts.get(at, 0) for at in range(there[0], there[-1] + 1))
        return Pace(there[0] * self._seconds, self._seconds, counts)


def added(one: Shares, other: Shares) -> Shares:
    """The shares of both."""
    pace = Times(one.pace)
    pace.join(other.pace)
    return Shares(
        states=_sum(one.states, other.states),
        failures=_sum(one.failures, other.failures),
        labels=_sum(one.labels, other.labels),
        scores=tuple(a + b for a, b in zip(_bins(one), _bins(other), strict=True)),
        pace=pace.made(),
        seconds=round(one.seconds + other.seconds, 3),
        runs=one.runs + other.runs,
    )


def positive(shares: Shares) -> Shares:
    """The shares without what was taken back; if a row was taken back that had not been counted, without that too."""
    counts = (_positive(each) for each in (shares.states, shares.failures, shares.labels))
    states, failures, labels = counts
    pace = replace(shares.pace, counts=tuple(max(count, 0) for count in shares.pace.counts))
    scores = tuple(max(count, 0) for count in shares.scores)
    return replace(shares, states=states, failures=failures, labels=_commonest(labels), pace=pace, scores=scores)


def _commonest(labels: dict[str, int]) -> dict[str, int]:
    """Keep as many labels as fit into a record, and add up the others."""
    names = sorted(labels.keys() - {OTHERS}, key=lambda name: (-labels[name], name))
    others = labels.get(OTHERS, 0) + sum(labels[name] for name in names[_LABELS:])
    return {name: labels[name] for name in names[:_LABELS]} | ({OTHERS: others} if others else {})


def _bins(shares: Shares) -> tuple[int, ...]:
    return shares.scores if len(shares.scores) == BINS else (0,) * BINS


def _sum(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in (*one, *other)}


def _positive(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count > 0}
