"""The starts of all jobs of a service: cron lines under APScheduler, and the log, which says what became of each.

APScheduler's own cron trigger is not used: it numbers weekdays from Monday, requires both days where cron takes either,
and runs twice when clocks go back. Its thread hands each start that becomes due to the service, with when it noticed
that: a start noticed late is one at which nothing served, for the machine slept or its clock was set.
"""

from __future__ import annotations

import contextlib
import logging
import queue
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from apscheduler.executors.base import BaseExecutor
from apscheduler.job import Job
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.base import BaseTrigger

import audit
import pipeline
from jobs.config.cron import find_zone, next_start, parse_cron
from jobs.config.job import JobConfig
from jobs.config.when import ScheduleConfig
from jobs.nights.starts import GRACE, Start, Starts, rule_of, starts_between
from jobs.visible import one_line

AHEAD = timedelta(days=1)
"""A clock that was further ahead than that was wrong, and what was decided by it is no reason to leave starts out."""
_AGAIN = 10.0  # seconds until the log is tried again that another process holds

Told = Callable[[pipeline.records.StartDecided], None]


class Due(NamedTuple):
    """A start of a job that was due at `moment` and `noticed` then, or later."""

    job: str
    moment: datetime
    noticed: datetime


class CronTrigger(BaseTrigger):  # type: ignore[misc]
    """A schedule with cron's meaning; see jobs/config/cron.py for both changes of the clock."""

    def __init__(self, schedule: ScheduleConfig) -> None:
        self.line = parse_cron(schedule.cron)
        self.zone = find_zone(schedule.timezone)

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime | None:
        """The first start after the previous one, or after `now` where there was none.

        In UTC: Python calls a time in an hour that clocks show twice unequal to the same moment in another zone.
        """
        start = next_start(self.line, previous_fire_time or now, self.zone)
        return None if start is None else start.astimezone(UTC)


class _Handing(BaseExecutor):  # type: ignore[misc]
    """The executor of all jobs: it hands each start that is due to the service, which makes it in its own thread."""

    def __init__(self) -> None:
        super().__init__()
        self.due: queue.SimpleQueue[Due] = queue.SimpleQueue()

    def _do_submit_job(self, job: Job, run_times: Sequence[datetime]) -> None:
        noticed = datetime.now(UTC)
        for moment in run_times:
            self.due.put(Due(job.id, moment.astimezone(UTC), noticed))
        self._run_job_success(job.id, ())

    def start_of(self, job: str) -> None:
        """What APScheduler knows as the work of a job; the service does it."""


