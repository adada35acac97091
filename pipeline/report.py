"""The reports of a run: while it works, through an Observer, and when it has ended, as a RunReport."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pipeline.records.types import Isolation


class Observer(Protocol):
    """Told of every step by the thread that called `run`."""

    def note(self, event: str, **facts: str | int | float | None) -> None:
        """A step happened: "compiling kernels", "recovered", "part committed"."""

    def found(self, total: int) -> None:
        """Hear that the run will look at `total` documents."""

    def finished(self, path: str, state: str, reason: str | None) -> None:
        """One of them reached its state."""

    def expects(self, seconds_left: float | None) -> None:
        """Hear in how many seconds all of them will be done; None while nobody can say."""


@dataclass(frozen=True)
class Rerunning:
    """The documents that a rerun takes, and why: `why` has for each of WHY how many. `same`: how many more fit, whose
    rows today's settings made. `continued`: it goes on with one that was cut off."""

    why: Mapping[str, int]
    same: int
    continued: bool


WHY = ("settings", "model", "everything")
"""Why a document is answered again: its row was made by other settings; by another model; or neither, and everything
was asked for."""


@dataclass(frozen=True)
class RunReport:
    """How a run ended. `counts` has every State, and `seen` is their sum; the log's `run.finished` says the same.

    `known` counts those of the ignored that had been processed before; `retried` says that the run took up failed
    ones; `lost` holds (path, reason) of batch files whose requests it left, because rows of theirs are gone. `pending`
    and `ignored` hold (path, reason), `failed` (path, failure, reason), each at most `LISTED` long. `isolation`: how
    the parsers were held; None if there was nothing to parse. At most one of `interrupted` and `window_closed` is true:
    the reason why documents were left that the run would have taken. `verdict`: the sentence that the report of the
    night begins with, None where none was made; `unlike`: sentences that say in what the night is unlike those before,
    which name no label where the job is private. `rerun`: what it took, if it answered archived documents again; then
    `ignored` tells of those that it left.
    """

    run: str
    job: str
    counts: Mapping[str, int]
    known: int
    parts: tuple[Path, ...]
    tokens: int
    seconds: float
    interrupted: bool
    model_sha256: str
    pinned: bool
    retried: bool
    lost: tuple[tuple[str, str], ...]
    ignored: tuple[tuple[str, str], ...]
    pending: tuple[tuple[str, str], ...]
    failed: tuple[tuple[str, str, str], ...]
    isolation: Isolation | None = None
    report: Path | None = None
    no_report: str | None = None
    window_closed: bool = False
    verdict: str | None = None
    unlike: tuple[str, ...] = ()
    rerun: Rerunning | None = None

    @property
    def ended_early(self) -> bool:
        """Whether the run ended before the turn of all its documents had come."""
        return self.interrupted or self.window_closed

    @property
    def seen(self) -> int:
        """Paths that the scan found."""
        return sum(self.counts.values())


LISTED = 1000
