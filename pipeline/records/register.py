"""A run tells what is new since the one before: the log's key, the job's file and settings, the model file."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from pipeline.plan import RunPlan
from pipeline.records.admissions import Admissions
from pipeline.records.types import (
    JobAdmitted,
    JobChanged,
    JobFile,
    KeyAdmitted,
    KeyRotated,
    ModelAdmitted,
    ModelChanged,
    Record,
    RunStarted,
)


@dataclass
class Register:
    """The last words of the log about keys, jobs and models, and on which of these jobs may use. A run says the same of
    its job and model as a record of them."""

    key: str | None = None
    jobs: dict[str, JobFile] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    admissions: Admissions = field(default_factory=Admissions)

    def take(self, entry: Record) -> None:
        """Take in the next entry, of any type."""
        match entry:
            case KeyAdmitted():
                self.key = entry.public_key
            case KeyRotated():
                self.key = entry.new_key
            case JobAdmitted() | JobChanged():
                self.jobs[entry.job] = entry.after
            case ModelAdmitted() | ModelChanged():
                self.models[entry.model] = entry.after
            case RunStarted():
                self.jobs[entry.job] = JobFile(entry.job_file_sha256, entry.job_digest)
                self.models[entry.model] = entry.model_sha256
            case _:
                self.admissions.take(entry)

    def news(self, plan: RunPlan, digest: str, model_sha256: str) -> Iterator[Record]:
        """The records of what is new."""
        if self.key is None:
            yield KeyAdmitted(public_key=plan.site.public_key)
        job, before = JobFile(plan.job_file_sha256, digest), self.jobs.get(plan.job)
        if job != before:
            yield (JobChanged if before else JobAdmitted)(before=before, after=job)
        yield from model_news(plan.model.name, self.models.get(plan.model.name), model_sha256, "run")


def model_news(name: str, before: str | None, after: str, by: str) -> Iterator[Record]:
    """The record of a model file that was another one `before`, or none."""
    if before != after:
        yield (ModelChanged if before else ModelAdmitted)(model=name, before=before, after=after, by=by)
