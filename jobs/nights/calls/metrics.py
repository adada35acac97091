"""Figures of a workspace for the textfile collector of Prometheus' node exporter.

The format is the Prometheus text format (version 0.0.4): a HELP and a TYPE line for each family, then its samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import audit
import pipeline
from jobs.errors import ConfigError
from jobs.plan import make_plan
from jobs.workspace import Workspace, load_job_of


class Sample(NamedTuple):
    """A figure with its labels."""

    labels: Mapping[str, str]
    value: float


def write_metrics(workspace: Workspace, standing: pipeline.StatusNow, path: Path) -> None:
    """Replace the file by one with the figures of now, which a reader sees whole or not at all. OSError."""
    audit.write_file_atomically(path, metrics(workspace, standing).encode())
    path.chmod(0o644)  # the exporter runs as another user


def metrics(workspace: Workspace, standing: pipeline.StatusNow) -> str:
    """The figures in the text format."""
    jobs = standing.jobs
    families = (
        ("documents", "Rows that runs made, by job and state; also those that newer ones replaced.",
         [Sample({"job": each.job, "state": state.value}, each.totals[state.value])
          for each in jobs for state in pipeline.OF_RUNS]),
        ("last_run_seconds", "Seconds that the last run took which did something.",
         [Sample({"job": each.job}, each.seconds) for each in jobs if each.seconds is not None]),
        ("last_success_timestamp_seconds", "When the last run ended in which no document failed.",
         [Sample({"job": each.job}, _seconds(each.succeeded_at)) for each in jobs if each.succeeded_at]),
        ("last_verified_timestamp_seconds", "When the log was last verified with nothing found wrong.",
         [Sample({}, _seconds(standing.checked.verified))] if standing.checked.verified else []),
        ("log_entries", "Entries of the audit log.", [Sample({}, standing.size)]),
        ("waiting_files", "Complete files that wait in the folder of a job.", list(_waiting(workspace))),
    )  # fmt: skip
    return "".join(_family(f"cloister_{name}", says, samples) for name, says, samples in families)


def _waiting(workspace: Workspace) -> Iterator[Sample]:
    """The files of each job that has a file and a folder; the others are told of by `cloister status --check`."""
    for path in workspace.job_files():
        try:
            plan = make_plan(workspace, load_job_of(workspace, path))
            found = pipeline.scan(plan.input)
        except (ConfigError, OSError):
            continue
        yield Sample({"job": plan.job}, len(found.ready))


def _seconds(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()


def _family(name: str, says: str, samples: list[Sample]) -> str:
    if not samples:
        return ""
    lines = [f"# HELP {name} {says}", f"# TYPE {name} gauge", *(_line(name, each) for each in samples)]
    return "\n".join(lines) + "\n"


def _line(name: str, sample: Sample) -> str:
    """A line such as `cloister_waiting_files{job="triage"} 3`: names of jobs and states need no escapes."""
    labels = ",".join(f'{key}="{value}"' for key, value in sample.labels.items())
    return f"{name}{{{labels}}} {sample.value:.15g}" if labels else f"{name} {sample.value:.15g}"
