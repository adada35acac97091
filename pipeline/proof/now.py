"""What monitoring asks of the log: the status of each job, and when the log was last found right."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

import audit
from pipeline.plan import Site
from pipeline.proof.status import Jobs, JobStatus
from pipeline.records.entries import fold, read_entries
from pipeline.records.types import Notified, Record, Verified

NOT_VERIFIED = "not_verified"


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
