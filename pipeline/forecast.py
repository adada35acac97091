"""What files that wait will hold and take, by what files of their kind did, and when they are done: they are laid into
the nights to come. No file is read and no clock is known."""

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from statistics import median
from typing import Final, NamedTuple

from pipeline.records.costs import Costs, Held, Sum, kind_of

_LATELY: Final = 10  # runs that say how runs use their time


class File(NamedTuple):
    """A file that waits: its path below the input folder, and its bytes."""

    path: str
    size: int


class Expected(NamedTuple):
    """The rows that a file becomes, their tokens, and the seconds by which it makes a run longer."""

    documents: float
    tokens: float
    seconds: float


@dataclass
class Estimator:
    """Expects of a file what files of the same extension and size were for each of their bytes. They count as far as
    they are many: what files of the extension were counts like one file more, and all files of the job like one of the
    extension. `machines` work on files at a time, each as fast as those of earlier runs."""

    costs: Costs
    machines: int = 1
    _extensions: dict[str, Sum] = field(default_factory=dict, init=False)
    _all: Sum = field(default_factory=Sum, init=False)

    def __post_init__(self) -> None:
        for kind, its in self.costs.kinds.items():
            self._extensions.setdefault(kind.extension, Sum()).add(its)
            self._all.add(its)
        runs = self.costs.runs[-_LATELY:]
        said = sum(run.said for run in runs)
        self._stretch = (sum(run.worked_by_each for run in runs) / said if said else 1.0) / self.machines

    @property
    def ready_seconds(self) -> float:
        """The seconds until the documents of a run have their turn: the median of the last runs."""
        return median([run.ready for run in self.costs.runs[-_LATELY:]] or [0.0])

    def expect(self, file: File) -> Expected:
        """What is expected of a file."""
        if not self._all.files:
            return Expected(1.0, 0.0, 0.0)
        kind, all_bytes = kind_of(*file), max(self._all.bytes, 1.0)
        tokens, seconds = self._all.tokens / all_bytes, self._all.seconds / all_bytes
        expected = _PerByte(self._all.rows / self._all.files, tokens, seconds)
        for its in (self._extensions.get(kind.extension), self.costs.kinds.get(kind)):
            expected = _drawn(expected, its)
        size = max(file.size, 1)
        return Expected(expected.documents, expected.tokens * size, expected.seconds * size * self._stretch)


class _PerByte(NamedTuple):
    """The documents of a file, and the tokens and seconds of each of its bytes."""

    documents: float
    tokens: float
    seconds: float


def _drawn(wider: _PerByte, its: Sum | None) -> _PerByte:
    """What files were, with one file more that is as the wider kind was."""
    if not its or not its.files:
        return wider
    files, mean = its.files + 1, max(its.bytes / its.files, 1.0)
    return _PerByte(
        (its.rows + wider.documents) / files,
        (its.tokens + wider.tokens * mean) / (files * mean),
        (its.seconds + wider.seconds * mean) / (files * mean),
    )


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


def outlook(files: Sequence[File], costs: Costs, spans: Iterable[Span], machines: int = 1) -> Outlook:
    """Lay files, in their order, into the runs to come. Each run takes documents until the next is not expected to be
    done by the end of its window. `machines` work on them at a time."""
    estimator = Estimator(costs, machines)
    ready, expected = estimator.ready_seconds, [estimator.expect(file) for file in files]
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
        while at < len(expected) and now + (longest(expected[at]) if at == first else expected[at].seconds) <= span.end:
            now += expected[at].seconds
            at += 1
        nights.append(at - first)
        if at == len(expected):
            return nights, now if expected else span.start, None
        if at == first and len(nights) > _ALIKE and longest(expected[at]) > widest:
            return nights, None, at
    return nights, None, at if at < len(expected) and longest(expected[at]) > widest else None


def median_errors(held: Sequence[Held]) -> tuple[float, float] | None:
    """The median error of earlier forecasts: of documents and of seconds, as shares of what came true. None where there
    were none, or nothing came."""
    held = [each for each in held if each.documents and each.seconds]
    if not held:
        return None
    documents = median(abs(each.expected_documents / each.documents - 1) for each in held)
    return documents, median(abs(each.expected_seconds / each.seconds - 1) for each in held)


Took = tuple[int, float]
"""The tokens of a document, or of all documents of a run, and the seconds that they took."""

HIGH: Final = 0.9
"""The share of all tokens that took no longer than `rate` says: a mean would be too short for half of the documents."""

_LONGER: Final = 30
"""Of a text that is so many times as long as all that is known, it is not known what it will take."""

_KEPT: Final = 500  # of the documents that were last: what else the machine does changes in a night


@dataclass
class Pace:
    """The seconds that a token takes in a run. The documents of the run itself say it; before there are any, `earlier`
    runs do, each by all of its tokens and the time in which it computed."""

    earlier: Iterable[Took] = ()
    rate: float | None = field(init=False)
    _took: deque[Took] = field(default_factory=lambda: deque(maxlen=_KEPT), init=False)
    _known: int = field(init=False)

    def __post_init__(self) -> None:
        earlier = [*self.earlier]
        self.rate, self._known = high_rate(earlier), sum(tokens for tokens, _ in earlier)

    def take(self, tokens: int, seconds: float) -> None:
        """Take in what a document of this run took."""
        if not self._took:
            self._known = 0
        self._took.append((max(tokens, 1), seconds))
        self._known += max(tokens, 1)
        self.rate = high_rate(self._took)

    def knows(self, tokens: int) -> bool:
        """Whether anything is known of texts of such a length: the fixed time of a few short ones would make a long one
        seem to take for ever."""
        return self.rate is not None and tokens <= _LONGER * self._known

    def expected(self, tokens: int, before: int = 0) -> float:
        """The seconds that a text of so many tokens is expected to take, 0 where nothing is known of it, behind texts
        of so many tokens `before` it."""
        counted = before + (max(tokens, 1) if self.knows(tokens) else 0)
        return counted * (self.rate or 0.0)


def high_rate(took: Iterable[Took]) -> float | None:
    """The seconds a token that are enough for the share HIGH of all tokens; None if there are none. Each token counts
    the same, for the fixed time of small documents and small runs says little about large ones."""
    rates = sorted((seconds / tokens, tokens) for tokens, seconds in took if tokens > 0)
    needed, reached = HIGH * sum(tokens for _, tokens in rates), 0
    for rate, tokens in rates:
        reached += tokens
        if reached >= needed:
            return rate
    return None
