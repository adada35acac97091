"""Find in the log the quality of a job under some settings: the last qualification on each evaluation file."""

from dataclasses import dataclass, field

from pipeline.records.types import Qualified, Record


@dataclass
class Qualifications:
    """The qualifications of `job` with the settings `job_digest`: digest of the evaluation file -> the last record."""

    job: str
    job_digest: str
    by_eval: dict[str, Qualified] = field(default_factory=dict)

    def take(self, entry: Record) -> None:
        """Take in the next entry, of any type."""
        if isinstance(entry, Qualified) and (entry.of_job, entry.job_digest) == (self.job, self.job_digest):
            self.by_eval[entry.eval_sha256] = entry
