"""What monitoring asks of the log: the status of each job, by its last run and its totals, and when the log was last
found right."""

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import audit
from pipeline.plan import Site
from pipeline.records.entries import Fold, fold, read_entries
from pipeline.records.register import Unread, remember
from pipeline.records.types import (
    Document,
    Isolation,
    Notified,
    Record,
    Reported,
    RunEmpty,
    RunFinished,
    RunRefused,
    RunStarted,
    RunStopped,
    Verified,
)

NOT_VERIFIED = "not_verified"


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
            if job.last_run != entry.run:
                if job.last_run and job.last_state != "refused":
                    job.before = replace(job, totals=Counter(), before=None)
                job.last_run, job.started_at, job.finished_at = entry.run, entry.time, None
                job.last_state, job.reason, job.counts = "unfinished", None, Counter()
            _take(job, entry)


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


@dataclass
class LastVerified:
    """When the log was last verified with nothing found wrong, when it began, and when somebody was last told that it
    was not verified; None for never."""

    verified: str | None = None
    began: str | None = None
    told: str | None = None

    def take(self, entry: Record) -> None:
        """Take in the next entry, of any type."""
        self.began = self.began or entry.time
        if isinstance(entry, Verified) and not entry.integrity + entry.altered + entry.added:
            self.verified = entry.time
        elif isinstance(entry, Notified) and entry.cause == NOT_VERIFIED:
            self.told = entry.time

    def overdue(self, days: int | None, now: datetime) -> str | None:
        """The sentence that the log was not verified for more than so many days; None if it was, if it is not that old,
        or if nobody asks (`days` is None)."""
        since = self.verified or self.began
        if days is None or since is None or now - datetime.fromisoformat(since) <= timedelta(days=days):
            return None
        when = f"since {since[:10]}" if self.verified else f"and it began on {since[:10]}"
        return f"The log was not verified {when}, and site.yaml says verify_days: {days}; `cloister audit verify` does."


@dataclass
class StatusNow:
    """The log as it is now; each look reads only what came since the last one. `size`: its entries; `checked`: when it
    was verified."""

    site: Site
    size: int = 0
    checked: LastVerified = field(default_factory=LastVerified)
    _jobs: Jobs = field(default_factory=Jobs)

    @property
    def jobs(self) -> list[JobStatus]:
        """The status of each job, by name."""
        return [self._jobs.jobs[name] for name in sorted(self._jobs.jobs)]

    def look(self) -> None:
        """Take in what came since the last look. audit.AuditError."""
        size = audit.read_checkpoint(self.site.audit, self.site.public_key).size
        if size < self.size:  # the log was put back to an earlier state
            self.size, self.checked, self._jobs = 0, LastVerified(), Jobs()
        if size > self.size:
            fold(read_entries(self.site, self.size), self._jobs, self.checked, self)

    def take(self, entry: Record) -> None:
        """Take in that the log has one entry more."""
        self.size = entry.n + 1