class Schedules:
    """The cron lines of several jobs under APScheduler. `due` is asked from another thread than its own."""

    def __init__(self) -> None:
        logging.getLogger("apscheduler").addHandler(logging.NullHandler())  # what it would tell, we tell ourselves
        self._handing = _Handing()
        self._scheduler = BackgroundScheduler(executors={"default": self._handing}, timezone=UTC)
        self._scheduler.start()

    def set(self, job: str, trigger: BaseTrigger, now: datetime) -> datetime | None:
        """Note each start of `job` by `trigger` that is later than `now`, instead of what was set before; returns the
        first of them."""
        first: datetime | None = trigger.get_next_fire_time(None, now)
        if first is None:
            self.remove(job)
            return None
        options = {"coalesce": False, "misfire_grace_time": None, "next_run_time": first, "replace_existing": True}
        self._scheduler.add_job(self._handing.start_of, trigger, (job,), id=job, **options)
        return first

    def remove(self, job: str) -> None:
        """Note starts of `job` no longer; nothing where it was not set."""
        if self._scheduler.get_job(job):
            self._scheduler.remove_job(job)

    def due(self) -> Iterator[Due]:
        """The starts that became due since the last call."""
        self._scheduler.wakeup()  # its thread sleeps by a clock that a suspended machine does not advance
        with contextlib.suppress(queue.Empty):
            while True:
                yield self._handing.due.get_nowait()

    def __enter__(self) -> Schedules:
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the thread."""
        self._scheduler.shutdown(wait=True)


class Ledger:
    """Starts by their jobs, for a service that `began` at some moment. `tell` hears of each outcome that was written;
    `warn` of what keeps them from the log.

    What is decided stays here until it is in the log. A service that is killed before that leaves it undecided, and the
    next service finds it due again: as a start at which nothing served.
    """

    def __init__(
        self, site: pipeline.Site, schedules: Schedules, tell: Told, warn: Callable[[str], None],
        clock: Callable[[], float], began: datetime,
    ) -> None:  # fmt: skip
        self._schedules, self._began = schedules, began
        self._site, self._tell, self._warn, self._clock = site, tell, warn, clock
        self._log = pipeline.proof.ServiceNow(site)
        self._jobs: dict[str, Starts] = {}
        self._timed: dict[str, pipeline.proof.Rule] = {}  # the rules by which the scheduler notes starts
        self._rules: list[tuple[int, pipeline.records.StartSet]] = []  # rules by their era that are not in the log yet
        self._not_before = 0.0
        self._unread = ""  # why the log could not be read when it was last looked at

    def look(self, stop: Callable[[], bool] = lambda: False) -> None:
        """Read what came into the log, until `stop` says so. audit.AuditError where it cannot be read before it was
        read once, for then no start is known; later that is a warning, and a run tells what is wrong with the log."""
        try:
            self._log.look(stop)
            self._unread = ""
        except audit.AuditError as error:
            if not self.is_read:
                raise
            if str(error) != self._unread:
                self._unread = str(error)
                self._warn(f"the log cannot be read: {one_line(self._unread)}")

    @property
    def is_read(self) -> bool:
        """Whether the log was read to its end: before that, nothing is known of starts and models."""
        return self._log.is_read

    @property
    def admissions(self) -> pipeline.records.Admissions:
        """The decisions on models as the log has them, as far as it could be read."""
        return self._log.admissions

    def set(self, config: JobConfig, now: datetime) -> None:
        """From now on a job starts as its file says; what it still had to start by another rule is decided."""
        name, rule = config.job, rule_of(config)
        self._begin(name, config.schedule, now)
        self._jobs[name].schedule = config.schedule
        if rule != self._rule(name):
            self._change(name, rule, now, "the job starts by another schedule now")
        if rule != self._timed.get(name):
            self._schedules.remove(name)
            if config.schedule:
                self._schedules.set(name, CronTrigger(config.schedule), now)
            self._timed[name] = rule

    def put_back(self, now: datetime) -> None:
        """The clock was put back by more than AHEAD: starts count from now."""
        for name, starts in self._jobs.items():
            starts.seen = min(starts.seen, now)
            if starts.schedule:
                self._schedules.set(name, CronTrigger(starts.schedule), now)

    def gone(self, name: str, now: datetime) -> None:
        """A job is there no longer."""
        self._schedules.remove(name)
        self._timed.pop(name, None)
        if self._rule(name) != pipeline.proof.Rule():
            self._begin(name, None, now)
            self._change(name, pipeline.proof.Rule(), now, "the job's file is gone")

    def forgotten(self, there: Iterable[str]) -> list[str]:
        """The jobs with a rule in the log that are not `there`."""
        return sorted(name for name in self._log.jobs.keys() - set(there) if self._rule(name) != pipeline.proof.Rule())

    def take(self) -> None:
        """Take in what became due."""
        by_job: dict[str, list[tuple[datetime, bool]]] = {}
        for each in self._schedules.due():
            by_job.setdefault(each.job, []).append((each.moment, each.noticed - each.moment > GRACE))
        for name, moments in by_job.items():
            if name in self._jobs:
                self._jobs[name].take(moments)

    def take_ends(self, config: JobConfig) -> None:
        """Start a job that comes after another one if a run of that one has ended since."""
        ended = self._log.known(config.after or "").finished
        if ended is not None:
            self._jobs[config.job].take([(ended, False)])

    def next(self, name: str) -> Start | None:
        """The start of a job whose turn it is; None if it has none that waits."""
        return self._jobs[name].next if name in self._jobs else None

    def starts(self, name: str) -> Starts:
        """All starts of a job that are not in the log yet."""
        return self._jobs[name]

    def busy(self, name: str, until: datetime) -> None:
        """A run of the job has ended, whoever asked for it."""
        if name in self._jobs:
            self._jobs[name].busy_until = until

    def write(self) -> None:
        """Write what is decided into the log, as soon as nobody else holds it."""
        decided = {name: list(starts.records()) for name, starts in self._jobs.items()}
        facts: list[pipeline.records.Record] = []
        for name, known in decided.items():  # each rule before what became of its starts
            rules = [(era, record) for era, record in self._rules if record.of_job == name]
            facts += [record for _, record in sorted([*rules, *known], key=lambda each: each[0])]
        if not facts or self._clock() < self._not_before:
            return
        recorded = pipeline.records.record(self._site, *facts)
        if recorded.n is None:
            self._not_before = self._clock() + _AGAIN
            self._forget_what_is_written()
            self._warn(f"what became of starts is not in the log yet: {one_line(recorded.why or '')}")
            return
        self._rules = []
        self.look()
        for name, known in decided.items():
            self._jobs[name].forget(sum(each.record.count for each in known))
            for each in known:
                self._tell(each.record)

    def close(self) -> None:
        """Write what is decided, and keep what is known for the next service."""
        self._not_before = 0.0
        self.write()
        self.look()
        self._log.keep()

    def _forget_what_is_written(self) -> None:
        """After a failed write the log may have it all the same."""
        self.look()
        for name, starts in self._jobs.items():
            if decided := self._log.known(name).decided:
                starts.forget_until(decided)
        self._rules = [each for each in self._rules if not self._is_known(each[1])]

    def _begin(self, name: str, schedule: ScheduleConfig | None, now: datetime) -> None:
        """Of a job that is new here, take in the starts that the log leaves undecided: nothing served then."""
        if name not in self._jobs:
            known = self._log.known(name)
            since = known.open_from or now
            if since > now + AHEAD:
                self._warn(
                    f"{name}: the log has starts of {since:%Y-%m-%d}, for a clock was wrong; they count from now"
                )
                since = known.decided if known.decided and known.decided <= now else now
            self._jobs[name] = Starts(name, schedule, since)
            self._take_until(name, now)

    def _take_until(self, name: str, now: datetime) -> None:
        """Take in what was due until now; what was due before this service began was missed."""
        starts, begun = self._jobs[name], self._log.known(name).begun
        with contextlib.suppress(ValueError):  # a line or zone that is known no longer: its starts are dropped below
            due = [(due, due <= self._began) for due in starts_between(self._rule(name), starts.seen, now)]
            starts.take(due, begun)

    def _change(self, name: str, rule: pipeline.proof.Rule, now: datetime, why: str) -> None:
        self._take_until(name, now)  # what the scheduler did not notice yet
        self._jobs[name].drop(why, now)
        since = now.isoformat(timespec="seconds")
        record = pipeline.records.StartSet(of_job=name, since=since, **rule._asdict())
        self._rules.append((self._jobs[name].era, record))

    def _is_known(self, rule: pipeline.records.StartSet) -> bool:
        known = self._log.known(rule.of_job)
        since = known.since.isoformat(timespec="seconds") if known.since else None
        return (known.rule, since) == (pipeline.proof.Rule(rule.cron, rule.timezone, rule.after), rule.since)

    def _rule(self, name: str) -> pipeline.proof.Rule:
        """The rule of a job, which may not be in the log yet."""
        last = next((record for _, record in reversed(self._rules) if record.of_job == name), None)
        return pipeline.proof.Rule(last.cron, last.timezone, last.after) if last else self._log.known(name).rule


def now_of(seconds: float) -> datetime:
    """The moment so many seconds after 1970."""
    return datetime.fromtimestamp(seconds, UTC)
