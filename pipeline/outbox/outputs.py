"""The output and the error file of each batch file, made of the rows of its requests.

They are made with the part that closes a batch file, from that part and those before it, staged beside it, and named by
an entry of that part: the batch file's own, or, when requests are taken up again later, that of the last of these. So a
run that is cut off anywhere leaves both files or neither, and the rows alone say what is in them. Rows of earlier runs
count if they are what their entries prove. Where such rows are gone, requests of a file that is closed are not taken up
again: with their answers committed, its files could not be made anew when the rows are back.
"""

import contextlib
import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from pipeline.document import Row
from pipeline.errors import BadPartError, Failure
from pipeline.inbox.intake import INSIDE
from pipeline.openai.outputs import format_line, is_output
from pipeline.outbox.deletion import Deletions
from pipeline.outbox.placement import staged_name
from pipeline.outbox.results import rows_numbered
from pipeline.outbox.schema import result_sha256
from pipeline.paths.names import OUTPUTS, output_names
from pipeline.plan import RunPlan, Site
from pipeline.records.entries import read_entries
from pipeline.records.history import History
from pipeline.records.types import Document, MadeFile
from pipeline.report import Observer
from pipeline.states import ANSWERED


class Key(NamedTuple):
    """A batch file: its sha256, and its path."""

    document: str
    path: str


class Place(NamedTuple):
    """Where the row of a request lies: the part's name in the workspace, and the entry."""

    part: str
    number: int


class Proved(NamedTuple):
    """The row of a request as its last entry proves it."""

    path: str
    part: str
    number: int
    result_sha256: str


Places = dict[str, Place]  # path of a request -> its last row


@dataclass
class Outputs:
    """The output files of one run. `places`: the requests of files that are not closed, and of those that `closed`
    names, which get their files anew when one of their requests is answered again. `lost`: files that are closed,
    and have rows that are gone though nothing in the log deleted them -> which."""

    plan: RunPlan
    places: dict[Key, Places] = field(default_factory=dict)
    closed: set[Key] = field(default_factory=set)
    lost: dict[Key, str] = field(default_factory=dict)

    def make(self, rows: Sequence[Row], part: str) -> dict[int, tuple[MadeFile, ...]]:
        """Take in the rows of a part that is staged; the files that were staged for it: index of a row -> names with
        sha256. OSError."""
        due: dict[Key, int] = {}
        for index, row in enumerate(rows):
            if row.parent:
                key = Key(row.parent, row.path.rpartition(INSIDE)[0])
                self.places.setdefault(key, {})[row.path] = Place(part, row.audit_index)
                if key in self.closed:
                    due[key] = index
            elif row.state in ANSWERED:
                due[Key(row.document or "", row.path)] = index
        return {index: self._write(key, {part: rows}) for key, index in due.items()}

    def _write(self, key: Key, staged: Mapping[str, Sequence[Row]]) -> tuple[MadeFile, ...]:
        """Both files of a batch, in the order in which they come to their places: who finds the output file finds the
        other one too. An error file without a line says that there is no error."""
        places = self.places.get(key, {}) if key in self.closed else self.places.pop(key, {})
        folder, site = self.plan.outbox / ".staging", self.plan.site
        outputs = (self.plan.outbox / OUTPUTS).relative_to(site.root)
        names = [str(outputs / name) for name in reversed(output_names(key.path))]
        digests = [hashlib.sha256(), hashlib.sha256()]
        with contextlib.ExitStack() as opened:
            files = [opened.enter_context((folder / staged_name(name)).open("wb")) for name in names]
            for row in _rows(site, places, staged):
                line, which = format_line(row), int(is_output(row))
                files[which].write(line)
                digests[which].update(line)
        return tuple(MadeFile(name, made.hexdigest()) for name, made in zip(names, digests, strict=True))


def _rows(site: Site, places: Places, staged: Mapping[str, Sequence[Row]]) -> Iterator[Row]:
    """The rows of requests in the order of their lines."""
    ordered = [place for _, place in sorted(places.items())]
    for part, group in groupby(ordered, key=lambda place: place.part):
        numbers = [place.number for place in group]
        wanted = set(numbers)
        rows = staged[part] if part in staged else rows_numbered(site.at_rest, site.root / part, wanted)
        found = {row.audit_index: row for row in rows if row.audit_index in wanted}
        yield from (found[number] for number in numbers)


