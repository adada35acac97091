"""What a job keeps for so many days and no longer, as the job's rules say. Legal holds go before rules.

Days are those of the log's own clock (clock.py), and in a run that finds the machine's clock in doubt nothing goes.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar

from pipeline.keep.clock import LogClock, to_text
from pipeline.outbox.placement import made_files
from pipeline.plan import Retention
from pipeline.states import State

Entry = dict[str, Any]
Record = dict[str, Any]
T = TypeVar("T")

_ENTRIES = 4000  # in one record, which has at most 65,535 bytes
_FILES = 400


@dataclass
class Shelf:
    """What the log says is kept of one job, with the time from which its days count.

    `archive`: document -> the entries it was archived, or met again, by; `touched`: its last one's time. `parts`:
    file -> its time, and the documents of its rows. `markdown`: file -> the last entry that made it, and its part.
    `no_archive`,
    `no_markdown`: entries whose archived document, whose Markdown file is deleted.
    `holds`: legal holds in force, of all jobs: the entry of the hold -> the entries it holds. `clock`: as it stood at
    the last entry; all times are its. `doubt`: why it disagreed with the machine's since a run of the job began last.
    """

    job: str
    archive: dict[str, list[int]] = field(default_factory=dict)
    touched: dict[str, str] = field(default_factory=dict)
    parts: dict[str, tuple[str, list[str]]] = field(default_factory=dict)
    markdown: dict[str, tuple[int, str]] = field(default_factory=dict)
    no_archive: set[int] = field(default_factory=set)
    no_markdown: set[int] = field(default_factory=set)
    holds: dict[int, list[int]] = field(default_factory=dict)
    clock: LogClock = field(default_factory=LogClock)
    doubt: str | None = None

    def passing(self, entries: Iterable[tuple[int, Entry]]) -> Iterator[tuple[int, Entry]]:
        """The same entries, each seen on its way."""
        for number, entry in entries:
            self.see(number, entry)
            yield number, entry

    def see(self, number: int, entry: Entry) -> None:
        """Take one entry of the log in, in order."""
        moment = self.look(entry)
        match entry["type"]:
            case "document" if entry["job"] == self.job:
                self._document(number, entry, to_text(moment))
            case "deleted.by_rule" | "erased":
                self.no_archive.update(entry["archive"])
                self.no_markdown.update(entry["markdown"])
                for file in entry["parts"]:
                    self.parts.pop(file, None)
            case "run.started" | "run.empty" if entry["job"] == self.job:
                self.doubt = None
            case "hold":
                self.holds[number] = entry["entries"]
            case "released":
                self.holds.pop(entry["hold"], None)

    def look(self, stamp: Mapping[str, Any]) -> datetime:
        """The moment of the next entry, or of a stamp after the last one."""
        moment = self.clock.read(stamp)
        self.doubt = self.doubt or self.clock.doubt
        return moment

    def _document(self, number: int, entry: Entry, time: str) -> None:
        document = entry["document"]
        if document is not None and entry["state"] != State.FAILED:
            self.archive.setdefault(document, []).append(number)
            self.touched[document] = time
        part = self.parts.setdefault(entry["part"], (time, []))
        if document is not None:
            part[1].append(document)
        for made in made_files(entry):
            self.markdown[made["file"]] = number, entry["part"]


def due(shelf: Shelf, retention: Retention, now: datetime, held: Collection[str]) -> list[Record]:
    """The records of what is to be deleted now, by the log's clock: whatever was committed longer ago than its rule
    allows.

    A document that came again counts from its last time. A part is kept as a whole while one of its rows is held.
    """
    records: list[Record] = []
    if (days := retention.archive_days) is not None:
        before = to_text(now - timedelta(days=days))
        old = [document for document, time in shelf.touched.items() if time < before and document not in held]
        numbers = [number for document in old for number in shelf.archive[document] if number not in shelf.no_archive]
        records += [_record("archive_days", days, archive=some) for some in _chunks(numbers, _ENTRIES)]
    if (days := retention.rows_days) is not None:
        before = to_text(now - timedelta(days=days))
        parts = [f for f, (time, rows) in shelf.parts.items() if time < before and not any(d in held for d in rows)]
        made = _markdown_of(shelf, set(parts))
        records += [_record("rows_days", days, markdown=some) for some in _chunks(made, _ENTRIES)]
        records += [_record("rows_days", days, parts=some) for some in _chunks(parts, _FILES)]
    return records


def _markdown_of(shelf: Shelf, parts: Collection[str]) -> list[int]:
    """The entries of these parts whose Markdown files no later one has replaced."""
    return sorted({n for n, part in shelf.markdown.values() if part in parts and n not in shelf.no_markdown})


def _chunks(items: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    return (items[at : at + most] for at in range(0, len(items), most))


def _record(
    rule: str, days: float, archive: Sequence[int] = (), parts: Sequence[str] = (), markdown: Sequence[int] = ()
) -> Record:
    named = {"archive": list(archive), "parts": list(parts), "markdown": list(markdown)}
    return {"type": "deleted.by_rule", "rule": rule, "days": days, **named}
