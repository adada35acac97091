"""The values that the index is asked with, and gives."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Sort = Literal["score", "uncertain", "age", "newest", "size", "path"]
"""Orders of the queue. score: rows in `review` first, then abstained ones, then the lowest scores, what a person has
decided behind them, and what has no answer last; uncertain: answers that a person has not seen, the least certain
first; age: the oldest first; newest: the newest first; size: the largest first; path: by path."""

SORTS: tuple[Sort, ...] = ("score", "uncertain", "age", "newest", "size", "path")

By = Literal["state", "label", "failure", "night", "job", "folder", "review"]
"""The facts by which documents can be counted."""


@dataclass(frozen=True)
class Filter:
    """The facts that an item must have; an empty tuple or None asks for nothing.

    `folder`: the folder of the path, or one above it. `night`: the date of the evening (a run that begins before noon
    belongs to the day before). `text`: a piece of the path, answer or reason, without regard to case. `review`: what a
    person did ("accepted", "corrected", "rejected"), "any" of it, or "none". `current`: False also gives rows whose
    place others took. `settings`: "current" leaves out rows of other settings than the newest row of their job.
    `digests`: rows of settings with one of these digests. `versions`: "newest" leaves out rows of files whose path has
    a newer one, "rule" those of jobs that say so (`versions: newest`).
    """

    jobs: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    folder: str | None = None
    night: str | None = None
    text: str | None = None
    review: str | None = None
    current: bool = True
    settings: str | None = None
    digests: tuple[str, ...] = ()
    versions: str | None = None


@dataclass(frozen=True)
class Item:
    """A row of the results, as far as lists show it.

    `score` is that of the label, or the lowest of the values that were found; None where the task gives none.
    `certainty` is how far the best label is ahead of the second, or the score. `answer` is short, and says of a row
    without one why. `time` is when the row was finished; `part` and `row` say where it stands. `replaced_by` is the
    entry whose row took its place; None if the row is current. `newer_file` is the entry of a row of the newest file at
    its path; None if it is of that file itself.
    """

    entry: int
    job: str
    task: str | None
    path: str
    document: str | None
    state: str
    failure: str | None
    reason: str | None
    label: str | None
    score: float | None
    certainty: float | None
    answer: str
    size: int
    pages: int | None
    language: str | None
    time: str
    run: str
    night: str
    part: str
    row: int
    review_action: str | None
    review_by: str | None
    other_settings: bool
    newer_file: int | None
    replaced_by: int | None


@dataclass(frozen=True)
class Page:
    """Some items in their order; `total` counts all that the filter lets through (with a text at most
    10,000: there may be more); `next` is given back as `after` for
    the page behind this one, None at the end."""

    items: tuple[Item, ...]
    total: int
    next: str | None


@dataclass(frozen=True)
class Night:
    """The runs of one job in one night, the last of them at the end. `state` is how the last one ended (RunTold).
    `counts` and `seconds` are the sums of all; of a run without an end, `counts` are those of its rows."""

    night: str
    job: str
    state: str
    runs: tuple[str, ...]
    seconds: float
    counts: Mapping[str, int]


@dataclass(frozen=True)
class Day:
    """A day (of UTC) with entries: the numbers of its first and last one, and how many rows are among them."""

    day: str
    first: int
    last: int
    documents: int

    @property
    def entries(self) -> int:
        """How many entries it has."""
        return self.last - self.first + 1


@dataclass(frozen=True)
class Happening:
    """An entry that is no row of a run, by what the log says in the clear. `type` as people may rely on it
    ."""

    n: int
    type: str
    time: str
    run: str
    job: str
    user: str


@dataclass(frozen=True)
class RunTold:
    """A run as the log tells of it. `state`: "finished", "interrupted", "window_closed", "stopped", "refused", "empty"
    or "unfinished" (it is on its way, or was cut off); of an unfinished one `counts` are those of its rows so far.
    `first`, `last`: the numbers of its entries."""

    run: str
    job: str
    first: int
    last: int
    started_at: str
    state: str = "unfinished"
    ended_at: str | None = None
    reason: str | None = None
    job_digest: str | None = None
    job_file_sha256: str | None = None
    model: str | None = None
    model_sha256: str | None = None
    ready: int = 0
    seconds: float = 0.0
    tokens: int | None = None
    retry: tuple[str, ...] | None = None
    rerun: bool = False
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """How many documents got a row."""
        return sum(number for state, number in self.counts.items() if state not in ("ignored", "pending"))


@dataclass(frozen=True)
class Throughput:
    """How many rows were made in a span of time that begins at `start` (seconds since 1970): state -> number."""

    start: int
    counts: Mapping[str, int]


@dataclass(frozen=True)
class ModelUse:
    """A model that made rows: the names it had, when it made the first and the last one (seconds since 1970, to the
    minute), and job -> state -> how many."""

    sha256: str
    names: tuple[str, ...]
    first: int
    last: int
    rows: Mapping[str, Mapping[str, int]]

    @property
    def total(self) -> int:
        """How many rows it made."""
        return sum(number for states in self.rows.values() for number in states.values())


def run_from_text(text: str) -> RunTold:
    """A run as the index has it, in JSON."""
    told = json.loads(text)
    return RunTold(**{**told, "retry": tuple(told["retry"]) if told["retry"] is not None else None})
