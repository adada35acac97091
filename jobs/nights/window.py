"""Windows: when a run that was due at some moment has to be at its end."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import pipeline
from jobs.config import JobConfig
from jobs.nights.cron import find_zone, next_start, parse_cron
from jobs.nights.when import ScheduleConfig

_LOCALTIME = Path("/etc/localtime")
_MOMENT = timedelta(microseconds=1)


def with_window(plan: pipeline.RunPlan, config: JobConfig, due: datetime) -> pipeline.RunPlan:
    """The plan of a run that was due at this moment, with the end of the job's window, if it has one."""
    return replace(plan, until=window_end(config, due))


def window_end(config: JobConfig, due: datetime) -> datetime | None:
    """The end of the window of a run that was due at `due`; None for a job without a window.

    It hangs on when the run was due and not on when it begins: a start that waited until the window was over does not
    get that of the next night. A clock that is changed moves it as it moves a start (cron.py).
    """
    if config.window is None:
        return None
    end, zone = config.window.time, zone_of(config.schedule)[0]
    return next_start(parse_cron(f"{end.minute} {end.hour} * * *"), due - _MOMENT, zone)


def zone_of(schedule: ScheduleConfig | None) -> tuple[tzinfo, str]:
    """The time zone of a window, and its name: that of the schedule, else that of the machine."""
    if schedule is not None:
        return find_zone(schedule.timezone), schedule.timezone
    return _machine_zone()


def _machine_zone(file: Path = _LOCALTIME) -> tuple[tzinfo, str]:
    """The zone that TZ names, else what /etc/localtime is or links to; UTC where there is neither."""
    if named := os.environ.get("TZ", "").removeprefix(":"):
        with suppress(ValueError):
            return find_zone(named), named
    _, of_database, name = str(file.resolve()).rpartition("/zoneinfo/")
    try:
        with file.open("rb") as data:
            return ZoneInfo.from_file(data), name if of_database else "the machine's time zone"
    except (OSError, ValueError):
        return UTC, "UTC"
