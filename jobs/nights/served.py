"""A job as the service knows it; which input folders have files that no run has seen; and what the service says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path

from structlog.typing import FilteringBoundLogger

import pipeline
from jobs.config.load import LoadedJob
from jobs.config.plan import head_file, input_folder, make_plan, model_file
from jobs.config.workspace import Workspace, mount_point
from jobs.errors import ConfigError
from jobs.nights.starts import Outcome
from jobs.nights.wake import Wake
from jobs.nights.watch import Stamp, stamp_of
from jobs.visible import one_line

Refusal = tuple[Stamp, Stamp, Stamp, str | None, int, Stamp]
RETRY_SECONDS = 10.0
QUIET_SECONDS = 10.0  # between looks at a folder from which word comes of each change
LOOK_SHARE = 20  # looking through a folder takes at most this part of the time


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
    handled: frozenset[pipeline.inbox.Candidate] | None = None
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
    sightings: pipeline.inbox.Sightings = field(default_factory=pipeline.inbox.Sightings)

    @property
    def watches(self) -> bool:
        """Whether files start it."""
        return self.job.config.schedule is None and self.job.config.after is None

    def take_handled(self, before: frozenset[pipeline.inbox.Candidate], report: pipeline.RunReport) -> None:
        """A run has ended, `before` which these files lay there. One that a writer opened meanwhile was not taken, and
        may lie there as it did when it is closed."""
        left = set(report.held_open)
        taken = frozenset(each for each in before if each.name not in left)
        self.handled, self.waits_for = None if report.ended_early else taken, ""


def check_now(workspace: Workspace, site: pipeline.Site, job: LoadedJob, known: pipeline.records.Admissions) -> None:
    """Raise what would keep the job from running tonight: ConfigError or ModelRefusedError."""
    plan = make_plan(workspace, job)
    sha256 = pipeline.answer.check_model(
        plan, partial(pipeline.answer.remembered_sha256, site)
    )  # hundreds of jobs have one model
    model = replace(pipeline.answer.with_head(plan, sha256).model, sha256=sha256)
    pipeline.records.check_admitted(site, model, known)


def refusal_now(workspace: Workspace, job: LoadedJob, known: pipeline.records.Admissions) -> Refusal:
    """How everything is on which it hangs whether the job is refused."""
    model, head = stamp_of(model_file(workspace, job)), head_file(workspace, job)
    folder = input_folder(workspace, job)
    there = str(mount_point(folder)) if folder.is_dir() else None
    measured = stamp_of(workspace.root / "audit" / "checkpoint") if job.config.quality else None
    return (stamp_of(job.path), model, stamp_of(head) if head else None, there, known.newest, measured)


def tell_report(log: FilteringBoundLogger, report: pipeline.RunReport) -> None:
    """A line for a run that has ended."""
    how = "run stopped, the rest stays pending" if report.interrupted else "run finished"
    log.info(
        "window closed, the rest is first in the next run" if report.window_closed else how,
        job=report.job,
        run=report.run,
        seconds=round(report.seconds, 1),
        **report.counts,
    )


def tell_start(log: FilteringBoundLogger, decided: pipeline.records.StartDecided) -> None:
    """A line for starts that were not made."""
    if decided.outcome != Outcome.RAN:
        facts = {"job": decided.of_job, "due": decided.due, "outcome": decided.outcome, "reason": decided.reason}
        log.warning("start left out", **facts, **({"starts": decided.count} if decided.count > 1 else {}))


def tell_problems(log: FilteringBoundLogger, event: str, job: str, error: Exception) -> None:
    """A line for each problem."""
    problems = (
        [each.one_line() for each in error.problems] if isinstance(error, ConfigError) else [one_line(str(error))]
    )
    for problem in problems:
        log.error(event, job=job, problem=problem)


class Folders:
    """The folders below `wake`, by a `clock` in seconds."""

    def __init__(self, workspace: Workspace, log: FilteringBoundLogger, wake: Wake, clock: Callable[[], float]) -> None:
        self.workspace, self._log, self._wake, self._clock = workspace, log, wake, clock

    def follow(self, jobs: Iterable[Served]) -> None:
        """Hear of changes in the folders of these jobs, so that a look at one that changed comes early."""
        jobs = list(jobs)
        self._wake.follow(served.folder for served in jobs)
        for folder, reason in self._wake.silent():
            self._log.info(
                "folder is only looked at: it cannot be watched", folder=str(folder), reason=one_line(reason)
            )
        stirred = self._wake.stirred()
        for served in jobs:
            if served.folder in stirred:
                served.next_look = 0.0

    def has_new(self, served: Served) -> bool:
        """Whether a complete file lies there that did not when the last run began, if it is time to look. ConfigError.

        At first, files that wait for the rest of their batch count too: that rest may be what a run that was killed has
        processed, which only a run can tell.
        """
        began = self._clock()
        if began < max(served.next_look, served.rests_until, served.not_before):
            return False
        if served.source is None or not served.source.folder.is_dir():
            served.source = make_plan(
                self.workspace, served.job
            ).input  # which makes a folder of inbox/ that is missing
        try:
            found = pipeline.scan(served.source, sightings=served.sightings)
        except OSError as error:
            served.not_before = began + RETRY_SECONDS
            self._log.warning("folder cannot be looked at", job=served.job.name, problem=one_line(str(error)))
            return False
        served.rests_until = began + LOOK_SHARE * (self._clock() - began)
        quiet = self._wake.tells(served.folder) and not found.pending
        served.next_look = began + QUIET_SECONDS if quiet else 0.0
        if served.handled is None:
            return bool(found.ready or found.held)
        return not served.handled.issuperset(found.ready)
