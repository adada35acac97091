"""A job keeps documents and rows for so many days, as its rules say. Legal holds go before rules.

Days are those of the log's own clock (clock.py), and in a run that finds the machine's clock in doubt nothing goes.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar

from pipeline.keep.clock import LogClock, Stamped, to_text
from pipeline.keep.holds import Holds
from pipeline.plan import Retention
from pipeline.records.types import DeletedByRule, Document, Erased, Part, Record, Reported, RunEmpty, RunStarted
from pipeline.states import State

T = TypeVar("T")

_ENTRIES = 4000  # in one record, which has at most 65,535 bytes
_FILES = 400


@dataclass
class Shelf:
    """The things that are kept of one job by the log, with the time from which its days count.

    `archive`: document -> the entries it was archived, or met again, by; `touched`: its last one's time. `parts`:
    file -> its time, and the documents of its rows. `markdown`: file -> the last entry that made it, and its part.
    `no_archive`,
    `no_markdown`: entries whose archived document, whose Markdown file is deleted.
    `reports`: night -> the last report's entry, its time, and the first entry that it tells of; `first`: part -> the
    first entry of its rows.
    `reruns`: runs that answered archived documents again, which did not come anew by that.
    `holds`: legal holds in force, of all jobs. `clock`: as it stood at
    the last entry; all times are its. `doubt`: why it disagreed with the machine's since a run of the job began last.
    """

    job: str
    archive: dict[str, list[int]] = field(default_factory=dict)
    touched: dict[str, str] = field(default_factory=dict)
    parts: dict[str, tuple[str, list[str]]] = field(default_factory=dict)
    markdown: dict[str, tuple[int, str]] = field(default_factory=dict)
    no_archive: set[int] = field(default_factory=set)
    no_markdown: set[int] = field(default_factory=set)
    reports: dict[str, tuple[int, str, int]] = field(default_factory=dict)
    first: dict[str, int] = field(default_factory=dict)
    reruns: set[str] = field(default_factory=set)
    holds: Holds = field(default_factory=Holds)
    clock: LogClock = field(default_factory=LogClock)
    doubt: str | None = None

    def take(self, entry: Record) -> None:
        """Take in the next entry, of any type."""
        moment = self.look(entry)
        match entry:
            case Document() if entry.job == self.job:
                self._document(entry, to_text(moment))
            case Part() if entry.job == self.job:
                self.first[entry.file] = entry.first
            case Reported() if entry.job == self.job:
                self.reports[entry.night] = entry.n, to_text(moment), entry.first
            case DeletedByRule() | Erased():
                self.no_archive.update(entry.archive)
                self.no_markdown.update(entry.markdown)
                for file in entry.parts:
                    self.parts.pop(file, None)
            case RunStarted() | RunEmpty() if entry.job == self.job:
                self.doubt = None
                if isinstance(entry, RunStarted) and entry.rerun is not None:
                    self.reruns.add(entry.run)
            case _:
                self.holds.take(entry)

    def look(self, stamp: Stamped) -> datetime:
        """The moment of the next entry, or of a stamp after the last one."""
        moment = self.clock.read(stamp)
        self.doubt = self.doubt or self.clock.doubt
        return moment

    def _document(self, entry: Document, time: str) -> None:
        document = entry.document
        if document is not None and entry.state != State.FAILED and not entry.is_decided:
            self.archive.setdefault(document, []).append(entry.n)
            if entry.run not in self.reruns:
                self.touched[document] = time
        part = self.parts.setdefault(entry.part, (time, []))
        if document is not None:
            part[1].append(document)
        for made in entry.made_files:
            self.markdown[made.file] = entry.n, entry.part


def due(shelf: Shelf, retention: Retention, now: datetime, held: Collection[str]) -> list[DeletedByRule]:
    """The records of what is to be deleted now, by the log's clock: whatever was committed longer ago than its rule
    allows.

    A document that came again counts from its last time. A part is kept as a whole while one of its rows is held.
    """
    records: list[DeletedByRule] = []
    if (days := retention.archive_days) is not None:
        before = to_text(now - timedelta(days=days))
        old = [document for document, time in shelf.touched.items() if time < before and document not in held]
        numbers = [number for document in old for number in shelf.archive[document] if number not in shelf.no_archive]
        records += [_record("archive_days", days, archive=some) for some in _chunks(numbers, _ENTRIES)]
    if (days := retention.rows_days) is not None:
        before = to_text(now - timedelta(days=days))
        parts = [f for f, (time, rows) in shelf.parts.items() if time < before and not any(d in held for d in rows)]
        made = _markdown_of(shelf, set(parts))
        made += _reports_of(shelf, before, set(parts))
        records += [_record("rows_days", days, markdown=some) for some in _chunks(made, _ENTRIES)]
        records += [_record("rows_days", days, parts=some) for some in _chunks(parts, _FILES)]
    return records


def _markdown_of(shelf: Shelf, parts: Collection[str]) -> list[int]:
    """The entries of these parts whose Markdown files no later one has replaced."""
    return sorted({n for n, part in shelf.markdown.values() if part in parts and n not in shelf.no_markdown})


def _reports_of(shelf: Shelf, before: str, gone: Collection[str]) -> list[int]:
    """The reports from before that time, of whose rows none is kept: those of the parts in `gone` go, too."""
    kept = sorted(shelf.first[file] for file in shelf.parts if file not in gone and file in shelf.first)
    old = [(n, first) for n, time, first in shelf.reports.values() if time < before and n not in shelf.no_markdown]
    return [n for n, first in old if bisect_left(kept, first) == bisect_left(kept, n)]


def _chunks(items: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    return (items[at : at + most] for at in range(0, len(items), most))


def _record(
    rule: str, days: float, archive: Sequence[int] = (), parts: Sequence[str] = (), markdown: Sequence[int] = ()
) -> DeletedByRule:
    return DeletedByRule(rule=rule, days=days, archive=tuple(archive), parts=tuple(parts), markdown=tuple(markdown))
