"""A daily job starts exactly once for each local date: in all IANA zones, from 2020 to 2037, at any minute of the day.

That are 599 zones, 6,575 dates and 1,440 minutes, six milliards of starts. These suffice:

- Zones whose clocks go alike are one (83 of them). Where clocks change is found by looking once a day; the full mode
  looks once an hour.
- `next_start` of a daily line asks the zone only about a few days around the moment that it is given. A test watches
  what it asks. So what it answers hangs on no change farther away, and no two changes of a zone are that near.
- Date by date, it reckons with whole days alone. So two changes of one shape (the time of day in UTC, and both offsets)
  are the same change, but for a number of days: 69 shapes, at the minutes of the four dates around one change of each.
- Where no change is near, only the offset counts: the minutes of two dates for each of the 40 offsets.

Here that is each seventh minute, another seventh for the next shape or offset. Beside that, for what this argument may
overlook: each change of each group at the minutes at its edges, and each date of some groups.
`python -m tests.jobs.nights.test_zones`, a part of `make torture`, asks at all minutes and without the third point:
each change of each group at all minutes, each offset at all minutes, and each date of each group at a minute of each
hour. It takes some minutes.
"""

import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from jobs.config.cron import next_start, parse_cron
from tests.jobs.nights.zones import BEGIN, DAY, END, Alike, Change, Clocks, alike, clocks_of, first_moment, offset_at

MINUTES = range(1440)
FEW = 7  # one minute in so many is asked for where all would take long
BEFORE, AFTER = 1, 2  # dates around that of a change, or the first of two
FAR = 4 * DAY  # what next_start of a daily line may look at, before and after
LINES = [parse_cron(f"{minute % 60} {minute // 60} * * *") for minute in MINUTES]
SKIPPED = [
    ("Pacific/Apia", date(2011, 12, 30)),
    ("Pacific/Fakaofo", date(2011, 12, 30)),
    ("Pacific/Kwajalein", date(1993, 8, 21)),
    ("Pacific/Kanton", date(1994, 12, 31)),
    ("Pacific/Kiritimati", date(1994, 12, 31)),
]
"""Zones that crossed the date line, and the date that they left out."""