def begun_before(plan: RunPlan, history: History, job_digest: str, observer: Observer) -> Outputs:
    """Take over files from earlier runs that this one may close, or whose requests it takes up again. Of a file that
    was cut off, requests whose rows cannot be had are forgotten by `history`, so that they are answered again."""
    outputs = Outputs(plan)
    if plan.retry is not None:
        _take_closed(outputs, plan.retry, history, observer)
    elif history.inner:
        proved = _proved(plan, history.inner.keys(), job_digest)[0]
        outputs.places = {key: _there(plan.site, entries) for key, entries in proved.items()}
        for key, places in outputs.places.items():
            if gone := len(proved[key]) - len(places):
                observer.note("rows of requests are gone, which are answered again", file=key.path, requests=gone)
        had = {(key.document, path) for key, places in outputs.places.items() for path in places}
        history.inner = {
            parent: {of: held for of, held in inner.items() if (parent, of[0]) in had}
            for parent, inner in history.inner.items()
        }
    return outputs


def _take_closed(outputs: Outputs, classes: Collection[Failure], history: History, observer: Observer) -> None:
    """The files with requests that failed so: whole ones are made anew, of others it is told why they are not."""
    wanted = {before.parent for before in history.failed.values() if before.parent and before.failure in classes}
    proved, closed, deletions = _proved(outputs.plan, wanted, None)
    for key in sorted(closed & proved.keys()):
        places = _there(outputs.plan.site, proved[key])
        missing = [entry for path, entry in proved[key].items() if path not in places]
        lost = [entry for entry in missing if deletions.by(entry.number, entry.part) is None]
        if lost:
            outputs.lost[key] = _told(lost, len(proved[key]))
        elif missing:
            why = "rows of its requests were deleted by a rule or an erasure"
            observer.note("output files are not made anew", file=key.path, reason=why)
        else:
            outputs.closed.add(key)
            outputs.places[key] = places


def _told(lost: Sequence[Proved], count: int) -> str:
    parts = sorted({entry.part for entry in lost})
    more = f" and {len(parts) - 1} more" if len(parts) > 1 else ""
    return (
        f"the rows of {len(lost)} of its {count} requests are not, or not as the log proves them, in {parts[0]}{more}"
    )


def _proved(
    plan: RunPlan, documents: Collection[str | None], job_digest: str | None
) -> tuple[dict[Key, dict[str, Proved]], set[Key], Deletions]:
    """The last entry of each request in these files, by these settings if any are given; which files have one of their
    own; and what was deleted."""
    found: dict[Key, dict[str, Proved]] = {}
    closed: set[Key] = set()
    deletions = Deletions()
    for entry in read_entries(plan.site) if documents else ():
        deletions.take(entry)
        if not isinstance(entry, Document) or entry.job != plan.job or job_digest not in (None, entry.job_digest):
            continue
        if entry.parent and entry.parent in documents:
            key = Key(entry.parent, entry.path.rpartition(INSIDE)[0])
            found.setdefault(key, {})[entry.path] = Proved(entry.path, entry.part, entry.n, entry.result_sha256)
        elif entry.document and entry.document in documents and entry.state in ANSWERED:
            closed.add(Key(entry.document, entry.path))
    return found, closed, deletions


def _there(site: Site, entries: Mapping[str, Proved]) -> Places:
    """The places of requests whose rows are in their parts as their entries prove them."""
    places: Places = {}
    by_part = sorted(entries.values(), key=lambda entry: (entry.part, entry.number))
    for part, group in groupby(by_part, key=lambda entry: entry.part):
        wanted = {entry.number: entry for entry in group}
        try:
            for row in rows_numbered(site.at_rest, site.root / part, wanted):
                entry = wanted[row.audit_index]
                if result_sha256(row) == entry.result_sha256:
                    places[entry.path] = Place(part, entry.number)
        except (BadPartError, OSError):
            continue
    return places
