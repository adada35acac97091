"""One part, its rows and the archived documents of its rows, held against their entries; and files against sha256s.

Each check takes one picklable task, so that it can be done by another process, and raises nothing for what lies there.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice, zip_longest
from pathlib import Path
from typing import NamedTuple

from pipeline.atrest.files import AtRest
from pipeline.document import Row
from pipeline.errors import BadPartError
from pipeline.inbox.intake import COPY, staging_of
from pipeline.outbox.placement import archive_folder, staged_name
from pipeline.outbox.results import batches
from pipeline.outbox.schema import result_sha256, to_text
from pipeline.paths.names import archive_name, file_sha256
from pipeline.proof.finding import Found
from pipeline.records.types import Document, MadeFile, Part
from pipeline.states import ANSWERED

_AGAIN = ("run", "tokens", "supersedes")
"""Columns that the result's sha256 leaves out and the entry repeats."""
_SINCE_2 = ("job", "replaces")
"""Those that tables of version 1 do not have."""


class ProvedRow(NamedTuple):
    """A row and its archived document as the entry `n` proves them; `closed`: nothing opens it."""

    n: int
    row: int
    job: str
    document: str | None
    raw_path: str
    state: str
    text_sha256: str | None
    result_sha256: str
    run: str
    tokens: int | None
    supersedes: int | None
    replaces: list[int] | None
    finished_at: str | None
    made_files: tuple[MadeFile, ...]
    closed: bool
    decided: bool  # by a person: what is archived, the row that was seen proves


def proved_row(entry: Document) -> ProvedRow:
    """The facts of its entry that are held against a row."""
    replaces = None if entry.replaces is None else list(entry.replaces)  # as the table has it
    return ProvedRow(
        entry.n,
        entry.row,
        entry.job,
        entry.document,
        raw_path=entry.raw_path,
        state=entry.state,
        text_sha256=entry.text_sha256,
        result_sha256=entry.result_sha256,
        run=entry.run,
        tokens=entry.tokens,
        supersedes=entry.supersedes,
        replaces=replaces,
        finished_at=entry.finished_at,
        made_files=entry.made_files,
        closed=bool(entry.closed),
        decided=entry.is_decided,
    )


@dataclass(frozen=True)
class PartTask:
    """A part with the entries of its rows. One that is not `placed` may wait in staging."""

    root: Path
    at_rest: AtRest
    part: Part
    documents: Sequence[ProvedRow]
    placed: bool


@dataclass(frozen=True)
class FilesTask:
    """Files of one kind, with the sha256 that they should have and the entry that says so; those of `staged` may wait
    there. `before`: the sha256 of the file that one takes the place of."""

    root: Path
    kind: str
    files: Sequence[tuple[str, str, int]]
    staged: frozenset[str] = frozenset()
    before: Mapping[str, str] = field(default_factory=dict)


def check_files(task: FilesTask) -> Found:
    """Each of them."""
    found = Found()
    for name, sha256, number in task.files:
        with found.reading(name, number):
            if task.kind == "reports" and _waits(task, name, sha256):
                found.notes.append(f"{name} waits for its place, which the next run gives it")
                continue
            _check_file(task.root / name, name, sha256, number, found, task.kind, task.staged)
    return found


def _waits(task: FilesTask, name: str, sha256: str) -> bool:
    """Whether a report is staged still, and in its place lies none, or the one that it takes the place of."""
    path = task.root / name
    staged = path.parents[1] / ".staging" / staged_name(name)
    if staged.is_symlink() or not staged.is_file() or path.is_symlink():
        return False
    is_before = not path.exists() or (path.is_file() and file_sha256(path) == task.before.get(name))
    return is_before and file_sha256(staged) == sha256


def check_part(task: PartTask) -> Found:
    """The file, each row, and for each answer the archived bytes and text."""
    found, part = Found(), task.part
    path, name = task.root / part.file, part.file
    staged = task.root / "outbox" / part.job / ".staging" / staged_name(name)
    with found.reading(name, part.n):
        if not task.placed and not path.is_file() and staged.is_file():
            path = staged
        if _check_file(path, name, part.sha256, part.n, found, "parts"):
            _check_rows(path, task, found)
    for entry in task.documents:
        if entry.state in ANSWERED and entry.document and not entry.decided:
            with found.reading(_archived_at(task, entry), entry.n):
                _check_archived(task, entry, found)
    return found


