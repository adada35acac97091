"""The rows that hold: of several for one document the last one, read from the parts in outbox/."""

from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.history import Identity, identity
from pipeline.plan import Site
from pipeline.schema import BY_PATH, to_text
from pipeline.states import State

_NARROW = ("document", "path", "state", "audit_index")
_BATCH = 256  # rows decoded at a time
_OPEN = 16  # parts of which a batch is kept


class BadPartError(Exception):
    """A part in outbox/ that cannot be read as a result table."""

    def __init__(self, part: Path) -> None:
        super().__init__(f"{part}: not a table that this program wrote; `cloister audit verify` tells more")


class _Row(NamedTuple):
    """Where a row stands."""

    path: str
    part: int
    number: int
    by_path: bool


def results(site: Site, job: str | None = None) -> Iterator[dict[str, Any]]:
    """Rows as plain values with `job` beside the columns of the table, by job and path. BadPartError.

    Reads a few narrow columns of every part first, so that memory grows with the number of rows, not of words.
    """
    for folder in sorted(path for path in (site.root / "outbox").glob("*") if path.is_dir()):
        if job in (None, folder.name):
            yield from _of_job(folder)


def row_at(part: Path, number: int) -> dict[str, Any]:
    """One row of a part, from 0, as plain values. BadPartError."""
    return _Reader(part).row(number)


def rows_numbered(part: Path, entries: Container[int]) -> Iterator[dict[str, Any]]:
    """The rows of a part whose entries are asked for, as the table has them. BadPartError, OSError."""
    for batch in batches(part):
        with _ours(part):
            numbers = batch.column("audit_index").to_pylist()
            rows = batch.take(pa.array([at for at, number in enumerate(numbers) if number in entries], pa.int64()))
            found = rows.to_pylist()
        yield from found


def _of_job(folder: Path) -> Iterator[dict[str, Any]]:
    parts = sorted(folder.glob("part-*.parquet"))
    reader = lru_cache(_OPEN)(lambda part: _Reader(parts[part]))
    for row in _holding(parts):
        yield reader(row.part).row(row.number) | {"job": folder.name}


def _holding(parts: Sequence[Path]) -> list[_Row]:
    """The rows that hold, by path.

    A failure is one of a document at its path: each copy keeps its row, as it keeps its place in failed/, until it ends
    otherwise itself. A duplicate's row stands for its path, and the row of a file that could not be read goes with any
    later one of its path. Where a job answers copies too, a document at another path is another one.
    """
    answers: dict[Identity, _Row] = {}
    failures: dict[Identity, _Row] = {}
    duplicates: dict[str, _Row] = {}
    unread: dict[str, _Row] = {}
    rows = [row for part, path in enumerate(parts) for row in _narrow(path, part)]
    for _, document, state, row in sorted(rows, key=lambda row: row[0]):
        unread.pop(row.path, None)
        if document is None:
            unread[row.path] = row
            continue
        what, place = identity(document, row.path, row.by_path), identity(document, row.path, True)
        if state == State.FAILED:
            if what in answers and answers[what].path == row.path:
                del answers[what]
            failures[place] = row
        else:
            failures.pop(place, None)
            if state == State.DUPLICATE:
                duplicates[row.path] = row
            else:
                answers[what] = row
    return sorted([*answers.values(), *failures.values(), *duplicates.values(), *unread.values()])


def _narrow(path: Path, part: int) -> Iterator[tuple[int, str | None, str, _Row]]:
    with _ours(path), pq.ParquetFile(path) as file:
        if b"cloister.table" not in (file.schema_arrow.metadata or {}):
            raise BadPartError(path)
        by_path = BY_PATH.encode() in file.schema_arrow.metadata
        columns = file.read(columns=list(_NARROW)).select(_NARROW).to_pydict()
        places = (_Row(str(name), part, number, by_path) for number, name in enumerate(columns["path"]))
        yield from zip(columns["audit_index"], columns["document"], columns["state"], places, strict=True)


class _Reader:
    """Rows of one part by number; the batch of the last one is kept, and going back reads the part anew."""

    def __init__(self, part: Path) -> None:
        self._part = part
        self._batch: pa.RecordBatch | None = None
        self._first = 0
        self._batches = batches(part)

    def row(self, number: int) -> dict[str, Any]:
        """The row as plain values. BadPartError."""
        with _ours(self._part):
            if number < self._first:
                self._batch, self._first, self._batches = None, 0, batches(self._part)
            while self._batch is None or number >= self._first + len(self._batch):
                self._first += len(self._batch or ())
                self._batch = next(self._batches, None)
                if self._batch is None:
                    raise BadPartError(self._part)
            row: dict[str, Any] = self._batch.slice(number - self._first, 1).to_pylist()[0]
            return row | {"finished_at": to_text(row["finished_at"])}


def batches(part: Path) -> Iterator[pa.RecordBatch]:
    """The rows of a part, a few at a time. BadPartError. No method of _Reader: one that its own generator refers to
    would not be freed at once."""
    with _ours(part):
        yield from pq.ParquetFile(part, buffer_size=1 << 16).iter_batches(batch_size=_BATCH)


@contextmanager
def _ours(part: Path) -> Iterator[None]:
    """BadPartError for what pyarrow says of a damaged or foreign file; its OSError without a number means the same."""
    try:
        yield
    except (pa.ArrowException, ValueError, LookupError) as error:
        raise BadPartError(part) from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise BadPartError(part) from error
