"""`cloister serve`: starts jobs by their cron lines, after other jobs, or as soon as files lie in their folders.

One loop in the main thread: look, start at most one run, look again. A run is told `stop`, so a signal ends it after
committing what is finished. Between runs nothing is held but the lock against a second service. DECISIONS.md has the
rules: what starts a job, what a bad job file does, what is tried again and when.
"""

from __future__ import annotations

import os
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from structlog.typing import FilteringBoundLogger

import audit
import pipeline
from jobs.config.load import LoadedJob
from jobs.config.plan import input_folder, make_plan, make_site
from jobs.config.workspace import Workspace
from jobs.errors import NO_ROOM, ConfigError, no_room
from jobs.nights.ahead import window_end, with_window
from jobs.nights.calling import Calling
from jobs.nights.ledger import AHEAD, CronTrigger, Ledger, Schedules, now_of
from jobs.nights.requests import Requests
from jobs.nights.served import (
    RETRY_SECONDS,
    Folders,
    Refusal,
    Served,
    check_now,
    refusal_now,
    tell_problems,
    tell_report,
    tell_start,
)
from jobs.nights.starts import Outcome, Start, Turn, in_order, share_of
from jobs.nights.systemd import Systemd
from jobs.nights.wake import Wake
from jobs.nights.watch import Change, JobFiles, read_again
from jobs.progress import LineWatcher
from jobs.record import record
from jobs.stop import Stop
from jobs.visible import one_line

LOOK_SECONDS = 1.0
READ_SECONDS = 0.2  # of a look, for a long log that a service reads that begins
_STILL_SECONDS = 0.2  # between the two looks at the start
CHECK_SECONDS = 0.1
_MOST_REASON = 500


