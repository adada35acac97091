"""What commands say of jobs and runs in a person's words."""

from datetime import UTC, datetime, time, timedelta

import pytest

from jobs.cli.printing import pace_of, starts
from jobs.config.load import load_job
from jobs.nights.ahead import next_start_of
from tests.jobs.conftest import SORT, Place


@pytest.mark.parametrize(
    ("documents", "seconds", "told"),
    [
        (23, 15.0, "1.5 a second"),
        (30_000, 10.0, "3,000.0 a second"),
        (5, 5.0, "1.0 a second"),
        (830, 3600.0, "830 an hour"),
        (1, 61.0, "59 an hour"),
        (100, 433.7, "830 an hour"),
        (3, 3600.0, "3 an hour"),
        (1, 7000.0, "0.51 an hour"),
        (1, 90_000.0, "0.04 an hour"),
    ],
)
def test_a_pace_always_says_something(documents: int, seconds: float, told: str) -> None:
    assert pace_of(documents, seconds) == told


def test_the_next_start_passes_over_skipped_dates(ready: Place) -> None:
    today = datetime.now(UTC).date()
    skipped = ", ".join(f'"{today + timedelta(days=n)}"' for n in range(3))
    line = f'schedule: {{{{cron: "* * * * *", timezone: UTC, skip_dates: [{skipped}]}}}}\nmodel:'
    job = load_job(ready.job("sort", SORT.replace("model:", line)))
    start = next_start_of(job)
    assert start == datetime.combine(today + timedelta(days=3), time.min, UTC)
    assert f"next {start:%a %Y-%m-%d %H:%M} UTC" in starts(job)
    line = 'schedule: {{cron: "0 22 24 12 *", timezone: UTC, skip_dates: ["12-24"]}}\nmodel:'
    never = load_job(ready.job("sort", SORT.replace("model:", line)))
    assert next_start_of(never) is None
    assert starts(never).endswith("next never")


def test_a_job_that_comes_after_another_says_so(ready: Place) -> None:
    assert starts(load_job(ready.job("then", SORT + "after: sort\n"))) == "when a run of sort has finished"
