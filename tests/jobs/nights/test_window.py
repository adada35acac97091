"""The end of a run's window, by the job's keys and when the run was due."""

from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from jobs.config.job import InvalidError, JobConfig, job_config, validate
from jobs.nights.ahead import _machine_zone, window_end, zone_of

JOB = {"job": "a", "model": {"name": "m"}, "task": {"type": "summarize", "sentences": 3}}


def job(until: str, cron: str | None = "0 22 * * *", timezone: str = "Europe/Berlin") -> JobConfig:
    schedule: dict[str, Any] = {"schedule": {"cron": cron, "timezone": timezone}} if cron else {}
    return validate(job_config(), {**JOB, **schedule, "window": {"until": until}})


@pytest.mark.parametrize(
    ("due", "until", "end"),
    [
        ("2026-11-27T22:00+01:00", "06:00", "2026-11-28T06:00+01:00"),
        ("2026-11-28T05:59+01:00", "06:00", "2026-11-28T06:00+01:00"),
        ("2026-11-28T06:00+01:00", "06:00", "2026-11-28T06:00+01:00"),  # no time is left
        ("2026-11-28T06:01+01:00", "06:00", "2026-11-29T06:00+01:00"),
        ("2026-10-24T22:00+02:00", "06:00", "2026-10-25T06:00+01:00"),  # a night with an hour more
        ("2026-10-24T22:00+02:00", "02:30", "2026-10-25T02:30+02:00"),  # which clocks show twice: the first time
        ("2026-03-28T22:00+01:00", "06:00", "2026-03-29T06:00+02:00"),  # and one with an hour less
        ("2026-03-28T22:00+01:00", "02:30", "2026-03-29T03:00+02:00"),  # which they leave out: the first moment after
    ],
)
def test_the_end_is_the_first_such_time_from_when_the_run_was_due(due: str, until: str, end: str) -> None:
    found = window_end(job(until), datetime.fromisoformat(due))
    assert found is not None
    assert found.astimezone(UTC) == datetime.fromisoformat(end)  # one of an hour that clocks show twice equals no other


def test_a_job_without_a_window_has_no_end() -> None:
    assert window_end(validate(job_config(), JOB), datetime.now(UTC)) is None


def test_without_a_schedule_the_zone_is_that_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", ":Asia/Tokyo")
    end = window_end(job("06:00", None), datetime(2026, 11, 27, 20, 30, tzinfo=UTC))
    assert end == datetime(2026, 11, 27, 21, tzinfo=UTC)
    assert zone_of(None)[1] == "Asia/Tokyo"


def test_the_zone_of_the_machine_is_what_localtime_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "no/such")
    data = Path(str(files("tzdata.zoneinfo"))) / "Europe" / "Berlin"
    link, copy, broken = (tmp_path / name for name in ("link", "copy", "broken"))
    link.symlink_to(data)
    copy.write_bytes(data.read_bytes())
    broken.write_bytes(b"no zone")
    assert [_machine_zone(file)[1] for file in (link, copy)] == ["Europe/Berlin", "the machine's time zone"]
    for file in (link, copy):
        assert datetime(2026, 7, 1, tzinfo=_machine_zone(file)[0]).utcoffset() == timedelta(hours=2)
    assert [_machine_zone(file) for file in (broken, tmp_path / "none")] == [(UTC, "UTC")] * 2


@pytest.mark.parametrize("cron", ["0 6 * * *", "0 6 1 1 0", "0 6-6 * * 1-5"])
def test_a_window_that_is_over_at_each_start_is_refused(cron: str) -> None:
    with pytest.raises(InvalidError):
        job("06:00", cron)
    job("06:01", cron)


@pytest.mark.parametrize("cron", ["0 5,6 * * *", "0,30 6 * * *", "0 * * * *"])
def test_a_window_that_leaves_some_starts_is_taken(cron: str) -> None:
    job("06:00", cron)
