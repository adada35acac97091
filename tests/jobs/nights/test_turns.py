"""The order of jobs that wait, and the shares of those that have a window."""

from datetime import UTC, datetime, timedelta

from jobs.config.job import JobConfig, job_config, validate
from jobs.nights.starts import Turn, in_order, share_of

NOW = datetime(2026, 12, 1, 22, tzinfo=UTC)
MORNING = NOW + timedelta(hours=9)
HOUR = timedelta(hours=1)


def config(name: str, priority: int = 0, share: int = 1) -> JobConfig:
    told = {
        "job": name, "model": {"name": "m"}, "task": {"type": "summarize", "sentences": 3}, "priority": priority,
        "window": {"until": "07:00", "share": share},
    }  # fmt: skip
    return validate(job_config(), told)


def turn(name: str, since: datetime = NOW, *, priority: int = 0, share: int = 1, round: int = 0) -> Turn:
    return Turn(name, config(name, priority, share), NOW, since, round, MORNING)


def names(*turns: Turn, now: datetime = NOW) -> list[str]:
    return [each.job for each in in_order(turns, now)]


def test_the_highest_priority_is_first_and_of_equals_who_waits_longest() -> None:
    a, b = turn("a", NOW - HOUR / 2), turn("b", NOW - HOUR / 3)
    assert names(b, turn("c", priority=1), a) == ["c", "a", "b"]


def test_whoever_waits_for_hours_passes_those_of_higher_priority() -> None:
    for hours, first in ((3.9, "high"), (5.0, "low")):
        now = NOW + hours * HOUR
        assert names(turn("low", NOW), turn("high", now, priority=4), now=now)[0] == first


def test_a_job_whose_share_was_over_lets_those_go_first_that_waited_then() -> None:
    over = turn("over", NOW + HOUR, priority=5, round=1)
    waited, came_later = turn("waited", NOW), turn("later", NOW + 2 * HOUR)
    assert names(over, waited, came_later, now=NOW + 2 * HOUR) == ["waited", "over", "later"]


def test_what_is_left_is_shared_by_the_shares_of_those_that_wait() -> None:
    a, b, c = turn("a", share=2), turn("b"), turn("c", round=1)
    assert share_of(a, [a, b, c], NOW) == NOW + timedelta(hours=6)  # c had its share before
    assert share_of(b, [b, c], NOW + timedelta(hours=6)) is None  # nobody waits in this round
    assert share_of(c, [b, c], NOW) == NOW + timedelta(hours=4.5)


def test_a_job_without_a_window_shares_nothing() -> None:
    a, bare = turn("a"), Turn("bare", config("bare"), NOW, NOW)
    assert share_of(bare, [a, bare], NOW) is None
    assert share_of(a, [a, bare], NOW) is None


def test_windows_that_are_closed_take_no_share() -> None:
    a, closed = turn("a"), Turn("closed", config("closed"), NOW, NOW, 0, NOW)
    assert share_of(a, [a, closed], NOW) is None
