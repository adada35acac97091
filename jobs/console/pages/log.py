"""The log: its days with everything that happened, entries in words, and verifying and exporting it from there."""

import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice
from typing import Final

from starlette.responses import RedirectResponse, Response

import audit
import pipeline
from jobs.console.attempt import attempt
from jobs.console.house import House, Visit
from jobs.console.page import Page
from jobs.console.pages.home import turn, verified
from jobs.console.refused import RefusedError
from jobs.console.render import render
from jobs.console.rights import Right

_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_AT_ONCE: Final = 100
_ENTRIES: Final = 50
EXPORTS: Final = "exports"


@dataclass(frozen=True)
class Told:
    """An entry in words: its number and type, what it says, when, where and by whom it was made, of which run,
    and its members as pairs of a label and a text."""

    n: int
    type: str
    says: str
    time: str
    user: str
    host: str
    handed: str | None
    run: str
    job: str
    members: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class OneDay:
    """A day of the log, a page at a time. `rows`: the numbers of rows of documents before, between and behind what is
    told, which have a page of their own."""

    day: pipeline.Day
    told: Sequence[Told]
    next: int | None


def _log(visit: Visit) -> Response:
    house = visit.house
    return render(
        visit,
        "log.html",
        days=attempt(lambda: _days(house)),
        size=attempt(lambda: audit.read_checkpoint(house.site.audit, house.site.public_key).size),
        verified=attempt(lambda: verified(house)),
        works=[work for work in house.works.all() if work.command[:1] == ("audit",)],
        behind=attempt(house.indexes.behind),
        turn=turn(house),
    )


def _days(house: House) -> list[pipeline.Day]:
    with house.indexes.opened() as index:
        return index.days()


def _day(visit: Visit) -> Response:
    day, start = str(visit.path["day"]), _number(visit.query.get("from"))
    if not _DAY.fullmatch(day):
        raise LookupError(f"{day!r} is no day; a day is written as 2026-11-01.")
    return render(visit, "day.html", found=_one_day(visit.house, day, start), start=start)


def _one_day(house: House, day: str, start: int | None) -> OneDay:
    with house.indexes.opened() as index:
        found = index.day(day)
        first = max(found.first, start or 0)
        happened = index.happenings(first, found.last, _AT_ONCE + 1)
    entries = pipeline.entries_at(house.site, [each.n for each in happened[:_AT_ONCE]])
    return OneDay(found, tell(entries), happened[_AT_ONCE].n if len(happened) > _AT_ONCE else None)


def tell(entries: Iterable[pipeline.Record]) -> list[Told]:
    """Entries in words."""
    return [
        Told(
            n=entry.n,
            type=entry.type,
            says=entry.says(),
            time=entry.time,
            user=entry.user,
            host=entry.host,
            handed=f"{entry.handed.user}, {entry.handed.time[:19]}" if entry.handed else None,
            run=entry.run,
            job=entry.job,
            members=list(pipeline.members_in_words(entry.said)),
        )
        for entry in entries
    ]


def _entries(visit: Visit) -> Response:
    first = _number(visit.query.get("first")) or 0
    house = visit.house
    size = audit.read_checkpoint(house.site.audit, house.site.public_key).size
    if first >= size:
        raise LookupError(f"The log has {size:,} entries; the last one is {size - 1:,}.")
    told = tell(islice(pipeline.read_entries(house.site, first), _ENTRIES))
    return render(visit, "entries.html", told=told, first=first, size=size, at_once=_ENTRIES)


def _verify(visit: Visit) -> Response:
    work = visit.house.works.start(
        visit.name, "verify the log and all that it proves", ("audit", "verify"), link="/log"
    )
    return RedirectResponse(f"/works/{work.number}", 303)


def _export(visit: Visit) -> Response:
    since, until = _asked_day(visit, "from"), _asked_day(visit, "to")
    if since and until and until < since:
        raise RefusedError(422, "The last day lies before the first one.")
    name = f"{since or 'first'}--{until or 'last'}-{secrets.token_hex(3)}"
    days = (*(("--from", since) if since else ()), *(("--to", until) if until else ()))
    command = ("audit", "export", f"{EXPORTS}/{name}", *days)
    title = f"export the log{f' from {since}' if since else ''}{f' to {until}' if until else ''}"
    (visit.house.workspace.root / EXPORTS).mkdir(mode=0o700, exist_ok=True)
    work = visit.house.works.start(visit.name, title, command, link="/log")
    return RedirectResponse(f"/works/{work.number}", 303)


def _asked_day(visit: Visit, field: str) -> str | None:
    """A day that a form asks for; None if it leaves it open. RefusedError."""
    text = visit.form.get(field, "").strip()
    try:
        return date.fromisoformat(text).isoformat() if text else None
    except ValueError:
        raise RefusedError(422, f"{text[:40]!r} is no day; a day is written as 2026-11-01.") from None


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() and len(text) < 16 else None


PAGES = (
    Page("/log", _log, Right.LOG),
    Page("/log/days/{day:str}", _day, Right.LOG, asks=("from",)),
    Page("/log/entries", _entries, Right.LOG, asks=("first",)),
    Page("/log/verify", _verify, Right.LOG, "POST"),
    Page("/log/export", _export, Right.LOG, "POST"),
)
