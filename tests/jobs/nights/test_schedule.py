"""The scheduler: our trigger under APScheduler, replaced and removed lines, starts that are noticed late."""

from datetime import UTC, datetime, timedelta

from apscheduler.triggers.base import BaseTrigger

from jobs.config.job import validate
from jobs.config.when import ScheduleConfig
from jobs.nights.ledger import CronTrigger, Due, Schedules
from jobs.nights.starts import GRACE


class At(BaseTrigger):
    """Starts at these moments, and then not for a long time."""

    def __init__(self, *moments: datetime) -> None:
        self.moments = moments

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime | None:
        later = (each for each in self.moments if previous_fire_time is None or each > previous_fire_time)
        return next(later, now + timedelta(days=999))


def until(schedules: Schedules, count: int = 1) -> list[Due]:
    """What becomes due; waits for the scheduler's thread as long as it takes."""
    end = datetime.now(UTC) + timedelta(seconds=10)
    due: list[Due] = []
    while len(due) < count and datetime.now(UTC) < end:
        due += schedules.due()
    return due


def cron(text: str, timezone: str = "UTC") -> CronTrigger:
    return CronTrigger(validate(ScheduleConfig, {"cron": text, "timezone": timezone}))


def test_the_trigger_goes_on_from_the_start_before() -> None:
    trigger, now = cron("30 2 * * *", "Europe/Berlin"), datetime(2026, 10, 24, 12, tzinfo=UTC)
    first = trigger.get_next_fire_time(None, now)
    assert first == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    second = trigger.get_next_fire_time(first, now)
    assert second == datetime(2026, 10, 26, 1, 30, tzinfo=UTC)  # not an hour later, though clocks show 02:30 again


def test_a_start_becomes_due_once_and_is_noticed_at_once() -> None:
    with Schedules() as schedules:
        now = datetime.now(UTC)
        schedules.set("a", At(now), now)
        ((job, moment, noticed),) = until(schedules)
        assert (job, moment) == ("a", now)
        assert noticed - now < GRACE
        assert list(schedules.due()) == []


def test_the_next_start_is_told_and_lines_are_replaced_and_removed() -> None:
    with Schedules() as schedules:
        now = datetime.now(UTC)
        start = schedules.set("a", cron("0 0 1 1 *"), now)
        assert start is not None
        assert (start.month, start.day, start.hour) == (1, 1, 0)
        schedules.set("a", At(now), now)
        assert [each.job for each in until(schedules)] == ["a"]
        schedules.set("a", At(now + timedelta(seconds=0.2)), now)
        schedules.remove("a")
        schedules.remove("never set")
        schedules.set("b", At(now + timedelta(seconds=0.3)), now)
        assert [each.job for each in until(schedules)] == ["b"]


def test_all_starts_of_a_machine_that_slept_are_noticed_each_by_itself_and_late() -> None:
    with Schedules() as schedules:
        now = datetime.now(UTC)
        slept = [now - timedelta(hours=hours) for hours in (3, 2, 1)]
        schedules.set("a", At(*slept), now)
        due = until(schedules, 3)
        assert [each.moment for each in due] == slept
        assert all(each.noticed - each.moment > GRACE for each in due)
