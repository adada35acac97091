"""A job as the service knows it: its last good version, what of its folder was seen, and why it may not run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path

import pipeline
from jobs.load import LoadedJob
from jobs.nights.watch import Stamp, stamp_of
from jobs.plan import head_file, input_folder, make_plan, model_file
from jobs.workspace import Workspace, mount_point

Refusal = tuple[Stamp, Stamp, Stamp, str | None, int, Stamp]


@dataclass
class Served:
    """A job that is served, in the last version of its file that could be read, and the `folder` of its documents.

    Of a job that starts as files come: `handled`, the files that lay there when its last run began; `files_since`,
    since when new files wait. `asked_since`: when somebody asked for a run. `rounds`: the reports of its runs in this
    window whose share was over, and `waits_since` when that was for the last time. `refused` says how its files, its
    folder and the log's admissions were when it could not be run.
    """

    job: LoadedJob
    folder: Path
    handled: frozenset[pipeline.Candidate] | None = None
    files_since: datetime | None = None
    asked_since: datetime | None = None
    refused: Refusal | None = None
    not_before: float = 0.0
    waits_for: str = ""  # what was told of why its run could not begin
    next_look: float = 0.0  # if nothing is heard until then
    rests_until: float = 0.0  # whatever is heard
    rounds: list[pipeline.RunReport] = field(default_factory=list)
    waits_since: datetime | None = None
    source: pipeline.Input | None = None  # where its files come from, once it was looked at
    sightings: pipeline.Sightings = field(default_factory=pipeline.Sightings)

    @property
    def watches(self) -> bool:
        """Whether files start it."""
        return self.job.config.schedule is None and self.job.config.after is None

    def take_handled(self, before: frozenset[pipeline.Candidate], report: pipeline.RunReport) -> None:
        """A run has ended, `before` which these files lay there. One that a writer opened meanwhile was not taken, and
        may lie there as it did when it is closed."""
        left = set(report.held_open)
        taken = frozenset(each for each in before if each.name not in left)
        self.handled, self.waits_for = None if report.ended_early else taken, ""


def check_now(workspace: Workspace, site: pipeline.Site, job: LoadedJob, known: pipeline.Admissions) -> None:
    """Raise what would keep the job from running tonight: ConfigError or ModelRefusedError."""
    plan = make_plan(workspace, job)
    sha256 = pipeline.check_model(plan, partial(pipeline.remembered_sha256, site))  # hundreds of jobs have one model
    model = replace(pipeline.with_head(plan, sha256).model, sha256=sha256)
    pipeline.check_admitted(site, model, known)


def refusal_now(workspace: Workspace, job: LoadedJob, known: pipeline.Admissions) -> Refusal:
    """How everything is on which it hangs whether the job is refused."""
    model, head = stamp_of(model_file(workspace, job)), head_file(workspace, job)
    folder = input_folder(workspace, job)
    there = str(mount_point(folder)) if folder.is_dir() else None
    measured = stamp_of(workspace.root / "audit" / "checkpoint") if job.config.quality else None
    return (stamp_of(job.path), model, stamp_of(head) if head else None, there, known.newest, measured)
