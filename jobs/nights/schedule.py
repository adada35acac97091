"""When jobs start by their cron lines: the only file that knows APScheduler.

Its own cron trigger is not used: it numbers weekdays from Monday, requires both days where cron takes either, and runs
twice when clocks go back. Its thread only notes each start that becomes due, and when it noticed that: a start noticed
late is one at which nothing served, for the machine slept or its clock was set. What becomes of it is decided elsewhere
(starts.py).
"""

import logging
import queue
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from apscheduler.events import EVENT_JOB_SUBMITTED, JobSubmissionEvent
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.base import BaseTrigger

from jobs.nights.cron import find_zone, next_start, parse_cron
from jobs.nights.when import ScheduleConfig


class Due(NamedTuple):
    """A start of a job that was due at `moment` and `noticed` then, or later."""

    job: str
    moment: datetime
    noticed: datetime


class CronTrigger(BaseTrigger):  # type: ignore[misc]
    """A schedule with cron's meaning; see jobs/nights/cron.py for both changes of the clock."""

    def __init__(self, schedule: ScheduleConfig) -> None:
        self.line = parse_cron(schedule.cron)
        self.zone = find_zone(schedule.timezone)

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime | None:
        """The first start after the previous one, or after `now` where there was none.

        In UTC: Python calls a time in an hour that clocks show twice unequal to the same moment in another zone.
        """
        start = next_start(self.line, previous_fire_time or now, self.zone)
        return None if start is None else start.astimezone(UTC)


class Schedules:
    """The cron lines of several jobs. Its thread only notes what is due; `due` is asked from another."""

    def __init__(self) -> None:
        self._due: queue.SimpleQueue[Due] = queue.SimpleQueue()
        logging.getLogger("apscheduler").addHandler(logging.NullHandler())  # what it would tell, we tell ourselves
        self._scheduler = BackgroundScheduler(timezone=UTC)
        self._scheduler.add_listener(self._note, EVENT_JOB_SUBMITTED)
        self._scheduler.start()

    def set(self, job: str, trigger: BaseTrigger, now: datetime) -> datetime | None:
        """Note each start of `job` by `trigger` that is later than `now`, instead of what was set before; returns the
        first of them."""
        first: datetime | None = trigger.get_next_fire_time(None, now)
        if first is None:
            self.remove(job)
            return None
        options = {"coalesce": False, "max_instances": _MANY, "misfire_grace_time": None, "next_run_time": first}
        self._scheduler.add_job(_nothing, trigger, id=job, replace_existing=True, **options)
        return first

    def remove(self, job: str) -> None:
        """Note starts of `job` no longer; nothing where it was not set."""
        if self._scheduler.get_job(job):
            self._scheduler.remove_job(job)

    def due(self) -> Iterator[Due]:
        """The starts that became due since the last call."""
        self._scheduler.wakeup()  # its thread sleeps by a clock that a suspended machine does not advance
        while True:
            try:
                yield self._due.get_nowait()
            except queue.Empty:
                return

    def __enter__(self) -> "Schedules":
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the thread."""
        self._scheduler.shutdown(wait=True)

    def _note(self, event: JobSubmissionEvent) -> None:
        noticed = datetime.now(UTC)
        for moment in event.scheduled_run_times:
            self._due.put(Due(event.job_id, moment.astimezone(UTC), noticed))


_MANY = 1_000_000  # starts that a machine that slept notices at once


def _nothing() -> None:
    """Stand in for the work that APScheduler would do: what a start does is the service's business."""
