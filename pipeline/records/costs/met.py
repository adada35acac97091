"""Which files a job has met that leaves its documents where they are."""

from dataclasses import dataclass, field

from pipeline.records.types import Document, Record, RunStarted


@dataclass
class MetFiles:
    """The paths of documents that some jobs have met with the settings of their last run: job -> paths. A job that
    leaves documents where they are does not take them again."""

    jobs: dict[str, set[str]]
    _digests: dict[str, str] = field(default_factory=dict)

    def take(self, entry: Record) -> None:
        """Take in the next entry, of any type."""
        if entry.job not in self.jobs:
            return
        if isinstance(entry, RunStarted) and self._digests.get(entry.job) != entry.job_digest:
            self._digests[entry.job] = entry.job_digest
            self.jobs[entry.job] = set()
        elif isinstance(entry, Document) and entry.parent is None and entry.document and not entry.is_decided:
            self.jobs[entry.job].add(entry.path)
