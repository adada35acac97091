"""A document's traces erased on request: the record of it first, then what opens its entries, its bytes, its rows.

The log stays as it is, and as provable as before: a private job's entries only cannot be opened any more.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import audit
from pipeline.keep.about import About, about, containers_of, with_containers
from pipeline.keep.holds import holds
from pipeline.outbox.commit import write_without
from pipeline.outbox.deletion import Deletions, delete
from pipeline.outbox.placement import archive_folder, sync
from pipeline.outbox.recover import recovered_log
from pipeline.paths.names import failed_apart, failed_name, file_sha256
from pipeline.plan import Site
from pipeline.records import types
from pipeline.records.entries import fold, read_entries
from pipeline.records.types import Deleted, Document, Inputs, MadeFile, Part, Reported, RewrittenPart
from pipeline.states import State

_MOST = 60_000  # bytes: an entry may have 65,535 in all


class ErasureRefusedError(Exception):
    """Nothing was erased: a hold forbids it, nothing could be, or what is there is not what the log proves."""


@dataclass(frozen=True)
class Around:
    """A document that holds an erased one, and whose bytes are kept."""

    document: str
    job: str
    path: str


@dataclass(frozen=True)
class Erased:
    """The erasure by entry `number`: entries that cannot be opened again, and `named` those whose names
    the log itself has. `around`: the documents in which its bytes remain in archive/ or failed/."""

    number: int
    document: str
    entries: tuple[int, ...]
    named: tuple[int, ...]
    archive: int
    rows: int
    around: tuple[Around, ...]


def erase(
    site: Site, wanted: str, reason: str, *, archive: bool = False, rows: bool = False, containers: bool = False,
    wait: float = 0,
) -> Erased:  # fmt: skip
    """Erase a document by its bytes, and everything that was in it, in all jobs.

    What opens its entries of private jobs; with `archive` its bytes and text, in archive/ and failed/; with `rows` its
    rows, Markdown and output files; with `containers` the same of the mails and archives in which it came, and of
    everything in them. LookupError, ErasureRefusedError, audit.AuditError (of them LogHeld after `wait` seconds).
    """
    with recovered_log(site, wait) as log:
        found = about(site, wanted)
        found = with_containers(site, found) if containers else found
        named = tuple(entry.n for entry in found.entries if entry.private is None)
        _refuse(site, found, archive, rows)
        record = replace(_record(site, found, archive, rows), reason=reason)
        if not (record.entries or record.archive or record.failed or record.markdown or record.rows):
            raise ErasureRefusedError("nothing of it is left that could be erased")
        if len(audit.canonical(record.to_json())) > _MOST:
            raise ErasureRefusedError("it holds too many documents for one entry of the log: erase those first")
        number = log.commit([record])
        assert number is not None
        delete(site, record)
        log.commit([Deleted(deletion=number)])
    kept = (each for each in containers_of(site, found) if _has_bytes(site.root, each)) if archive else ()
    around = tuple(dict.fromkeys(Around(str(each.document), each.job, each.path) for each in kept))
    gone = sum(len(part.entries) for part in record.rows)
    return Erased(number, found.document, record.entries, named, len(record.archive), gone, around)


def _refuse(site: Site, found: About, archive: bool, rows: bool) -> None:
    """A hold; nothing that could be erased; or a name that would stay beside what is erased."""
    for each in holds(site):
        if held := found.documents & set(each.documents):
            raise ErasureRefusedError(f"document {min(held)} is held by entry {each.number}: {each.reason}")
    private = [entry for entry in found.entries if entry.private is not None]
    if not (private or archive or rows):
        fact = "no job of this document is private, so its names stay in the log"
        raise ErasureRefusedError(f"{fact}; --archive erases its bytes and text, --rows its rows")
    if not archive and any(_has_bytes(site.root, entry) for entry in private):
        raise ErasureRefusedError("its bytes are kept, with its name: erase them too, by --archive")
    if not rows and any((site.root / entry.part).exists() for entry in private):
        raise ErasureRefusedError("its rows are kept, with its name: erase them too, by --rows")


def _has_bytes(root: Path, entry: Document) -> bool:
    if entry.document is None:
        return False
    apart = (failed_name(entry.raw_path), failed_apart(entry.raw_path, entry.document))
    failed = any((root / "failed" / entry.job / name).exists() for name in apart)
    return failed or archive_folder(root, entry.job, entry.document).exists()


def _record(site: Site, found: About, archive: bool, rows: bool) -> types.Erased:
    """The record of what goes; the parts without the rows are written, and wait for their place."""
    before = fold(read_entries(site), Deletions())
    came = [entry for entry in found.entries if entry.document is not None and not entry.is_decided]
    kept = [entry for entry in came if entry.n not in before.archive]
    answered = tuple(entry.n for entry in kept if entry.state != State.FAILED)
    failed = tuple(e.n for e in found.entries if e.state == State.FAILED and e.n not in before.failed)
    private = [entry.n for entry in found.entries if entry.private is not None]
    reports = reports_showing(site, found.entries, {entry.n for entry in found.entries} if rows else set(private))
    private += [report.n for report in reports if report.private is not None]
    paths = {entry.path for entry in found.entries}
    for entry in read_entries(site):  # those of private jobs that say why an input of these paths got no row
        if isinstance(entry, Inputs) and entry.private is not None and not paths.isdisjoint(entry.paths or ()):
            private.append(entry.n)
    return types.Erased(
        entries=tuple(sorted(private)),
        archive=answered if archive else (),
        failed=failed if archive else (),
        markdown=tuple(sorted([*(_markdown(site, found) if rows else ()), *(report.n for report in reports)])),
        parts=(),
        rows=tuple(_rewritten(site, found, before)) if rows else (),
    )


def _markdown(site: Site, found: About) -> tuple[int, ...]:
    """The entries whose Markdown file is still theirs; and those whose output files have a line of one of these."""
    batches = {entry.parent for entry in found.entries if entry.parent}
    read = (entry for entry in read_entries(site) if isinstance(entry, Document)) if batches else ()
    around = [entry for entry in read if entry.outputs and {entry.document, entry.parent} & batches]
    theirs = (e for e in (*found.entries, *around) if _any_is_there(site.root, e.made_files))
    return tuple(sorted({entry.n for entry in theirs}))


def _any_is_there(root: Path, made: Iterable[MadeFile]) -> bool:
    return any((root / each.file).is_file() and file_sha256(root / each.file) == each.sha256 for each in made)


def _rewritten(site: Site, found: About, before: Deletions) -> Iterator[RewrittenPart]:
    """Each part with rows of these documents, written anew without them. ErasureRefusedError for one that was changed:
    what somebody else did to it would become true."""
    proved = _proved(site, {entry.part for entry in found.entries})
    for file, (number, sha256) in sorted(proved.items()):
        path = site.root / file
        if not path.is_file():
            continue
        if file_sha256(path) != sha256:
            raise ErasureRefusedError(f"{file} is not the part that the log proves; `cloister audit verify` tells more")
        mine = [entry for entry in found.entries if entry.part == file]
        gone = tuple(entry.n for entry in mine if before.by(entry.n, file) is None)
        if not gone:
            continue
        made = write_without(site, file, gone, private=any(entry.private is not None for entry in mine))
        yield RewrittenPart(file, number, made, gone)
    sync(*site.root.glob("outbox/*"), *site.key_folders)


def _proved(site: Site, parts: Collection[str]) -> dict[str, tuple[int, str]]:
    """For each of these parts its entry, and the sha256 that the log proves now."""
    proved: dict[str, tuple[int, str]] = {}
    for entry in read_entries(site):
        if isinstance(entry, Part) and entry.file in parts:
            proved[entry.file] = entry.n, entry.sha256
        elif isinstance(entry, types.Erased):
            proved |= {part.file: (part.part, part.sha256) for part in entry.rows if part.file in parts}
    return proved


def reports_showing(site: Site, entries: Collection[Document], gone: Collection[int]) -> list[Reported]:
    """The last report of each night that shows one of the rows `gone`, as far as its files are still there. One whose
    entry cannot be opened does if it tells of a night in which one of `entries` came."""
    numbers = {entry.n for entry in entries if entry.n in gone}
    last: dict[tuple[str, str], Reported] = {}
    for entry in read_entries(site):
        if isinstance(entry, Reported):
            last[entry.job, entry.night] = entry
    found = list[Reported]()
    for report in last.values():
        shown = range(report.first, report.n) if report.rows is None else frozenset(report.rows)
        if any(number in shown for number in numbers) and _any_is_there(site.root, report.made_files):
            found.append(report)
    return found
