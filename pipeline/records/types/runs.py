"""Records of runs: how each began and ended, with which settings, and which inputs got no row."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.kernel.network import Silence
from pipeline.plan import REQUIRED, RunRequest
from pipeline.records.types.base import Record, kind
from pipeline.states import OF_RUNS


@dataclass(frozen=True, slots=True)
class Isolation:
    """How the parsers of a run were held. `wanted`: required or best_effort; `lacking`: the protections that are not in
    force, also those that may lack."""

    wanted: str
    lacking: tuple[str, ...]

    @property
    def told(self) -> str | None:
        """The sentence that people have to be told of it; None where all that is required is in force because it has
        to be."""
        if self.wanted == REQUIRED:
            return None
        return f"best_effort: {', '.join(self.lacking)} not in force" if self.lacking else "best_effort: all in force"


@dataclass(frozen=True, slots=True)
class RerunAsked:
    """Which archived documents a run was asked to answer again: `everything`, also those of today's settings, also
    those that a person `decided`, in which `states`, how large a `sample` of them, drawn by which `seed`. `query` has
    what else was asked for, and is None in a private job, for it may be a name.

    They were chosen from the rows that held when the log had `size` entries. `question` is an HMAC of all that was
    asked: by it a rerun that was cut off is known when it is asked for again.
    """

    size: int
    question: str
    everything: bool = False
    decided: bool = False
    states: tuple[str, ...] = ()
    sample: int | None = None
    seed: str | None = None
    query: Mapping[str, Any] | None = None


@kind("run.started", "a run begins, and takes `ready` files")
class RunStarted(Record):
    """The settings, job file and model of a run (`pinned`: the job names its sha256), the job's rule for copies, the
    classes of failures that it takes up again, the software, how many files its scan found in which state, how its
    parsers are held (None where it needs none), who asked the service for the run, if anybody did, and which archived
    documents it answers again (None where it takes what came in). `versions`: "newest" if the job shows of each path
    only the newest file."""

    job_digest: str
    job_file_sha256: str
    model: str
    model_sha256: str
    pinned: bool = False
    duplicates: str | None = None
    retry: tuple[str, ...] | None = None
    software: Mapping[str, str] | None = None
    ready: int = 0
    settling: int = 0
    held: int = 0
    ignored: int = 0
    isolation: Isolation | None = None
    requests: tuple[RunRequest, ...] = ()
    rerun: RerunAsked | None = None
    silence: Silence | None = None
    cluster: str | None = None
    versions: str | None = None


class _Counted:
    """A record with the number of paths in each state."""

    __slots__ = ()

    @property
    def counts(self) -> dict[str, int]:
        """State -> how many paths ended in it."""
        return {state.value: getattr(self, state.value) for state in OF_RUNS}


@kind("run.empty", "a run had nothing to do; once in a night while nothing changes")
class RunEmpty(_Counted, Record):
    """The settings and model of a run without work, and how many paths it saw in which state; `known`: of the ignored,
    those that were done before."""

    job_digest: str
    model_sha256: str
    seen: int
    done: int
    abstained: int
    review: int
    failed: int
    duplicate: int
    ignored: int
    pending: int
    known: int = 0


@dataclass(frozen=True, slots=True)
class Foreseen:
    """A forecast that was made when a run began: the documents that it would do, and the seconds that it would take."""

    documents: int
    seconds: float


@kind("run.finished", "a run ends; `seen` is the sum of the states")
class RunFinished(_Counted, Record):
    """How many paths a run saw in which state (`known`: of the ignored, those that were done before), the tokens it
    computed (None in a private job), the seconds it took, whether it was interrupted or
    ended because its window closed, and how many parts it made. `ready_seconds`: how long it took until its documents
    had their turn; `forecast`: what was expected of it when it began (None where nothing was known, and in a private
    job)."""

    seen: int
    done: int
    abstained: int
    review: int
    failed: int
    duplicate: int
    ignored: int
    pending: int
    known: int = 0
    tokens: int | None = None
    seconds: float = 0.0
    interrupted: bool = False
    window_closed: bool = False
    parts: int = 0
    ready_seconds: float | None = None
    forecast: Foreseen | None = None

    @property
    def how(self) -> str:
        """How the run ended, in a word: "finished", "interrupted" or "window_closed"."""
        return "window_closed" if self.window_closed else "interrupted" if self.interrupted else "finished"


@kind("run.refused", "a run did not begin: its model, or the machine, was refused")
class RunRefused(Record):
    """The name of the model, and why it, or the machine, was refused."""

    model: str
    reason: str


@kind("run.stopped", "a full disk ended the run")
class RunStopped(Record):
    """The class of the reason, and the place where there was no room."""

    reason: str
    where: str


@kind("settings", "the settings of `job_digest`, in pieces")
class SettingsPiece(Record):
    """Piece number `piece` of the `pieces` whose texts, joined, are the settings with this digest."""

    job_digest: str
    piece: int
    pieces: int
    text: str


@kind("inputs", "paths that got no row, when that or the reason is new")
class Inputs(Record):
    """Paths that are all in one state for one reason. `paths` and `reason` are None where nothing opens the entry."""

    state: str
    reason: str | None
    paths: tuple[str, ...] | None
