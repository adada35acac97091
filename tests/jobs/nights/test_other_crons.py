"""What other crons do in the nights in which clocks change: APScheduler's own trigger is asked, and of a plain cron
what its manual says. The table in jobs/nights/README.md is made by `python -m tests.jobs.nights.test_other_crons`."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from apscheduler.triggers.cron import CronTrigger

from jobs.config.cron import next_start, parse_cron
from tests.jobs.nights.test_cron import means
from tests.jobs.nights.zones import Change, clocks_of

PAGE = Path(__file__).parent.parent.parent.parent / "jobs" / "nights" / "README.md"
AROUND, MINUTE = timedelta(hours=2, minutes=50), timedelta(minutes=1)
Starts = list[datetime]
# the line, the zone, the day before the night in which its clocks change
NIGHTS = [
    ("30 2 * * *", "Europe/Berlin", datetime(2026, 3, 28, 12)),
    ("0 3 * * *", "Europe/Berlin", datetime(2026, 3, 28, 12)),
    ("*/20 2 * * *", "Europe/Berlin", datetime(2026, 3, 28, 12)),
    ("0 */2 * * *", "Europe/Berlin", datetime(2026, 3, 28, 12)),
    ("30 * * * *", "Europe/Berlin", datetime(2026, 3, 28, 12)),
    ("30 0 * * *", "Asia/Beirut", datetime(2026, 3, 28, 12)),
    ("30 23 * * *", "America/Nuuk", datetime(2026, 3, 28, 12)),
    ("15 2 * * *", "Australia/Lord_Howe", datetime(2026, 10, 3, 12)),
    ("30 2 * * *", "Europe/Berlin", datetime(2026, 10, 24, 12)),
    ("*/20 2 * * *", "Europe/Berlin", datetime(2026, 10, 24, 12)),
    ("0 */2 * * *", "Europe/Berlin", datetime(2026, 10, 24, 12)),
    ("30 * * * *", "Europe/Berlin", datetime(2026, 10, 24, 12)),
    ("30 1 * * *", "America/New_York", datetime(2026, 10, 31, 12)),
    ("45 1 * * *", "Australia/Lord_Howe", datetime(2026, 4, 4, 12)),
]


def ours(text: str, zone: ZoneInfo, begin: datetime, end: datetime) -> Starts:
    """The starts (UTC) after `begin` and before `end` by jobs/config/cron.py."""
    starts, line = [begin], parse_cron(text)
    while (start := next_start(line, starts[-1], zone)) is not None and start.astimezone(UTC) < end:
        starts.append(start.astimezone(UTC))
    return starts[1:]


def of_apscheduler(text: str, zone: ZoneInfo, begin: datetime, end: datetime) -> Starts:
    """The starts by APScheduler's own trigger, asked as its scheduler asks it."""
    trigger, starts, last = CronTrigger.from_crontab(text, timezone=zone), list[datetime](), None
    while (start := trigger.get_next_fire_time(last, last or begin)) and start.astimezone(UTC) < end:
        starts.append(start.astimezone(UTC))
        last = start
    return starts


def of_plain_cron(text: str, zone: ZoneInfo, begin: datetime, end: datetime) -> Starts:
    """The starts by a plain cron on a machine in this zone, as the manual of Vixie cron says (cron(8), as Debian has
    it): no such program runs here.

    It says of clocks that change by less than three hours: a line without `*` in its minute and hour, whose time was
    left out, is run soon after the change, and is not run again in the time that is repeated; a line with `*` there
    goes by what the clock shows.
    """
    wildcard = "*" in "".join(text.split()[:2])
    starts, moment, latest = list[datetime](), begin + MINUTE, begin.astimezone(zone).replace(tzinfo=None)
    while moment < end:
        wall = moment.astimezone(zone).replace(tzinfo=None)
        passed = [latest + n * MINUTE for n in range(1, (wall - latest) // MINUTE)]
        repeated = wall <= latest
        if (means(text, wall) and (wildcard or not repeated)) or (
            not wildcard and any(means(text, each) for each in passed)
        ):
            starts.append(moment)
        moment, latest = moment + MINUTE, max(wall, latest)
    return starts


def change_of(name: str, noon: datetime) -> Change:
    """The change of the zone's clocks in the night after this noon."""
    begin = noon.replace(tzinfo=ZoneInfo(name)).astimezone(UTC)
    (change,) = clocks_of(ZoneInfo(name), begin, begin + timedelta(days=1), timedelta(hours=1)).changes
    return change


def told(starts: Starts, zone: ZoneInfo) -> str:
    """The starts as clocks show them; with the zone's abbreviation where clocks show a time twice."""
    shown = [start.astimezone(zone) for start in starts]
    twice = [each.replace(fold=0).utcoffset() != each.replace(fold=1).utcoffset() for each in shown]
    pairs = zip(shown, twice, strict=True)
    return ", ".join(f"{each:%H:%M %Z}" if both else f"{each:%H:%M}" for each, both in pairs) or "never"


def row(text: str, name: str, noon: datetime) -> list[str]:
    """A night in the table: what starts in the 170 minutes before the change and after it."""
    zone, change = ZoneInfo(name), change_of(name, noon)
    before, after = ((change.at + offset).strftime("%H:%M") for offset in (change.before, change.after))
    asked: tuple[Callable[..., Starts], ...] = (ours, of_apscheduler, of_plain_cron)
    starts = [told(ask(text, zone, change.at - AROUND, change.at + AROUND), zone) for ask in asked]
    return [f"`{text}`", f"{name}, {before} becomes {after}", *starts]


def table() -> str:
    """The table of the page."""
    rows = [row(*night) for night in NIGHTS]
    head = ["line", "zone", "Cloister", "APScheduler", "plain cron"]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, ["---"] * len(head), *rows))


def test_the_page_has_the_table_as_it_is_computed() -> None:
    assert table() in PAGE.read_text()


@pytest.mark.parametrize("text", ["30 2 * * *", "0 */2 * * *", "30 * * * *", "15 1,2,3 * * *"])
def test_all_agree_where_no_clock_changes(text: str) -> None:
    zone, begin = ZoneInfo("Europe/Berlin"), datetime(2026, 6, 1, 10, 10, tzinfo=UTC)
    span = begin, begin + timedelta(days=3)
    assert ours(text, zone, *span) == of_apscheduler(text, zone, *span) == of_plain_cron(text, zone, *span) != []


if __name__ == "__main__":
    print(table(), end="")
