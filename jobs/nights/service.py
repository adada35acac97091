"""`cloister serve`: starts each job by its cron line, or as soon as a complete file lies in its folder.

One loop in the main thread: look, start at most one run, look again. A run is told `stop`, so a signal ends it after
committing what is finished. Between runs nothing is held but the lock against a second service. DECISIONS.md has the
rules: what starts a job, what a bad job file does, what is tried again and when.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from structlog.typing import FilteringBoundLogger

import audit
import pipeline
from jobs.errors import NO_ROOM, ConfigError, no_room
from jobs.load import LoadedJob
from jobs.nights.calling import Calling
from jobs.nights.reload import read_again
from jobs.nights.schedule import GRACE_SECONDS, CronTrigger, Schedules
from jobs.nights.systemd import Systemd
from jobs.nights.wake import Wake
from jobs.nights.watch import Change, JobFiles, Stamp, stamp_of
from jobs.nights.window import last_start, with_window
from jobs.plan import head_file, input_folder, make_plan, make_site, model_file
from jobs.progress import LineWatcher
from jobs.record import record
from jobs.stop import Stop
from jobs.visible import one_line
from jobs.workspace import Workspace

LOOK_SECONDS = 1.0
_STILL_SECONDS = 0.2  # between the two looks at the start
RETRY_SECONDS = 10.0
QUIET_SECONDS = 10.0  # between looks at a folder from which word comes of each change
LOG_AT_ONCE = 2000  # entries of a long log that are read in one look, so that a start need not wait for all
LOOK_SHARE = 20  # looking through a folder takes at most this part of the time

Refusal = tuple[Stamp, Stamp, Stamp, bool, int, Stamp]


@dataclass
class Served:
    """A job as the service knows it."""

    job: LoadedJob
    handled: frozenset[pipeline.Candidate] | None = None  # the files that lay there when its last run began
    refused: Refusal | None = None  # how its files, folder and the log's admissions were when it could not be run
    not_before: float = 0.0
    next_look: float = 0.0  # if nothing is heard until then
    rests_until: float = 0.0  # whatever is heard
    sightings: pipeline.Sightings = field(default_factory=pipeline.Sightings)


@dataclass
class Service:
    """All jobs of a workspace. `run` returns when `stop` says so."""

    workspace: Workspace
    log: FilteringBoundLogger
    stop: Stop
    schedules: Schedules
    wake: Wake
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time  # by the wall clock, for windows
    totals: dict[str, Counter[str]] = field(default_factory=dict)
    systemd: Systemd = field(default_factory=Systemd)

    def __post_init__(self) -> None:
        self._files = JobFiles(self.workspace)
        self._site = make_site(self.workspace)
        self._stops = self.systemd.hears(self.stop)
        self._calling = Calling(self.workspace, self._warn, self._stops)
        self._admissions = pipeline.AdmissionsNow(self._site)
        self._jobs: dict[str, Served] = {}
        self._waiting: dict[str, datetime] = {}  # a queue in which each job stands once, with when it was due

    def _warn(self, problem: str) -> None:
        self.log.warning("somebody may not have been told", problem=problem)

    def run(self) -> None:
        """Serves until `stop`. audit.AuditError other than LogHeld, and what is no error of the operator, end it."""
        self.look()
        self.stop.wait(_STILL_SECONDS)
        self.look()  # a job file is read when it looked the same twice
        self.log.info("ready", jobs=len(self._jobs))
        self.systemd.doing = self._standing
        self.systemd.ready()
        while not self._stops():
            if self.stop.take_reload():
                self._reload()
            self.look()
            if not self.run_next():
                self._rest()

    def _reload(self) -> None:
        """Reads site.yaml and changed job files at once, and looks at all jobs anew. With a mistake in site.yaml, the
        last one that was right holds."""
        self.systemd.reloading()
        problem = None
        try:
            self.workspace = self._calling.workspace = read_again(self.workspace)
            self._site = make_site(self.workspace)
        except (ConfigError, OSError) as error:
            problem = one_line(str(error))
            self.log.warning("site.yaml is not read again, the last one that was right holds", problem=problem)
        for change in self._files.changes(at_once=True):
            self._take(change)
        for served in self._jobs.values():
            served.refused, served.not_before, served.next_look = None, 0.0, 0.0
        self.log.info("read again", jobs=len(self._jobs))
        record(self._site, pipeline.ServiceReloaded(pid=os.getpid(), problem=problem))
        self.systemd.ready()

    def _standing(self) -> str:
        """What goes on, for systemd: no name of a document."""
        return f"{len(self._jobs)} jobs, {len(self._waiting)} wait"

    def look(self) -> None:
        """Reads changed job files and queues the jobs that are due."""
        for change in self._files.changes():
            self._take(change)
        for name, moment in self.schedules.missed():
            self.log.warning("start left out: too late", job=name, scheduled=moment.isoformat())
        for name in self.schedules.due():
            self._waiting.setdefault(name, self._due(name))
        self._look_at_folders()
        with contextlib.suppress(audit.AuditError):
            self._admissions.look(LOG_AT_ONCE)
        self._calling.look()

    def _look_at_folders(self) -> None:
        """Queues the jobs without a schedule that have new files, of those that are due for a look."""
        jobs = {name: each for name, each in self._jobs.items() if each.job.config.schedule is None}
        self.wake.follow(self._folder(served.job) for served in jobs.values())
        for folder, reason in self.wake.silent():
            self.log.info("folder is only looked at: it cannot be watched", folder=str(folder), reason=one_line(reason))
        stirred = self.wake.stirred()
        for name, served in jobs.items():
            if self._folder(served.job) in stirred:
                served.next_look = 0.0
            if self._has_new_files(served):
                self._waiting.setdefault(name, self._due(name))

    def _due(self, name: str) -> datetime:
        """When a job was due that is found to be due now: at its start by the cron line, which may be some time ago."""
        now, served = datetime.fromtimestamp(self.now(), UTC), self._jobs.get(name)
        schedule = served.job.config.schedule if served else None
        start = last_start(schedule, now, timedelta(seconds=GRACE_SECONDS)) if schedule else None
        return start or now

    def _rest(self) -> None:
        """Until the next look; where word of a change comes before, folders are looked at early."""
        end = self.clock() + LOOK_SECONDS
        while (left := end - self.clock()) > 0 and not self.stop.wait(left, self.wake.fileno()):
            if self.stop.reload_asked:
                return
            before = len(self._waiting)
            self._look_at_folders()
            if len(self._waiting) > before:
                return

    def run_next(self) -> bool:
        """Runs the first waiting job that may run now; False if there is none."""
        for name, due in list(self._waiting.items()):
            served = self._jobs.get(name)
            if served is not None and self.clock() < served.not_before:
                continue
            del self._waiting[name]
            if served is not None and self._is_refused(served):
                self.log.warning("start left out: the job is refused", job=name)
            elif served is not None:
                self._run(name, served, due)
                return True
        return False

    def _take(self, change: Change) -> None:
        self._jobs.pop(change.name, None)
        self.schedules.remove(change.name)
        if change.error is not None:
            self._tell_problems("job file refused, the job is not run", change.name, change.error)
            self._calling.refused(change.name, None, change.error)
        elif change.job is None:
            self.log.info("job file gone", job=change.name)
        else:
            served = self._jobs[change.name] = Served(change.job)
            schedule = change.job.config.schedule
            start = self.schedules.set(change.name, CronTrigger(schedule)) if schedule else None
            how = {"next_start": start.isoformat()} if start else {"watches": str(self._folder(change.job))}
            self.log.info("job read", job=change.name, **how)
            self._check(served)

    def _check(self, served: Served) -> None:
        """Tells now what would keep the job from running tonight."""
        try:
            plan = make_plan(self.workspace, served.job)
            sha256 = pipeline.check_model(plan)
            model = replace(pipeline.with_head(plan, sha256).model, sha256=sha256)
            pipeline.check_admitted(self._site, model, self._admitted())
        except (ConfigError, pipeline.ModelRefusedError) as error:
            self._refuse(served, error)

    def _admitted(self) -> pipeline.Admissions:
        """Return the admissions in the log, as far as it was read, none if it cannot be: a run reads all of it, and
        tells what is wrong with it."""
        try:
            return self._admissions.glance(LOG_AT_ONCE)
        except audit.AuditError:
            return pipeline.Admissions()

    def _folder(self, job: LoadedJob) -> Path:
        return input_folder(self.workspace, job)

    def _has_new_files(self, served: Served) -> bool:
        """Whether a complete file lies there that did not when the last run began.

        At first, files that wait for the rest of their batch count too: that rest may be what a run that was killed has
        processed, which only a run can tell.
        """
        began = self.clock()
        if began < max(served.next_look, served.rests_until, served.not_before) or self._is_refused(served):
            return False
        try:
            found = pipeline.scan(make_plan(self.workspace, served.job).input, sightings=served.sightings)
        except ConfigError as error:
            self._refuse(served, error)
            return False
        except OSError as error:
            served.not_before = began + RETRY_SECONDS
            self.log.warning("folder cannot be looked at", job=served.job.name, problem=one_line(str(error)))
            return False
        served.rests_until = began + LOOK_SHARE * (self.clock() - began)
        quiet = self.wake.tells(self._folder(served.job)) and not found.pending
        served.next_look = began + QUIET_SECONDS if quiet else 0.0
        if served.handled is None:
            return bool(found.ready or found.held)
        return not served.handled.issuperset(found.ready)

    def _run(self, name: str, served: Served, due: datetime) -> None:
        try:
            plan = with_window(make_plan(self.workspace, served.job), served.job.config, due)
            before = frozenset(pipeline.scan(plan.input, sightings=served.sightings).ready)
            self.log.info("run starts", job=name)
            with LineWatcher(self.log, name, private=plan.private, hears=self.systemd.beat) as watcher:
                self.systemd.doing = lambda: f"{name} runs: {watcher.standing}"
                report = pipeline.run(
                    plan, observer=watcher, stop=self._stops, sightings=served.sightings, clock=self.now
                )
        except (ConfigError, pipeline.ModelRefusedError) as error:
            self._refuse(served, error)
        except audit.LogHeld as error:
            self._wait(served, due, "run waits: the workspace is held", one_line(str(error)))
        except (audit.AuditError, pipeline.MachineRefusedError) as error:
            self._calling.refused(name, served.job.config, error)
            raise
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            self._wait(served, due, "run waits: the workspace cannot be written", no_room(error, self.workspace.root))
            self._calling.refused(name, served.job.config, error)
        else:
            served.handled = None if report.ended_early else before
            if report.window_closed and plan.until and served.job.config.schedule is None:  # else it would begin again
                served.not_before = self.clock() + max(0.0, plan.until.timestamp() - self.now())
            self._tell(report)
            self._calling.ended(served.job.config, report)

        finally:
            self.systemd.doing = self._standing

    def _wait(self, served: Served, due: datetime, event: str, problem: str) -> None:
        served.not_before = self.clock() + RETRY_SECONDS
        self._waiting[served.job.name] = due
        self.log.warning(event, job=served.job.name, problem=problem)

    def _tell(self, report: pipeline.RunReport) -> None:
        self.totals.setdefault(report.job, Counter()).update({"runs": 1, **report.counts})
        how = "run stopped, the rest stays pending" if report.interrupted else "run finished"
        self.log.info(
            "window closed, the rest is first in the next run" if report.window_closed else how,
            job=report.job,
            run=report.run,
            seconds=round(report.seconds, 1),
            **report.counts,
        )

    def _refuse(self, served: Served, error: Exception) -> None:
        self._tell_problems("job refused until its files change", served.job.name, error)
        self._calling.refused(served.job.name, served.job.config, error)
        served.refused = self._refusal(served)  # after the log has said who was told

    def _tell_problems(self, event: str, job: str, error: Exception) -> None:
        """A log line for each."""
        problems = (
            [each.one_line() for each in error.problems] if isinstance(error, ConfigError) else [one_line(str(error))]
        )
        for problem in problems:
            self.log.error(event, job=job, problem=problem)

    def _is_refused(self, served: Served) -> bool:
        return served.refused is not None and served.refused == self._refusal(served)

    def _refusal(self, served: Served) -> Refusal:
        job = served.job
        model, head = stamp_of(model_file(self.workspace, job)), head_file(self.workspace, job)
        there, decided = self._folder(job).is_dir(), self._admitted().newest
        measured = stamp_of(self.workspace.root / "audit" / "checkpoint") if job.config.quality else None
        return (stamp_of(job.path), model, stamp_of(head) if head else None, there, decided, measured)
