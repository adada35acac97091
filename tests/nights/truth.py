"""What the log must say of the starts in a world: found minute by minute, without the code that decides them."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from tests.jobs.nights.test_cron import truth

HOUR = timedelta(hours=1)


@dataclass
class Span:
    """A rule of a job for as long as it counted, with what the log says became of its starts."""

    rule: dict[str, Any]
    decided: list[dict[str, Any]] = field(default_factory=list)
    until: datetime | None = None

    @property
    def since(self) -> datetime:
        """From when on it counted."""
        return moment(self.rule["since"])


def spans(entries: Sequence[dict[str, Any]], job: str) -> list[Span]:
    """The rules of a job in the order of the log."""
    found: list[Span] = []
    for entry in entries:
        if entry.get("job") != job:
            continue
        if entry["type"] == "start.set":
            if found:
                found[-1].until = moment(entry["since"])
            found.append(Span(entry))
        elif entry["type"] == "start.decided":
            found[-1].decided.append(entry)
    return found


def wrongs(entries: Sequence[dict[str, Any]], job: str, now: datetime) -> Iterator[str]:
    """What is wrong with the starts of a job that begins by cron lines: each must be decided once, in order."""
    for span in spans(entries, job):
        last = [moment(each["last"]) for each in span.decided]
        end = max([span.until or now, *last])
        due = list(starts(span.rule, span.since, end)) if span.rule["cron"] else []
        place = 0
        for each in span.decided:
            first, final = bisect_left(due, moment(each["due"])), bisect_right(due, moment(each["last"]))
            if first != place:
                yield f"{job}: entry {each['n']} begins with {each['due']}, not with {due[place : place + 1]}"
            if final - first != each["count"] or not each["count"]:
                yield f"{job}: entry {each['n']} counts {each['count']} starts, and there were {final - first}"
            place = final
        if place < len(due):
            yield f"{job}: nothing says what became of {due[place]} and {len(due) - place - 1} more"


def starts(rule: dict[str, Any], after: datetime, until: datetime) -> Iterator[datetime]:
    """The starts of a cron line by the slow truth of the test of cron lines, which knows no last day of a month."""
    zone, last_day = ZoneInfo(rule["timezone"]), " L " in rule["cron"]
    begin = after.replace(second=0, microsecond=0)
    minutes = max(int((until - begin) / timedelta(minutes=1)), 0)
    for start in truth(rule["cron"].replace(" L ", " * "), begin, minutes, zone):
        day = start.astimezone(zone)
        if start > after and (not last_day or (day + timedelta(days=1)).day == 1):
            yield start


def moment(text: str) -> datetime:
    """A time of the log."""
    return datetime.fromisoformat(text).astimezone(UTC)
