"""Records of runs: by what jobs start, how each run began and ended, with which settings, and which inputs got no row;
and what was found at a start: interrupted commits, foreign files, a clock that was set."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.kernel.network import Silence
from pipeline.plan import REQUIRED, RunRequest
from pipeline.records.types.base import Record, counted, kind, member
from pipeline.records.types.values import Count, Flag, Text
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

    def sentence(self) -> str:
        again = ", to take up again what failed" if self.retry else ""
        again = ", to answer archived documents again" if self.rerun else again
        asked = (
            f", as {' and '.join(dict.fromkeys(each.user for each in self.requests))} asked" if self.requests else ""
        )
        return f"{self.job}: a run began with {counted(self.ready, 'file')} and the model {self.model}{again}{asked}."


class _Counted:
    """A record with the number of paths in each state."""

    __slots__ = ()

    @property
    def counts(self) -> dict[str, int]:
        """State -> how many paths ended in it."""
        return {state.value: getattr(self, state.value) for state in OF_RUNS}


@kind(
    "run.empty", "a run had nothing to do; once in a night while nothing changes", "{0.job}: a run had nothing to do."
)
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

    def sentence(self) -> str:
        how = {"interrupted": "was interrupted", "window_closed": "ended with its window"}.get(self.how, "ended")
        counts = ", ".join(f"{number:,} {state}" for state, number in self.counts.items() if number)
        return f"{self.job}: the run {how} after {self.seconds:,.0f} seconds: {counts or 'no documents'}."


@kind("run.refused", "a run did not begin: its model, or the machine, was refused")
class RunRefused(Record):
    """The name of the model, and why it, or the machine, was refused."""

    model: str
    reason: str

    def sentence(self) -> str:
        return f"{self.job}: a run was refused: {self.reason.rstrip('.')}."


@kind("run.stopped", "a full disk ended the run", "{0.job}: a full disk ended the run ({0.where}).")
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

    def sentence(self) -> str:
        piece = f", piece {self.piece + 1} of {self.pieces}" if self.pieces > 1 else ""
        return f"{self.job}: the settings {self.job_digest[:12]} were kept{piece}."


@kind("inputs", "paths that got no row, when that or the reason is new")
class Inputs(Record):
    """Paths that are all in one state for one reason. `paths` and `reason` are None where nothing opens the entry."""

    state: str
    reason: str | None
    paths: tuple[str, ...] | None

    def sentence(self) -> str:
        files = counted(len(self.paths), "file") if self.paths is not None else "some files"
        return f"{self.job}: {files} got no row: {self.state}."


@kind("start.set", "from `since` on a job starts by this cron line, or after this job", command=True)
class StartSet(Record):
    """The job, and the cron line with its time zone or the job after which it starts. All three are None for a job that
    has neither any more."""

    of_job: Text = member("job")
    since: Text
    cron: Text | None
    timezone: Text | None
    after: Text | None

    def sentence(self) -> str:
        how = f"by {self.cron} ({self.timezone})" if self.cron else self.after and f"after {self.after}"
        return f"{self.of_job}: the service starts it {how or 'neither by a schedule nor after a job'}."


@kind("start.decided", "what became of the `count` starts of a job that were due from `due` to `last`", command=True)
class StartDecided(Record):
    """The outcome, in a word, its reason in a sentence, and the run where there was one (`of_run`). All starts
    that were due at or before `last` are decided with it."""

    of_job: Text = member("job")
    due: Text
    last: Text
    count: Count
    outcome: Text
    reason: Text
    of_run: Text | None

    def sentence(self) -> str:
        starts = "the start" if self.count == 1 else f"{self.count:,} starts"
        return f"{self.of_job}: {starts} due at {self.due[:16]} UTC: {self.outcome}; {self.reason}."


@kind(
    "job.broken", "a job's file cannot be read; the service goes on with its last good version if `kept`", handed=True
)
class JobBroken(Record):
    """The job, the first of its problems, and whether there is an earlier version to go on with."""

    of_job: Text = member("job")
    problem: Text
    kept: Flag

    def sentence(self) -> str:
        on = "; its last good version goes on" if self.kept else ""
        return f"{self.of_job}: the job's file is broken{on}: {self.problem}."


@kind("job.mended", "a job's file can be read again", "{0.of_job}: the job's file is mended.", handed=True)
class JobMended(Record):
    """The job."""

    of_job: Text = member("job")


@kind("recovered.cut", "what an interrupted commit left behind the log was cut")
class RecoveredCut(Record):
    """How many bytes, entries and files there were behind the checkpoint."""

    bytes: int
    entries: int
    files: int

    def sentence(self) -> str:
        return f"What an interrupted commit had left was cut: {counted(self.bytes, 'byte')}."


@kind(
    "recovered.undone",
    "staged files that were never committed were removed",
    "Files that were never committed were removed.",
)
class RecoveredUndone(Record):
    """How many files were removed."""

    files: int


@kind(
    "handover.refused",
    "what lay in state/handover/ was no record that may be handed over",
    "What lay in state/handover/ was no record: {0.reason}.",
)
class HandoverRefused(Record):
    """The name and owner of the file, why it was refused, and the name under which it is kept (earlier
    versions did not say it)."""

    file: str
    owner: str
    reason: str
    kept: str = ""


@kind(
    "clock.stepped", "the clock was set since the entry of `before`", "The clock was set by {0.seconds:+,.0f} seconds."
)
class ClockStepped(Record):
    """The clock was set by so many seconds since the entry before, whose time this is."""

    seconds: float
    before: str
