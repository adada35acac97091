"""Runs that had nothing to do: one record in a night, not one for each time that a cron line looks."""

from datetime import datetime

import audit
from pipeline.records.types import Record

_NIGHT_HOURS = 20  # a nightly job says so every night, also when summer time begins


def is_told(last: Record | None, record: Record) -> bool:
    """Whether `last`, the job's entry of its last empty run with none that worked after it, says this for tonight."""
    if last is None or type(last) is not type(record) or last.members() != record.members():
        return False
    age = datetime.fromisoformat(audit.stamp_now().time) - datetime.fromisoformat(last.time)
    return 0 <= age.total_seconds() < _NIGHT_HOURS * 3600
