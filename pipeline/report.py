"""The reports of a run: while it works, through an Observer, and when it has ended, as a RunReport."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from pipeline.paths.beneath import HELD_OPEN
from pipeline.records.types import Isolation
from pipeline.states import OF_RUNS

READING, COMPUTING = "reading a long document", "computing a long document"
"""Steps within a document that takes a while: `pages` or `tokens` are done, `of` so many if that is known; `document`
is its name, if it may be told."""


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
    and `ignored` hold (path, reason), `failed` (path, failure, reason), each at most `LISTED` long; `names` counts the
    ignored whose name no person gives, by its pattern. `isolation`: how
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
    names: Mapping[str, int] = field(default_factory=dict)

    @property
    def ended_early(self) -> bool:
        """Whether the run ended before the turn of all its documents had come."""
        return self.interrupted or self.window_closed

    @property
    def held_open(self) -> tuple[str, ...]:
        """The pending files that somebody had open for writing."""
        return tuple(path for path, reason in self.pending if reason == HELD_OPEN)

    @property
    def seen(self) -> int:
        """Paths that the scan found."""
        return sum(self.counts.values())


LISTED = 1000


def joined(reports: Sequence[RunReport]) -> RunReport:
    """The report of several runs of a job in one window, which shared it with other jobs, as if they were one run. What
    one of them did, the next ones may know: they left it."""
    first, last = reports[0], reports[-1]
    again = last.known - first.known
    counts = {state.value: sum(each.counts[state.value] for each in reports) for state in OF_RUNS}
    counts |= {"pending": last.counts["pending"], "ignored": last.counts["ignored"] - again}
    return replace(
        last,
        counts=counts,
        known=first.known,
        parts=tuple(part for each in reports for part in each.parts),
        tokens=sum(each.tokens for each in reports),
        seconds=sum(each.seconds for each in reports),
        lost=tuple(one for each in reports for one in each.lost)[:LISTED],
        failed=tuple(one for each in reports for one in each.failed)[:LISTED],
    )