def check_rewritten(task: PartTask) -> Found:
    """A part of which rows were erased, which was counted as it was before."""
    found, name = Found(), task.part.file
    with found.reading(name, task.part.n):
        if _check_file(task.root / name, name, task.part.sha256, task.part.n, found, "parts"):
            _check_rows(task.root / name, task, found)
    return replace(found, checked=Found().checked)


def _check_file(
    path: Path, name: str, sha256: str, number: int, found: Found, kind: str, staged: frozenset[str] = frozenset()
) -> bool:
    """Whether it is there."""
    if path.is_symlink() or not path.is_file():
        if name not in staged:
            found.miss(name, number, "proves it, but it is no longer there")
        return False
    found.checked[kind] += 1
    if (there := file_sha256(path)) != sha256:
        found.alter(name, number, f"sha256 is {there}, the entry says {sha256}")
    return True


def _check_rows(path: Path, task: PartTask, found: Found) -> None:
    """Check the rows of a part, also of a file with another sha256: which of its rows are others?"""
    name, rows = task.part.file, 0
    try:
        for entry, row in zip_longest(task.documents, islice(_rows(path, task.at_rest), len(task.documents) + 1)):
            if entry is None or row is None:
                fact = f"it has {rows if row is None else 'more than ' + str(rows)} rows, the log {len(task.documents)}"
                found.alter(name, task.part.n, fact)
                return
            rows += 1
            found.checked["rows"] += 1
            if not _is_of(row, entry) and not entry.closed:
                found.alter(f"{name} row {entry.row}", entry.n, "the row is not the one it proves")
    except BadPartError:
        found.alter(name, task.part.n, "it is no table that can be read")


def _rows(path: Path, at_rest: AtRest) -> Iterator[Row]:
    for batch in batches(at_rest, path):
        try:
            yield from map(Row, batch.to_pylist())
        except ValueError as error:  # text that is no UTF-8
            raise BadPartError(path) from error


def _is_of(row: Row, entry: ProvedRow) -> bool:
    try:
        said = [getattr(entry, name) == row[name] for name in (*_AGAIN, *_SINCE_2) if name in row or name in _AGAIN]
        same = isinstance(row.finished_at, datetime) and entry.finished_at == to_text(row.finished_at)
        return all(said) and entry.n == row.audit_index and same and entry.result_sha256 == result_sha256(row)
    except (LookupError, TypeError, AttributeError, ValueError):
        return False


def archived_names(entry: ProvedRow) -> Iterator[str]:
    """The files of an answer in the archive, relative to its folder there."""
    yield f"bytes/{archive_name(entry.raw_path)}"
    yield f"text/{entry.text_sha256}.txt"


def _archived_at(task: PartTask, entry: ProvedRow) -> str:
    return str(archive_folder(Path(), entry.job, str(entry.document)))


def _check_archived(task: PartTask, entry: ProvedRow, found: Found) -> None:
    folder = archive_folder(task.root, entry.job, str(entry.document))
    staging = staging_of(task.root / "archive" / entry.job, str(entry.n))
    waiting = not task.placed and staging.is_dir()
    where = _archived_at(task, entry)
    if not folder.is_dir() and not waiting:
        found.miss(where, entry.n, "the archived document is gone")
        return
    found.checked["archived"] += 1
    bytes_, text = archived_names(entry)
    kept = {bytes_: (entry.document, staging / COPY), text: (entry.text_sha256, staging / text)}
    for name, (sha256, staged) in kept.items():
        if waiting and not (folder / name).is_file() and staged.is_file():
            continue
        if (folder / name).is_symlink() or not (folder / name).is_file():
            found.miss(f"{where}/{name}", entry.n, "the archived document is gone")
        elif not task.at_rest.holds(folder / name, entry.job, entry.document, sha256):
            what = "bytes are not those that were processed" if name == bytes_ else "text is not the one computed on"
            found.alter(f"{where}/{name}", entry.n, f"the archived {what}")
