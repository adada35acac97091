"""When documents that wait will be done: they are laid into the nights to come. Pure; knows no clock."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import median
from typing import Final, NamedTuple

from pipeline.forecast.expected import Estimator, Expected, File
from pipeline.forecast.pace import Pace
from pipeline.records.costs.jobs import Held
from pipeline.records.costs.kinds import Costs

_NIGHTS: Final = 400  # after so many nobody believes a forecast
_ALIKE: Final = 7  # nights: those of a week may have other windows


class Span(NamedTuple):
    """A run that may come: seconds since 1970 of its start, and of the end of its window."""

    start: float
    end: float = math.inf


@dataclass(frozen=True)
class Outlook:
    """What is expected of the files that wait, of which there are `files` with `bytes` in all.

    `documents`, `tokens`, `seconds`: the rows that they become, their text and the work on it. `ready`: what a run
    takes before it. `tonight`: the documents of the first run, which takes `tonight_seconds`. `done_at`: when the last
    one is done, in seconds since 1970; None if that cannot be foreseen. `blocking`: the file that no window holds,
    because of which those behind it wait for ever. `slowest`: the file that takes longest, and what is expected of it.
    """

    files: int
    bytes: int
    documents: float
    tokens: float
    seconds: float
    ready: float
    tonight: float
    tonight_seconds: float
    done_at: float | None
    blocking: tuple[File, Expected] | None = None
    slowest: tuple[File, Expected] | None = None


def outlook(
    files: Sequence[File], costs: Costs, spans: Iterable[Span], ready: float | None = None, machines: int = 1
) -> Outlook:
    """Lay files, in their order, into the runs to come. Each run takes documents until the next is not expected to be
    done by the end of its window. `ready`: the seconds before the first one, if they are known better than by earlier
    runs; `machines`: that work on them at a time."""
    estimator = Estimator(costs, machines)
    ready = estimator.ready_seconds if ready is None else ready
    expected = estimator.expect_all(files)
    nights, done_at, stuck = _nights(expected, spans, ready, _Longest(costs, machines))
    first = expected[: nights[0]] if nights else []
    slowest = max(range(len(files)), key=lambda n: expected[n].seconds, default=None)
    return Outlook(
        files=len(files),
        bytes=sum(file.size for file in files),
        documents=sum(each.documents for each in expected),
        tokens=sum(each.tokens for each in expected),
        seconds=sum(each.seconds for each in expected),
        ready=ready,
        tonight=sum(each.documents for each in first),
        tonight_seconds=ready + sum(each.seconds for each in first),
        done_at=done_at,
        blocking=None if stuck is None else (files[stuck], expected[stuck]),
        slowest=None if slowest is None else (files[slowest], expected[slowest]),
    )


class _Longest:
    """The time a run thinks that its first document will take: it counts on a high rate (Pace), not on the mean, and
    begins a document of a length of which nothing is known."""

    def __init__(self, costs: Costs, machines: int) -> None:
        self._pace = Pace((run.tokens, run.worked_by_each) for run in costs.runs)
        self._machines = machines

    def __call__(self, each: Expected) -> float:
        tokens = round(each.tokens)
        if tokens and not self._pace.knows(tokens):
            return 0.0
        return max(each.seconds * self._machines, self._pace.expected(tokens) if tokens else 0.0)


def _nights(
    expected: Sequence[Expected], spans: Iterable[Span], ready: float, longest: _Longest
) -> tuple[list[int], float | None, int | None]:
    """How many files each run does, when the last one is done, and the number of the file that no run does."""
    nights, at, widest = list[int](), 0, 0.0
    for span in islice(spans, _NIGHTS):
        widest = max(widest, span.end - span.start - ready)
        first, now = at, span.start + ready
        while at < len(expected) and now + (longest if at == first else _mean)(expected[at]) <= span.end:
            now += expected[at].seconds
            at += 1
        nights.append(at - first)
        if at == len(expected):
            return nights, now if expected else span.start, None
        if at == first and len(nights) > _ALIKE and longest(expected[at]) > widest:
            return nights, None, at
    return nights, None, at if at < len(expected) and longest(expected[at]) > widest else None


def _mean(each: Expected) -> float:
    return each.seconds


def median_errors(held: Sequence[Held]) -> tuple[float, float] | None:
    """The median error of earlier forecasts: of documents and of seconds, as shares of what came true. None where there
    were none, or nothing came."""
    held = [each for each in held if each.documents and each.seconds]
    if not held:
        return None
    documents = median(abs(each.expected_documents / each.documents - 1) for each in held)
    return documents, median(abs(each.expected_seconds / each.seconds - 1) for each in held)
