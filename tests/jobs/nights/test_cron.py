"""Cron lines against a slow truth: each minute that passes is asked what the wall clock shows."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import cache
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.config.cron import MACROS, find_zone, next_start, parse_cron

MINUTE = timedelta(minutes=1)
NAMES = {"jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "oct": 10}
NAMES |= {"nov": 11, "dec": 12, "sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}


@cache
def says(field: str, value: int, low: int, high: int) -> bool:
    """Whether one field of a line means `value`, from the words of crontab(5)."""
    for part in field.lower().split(","):
        span, _, step = part.partition("/")
        first, _, last = (f"{low}-{high}" if span == "*" else span).partition("-")
        begin = NAMES[first] if first in NAMES else int(first)
        end = begin if not last else (NAMES[last] if last in NAMES else int(last))
        if begin <= value <= end and (value - begin) % int(step or 1) == 0:
            return True
    return False


def means(text: str, wall: datetime) -> bool:
    """Whether the line means this minute of a wall clock."""
    minute, hour, day, month, weekday = MACROS.get(text, text).split()
    sunday = wall.isoweekday() % 7
    of_week = says(weekday, sunday, 0, 7) or (sunday == 0 and says(weekday, 7, 0, 7))
    of_month = says(day, wall.day, 1, 31)
    either = day[0] != "*" and weekday[0] != "*"
    days = (of_month or of_week) if either else (of_month and of_week)
    return days and says(minute, wall.minute, 0, 59) and says(hour, wall.hour, 0, 23) and says(month, wall.month, 1, 12)


def truth(text: str, after: datetime, minutes: int, zone: tzinfo) -> Iterator[datetime]:
    """The starts in the `minutes` after `after`."""
    every_hour = all(says(MACROS.get(text, text).split()[1], hour, 0, 23) for hour in range(24))
    for n in range(1, minutes + 1):
        moment = after + n * MINUTE
        wall, before = moment.astimezone(zone), (moment - MINUTE).astimezone(zone)
        plain, last = wall.replace(tzinfo=None), before.replace(tzinfo=None)
        jumped = int((plain - last) / MINUTE) - 1
        skipped = not every_hour and any(means(text, last + k * MINUTE) for k in range(1, jumped + 1))
        if skipped or (means(text, plain) and (wall.fold == 0 or every_hour)):
            yield moment


def found(text: str, after: datetime, minutes: int, zone: tzinfo) -> list[datetime]:
    line, end, starts = parse_cron(text), after + minutes * MINUTE, []
    while (start := next_start(line, after, zone)) is not None and start.astimezone(UTC) <= end:
        starts.append(start.astimezone(UTC))
        after = start
    return starts


# zone, a moment before a change of the clock, what the change is
CHANGES = [
    ("Europe/Berlin", datetime(2026, 3, 28, 20, tzinfo=UTC), "spring: 02:00 becomes 03:00"),
    ("Europe/Berlin", datetime(2026, 10, 24, 20, tzinfo=UTC), "autumn: 03:00 becomes 02:00"),
    ("America/New_York", datetime(2026, 3, 8, 0, tzinfo=UTC), "spring: 02:00 becomes 03:00"),
    ("America/New_York", datetime(2026, 11, 1, 0, tzinfo=UTC), "autumn: 02:00 becomes 01:00"),
    ("Australia/Lord_Howe", datetime(2026, 4, 4, 6, tzinfo=UTC), "autumn by half an hour"),
    ("Australia/Lord_Howe", datetime(2026, 10, 3, 6, tzinfo=UTC), "spring by half an hour"),
    ("America/Sao_Paulo", datetime(2017, 10, 14, 18, tzinfo=UTC), "spring at midnight"),
    ("America/Sao_Paulo", datetime(2018, 2, 17, 18, tzinfo=UTC), "autumn across midnight"),
    ("Asia/Kolkata", datetime(2026, 6, 30, 10, tzinfo=UTC), "no change"),
]
LINES = [
    "30 2 * * *", "0 2 * * *", "0 3 * * *", "15 1,2,3 * * *", "*/20 2-3 * * *", "* * * * *", "30 * * * *", "@hourly",
    "@daily", "30 23 * * *", "0,30 0 * * *", "0 */2 * * *", "5-59/6 1 * * sun", "0 0 * * 7", "0 4 8,25,29 * mon-fri",
]  # fmt: skip


@pytest.mark.parametrize("text", LINES)
@pytest.mark.parametrize(("zone", "after", "change"), CHANGES, ids=lambda value: str(value)[:32])
def test_a_night_around_each_change(text: str, zone: str, after: datetime, change: str) -> None:
    minutes = 20 * 60
    assert found(text, after, minutes, ZoneInfo(zone)) == list(truth(text, after, minutes, ZoneInfo(zone)))


def part(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    span = st.tuples(number, number).map(lambda pair: f"{min(pair)}-{max(pair)}")
    steps = st.tuples(st.one_of(st.just("*"), span), st.integers(1, 40)).map(lambda pair: f"{pair[0]}/{pair[1]}")
    return st.one_of(st.just("*"), number.map(str), span, steps)


def field(low: int, high: int) -> st.SearchStrategy[str]:
    return st.lists(part(low, high), min_size=1, max_size=2).map(",".join)


line_texts = st.tuples(field(0, 59), field(0, 23), field(1, 28), field(1, 12), field(0, 7)).map(" ".join)


@settings(max_examples=40, deadline=None)
@given(text=line_texts, change=st.sampled_from(CHANGES))
def test_any_line_around_any_change(text: str, change: tuple[str, datetime, str]) -> None:
    zone, after, _ = change
    assert found(text, after, 16 * 60, ZoneInfo(zone)) == list(truth(text, after, 16 * 60, ZoneInfo(zone)))


def test_the_rule_for_spring_and_autumn_in_words() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    spring = found("30 2 * * *", datetime(2026, 3, 28, 12, tzinfo=UTC), 2 * 1440, berlin)
    assert [f"{start.astimezone(berlin):%d %H:%M}" for start in spring] == ["29 03:00", "30 02:30"]
    autumn = found("30 2 * * *", datetime(2026, 10, 24, 12, tzinfo=UTC), 2 * 1440, berlin)
    assert [f"{start.astimezone(berlin):%d %H:%M %Z}" for start in autumn] == ["25 02:30 CEST", "26 02:30 CET"]


def test_a_day_that_a_zone_left_out_altogether_starts_when_the_next_one_begins() -> None:
    apia = ZoneInfo("Pacific/Apia")  # went from 29 to 31 December 2011
    start = next_start(parse_cron("0 12 30 12 *"), datetime(2011, 12, 29, tzinfo=UTC), apia)
    assert start is not None
    assert f"{start:%Y-%m-%d %H:%M}" == "2011-12-31 00:00"


def test_day_of_month_or_day_of_week_where_both_are_restricted() -> None:
    starts = found("0 0 13 * fri", datetime(2026, 3, 1, tzinfo=UTC), 31 * 1440, UTC)
    assert [start.day for start in starts] == [6, 13, 20, 27]
    both = found("0 0 */2 * fri", datetime(2026, 3, 1, tzinfo=UTC), 31 * 1440, UTC)
    assert [start.day for start in both] == [13, 27]  # a field that begins with * restricts only together


def test_the_29th_of_february_across_a_century_without_one() -> None:
    start = next_start(parse_cron("0 0 29 2 *"), datetime(2096, 3, 1, tzinfo=UTC), UTC)
    assert start == datetime(2104, 2, 29, tzinfo=UTC)


@pytest.mark.parametrize("hour", ["12", "*"])
def test_a_day_that_comes_once_in_many_years(hour: str) -> None:
    start = next_start(parse_cron(f"0 {hour} */28 2 mon"), datetime(2038, 3, 1, tzinfo=UTC), UTC)
    assert start is not None
    assert start.date() == date(2044, 2, 1)  # the next Monday that is the 1st or 29th of a February


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Pacific/Chatham"])
@pytest.mark.parametrize("text", ["7 * 3 * *", "* * * 5 sun", "59 23 1 * *", "0 0 * * 1"])
def test_a_year(text: str, zone: str) -> None:
    line, after = parse_cron(text), datetime(2026, 1, 1, tzinfo=UTC)
    days = {start.astimezone(ZoneInfo(zone)).date() for start in found(text, after, 365 * 1440, ZoneInfo(zone))}
    first = after.astimezone(ZoneInfo(zone)).date()
    meant = {first + timedelta(days=n) for n in range(1, 365) if line.on(first + timedelta(days=n))}
    assert days - {first, first + timedelta(days=365)} == meant


@pytest.mark.parametrize(
    ("text", "says_"),
    [
        ("", "0 fields instead of 5"),
        ("0 22 * *", "4 fields instead of 5"),
        ("0 0 22 * * *", "6 fields instead of 5"),
        ("60 * * * *", "'60' is no minute: it takes 0 to 59"),
        ("0 24 * * *", "'24' is no hour"),
        ("0 0 0 * *", "'0' is no day of month: it takes 1 to 31"),
        ("0 0 * 13 *", "'13' is no month"),
        ("0 0 * * 8", "'8' is no day of week"),
        ("0 0 * * monday", "'monday' is no day of week: it takes 0 to 7 or sun, mon"),
        ("0 0 * foo *", "'foo' is no month"),
        ("0 0 * * fri-mon", "'fri-mon' in the day of week runs backwards"),
        ("5/10 * * * *", "a step /n follows * or a range"),
        ("*/0 * * * *", "the step /0 in the minute"),
        ("*/x * * * *", "the step /x in the minute"),
        ("1,,2 * * * *", "'' is no minute"),
        ("-1 * * * *", "'' is no minute"),
        ("1- * * * *", "'' is no minute"),
        ("+1 * * * *", "'+1' is no minute"),
        ("\u0661 * * * *", "is no minute"),
        ("0 0 30 2 *", "names no day that exists"),
        ("@reboot", "'@reboot' is not one of @yearly"),
    ],
)
def test_what_is_no_cron_line(text: str, says_: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011
        parse_cron(text)
    assert says_ in str(error.value)


def test_time_zones() -> None:
    assert find_zone("UTC") is UTC
    assert find_zone("Europe/Berlin") == ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("name", "says_"),
    [
        ("Europe/Berln", "did you mean 'Europe/Berlin'"),
        ("europe/berlin", "did you mean"),
        ("../x", "no time zone"),
        ("Europe", "no time zone"),
    ],
)
def test_what_is_no_time_zone(name: str, says_: str) -> None:
    with pytest.raises(ValueError, match="zone") as error:
        find_zone(name)
    assert says_ in str(error.value)


def test_a_machine_without_time_zone_data_is_told_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.config.cron.available_timezones", set)
    with pytest.raises(ValueError, match="install the package tzdata"):
        find_zone("Europe/Nowhere")
    assert find_zone("UTC") is UTC
