"""What becomes of the starts of a job: those that are late, that were missed, or that come while it runs."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jobs.config.job import validate
from jobs.config.when import ScheduleConfig
from jobs.nights.starts import GRACE, Outcome, Starts, starts_between
from pipeline.proof.serving import Rule

EVENING = datetime(2026, 12, 23, 21, tzinfo=UTC)  # 22:00 in Berlin
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def starts(**policy: Any) -> Starts:
    told = {"cron": "0 22 * * *", "timezone": "Europe/Berlin", **policy}
    return Starts("sort", validate(ScheduleConfig, told), EVENING - DAY)


def outcomes(these: Starts) -> list[str | None]:
    return [start.outcome for start in these.open]


def test_a_start_waits_until_it_is_decided_and_is_then_written_once() -> None:
    these = starts()
    these.take([(EVENING, False)])
    start = these.next
    assert start is not None
    assert list(these.records()) == []
    start.decide(Outcome.RAN, "the run finished", "r1")
    ((_, record),) = these.records()
    assert (record.of_job, record.due, record.last) == ("sort", "2026-12-23T21:00:00+00:00", record.due)
    assert (record.count, record.outcome, record.of_run) == (1, "ran", "r1")
    these.forget(1)
    assert list(these.records()) == []


def test_a_start_is_taken_in_once() -> None:
    these = starts()
    these.take([(EVENING, False)])
    these.take([(EVENING, True), (EVENING - DAY, True)])
    assert outcomes(these) == [None]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("once", [Outcome.JOINED, Outcome.JOINED, None]),
        ("all", [None, None, None]),
        ("none", [Outcome.MISSED, Outcome.MISSED, Outcome.MISSED]),
    ],
)
def test_missed_starts_are_made_up_for_as_the_schedule_says(policy: str, expected: list[str | None]) -> None:
    these = starts(missed=policy)
    these.take((EVENING + n * DAY, True) for n in range(3))
    assert outcomes(these) == expected


def test_missed_starts_that_follow_each_other_are_one_record() -> None:
    these = starts(missed="none")
    these.take((EVENING + n * DAY, True) for n in range(300))
    ((_, record),) = these.records()
    assert (record.count, record.outcome) == (300, "missed")
    assert record.last == "2027-10-18T21:00:00+00:00"


def test_days_that_are_skipped_have_no_start_by_their_date_in_the_zone_of_the_schedule() -> None:
    these = Starts(
        "sort",
        validate(ScheduleConfig, {"cron": "30 0 * * *", "timezone": "Europe/Berlin", "skip_dates": ["12-25"]}),
        EVENING,
    )
    these.take([(datetime(2026, 12, day, 23, 30, tzinfo=UTC), False) for day in (24, 25)])  # 00:30 on the 25th and 26th
    assert outcomes(these) == [Outcome.SKIPPED, None]


def test_a_start_while_another_one_waits_joins_it() -> None:
    these = starts()
    these.take([(EVENING, False), (EVENING + DAY, False)])
    assert outcomes(these) == [None, Outcome.JOINED]
    assert list(these.records()) == []  # in the order in which they were due: the first is not decided
    these.open[0].decide(Outcome.RAN, "the run finished", "r1")
    assert [record.outcome for _, record in these.records()] == ["ran", "joined"]


def test_a_start_while_the_job_ran_is_skipped_where_the_schedule_says_so() -> None:
    for overlap, expected in (("queue", None), ("skip", Outcome.OVERLAPPED)):
        these = starts(overlap=overlap)
        these.busy_until = EVENING + timedelta(hours=1)
        these.take([(EVENING, False)])
        assert outcomes(these) == [expected]


@pytest.mark.parametrize(
    ("late", "waited", "left_out"),
    [
        ("run", timedelta(hours=9), False),
        ("skip", GRACE, False),
        ("skip", GRACE + timedelta(seconds=1), True),
        ({"before": "02:00"}, timedelta(hours=3, minutes=59), False),
        ({"before": "02:00"}, timedelta(hours=4), True),
    ],
)
def test_a_late_start_is_made_as_the_schedule_says(late: Any, waited: timedelta, left_out: bool) -> None:
    these = starts(late=late)
    these.take([(EVENING, False)])
    assert these.next is not None
    found = these.left_out(these.next, EVENING + waited)
    assert (found is not None) is left_out
    assert found is None or found[0] is Outcome.LATE


def test_a_missed_start_is_late_by_its_nature_but_has_an_end_too() -> None:
    skip, before = starts(late="skip"), starts(late={"before": "02:00"})
    for these in (skip, before):
        these.take([(EVENING, True)])
    assert [these.left_out(these.open[0], EVENING + DAY) is None for these in (skip, before)] == [True, False]


def test_what_waits_when_a_schedule_changes_is_decided() -> None:
    these = starts()
    these.take([(EVENING, False)])
    these.drop("the job starts by another schedule now", EVENING + HOUR)
    these.take([(EVENING + HOUR, False), (EVENING + DAY, False)])  # by the new one, which begins after that hour
    these.drop("the job's file is gone", EVENING + 2 * DAY)
    told = [(era, record.outcome, record.due[8:10]) for era, record in these.records()]
    assert told == [(0, "changed", "23"), (1, "changed", "24")]


def test_a_rule_without_a_cron_line_has_no_starts() -> None:
    assert list(starts_between(Rule(after="other"), EVENING, EVENING + DAY)) == []
    daily = Rule("0 22 * * *", "Europe/Berlin")
    assert list(starts_between(daily, EVENING, EVENING + 2 * DAY)) == [EVENING + DAY, EVENING + 2 * DAY]