@dataclass
class Service:
    """All jobs of a workspace. `run` returns when `stop` says so."""

    workspace: Workspace
    log: FilteringBoundLogger
    stop: Stop
    schedules: Schedules
    wake: Wake
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time  # by the wall clock, for starts and windows
    totals: dict[str, Counter[str]] = field(default_factory=dict)
    systemd: Systemd = field(default_factory=Systemd)

    def __post_init__(self) -> None:
        self._files = JobFiles(self.workspace)
        self._site = make_site(self.workspace)
        self._stops = self.systemd.hears(self.stop)
        self._calling = Calling(self.workspace, self._warn, self._stops)
        tell = partial(tell_start, self.log)
        self._ledger = Ledger(self._site, self.schedules, tell, self._warn, self.clock, self._moment())
        self._folders = Folders(self.workspace, self.log, self.wake, self.clock)
        self._requests = Requests(self.workspace, self._site, self.log)
        self._jobs: dict[str, Served] = {}
        self._last_moment = self._moment()
        self._no_files = ""  # why jobs/ could not be read when it was last looked at
        self._unset = set[str]()  # jobs whose starts are to be found out
        self._unchecked = deque[str]()

    def _warn(self, problem: str) -> None:
        self.log.warning("not all could be told or recorded", problem=problem)

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
        self._ledger.close()

    def _reload(self) -> None:
        """Reads site.yaml and changed job files at once, and looks at all jobs anew. With a mistake in site.yaml, the
        last one that was right holds."""
        self.systemd.reloading()
        problem = None
        try:
            self.workspace = read_again(self.workspace)
            self._calling.workspace = self._folders.workspace = self.workspace
            self._site = make_site(self.workspace)
        except (ConfigError, OSError) as error:
            problem = one_line(str(error))
            self.log.warning("site.yaml is not read again, the last one that was right holds", problem=problem)
        for change in self._files.changes(at_once=True):
            self._take(change)
        for served in self._jobs.values():
            served.refused, served.not_before, served.next_look = None, 0.0, 0.0
        self.log.info("read again", jobs=len(self._jobs))
        record(self._site, pipeline.records.ServiceReloaded(pid=os.getpid(), problem=problem))
        self.systemd.ready()

    def _standing(self) -> str:
        return f"{len(self._jobs)} jobs, {len(self._turns())} wait"

    def look(self) -> None:
        """Reads changed job files, and finds out which jobs are due."""
        self._read_log()
        self._look_at_files()
        if self._ledger.is_read:
            self._check_some()
            self._look_at_starts()
        self._take_requests()
        self._look_at_folders()
        self._ledger.write()
        self._calling.look()

    def _look_at_files(self) -> None:
        """Reads changed job files; while their folder cannot be read, those that were read last go on."""
        try:
            for change in self._files.changes():
                self._take(change)
            self._no_files = ""
        except OSError as error:
            if str(error) != self._no_files:
                self.log.warning("job files cannot be read, the last ones go on", problem=one_line(str(error)))
            self._no_files = str(error)

    def _read_log(self) -> None:
        """Reads what is new in the log, or a moment long what a long log says to a service that begins."""
        end = self.clock() + READ_SECONDS
        try:
            self._ledger.look(lambda: self.stop() or (not self._ledger.is_read and self.clock() >= end))
        except audit.AuditError as error:
            self._calling.refused(None, None, error)
            raise

    def _look_at_starts(self) -> None:
        now = self._moment()
        if self._last_moment - now > AHEAD:
            self._ledger.put_back(now)
        self._last_moment = now
        for name in [*self._unset]:
            self._unset.discard(name)
            if served := self._jobs.get(name):
                self._ledger.set(served.job.config, self._moment())
        for name in self._ledger.forgotten(self._files.names):
            self._ledger.gone(name, self._moment())
        self._ledger.take()
        for served in self._jobs.values():
            if served.job.config.after:
                self._ledger.take_ends(served.job.config)

    def _moment(self) -> datetime:
        return now_of(self.now())

    def _take_requests(self) -> None:
        """Finds the jobs that somebody asked for, at once also those that are to be tried again later."""
        asked = self._requests.take({name: each.job for name, each in self._jobs.items()}, self._files.unfit)
        for name, served in self._jobs.items():
            if asked.get(name) not in (None, served.asked_since):
                served.not_before = 0.0
            served.asked_since = asked.get(name)

    def _look_at_folders(self) -> None:
        jobs = [each for each in self._jobs.values() if each.watches]
        self._folders.follow(jobs)
        for served in jobs:
            if served.files_since is None and not self._is_refused(served):
                try:
                    served.files_since = self._moment() if self._folders.has_new(served) else None
                except ConfigError as error:
                    self._refuse(served, error)

    def _rest(self) -> None:
        """Until the next look; where word of a change comes before, folders are looked at early."""
        end = self.clock() + (LOOK_SECONDS if self._ledger.is_read else 0.0)
        while (left := end - self.clock()) > 0 and not self.stop.wait(left, self.wake.fileno()):
            if self.stop.reload_asked or self.clock() >= end:
                return
            before = len(self._turns())
            self._look_at_folders()
            if len(self._turns()) > before:
                return

    def _turns(self) -> list[Turn]:
        turns = []
        for name, served in self._jobs.items():
            start, config = self._ledger.next(name), served.job.config
            if (due := served.asked_since or (start.due if start else served.files_since)) is not None:
                since = served.waits_since or due
                turns.append(Turn(name, config, due, since, len(served.rounds), window_end(config, due)))
        return turns

    def run_next(self) -> bool:
        """Runs the first waiting job that may run now; False if there is none."""
        now, turns = self._moment(), self._turns()
        for turn in in_order(turns, now):
            served, start = self._jobs[turn.job], self._ledger.next(turn.job)
            if self.clock() < served.not_before:
                continue
            if self._is_refused(served) and not self._requests.asks(turn.job):
                served.files_since = None
                self._end_rounds(served)
                if start:
                    start.decide(Outcome.REFUSED, "the job is refused until its files change")
            elif start and self._may_leave_out(served) and (why := self._ledger.starts(turn.job).left_out(start, now)):
                start.decide(*why)
            else:
                self._run(turn, served, start, share_of(turn, turns, now))
                return True
        return False

    def _may_leave_out(self, served: Served) -> bool:
        """Whether a start may still be too late: not when somebody asked for it, and not when its run has begun."""
        return not served.asked_since and not served.rounds

    def _take(self, change: Change) -> None:
        name, before = change.name, self._jobs.get(change.name)
        if change.mended:
            self._record(pipeline.records.JobMended(of_job=name))
        if change.error is not None:
            self._break(name, before, change.error)
            return
        if change.job is None:
            self._jobs.pop(name, None)
            self._ledger.gone(name, self._moment())
            self.log.info("job file gone", job=name)
        else:
            self._serve(change.job)

    def _break(self, name: str, before: Served | None, error: ConfigError) -> None:
        if before:
            before.refused = before.refused and self._refusal(before.job)  # its version did not change
            tell_problems(self.log, "job file broken, its last good version goes on", name, error)
        else:
            tell_problems(self.log, "job file refused, the job is not run", name, error)
        self._record(
            pipeline.records.JobBroken(
                of_job=name, problem=one_line(error.problems[0].one_line()), kept=before is not None
            )
        )
        self._calling.refused(name, None, error)

    def _serve(self, job: LoadedJob) -> None:
        name, schedule, now = job.name, job.config.schedule, self._moment()
        folder, before = input_folder(self.workspace, job), self._jobs.get(name)
        self._jobs[name] = Served(job, folder)
        if before:  # the start that is on its way stays the same
            self._jobs[name].rounds, self._jobs[name].waits_since = before.rounds, before.waits_since
        self._unset.add(name)
        if schedule:
            start = CronTrigger(schedule).get_next_fire_time(None, now)
            how = {"next_start": start.isoformat() if start else None}
        else:
            how = {"after": job.config.after} if job.config.after else {"watches": str(folder)}
        self.log.info("job read", job=name, **how)
        self._unchecked.append(name)

    def _check_some(self) -> None:
        """Finds out what would keep jobs from running tonight, as many as a moment allows, for hundreds take long."""
        end = self.clock() + CHECK_SECONDS
        while self._unchecked and self.clock() <= end:
            if served := self._jobs.get(self._unchecked.popleft()):
                try:
                    check_now(self.workspace, self._site, served.job, self._ledger.admissions)
                except (ConfigError, pipeline.ModelRefusedError) as error:
                    self._refuse(served, error)

    def _record(self, facts: pipeline.records.Record) -> None:
        recorded = pipeline.records.record(self._site, facts)
        if recorded.why is not None:
            self._warn(one_line(recorded.why))

    def _run(self, turn: Turn, served: Served, start: Start | None, share_until: datetime | None) -> None:
        name = turn.job
        try:
            plan = with_window(make_plan(self.workspace, served.job), served.job.config, turn.due)
            plan = replace(plan, share_until=share_until)
            before = frozenset(pipeline.scan(plan.input, sightings=served.sightings).ready)
            plan = replace(plan, requests=self._requests.begin(name))
            if not served.waits_for:
                self.log.info("run starts", job=name)
            with LineWatcher(self.log, name, private=plan.private, hears=self.systemd.beat) as watcher:
                self.systemd.doing = lambda: f"{name} runs: {watcher.standing}"
                report = pipeline.run(
                    plan, observer=watcher, stop=self._stops, sightings=served.sightings, clock=self.now
                )
        except (ConfigError, pipeline.ModelRefusedError) as error:
            if start:
                start.decide(Outcome.REFUSED, one_line(str(error))[:_MOST_REASON])
            self._refuse(served, error)
        except audit.LogHeld as error:
            self._wait(served, "run waits: the workspace is held", one_line(str(error)))
        except (audit.AuditError, pipeline.MachineRefusedError) as error:
            self._requests.refused(name, error)
            self._calling.refused(name, served.job.config, error)
            raise
        except OSError as error:
            problem = no_room(error, self.workspace.root) if error.errno in NO_ROOM else one_line(str(error))
            self._wait(served, "run waits: the workspace cannot be read or written", problem)
            self._requests.refused(name, error)
            self._calling.refused(name, served.job.config, error)
        else:
            served.take_handled(before, report)
            self.totals.setdefault(report.job, Counter()).update({"runs": 1, **report.counts})
            tell_report(self.log, report)
            self._end(served, start, plan, report)
        finally:
            self.systemd.doing = self._standing

    def _end(self, served: Served, start: Start | None, plan: pipeline.RunPlan, report: pipeline.RunReport) -> None:
        """A run has ended. One whose share was over goes on when others had theirs; one that was stopped, when a
        service is there again."""
        now = self._moment()
        self._ledger.busy(plan.job, now)
        if report.window_closed and plan.share_until and plan.until and plan.share_until <= now < plan.until:
            served.rounds, served.waits_since = [*served.rounds, report], now
            return
        report = pipeline.report.joined([*served.rounds, report])
        self._requests.ended(report)
        served.asked_since = None
        if start and not report.interrupted:
            how = "its window closed before all was done" if report.window_closed else "the run finished"
            start.decide(Outcome.RAN, how, report.run)
        served.rounds, served.waits_since, served.files_since = [], None, None
        if report.window_closed and plan.until and served.watches:  # else it would begin again
            served.not_before = self.clock() + max(0.0, plan.until.timestamp() - self.now())
        self._calling.ended(served.job.config, report)

    def _end_rounds(self, served: Served) -> None:
        """Tells of runs whose share was over, where no other run of that window comes."""
        if served.rounds:
            self._calling.ended(served.job.config, pipeline.report.joined(served.rounds))
        served.rounds, served.waits_since = [], None

    def _wait(self, served: Served, event: str, problem: str) -> None:
        """Tries the run again in a while; that it waits is told once, as long as it waits for the same."""
        served.not_before = self.clock() + RETRY_SECONDS
        if problem != served.waits_for:
            self.log.warning(event, job=served.job.name, problem=problem)
        served.waits_for = problem

    def _refuse(self, served: Served, error: Exception) -> None:
        tell_problems(self.log, "job refused until its files change", served.job.name, error)
        served.files_since = None
        self._requests.refused(served.job.name, error)
        self._calling.refused(served.job.name, served.job.config, error)
        served.refused = self._refusal(served.job)  # after the log has said who was told

    def _is_refused(self, served: Served) -> bool:
        return served.refused is not None and served.refused == self._refusal(served.job)

    def _refusal(self, job: LoadedJob) -> Refusal:
        return refusal_now(self.workspace, job, self._ledger.admissions)
