"""Cron lines: what they mean, and when they next start in a time zone. Pure; knows no scheduler and no clock.

The meaning is that of `man 5 crontab`, with names, ranges, lists and steps, and Sunday as 0 and 7. Where both days are
restricted (their field does not begin with `*`), either of them suffices. Beyond that page, `L` as a day of the month
is its last one. nights/README.md has the rule for the two changes of the clock.
"""

import difflib
from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import product
from zoneinfo import ZoneInfo, available_timezones

MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}

_MONTHS = dict(jan=1, feb=2, mar=3, apr=4, may=5, jun=6, jul=7, aug=8, sep=9, oct=10, nov=11, dec=12)  # noqa: C408
_WEEKDAYS = dict(sun=0, mon=1, tue=2, wed=3, thu=4, fri=5, sat=6)  # noqa: C408
_FIELDS: tuple[tuple[str, int, int, dict[str, int]], ...] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of month", 1, 31, {}),
    ("month", 1, 12, _MONTHS),
    ("day of week", 0, 7, _WEEKDAYS),
)
_HORIZON_DAYS = 366 * 40  # the longest wait is for a 29 February on a certain weekday, across a century without one


@dataclass(frozen=True)
class CronLine:
    """A parsed line. `weekdays` count from Sunday = 0; `either_day`: one of the two day fields suffices; `last_day`:
    the last day of each month is meant, too."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either_day: bool
    last_day: bool = False

    @property
    def names_hours(self) -> bool:
        """Whether the line speaks of times of day rather than of intervals."""
        return len(self.hours) < 24

    def on(self, day: date) -> bool:
        """Whether the line has any start on `day`."""
        if day.month not in self.months:
            return False
        of_month = day.day in self.days or (self.last_day and day.day == monthrange(day.year, day.month)[1])
        of_week = day.isoweekday() % 7 in self.weekdays
        return (of_month or of_week) if self.either_day else (of_month and of_week)


def parse_cron(text: str) -> CronLine:
    """The line's meaning; ValueError with one sentence."""
    if text.startswith("@") and text not in MACROS:
        raise ValueError(f"{text!r} is not one of {', '.join(MACROS)}")
    fields = MACROS.get(text, text).split()
    if len(fields) != 5:
        raise ValueError(f"{len(fields)} fields instead of 5 (minute hour day-of-month month day-of-week)")
    either = not fields[2].startswith("*") and not fields[4].startswith("*")
    of_month = [part for part in fields[2].split(",") if part.lower() != "l"]
    last_day = len(of_month) < len(fields[2].split(","))
    fields[2] = ",".join(of_month)
    minutes, hours, days, months, weekdays = (
        frozenset()
        if last_day and not text
        else frozenset(n for part in text.split(",") for n in _parse_part(part, field))
        for text, field in zip(fields, _FIELDS, strict=True)
    )
    line = CronLine(minutes, hours, days, months, frozenset(n % 7 for n in weekdays), either, last_day)
    if not any(line.on(date(2000, 1, 1) + timedelta(days=n)) for n in range(_HORIZON_DAYS)):
        raise ValueError(f"{text!r} names no day that exists")
    return line


def _parse_part(part: str, field: tuple[str, int, int, dict[str, int]]) -> range:
    name, low, high, _ = field
    span, slash, step = part.partition("/")
    first, dash, last = span.partition("-")
    if slash and not (span == "*" or dash):
        raise ValueError(f"{part!r} in the {name}: a step /n follows * or a range a-b")
    start, end = (low, high) if span == "*" else (_number(first, field), _number(last if dash else first, field))
    if end < start:
        raise ValueError(f"{part!r} in the {name} runs backwards")
    if slash and not (step.isascii() and step.isdigit() and 0 < int(step) < 100):
        raise ValueError(f"the step /{step} in the {name} is not a number from 1 to 99")
    return range(start, end + 1, int(step) if slash else 1)


def _number(text: str, field: tuple[str, int, int, dict[str, int]]) -> int:
    name, low, high, names = field
    if text.lower() in names:
        return names[text.lower()]
    if not (text.isascii() and text.isdigit() and len(text) <= 2 and low <= int(text) <= high):
        or_names = f" or {', '.join(names)}" if names else ""
        raise ValueError(f"{text!r} is no {name}: it takes {low} to {high}{or_names}")
    return int(text)


def find_zone(name: str) -> tzinfo:
    """The time zone of the IANA data base; ValueError with one sentence and, where there is one, the name meant."""
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, LookupError):
        known = available_timezones()
    if not known:
        raise ValueError(f"this machine has no time zone data for {name!r}; install the package tzdata")
    close = difflib.get_close_matches(name, known, n=1) or [zone for zone in known if zone.lower() == name.lower()]
    raise ValueError(f"{name!r} is no time zone" + (f"; did you mean {close[0]!r}?" if close else ""))


def next_start(line: CronLine, after: datetime, zone: tzinfo) -> datetime | None:
    """The first start later than `after` (aware), in `zone`; None when there is none within forty years."""
    after = after.astimezone(UTC)  # aware times of one zone compare by their wall clock, those in UTC by the moment
    start = _next_time_of_day(line, after, zone) if line.names_hours else _next_interval(line, after, zone)
    return None if start is None else start.astimezone(zone)


def _next_interval(line: CronLine, after: datetime, zone: tzinfo) -> datetime | None:
    """Walks through the time that passes: by minutes on a day that is meant, else by larger steps."""
    moment = after.replace(second=0, microsecond=0) + timedelta(minutes=1)
    end = after + timedelta(days=_HORIZON_DAYS)
    while moment < end:
        wall = moment.astimezone(zone)
        if line.on(wall.date()):
            if wall.minute in line.minutes:
                return moment
            moment += timedelta(minutes=1)
        elif line.on(wall.date() + timedelta(days=1)):
            moment += timedelta(minutes=15 - wall.minute % 15)  # clocks change on a quarter of an hour
        else:
            moment += timedelta(hours=12)
    return None


def _next_time_of_day(line: CronLine, after: datetime, zone: tzinfo) -> datetime | None:
    """Walks through the wall clock's times; later times never start earlier, whatever the clock does."""
    begin = after.astimezone(zone).replace(tzinfo=None) - timedelta(hours=4)  # no clock ever went back further
    for offset in range(_HORIZON_DAYS):
        day = begin.date() + timedelta(days=offset)
        for hour, minute in product(sorted(line.hours), sorted(line.minutes)) if line.on(day) else ():
            wall = datetime.combine(day, time(hour, minute))
            if wall >= begin and (start := _moment(wall, zone)) > after:
                return start
    return None


def _moment(wall: datetime, zone: tzinfo) -> datetime:
    """When a wall clock first shows `wall`; where it never does, the first moment after the gap. In UTC."""
    first, second = (wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    in_gap = second < first  # fold=1 then reckons with the offset after the gap, and so lies before it
    return _first_moment_after_gap(second, first, zone) if in_gap else first


def _first_moment_after_gap(before: datetime, after: datetime, zone: tzinfo) -> datetime:
    """The change of offset between two moments in UTC, to the second."""
    new_offset = after.astimezone(zone).utcoffset()
    low, high = 0, int((after - before).total_seconds())
    while high - low > 1:
        middle = (low + high) // 2
        changed = (before + timedelta(seconds=middle)).astimezone(zone).utcoffset() == new_offset
        low, high = (low, middle) if changed else (middle, high)
    return before + timedelta(seconds=high)
