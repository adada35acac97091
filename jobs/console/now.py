"""The present of each job: whether it runs, what waits for it, when it starts next, and what would keep it from it."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import audit
import pipeline
from jobs.config.load import LoadedJob
from jobs.config.plan import head_file, make_plan, model_file
from jobs.config.workspace import Workspace, load_job_of
from jobs.errors import ConfigError
from jobs.nights.ahead import next_start_of
from jobs.stop import holder

_AGAIN_SECONDS: Final = 10.0
_RUNS: Final = 20
_SHARE: Final = 20  # looking through folders takes at most this part of the time


@dataclass(frozen=True)
class JobNow:
    """A job at present. `problems`: why its file is refused; `refused`: why its next run would be; `waiting`,
    `settling`: files in its folder that are complete, or still change; `private`: whether names of documents are."""

    name: str
    problems: str | None = None
    refused: str | None = None
    waiting: int = 0
    settling: int = 0
    next_start: datetime | None = None
    scheduled: bool = False
    private: bool = False
    task: str | None = None


@dataclass(frozen=True)
class RunNow:
    """A run on its way: how many of its documents are done, of how many (None: not counted yet), how many of them
    failed, and how many seconds it may take yet, by its pace so far."""

    job: str
    run: str
    since: str
    done: int
    failed: int
    total: int | None
    seconds_left: float | None
    a_minute: float | None


@dataclass
class Present:
    """Holds what is at present in a workspace. Folders are looked through each ten seconds at most, and never for
    longer than a twentieth of the time."""

    workspace: Workspace
    site: pipeline.Site
    clock: Callable[[], float] = time.monotonic
    _jobs: tuple[JobNow, ...] = ()
    _due: float = 0.0
    _admissions: tuple[bytes, pipeline.records.Admissions] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def jobs(self) -> tuple[JobNow, ...]:
        """All jobs that have a file, by name."""
        with self._lock:
            began = self.clock()
            if began >= self._due:
                self._jobs = tuple(self._job(path) for path in self.workspace.job_files())
                self._due = self.clock() + max(_AGAIN_SECONDS, _SHARE * (self.clock() - began))
            return self._jobs

    def look_again(self) -> None:
        """Let the next call of `jobs` look anew."""
        self._due = 0.0

    def running(self) -> RunNow | None:
        """The run that holds the log, if one does."""
        pid, told = holder(self.site.audit / "lock"), pipeline.running(self.site)
        if told is None or pid is None or pid not in (0, told.pid):
            return None
        done = sum(told.counts.values())
        passed = (datetime.now(UTC) - datetime.fromisoformat(told.since)).total_seconds()
        pace = done / passed if done and passed > 0 else None
        left = max(told.total - done, 0) / pace if pace and told.total is not None else None
        failed = told.counts.get(pipeline.State.FAILED, 0)
        return RunNow(
            told.job, told.run, told.since, done, failed, told.total, left, round(60 * pace, 1) if pace else None
        )

    def held_by(self) -> int | None:
        """The process that holds the log, be it a run or a command; 0 for one elsewhere, None for none."""
        return holder(self.site.audit / "lock")

    def served_by(self) -> int | None:
        """The process of `cloister serve`; None if it does not run."""
        return holder(self.workspace.log)

    def admissions(self) -> pipeline.records.Admissions:
        """Which models were admitted or revoked. audit.AuditError."""
        checkpoint = (self.site.audit / "checkpoint").read_bytes()
        if self._admissions is None or self._admissions[0] != checkpoint:
            admissions = pipeline.records.Admissions()
            with pipeline.index.open_index(self.site) as index:
                numbers = index.numbers_of("admission.granted", "admission.revoked")
            for entry in pipeline.records.entries_at(self.site, numbers):
                admissions.take(entry)
            self._admissions = checkpoint, admissions
        return self._admissions[1]

    def _job(self, path: Path) -> JobNow:
        try:
            job = load_job_of(self.workspace, path)
            now = JobNow(path.stem, scheduled=job.config.schedule is not None, next_start=next_start_of(job))
            now = replace(now, private=job.config.private, task=job.config.task.type)
            plan = make_plan(self.workspace, job)
            scan = pipeline.scan(plan.input)
        except (ConfigError, OSError) as error:
            return JobNow(path.stem, problems=str(error))
        waiting, settling = len(scan.ready), len(scan.pending)
        return replace(now, waiting=waiting, settling=settling, refused=self._refusal(job, plan))

    def _refusal(self, job: LoadedJob, plan: pipeline.RunPlan) -> str | None:
        """Return what can be told without reading the model: a file that is not there, or one that may not be used."""
        for file in (model_file(self.workspace, job), head_file(self.workspace, job)):
            if file is not None and not file.is_file():
                return f"there is no {file.relative_to(self.workspace.root)}"
        try:
            sha256 = plan.model.sha256
            if sha256 is None:  # a model that is not pinned is the one of the last run with it
                with pipeline.index.open_index(self.site) as index:
                    runs = index.runs(job.name, limit=_RUNS)
                its = (run.model_sha256 for run in runs if run.model == plan.model.name and run.model_sha256)
                sha256 = next(its, None)
            model = replace(plan.model, sha256=sha256)
            return pipeline.records.refusal_of(model, self.admissions(), required=self.site.require_admission)
        except (audit.AuditError, OSError, sqlite3.Error):
            return None  # the page says by itself what is wrong with the log
