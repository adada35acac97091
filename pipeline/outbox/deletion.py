"""A deletion is said in the log first, then done, then said to be done. A run killed in between does it again.

A record of a deletion names, in `archive` and `markdown`, document entries whose archived bytes and text, or whose
Markdown file or output files, go, and in `markdown` also entries of reports whose files go; in `parts`, files of rows.
An erasure (erasure.py) has more: in `failed`, entries whose copy in failed/ goes; in `rows`, parts that were written
anew; in `entries`, those that cannot be opened again.
"""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.outbox.parts import forget_older, forget_part
from pipeline.outbox.placement import archive_folder, clear_failed, move, remove_empty, staged_name, sync
from pipeline.plan import Site
from pipeline.records.entries import documents_at, entries_at
from pipeline.records.indexes import forget_parts, forget_vectors, remove_index
from pipeline.records.private import forget, refuse_closed
from pipeline.records.requests import forget_requests
from pipeline.records.types import Deleted, DeletedByRule, Deletion, Document, Erased, Record, Reported


def delete(site: Site, record: Deletion) -> None:
    """Delete what a committed record names; may be repeated. OSError where that is not allowed."""
    erased = record if isinstance(record, Erased) else None
    gone = frozenset(erased.entries) if erased else frozenset[int]()
    for entry in _named(site, record.archive, gone):
        folder = archive_folder(site.root, entry.job, str(entry.document))
        if folder.exists():
            shutil.rmtree(folder)
        remove_empty(folder.parent, folder.parent.parent)
    for file in _made_files(site, record.markdown, gone):
        file.unlink(missing_ok=True)
        remove_empty(file.parent, site.root.joinpath(*file.relative_to(site.root).parts[:2]))
    for name in record.parts:
        (site.root / name).unlink(missing_ok=True)
        forget_part(site.at_rest, site.root / name)
    remove_index(site) if erased else forget_parts(site, record.parts)
    for part in erased.rows if erased else ():
        file = site.root / part.file
        move(file.parent / ".staging" / staged_name(part.file), file)
        forget_older(site.at_rest, file)
    for entry in _named(site, erased.failed if erased else (), gone):
        clear_failed(site, entry)
    _forget_keys(site, _named(site, (*record.archive, *(erased.failed if erased else ())), gone))
    if erased:
        forget_vectors(site)
        forget_requests(site, erased.numbers)
    sync(*site.root.glob("outbox/*"), *site.root.glob("archive/*"), *site.root.glob("failed/*"))
    forget(site.root, entries_at(site, gone))  # last, for their names were needed until now


def _forget_keys(site: Site, entries: Iterable[Document]) -> None:
    """Remove the keys of documents that are gone: whoever kept a copy of them cannot open it any more."""
    documents: dict[str, set[str]] = {}
    for entry in entries if site.at_rest.on else ():
        documents.setdefault(entry.job, set()).add(str(entry.document))
    for job, its in documents.items():
        site.at_rest.forget(job, its, site.root / "failed" / job)


def _made_files(site: Site, numbers: Sequence[int], forgotten: frozenset[int]) -> Iterator[Path]:
    """The Markdown and output files of the documents, and the files of the reports, that a record names."""
    for entry in _named(site, numbers, forgotten):
        yield from (site.root / made.file for made in entry.made_files)
    for report in entries_at(site, numbers):
        if isinstance(report, Reported):
            yield from (site.root / made.file for made in report.made_files)


def _named(site: Site, numbers: Iterable[int], forgotten: frozenset[int]) -> Iterator[Document]:
    """The entries that a record names; none that it forgot already, for then everything else was gone."""
    for entry in documents_at(site, numbers):
        if entry.closed and entry.n in forgotten:
            continue
        refuse_closed(site.root, entry)
        yield entry


@dataclass(frozen=True)
class Rewritten:
    """The part of entry `part` since the erasure of entry `by`: its sha256, and the entries whose rows are gone."""

    by: int
    part: int
    sha256: str
    gone: frozenset[int]


@dataclass
class Deletions:
    """The deletions that the log tells of: entry of a document, or file of a part -> the entry that says so.

    `rows`: part -> what it was made by each erasure of rows of it. `erased`: entries that cannot be opened again;
    `failed`: those whose copy in failed/ is gone.
    """

    archive: dict[int, int] = field(default_factory=dict)
    markdown: dict[int, int] = field(default_factory=dict)
    parts: dict[str, int] = field(default_factory=dict)
    rows: dict[str, list[Rewritten]] = field(default_factory=dict)
    erased: set[int] = field(default_factory=set)
    failed: set[int] = field(default_factory=set)
    pending: set[int] = field(default_factory=set)  # those that are not said to be done

    def by(self, number: int, part: str) -> int | None:
        """The entry that deleted the row of entry `number`, with its part or by itself; None if it is kept."""
        erasures = (made.by for made in self.rows.get(part, ()) if number in made.gone)
        return next(erasures, self.parts.get(part))

    def take(self, entry: Record) -> None:
        """Take in the next entry, of any type."""
        match entry:
            case DeletedByRule() | Erased():
                self.archive |= dict.fromkeys(entry.archive, entry.n)
                self.markdown |= dict.fromkeys(entry.markdown, entry.n)
                self.parts |= dict.fromkeys(entry.parts, entry.n)
                self.pending.add(entry.n)
                if isinstance(entry, Erased):
                    self._take_erased(entry)
            case Deleted():
                self.pending.discard(entry.deletion)

    def _take_erased(self, entry: Erased) -> None:
        self.erased.update(entry.entries)
        self.failed.update(entry.failed)
        for part in entry.rows:
            made = self.rows.setdefault(part.file, [])
            gone = (made[-1].gone if made else frozenset()) | set(part.entries)
            made.append(Rewritten(entry.n, part.part, part.sha256, gone))
