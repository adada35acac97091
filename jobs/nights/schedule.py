"""When jobs start by their cron lines: the only file that knows APScheduler.

Its own cron trigger is not used: it numbers weekdays from Monday, requires both days where cron takes either, and runs
twice when clocks go back. Explicit here: one instance of a job, a late start made up once within `GRACE_SECONDS`
(the machine slept, the clock was set), and left out and told beyond that.
"""

import logging
import queue
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from apscheduler.events import EVENT_JOB_MISSED, JobExecutionEvent
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.base import BaseTrigger

from jobs.nights.cron import find_zone, next_start, parse_cron
from jobs.nights.when import ScheduleConfig

GRACE_SECONDS = 3600


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
    """The cron lines of several jobs. Its thread only notes which are due; `due` is asked from another."""

    def __init__(self) -> None:
        self._due: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._missed: queue.SimpleQueue[tuple[str, datetime]] = queue.SimpleQueue()
        logging.getLogger("apscheduler").addHandler(logging.NullHandler())  # we tell ourselves what was missed
        self._scheduler = BackgroundScheduler(timezone=UTC)
        self._scheduler.add_listener(self._note_missed, EVENT_JOB_MISSED)
        self._scheduler.start()

    def set(self, job: str, trigger: BaseTrigger) -> datetime | None:
        """Starts `job` by `trigger` from now on, instead of what was set before; returns its next start."""
        options = {"coalesce": True, "max_instances": 1, "misfire_grace_time": GRACE_SECONDS}
        added = self._scheduler.add_job(self._due.put, trigger, args=[job], id=job, replace_existing=True, **options)
        return next_run_of(added)

    def remove(self, job: str) -> None:
        """Starts `job` no longer; nothing where it was not set."""
        if self._scheduler.get_job(job):
            self._scheduler.remove_job(job)

    def due(self) -> Iterator[str]:
        """The jobs that became due since the last call."""
        self._scheduler.wakeup()  # its thread sleeps by a clock that a suspended machine does not advance
        yield from _drained(self._due)

    def missed(self) -> Iterator[tuple[str, datetime]]:
        """The starts left out since the last call, because they came later than the grace."""
        yield from _drained(self._missed)

    def __enter__(self) -> "Schedules":
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the thread."""
        self._scheduler.shutdown(wait=True)

    def _note_missed(self, event: JobExecutionEvent) -> None:
        self._missed.put((event.job_id, event.scheduled_run_time))


def next_run_of(job: Any) -> datetime | None:
    """The next start of one of APScheduler's jobs."""
    return job.next_run_time if isinstance(job.next_run_time, datetime) else None


def _drained(items: "queue.SimpleQueue[Any]") -> Iterator[Any]:
    while True:
        try:
            yield items.get_nowait()
        except queue.Empty:
            return
