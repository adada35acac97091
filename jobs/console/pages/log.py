"""The log: its days with everything that happened, entries in words, and verifying and exporting it from there."""

import re
import secrets
from datetime import date
from itertools import islice
from typing import Final

from starlette.responses import Response

import pipeline
from jobs.console.attempt import RefusedError, attempt
from jobs.console.house import Visit
from jobs.console.page import page
from jobs.console.pages.home import verified
from jobs.console.pages.runs import start
from jobs.console.render import render
from jobs.console.rights import Right

_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_AT_ONCE: Final = 100
_ENTRIES: Final = 50
EXPORTS: Final = "exports"


@page("/log", Right.LOG)
def _log(visit: Visit) -> Response:
    house = visit.house
    return render(
        visit,
        "log.html",
        days=attempt(lambda: house.ask(lambda index: index.days())),
        size=attempt(house.log_size),
        verified=attempt(lambda: verified(house)),
        works=[work for work in house.works.all() if work.command[:1] == ("audit",)],
        behind=attempt(house.indexes.behind),
    )


@page("/log/days/{day:str}", Right.LOG, asks=("from",))
def _day(visit: Visit) -> Response:
    """A day of the log, a page at a time, without the rows of documents, which have a page of their own."""
    house, day, first = visit.house, str(visit.path["day"]), visit.number("from")
    if not _DAY.fullmatch(day):
        raise LookupError(f"{day!r} is no day; a day is written as 2026-11-01.")
    with house.indexes.opened() as index:
        found = index.day(day)
        happened = index.happenings(max(found.first, first or 0), found.last, _AT_ONCE + 1)
    told = list(pipeline.records.entries_at(house.site, [each.n for each in happened[:_AT_ONCE]]))
    following = happened[_AT_ONCE].n if len(happened) > _AT_ONCE else None
    return render(visit, "day.html", day=found, told=told, next=following, start=first)


@page("/log/entries", Right.LOG, asks=("first",))
def _entries(visit: Visit) -> Response:
    house, first = visit.house, visit.number("first") or 0
    size = house.log_size()
    if first >= size:
        raise LookupError(f"The log has {size:,} entries; the last one is {size - 1:,}.")
    told = list(islice(pipeline.records.read_entries(house.site, first), _ENTRIES))
    return render(visit, "entries.html", told=told, first=first, size=size, at_once=_ENTRIES)


@page("/log/verify", Right.LOG, "POST")
def _verify(visit: Visit) -> Response:
    return start(visit, "verify the log and all that it proves", ("audit", "verify"), "/log")


@page("/log/export", Right.LOG, "POST")
def _export(visit: Visit) -> Response:
    since, until = _asked_day(visit, "from"), _asked_day(visit, "to")
    if since and until and until < since:
        raise RefusedError(422, "The last day lies before the first one.")
    name = f"{since or 'first'}--{until or 'last'}-{secrets.token_hex(3)}"
    days = (*(("--from", since) if since else ()), *(("--to", until) if until else ()))
    command = ("audit", "export", f"{EXPORTS}/{name}", *days)
    title = f"export the log{f' from {since}' if since else ''}{f' to {until}' if until else ''}"
    (visit.house.workspace.root / EXPORTS).mkdir(mode=0o700, exist_ok=True)
    return start(visit, title, command, "/log")


def _asked_day(visit: Visit, field: str) -> str | None:
    """A day that a form asks for; None if it leaves it open. RefusedError."""
    text = visit.form.get(field, "").strip()
    try:
        return date.fromisoformat(text).isoformat() if text else None
    except ValueError:
        raise RefusedError(422, f"{text[:40]!r} is no day; a day is written as 2026-11-01.") from None
