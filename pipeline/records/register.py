"""What a run begins with that was not so before: the log's key, the job's file and settings, the model file."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.plan import RunPlan

Entry = Mapping[str, Any]


@dataclass
class Register:
    """What the log says last of keys, jobs and models. A run says the same of its job and model as a record of them."""

    key: str | None = None
    jobs: dict[str, dict[str, str]] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)

    def take(self, entry: Entry) -> None:
        """The next entry, of any type."""
        match entry["type"]:
            case "key.admitted":
                self.key = entry["public_key"]
            case "key.rotated":
                self.key = entry["new_key"]
            case "job.admitted" | "job.changed":
                self.jobs[entry["job"]] = entry["after"]
            case "model.admitted" | "model.changed":
                self.models[entry["model"]] = entry["after"]
            case "run.started":
                self.jobs[entry["job"]] = {key: entry[key] for key in ("job_file_sha256", "job_digest")}
                self.models[entry["model"]] = entry["model_sha256"]

    def news(self, plan: RunPlan, digest: str, model_sha256: str) -> Iterator[dict[str, Any]]:
        """The records of what is new."""
        if self.key is None:
            yield {"type": "key.admitted", "public_key": plan.site.public_key}
        job, before = {"job_file_sha256": plan.job_file_sha256, "job_digest": digest}, self.jobs.get(plan.job)
        if job != before:
            yield {"type": "job.changed" if before else "job.admitted", "before": before, "after": job}
        yield from model_news(plan.model.name, self.models.get(plan.model.name), model_sha256, "run")


def model_news(name: str, before: str | None, after: str, by: str) -> Iterator[dict[str, Any]]:
    """The record of a model file that was another one `before`, or none."""
    if before != after:
        kind = "model.changed" if before else "model.admitted"
        yield {"type": kind, "model": name, "before": before, "after": after, "by": by}
