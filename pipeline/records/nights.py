"""Nights: which one a moment belongs to; and of runs that had nothing to do one record in a night, not one for each
time that a cron line looks."""

from datetime import UTC, date, datetime, timedelta

import audit
from pipeline.records.types import Record

_NIGHT_HOURS = 20  # a nightly job says so every night, also when summer time begins


def night_of(moment: datetime) -> date:
    """The evening's date: a night goes from noon to noon on this machine's clock, so what begins before noon belongs to
    the day before."""
    return (moment.astimezone() - timedelta(hours=12)).date()


def night_of_run(run: str) -> date | None:
    """The night of a run, by its name, which begins with the time of its start; None for another name."""
    try:
        return night_of(datetime.strptime(run[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC))
    except ValueError:
        return None


def is_told(last: Record | None, record: Record) -> bool:
    """Whether `last`, the job's entry of its last empty run with none that worked after it, says this for tonight."""
    if last is None or type(last) is not type(record) or last.members() != record.members():
        return False
    age = datetime.fromisoformat(audit.stamp_now().time) - datetime.fromisoformat(last.time)
    return 0 <= age.total_seconds() < _NIGHT_HOURS * 3600
