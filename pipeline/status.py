"""What the log says of each job: its last run and its totals."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.entries import read_entries
from pipeline.isolation import Isolation, from_record
from pipeline.plan import Site
from pipeline.states import State


@dataclass
class JobStatus:
    """One job as the log knows it; `last_state` is "finished", "interrupted", "stopped" (a disk was full) or
    "unfinished" (no closing entry).

    `seen` is the sum of `counts`, of the last run; `isolation` how the parsers of the last one that read documents were
    held.
    """

    job: str
    last_run: str = ""
    started_at: str = ""
    finished_at: str | None = None
    last_state: str = "unfinished"
    seen: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    totals: Counter[str] = field(default_factory=Counter)
    isolation: Isolation | None = None


def status(site: Site) -> list[JobStatus]:
    """Every job that ever ran, by name. Raises audit.AuditError."""
    jobs: dict[str, JobStatus] = {}
    for _, entry in read_entries(site):
        if entry["type"] in ("run.started", "document", "run.finished", "run.stopped", "run.empty"):
            _take(jobs.setdefault(entry["job"], JobStatus(entry["job"])), entry)
    return [jobs[name] for name in sorted(jobs)]


def _take(job: JobStatus, entry: Mapping[str, Any]) -> None:
    match entry["type"]:
        case "run.started":
            job.last_run, job.started_at, job.finished_at = entry["run"], entry["time"], None
            job.last_state, job.seen, job.counts = "unfinished", 0, {}
            job.isolation = from_record(entry.get("isolation")) or job.isolation
        case "run.empty":
            job.last_run, job.started_at, job.finished_at = entry["run"], entry["time"], entry["time"]
            job.last_state, job.seen, job.counts = "finished", entry["seen"], {s.value: entry[s] for s in State}
        case "document":
            job.totals[entry["state"]] += 1
        case "run.stopped" if job.last_run == entry["run"]:
            job.last_state = "stopped"
        case "run.finished":
            job.finished_at = entry["time"]
            job.last_state = "interrupted" if entry["interrupted"] else "finished"
            job.seen = entry["seen"]
            job.counts = {state.value: entry[state] for state in State}