def check(zone: tzinfo, clocks: Clocks, minute: int, first: date, last: date) -> int:
    """Assert that a job at this minute of each day starts once for each date from the first to the last; return how
    many starts that are. Each is asked for from the one before, as the scheduler does."""
    line, dates = LINES[minute], [first + n * DAY for n in range(-1, (last - first).days + 1)]
    walls = [datetime(day.year, day.month, day.day, minute // 60, minute % 60) for day in dates]
    start, *expected = (first_moment(clocks, wall) for wall in walls)
    for wall, moment in zip(walls[1:], expected, strict=True):
        assert moment > start
        found = next_start(line, start, zone)
        assert found is not None
        start = found.astimezone(UTC)
        assert start == moment, (zone, wall, found)
        shown = found.replace(tzinfo=None)
        assert shown == wall or is_left_out(clocks, wall, moment), (zone, wall, found)
    return len(expected)


def is_left_out(clocks: Clocks, wall: datetime, moment: datetime) -> bool:
    """Whether clocks pass over this time of a wall clock, at this moment."""
    shown = wall.replace(tzinfo=UTC)
    return any(each.at == moment and each.at + each.before <= shown < each.at + each.after for each in clocks.changes)


def check_around(group: Alike, each: Change, minutes: Iterable[int]) -> int:
    """Check the dates around a change at these minutes; return how many starts that are."""
    near = Clocks(each.before, (each,))  # no other change is so near
    shown = (each.at + min(each.before, each.after)).date()
    first, last = shown - BEFORE * DAY, shown + AFTER * DAY
    return sum(check(group.zone, near, minute, first, last) for minute in minutes)


def check_all(group: Alike, minute: int) -> int:
    """Check each date from 2020 to 2037 at this minute; return how many starts that are. Year by year: each with the
    changes that are not far from it."""
    starts = 0
    for year in range(BEGIN.year, END.year):
        first, last = date(year, 1, 1), date(year, 12, 31)
        changes = [each for each in group.clocks.changes if first - FAR <= each.at.date() <= last + FAR]
        before = [each.after for each in group.clocks.changes if each.at.date() < first - FAR]
        starts += check(group.zone, Clocks([group.clocks.offset, *before][-1], tuple(changes)), minute, first, last)
    return starts


def edges(each: Change) -> Iterable[int]:
    """The minutes of a day at the edges of what a change leaves out or repeats, and in the middle of it."""
    both = sorted((each.at + each.before, each.at + each.after))
    places = (both[0], both[0] + (both[1] - both[0]) / 2, both[1])
    found = (place + timedelta(minutes=n) for place in places for n in (-1, 0, 1))
    return sorted({place.hour * 60 + place.minute for place in found})


def with_changes() -> Iterator[tuple[Alike, Change]]:
    for group in alike():
        for each in group.clocks.changes:
            yield group, each


def steady(offset: timedelta) -> tuple[Alike, date]:
    """Zones whose clocks are so far ahead of UTC, and a date from which they stay so for some days."""
    for group in alike():
        begins = [(BEGIN, group.clocks.offset), *((each.at, each.after) for each in group.clocks.changes)]
        ends = [*(each.at for each in group.clocks.changes), END]
        for (begin, own), end in zip(begins, ends, strict=True):
            if own == offset and end - begin > 3 * FAR:
                return group, begin.date() + FAR
    raise AssertionError(f"no zone stays {offset} ahead of UTC")


def offsets() -> list[timedelta]:
    """How far the clocks of any zone are ahead of UTC at any time."""
    return sorted({group.clocks.offset for group in alike()} | {each.after for _, each in with_changes()})


def check_offset(offset: timedelta, minutes: Iterable[int]) -> int:
    """Check two dates at these minutes where clocks stay so far ahead of UTC; return how many starts that are."""
    group, first = steady(offset)
    assert offset_at(group.zone, datetime(first.year, first.month, first.day, tzinfo=UTC)) == offset
    return sum(check(group.zone, Clocks(offset, ()), minute, first, first + DAY) for minute in minutes)


def test_what_the_argument_rests_on() -> None:
    changes = [each for _, each in with_changes()]
    assert len(alike()) > 50
    assert len(changes) > 1000
    for group in alike():
        moments = [each.at for each in group.clocks.changes]
        assert all(later - moment > 2 * FAR for moment, later in pairwise(moments)), group
    assert all(each.after - each.before >= timedelta(hours=-4) for each in changes)  # what next_start reckons with
    assert all(abs(each.after - each.before) < DAY for each in changes)  # no date is left out altogether


class Watched(tzinfo):
    """A zone that notes which times it is asked about."""

    def __init__(self, zone: tzinfo) -> None:
        self.zone, self.asked = zone, list[datetime]()

    def fromutc(self, moment: datetime) -> datetime:
        self.asked.append(moment.replace(tzinfo=None))
        return self.zone.fromutc(moment.replace(tzinfo=self.zone)).replace(tzinfo=self)

    def utcoffset(self, moment: datetime | None) -> timedelta | None:
        assert moment is not None
        self.asked.append(moment.replace(tzinfo=None))
        return self.zone.utcoffset(moment.replace(tzinfo=self.zone))


@pytest.mark.parametrize("minute", [0, 150, 719, 1439])
def test_a_daily_line_asks_a_zone_about_a_few_days_only(minute: int) -> None:
    for group, each in with_changes():
        for hours in (-30, -1, 0, 1, 30):
            zone, after = Watched(group.zone), each.at + timedelta(hours=hours)
            start, told = next_start(LINES[minute], after, zone), after.replace(tzinfo=None)
            assert start is not None
            assert zone.asked
            assert all(abs(asked - told) < FAR - DAY for asked in zone.asked)


def test_each_shape_of_a_change_at_each_seventh_minute() -> None:
    shapes = {each.shape: (group, each) for group, each in with_changes()}
    for number, (group, each) in enumerate(shapes.values()):
        check_around(group, each, MINUTES[number % FEW :: FEW])


def test_each_offset_at_each_seventh_minute() -> None:
    for number, offset in enumerate(offsets()):
        check_offset(offset, MINUTES[number % FEW :: FEW])


def test_each_change_at_the_minutes_at_its_edges() -> None:
    for group, each in with_changes():
        check_around(group, each, edges(each))


def test_each_date_of_some_zones() -> None:
    for number, group in enumerate(alike()[::10]):
        assert check_all(group, (number * 317) % 1440) == (END - BEGIN).days


@pytest.mark.parametrize(("name", "left_out"), SKIPPED)
def test_a_date_that_a_zone_left_out_starts_when_the_next_one_begins(name: str, left_out: date) -> None:
    """With the start of that one, if it is at midnight: at one moment a job starts once."""
    zone, middle = ZoneInfo(name), datetime(left_out.year, left_out.month, left_out.day, tzinfo=UTC)
    clocks = clocks_of(zone, middle - 20 * DAY, middle + 20 * DAY, timedelta(hours=1))
    (change,) = (each for each in clocks.changes if each.after - each.before >= DAY)
    assert (change.at + change.after).date() == left_out + DAY
    for minute in MINUTES[1:]:
        check(zone, clocks, minute, left_out - 2 * DAY, left_out + 2 * DAY)
        at = datetime(left_out.year, left_out.month, left_out.day, minute // 60, minute % 60)
        assert first_moment(clocks, at) == change.at
    starts = [change.at - DAY]
    for _ in range(3):
        start = next_start(LINES[0], starts[-1], zone)
        assert start is not None
        starts.append(start.astimezone(UTC))
    assert starts == [change.at + n * DAY for n in range(-1, 3)]


def _all_of(group: Alike) -> int:
    """How many starts were checked: of each change at all minutes, of each date at one minute of each hour."""
    starts = 0
    for each in group.clocks.changes:
        starts += check_around(group, each, MINUTES)
    for hour in range(24):
        minute = hour * 60 + (hour * 7 + len(group.names)) % 60
        starts += check_all(group, minute)
    return starts


def main() -> None:
    """The full mode: prints what was checked; an assertion ends it."""
    fine = alike(timedelta(hours=1))
    assert fine == alike(), "a look once a day misses a change"
    with ProcessPoolExecutor(int(sys.argv[1]) if len(sys.argv) > 1 else 2) as pool:
        starts = sum(pool.map(_all_of, fine)) + sum(check_offset(offset, MINUTES) for offset in offsets())
    zones, changes = sum(len(group.names) for group in fine), sum(len(group.clocks.changes) for group in fine)
    print(f"{zones} zones in {len(fine)} groups with {changes:,} changes, {starts:,} starts: each date once")


if __name__ == "__main__":
    main()
