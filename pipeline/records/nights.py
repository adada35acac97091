"""Runs that had nothing to do: one record in a night, not one for each time that a cron line looks."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import audit

Entry = Mapping[str, Any]

_NIGHT_HOURS = 20  # a nightly job says so every night, also when summer time begins


def is_told(last: Entry | None, record: Mapping[str, Any]) -> bool:
    """Whether `last`, the job's entry of its last empty run with none that worked after it, says this for tonight."""
    if last is None or any(last[key] != value for key, value in record.items()):
        return False
    age = datetime.fromisoformat(audit.stamp_now().time) - datetime.fromisoformat(last["time"])
    return 0 <= age.total_seconds() < _NIGHT_HOURS * 3600
