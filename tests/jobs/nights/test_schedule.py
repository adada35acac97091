"""The scheduler: our trigger under APScheduler, replaced and removed lines, late starts."""

from datetime import UTC, datetime, timedelta

from apscheduler.triggers.base import BaseTrigger

from jobs.config import validate
from jobs.nights.schedule import GRACE_SECONDS, CronTrigger, Schedules
from jobs.nights.when import ScheduleConfig


class Once(BaseTrigger):
    """Starts at a moment, and then not for a long time."""

    def __init__(self, moment: datetime) -> None:
        self.moment = moment

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime | None:
        return self.moment if previous_fire_time is None else self.moment + timedelta(days=999)


def until(schedules: Schedules, seconds: float = 10) -> list[str]:
    """What becomes due; waits for the scheduler's thread as long as it takes."""
    end = datetime.now(UTC) + timedelta(seconds=seconds)
    due: list[str] = []
    while not due and datetime.now(UTC) < end:
        due = list(schedules.due())
    return due


def cron(text: str, timezone: str = "UTC") -> CronTrigger:
    return CronTrigger(validate(ScheduleConfig, {"cron": text, "timezone": timezone}))


def test_the_trigger_goes_on_from_the_start_before() -> None:
    trigger, now = cron("30 2 * * *", "Europe/Berlin"), datetime(2026, 10, 24, 12, tzinfo=UTC)
    first = trigger.get_next_fire_time(None, now)
    assert first == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    second = trigger.get_next_fire_time(first, now)
    assert second == datetime(2026, 10, 26, 1, 30, tzinfo=UTC)  # not an hour later, though clocks show 02:30 again


def test_a_job_becomes_due_once() -> None:
    with Schedules() as schedules:
        schedules.set("a", Once(datetime.now(UTC)))
        assert until(schedules) == ["a"]
        assert list(schedules.due()) == []


def test_the_next_start_is_told_and_lines_are_replaced_and_removed() -> None:
    with Schedules() as schedules:
        start = schedules.set("a", cron("0 0 1 1 *"))
        assert start is not None
        assert (start.month, start.day, start.hour) == (1, 1, 0)
        schedules.set("a", Once(datetime.now(UTC)))
        assert until(schedules) == ["a"]
        schedules.set("a", Once(datetime.now(UTC) + timedelta(seconds=0.2)))
        schedules.remove("a")
        schedules.remove("never set")
        schedules.set("b", Once(datetime.now(UTC) + timedelta(seconds=0.3)))
        assert until(schedules) == ["b"]


def test_a_late_start_is_made_up_within_the_grace_and_told_beyond_it() -> None:
    with Schedules() as schedules:
        scheduled = datetime.now(UTC) - timedelta(seconds=GRACE_SECONDS + 60)
        schedules.set("missed", Once(scheduled))
        schedules.set("late", Once(datetime.now(UTC) - timedelta(seconds=GRACE_SECONDS - 60)))
        assert until(schedules) == ["late"]
        end, missed = datetime.now(UTC) + timedelta(seconds=10), list(schedules.missed())
        while not missed and datetime.now(UTC) < end:
            missed = list(schedules.missed())
        assert missed == [("missed", scheduled)]
        assert list(schedules.due()) == []
