"""The status of each job by the log: its last run and its totals."""

from collections import Counter
from dataclasses import dataclass, field, replace

from pipeline.plan import Site
from pipeline.records.entries import Fold, fold, read_entries
from pipeline.records.register import Unread, remember
from pipeline.records.types import (
    Document,
    Isolation,
    Record,
    Reported,
    RunEmpty,
    RunFinished,
    RunRefused,
    RunStarted,
    RunStopped,
)


@dataclass
class JobStatus:
    """One job as the log knows it, by its last run; `before`: by the last one before it that was not refused, without
    totals.

    `last_state` is "finished", "interrupted", "window_closed", "stopped" (a disk was full), "refused" (model or
    machine, for a `reason`) or "unfinished" (no closing entry: it is on its way, or was cut off). `seen` is the sum of
    `counts`, which of a run that did not finish are those of its rows. `isolation`: how the parsers of the last run
    that read documents were held; `seconds`: how long the last run took that ended, `succeeded_at`: when the last one
    ended in which no document failed; `decisions`: the states of rows that people decided, which no run made;
    `unread`: the files that were not read when they came (inbox/find.py); `report`: the page of the last night of which
    there is one, by its name in the workspace.
    """

    job: str
    last_run: str = ""
    started_at: str = ""
    finished_at: str | None = None
    last_state: str = "unfinished"
    reason: str | None = None
    counts: Counter[str] = field(default_factory=Counter)
    totals: Counter[str] = field(default_factory=Counter)
    decisions: Counter[str] = field(default_factory=Counter)
    isolation: Isolation | None = None
    unread: dict[str, Unread] = field(default_factory=dict)
    report: str | None = None
    before: "JobStatus | None" = None
    seconds: float | None = None
    succeeded_at: str | None = None

    @property
    def seen(self) -> int:
        """Paths that the last run's scan found, as far as is known."""
        return self.counts.total()


def status(site: Site, *others: Fold) -> list[JobStatus]:
    """Every job that ever ran, or was refused, by name; `others` take the same entries. Raises audit.AuditError."""
    jobs = fold(read_entries(site), Jobs(), *others).jobs
    return [jobs[name] for name in sorted(jobs)]


@dataclass
class Jobs:
    """The status of each job, by its name."""

    jobs: dict[str, JobStatus] = field(default_factory=dict)

    def take(self, entry: Record) -> None:
        """Take in the next entry, of any type."""
        if isinstance(entry, Document) and entry.is_decided:
            self.jobs.setdefault(entry.job, JobStatus(entry.job)).decisions[entry.state] += 1
        elif isinstance(entry, Reported) and entry.job in self.jobs:
            self.jobs[entry.job].report = entry.html.file
        elif isinstance(entry, Document | RunStarted | RunFinished | RunStopped | RunEmpty | RunRefused):
            job = self.jobs.setdefault(entry.job, JobStatus(entry.job))
            _begin(job, entry)
            _take(job, entry)


def _begin(job: JobStatus, entry: Record) -> None:
    """Whatever the first entry of a run is, the run before it is over."""
    if job.last_run != entry.run:
        if job.last_run and job.last_state != "refused":
            job.before = replace(job, totals=Counter(), before=None)
        job.last_run, job.started_at, job.finished_at = entry.run, entry.time, None
        job.last_state, job.reason, job.counts = "unfinished", None, Counter()


def _take(job: JobStatus, entry: Record) -> None:
    match entry:
        case Document():
            job.totals[entry.state] += 1
            job.counts[entry.state] += 1
            if not entry.closed:
                remember(job.unread, entry)
        case RunStarted():
            job.isolation = entry.isolation or job.isolation
        case RunStopped():
            job.last_state = "stopped"
        case RunRefused():
            job.last_state, job.finished_at, job.reason = "refused", entry.time, entry.reason
        case RunEmpty() | RunFinished():
            job.last_state = entry.how if isinstance(entry, RunFinished) else "finished"
            job.finished_at, job.counts = entry.time, Counter(entry.counts)
            job.seconds = entry.seconds if isinstance(entry, RunFinished) else job.seconds
            if job.last_state == "finished" and not entry.failed:
                job.succeeded_at = entry.time
