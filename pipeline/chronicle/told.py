"""The values that the chronicle gives."""

from collections.abc import Mapping
from dataclasses import dataclass, field


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
    (entries.py)."""

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
