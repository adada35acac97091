"""When the clocks of all IANA zones change, and what a daily job must do then, by a rule that asks no wall clock back.

The zone data is that of the machine, else that of the package tzdata, which zoneinfo takes by itself.
"""

import zoneinfo
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

BEGIN, END = datetime(2020, 1, 1, tzinfo=UTC), datetime(2038, 1, 1, tzinfo=UTC)
DAY, SECOND = timedelta(days=1), timedelta(seconds=1)


class Change(NamedTuple):
    """From the moment `at` (UTC) on, the clocks of a zone are `after` ahead of UTC instead of `before`."""

    at: datetime
    before: timedelta
    after: timedelta

    @property
    def shape(self) -> tuple[timedelta, timedelta, timedelta]:
        """The change without its date: two of one shape are the same but for a number of whole days."""
        return self.at - self.at.replace(hour=0, minute=0, second=0), self.before, self.after


class Clocks(NamedTuple):
    """How clocks go between two moments: their first offset, and their changes in order."""

    offset: timedelta
    changes: tuple[Change, ...]


class Alike(NamedTuple):
    """Zones whose clocks go alike."""

    names: tuple[str, ...]
    clocks: Clocks

    @property
    def zone(self) -> tzinfo:
        """One of them."""
        return ZoneInfo(self.names[0])


def offset_at(zone: tzinfo, moment: datetime) -> timedelta:
    """How far the zone's clocks are ahead of UTC."""
    offset = moment.astimezone(zone).utcoffset()
    assert offset is not None
    return offset


def clocks_of(zone: tzinfo, begin: datetime, end: datetime, step: timedelta = DAY) -> Clocks:
    """How the zone's clocks go from `begin` to `end`. Changes that cancel each other within `step` are not seen."""
    changes, moment, offset = [], begin, offset_at(zone, begin)
    first = offset
    while moment < end:
        if (later := offset_at(zone, moment + step)) != offset:
            changes.append(Change(_first_at(zone, moment, moment + step, offset), offset, later))
        moment, offset = moment + step, later
    return Clocks(first, tuple(changes))


def _first_at(zone: tzinfo, low: datetime, high: datetime, offset: timedelta) -> datetime:
    """The first second after `low` at which the offset is another one."""
    while high - low > SECOND:
        middle = low + (high - low) // (2 * SECOND) * SECOND
        low, high = (middle, high) if offset_at(zone, middle) == offset else (low, middle)
    return high


@cache
def alike(step: timedelta = DAY) -> tuple[Alike, ...]:
    """All IANA zones, those together whose clocks go alike from 2020 to 2037."""
    groups: dict[Clocks, list[str]] = {}
    for name in sorted(zoneinfo.available_timezones()):
        groups.setdefault(clocks_of(ZoneInfo(name), BEGIN, END, step), []).append(name)
    return tuple(Alike(tuple(names), clocks) for clocks, names in groups.items())


def first_moment(clocks: Clocks, wall: datetime) -> datetime:
    """The first moment (UTC) at which clocks show `wall` or a later time: the rule that cron.py states in words.

    A time that clocks leave out is passed by the change itself, and one that they show twice is first reached once.
    """
    for begin, end, offset in _spans(clocks):
        moment = max(wall.replace(tzinfo=UTC) - offset, begin)
        if moment < end:
            return moment
    raise AssertionError("the clocks are known for too short a time")


def _spans(clocks: Clocks) -> Iterator[tuple[datetime, datetime, timedelta]]:
    """The times without a change: (begin, end, offset)."""
    begin, offset = datetime.min.replace(tzinfo=UTC) + 2 * DAY, clocks.offset
    for change in clocks.changes:
        yield begin, change.at, offset
        begin, offset = change.at, change.after
    yield begin, datetime.max.replace(tzinfo=UTC), offset
