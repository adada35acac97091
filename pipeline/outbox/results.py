"""The current rows, read from the parts in outbox/."""

import sys
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from pipeline.atrest.files import AtRest
from pipeline.document import Row
from pipeline.errors import BadPartError
from pipeline.outbox.parts import open_part
from pipeline.outbox.schema import COPIES, table_schema, to_text
from pipeline.plan import Site
from pipeline.records.current import Replaced, RowKey, Versions

_NARROW = ("document", "path", "state", "audit_index", "job_digest", "replaces", "review")
_LATER = ("replaces", "review")  # columns that tables of earlier versions lack
MARKS = frozenset({"other_settings", "newer_file"})
"""What a row may have beside its columns."""
_BATCH = 256  # rows decoded at a time
_OPEN = 16  # parts of which a batch is kept


class _Row(NamedTuple):
    """Where a row stands, the settings that made it, whether a person decided it, and of which file it is."""

    path: str
    entry: int
    part: int
    number: int
    settings: str
    decided: bool
    file: int


def results(
    site: Site, job: str | None = None, *, only_current_settings: bool = False, today: Mapping[str, str] | None = None
) -> Iterator[Row]:
    """The current rows as plain values, by job and path. BadPartError.

    A row made by other settings than those of its job has `other_settings`: True beside its columns. `today` has the
    digest of these settings by job; of a job that is not there, they are those of the newest row of a run.
    `only_current_settings` leaves such rows out. A row whose path has a newer file has `newer_file` beside its columns:
    the entry of that one's row (records/current.py). Reads a few narrow columns of every part first, so that memory
    grows with the number of rows, not of words.
    """
    for folder in sorted(path for path in (site.root / "outbox").glob("*") if path.is_dir()):
        if job in (None, folder.name):
            yield from _of_job(site.at_rest, folder, only_current_settings, (today or {}).get(folder.name))


def row_at(at_rest: AtRest, part: Path, number: int) -> Row:
    """One row of a part, from 0, as plain values. BadPartError."""
    return _Reader(at_rest, part).row(number)


def rows_of(at_rest: AtRest, part: Path, entries: Collection[int]) -> dict[int, Row]:
    """The rows of these entries in a part, as plain values, by entry. BadPartError, OSError."""
    return {row.audit_index: _plain(row) for row in rows_numbered(at_rest, part, entries)}


def _plain(row: Row) -> Row:
    """The row with its moment as a text."""
    ended = row.finished_at
    return row.having(finished_at=to_text(ended) if isinstance(ended, datetime) else None)


def marked(row: Row, other_settings: bool, newer_file: int | None) -> Row:
    """The row with those of its marks that are set, beside its columns."""
    row = row.having(other_settings=True) if other_settings else row
    return row if newer_file is None else row.having(newer_file=newer_file)


def read_row(at_rest: AtRest, part: Path, entry: int) -> Row | None:
    """The row of an entry in a part, as plain values; None if the part has none. BadPartError, OSError."""
    with _ours(part), open_part(at_rest, part) as file:
        entries = file.read(columns=["audit_index"]).column("audit_index").to_pylist()
    return row_at(at_rest, part, entries.index(entry)) if entry in entries else None


def rows_numbered(at_rest: AtRest, part: Path, entries: Container[int]) -> Iterator[Row]:
    """The rows of a part whose entries are asked for, as the table has them. BadPartError, OSError."""
    for batch in batches(at_rest, part):
        with _ours(part):
            numbers = batch.column("audit_index").to_pylist()
            rows = batch.take(pa.array([at for at, number in enumerate(numbers) if number in entries], pa.int64()))
            found = rows.to_pylist()
        yield from map(Row, found)


def _of_job(at_rest: AtRest, folder: Path, only_current_settings: bool, today: str | None) -> Iterator[Row]:
    parts = sorted(folder.glob("part-*.parquet"))
    reader = lru_cache(_OPEN)(lambda part: _Reader(at_rest, parts[part]))
    rows, newest, newer = _current(at_rest, parts)
    for row in rows:
        other = row.settings != (today or newest)
        if not (only_current_settings and other):
            yield marked(reader(row.part).row(row.number).having(job=folder.name), other, newer[row.file])


def _current(at_rest: AtRest, parts: Sequence[Path]) -> tuple[list[_Row], str, list[int | None]]:
    """The rows whose place no other one took (current.py), by path; the settings of the newest row of a run; and of
    each file the row of the newest one at its path."""
    rows, old, replaced, versions = list[_Row](), list[Row](), Replaced(), Versions()
    for part, path in enumerate(parts):
        for number, row in enumerate(_narrow(at_rest, path)):
            settings = sys.intern(row.job_digest or "")
            file = versions.add(RowKey(row.document, row.path, row.state), row.audit_index)
            rows.append(_Row(row.path, row.audit_index, part, number, settings, row.decided is not None, file))
            if row.replaces is None:
                old.append(row)
            else:
                _add(replaced, row)
    for row in sorted(old, key=lambda row: row.audit_index):
        _add(replaced, row)
    made = [row for row in rows if not row.decided]  # a decision keeps the settings of the row that was seen
    newest = max(made, key=lambda row: row.entry).settings if made else ""
    return sorted(row for row in rows if row.entry not in replaced.by), newest, versions.newer()


def _add(replaced: Replaced, row: Row) -> None:
    key = RowKey(row.document, row.path, row.state)
    replaced.add(key, row.audit_index, row.replaces, row["copies"])


def _narrow(at_rest: AtRest, path: Path) -> Iterator[Row]:
    """The columns that decide, of all rows of a part."""
    with _ours(path), open_part(at_rest, path) as file:
        about, there = file.schema_arrow.metadata or {}, file.schema_arrow.names
        names = [name for name in _NARROW if name in there or name not in _LATER]
        table = file.read(columns=names).select(names).cast(pa.schema([table_schema().field(name) for name in names]))
        if b"cloister.table" not in about or table["path"].null_count or table["audit_index"].null_count:
            raise BadPartError(path)
        more = {"replaces": None, "review": None, "copies": COPIES.encode() in about}
        rows = table.to_pylist()
    yield from (Row({**more, **row}) for row in rows)


class _Reader:
    """Rows of one part by number; the batch of the last one is kept, and going back reads the part anew."""

    def __init__(self, at_rest: AtRest, part: Path) -> None:
        self._at_rest, self._part = at_rest, part
        self._batch: pa.RecordBatch | None = None
        self._first = 0
        self._batches = batches(at_rest, part)
        self._names: dict[str, None] = {}

    def row(self, number: int) -> Row:
        """The row as plain values. BadPartError."""
        with _ours(self._part):
            if number < self._first:
                self._batch, self._first, self._batches = None, 0, batches(self._at_rest, self._part)
            while self._batch is None or number >= self._first + len(self._batch):
                self._first += len(self._batch or ())
                self._batch = self._next()
            return _plain(Row(self._names | self._batch.slice(number - self._first, 1).to_pylist()[0]))

    def _next(self) -> pa.RecordBatch:
        """The next batch without the columns that are null in all of it: those of other tasks need not be decoded."""
        batch = next(self._batches, None)
        if batch is None:
            raise BadPartError(self._part)
        self._names = dict.fromkeys(batch.schema.names)
        return batch.select([name for name in self._names if batch.column(name).null_count < len(batch)])


def batches(at_rest: AtRest, part: Path) -> Iterator[pa.RecordBatch]:
    """The rows of a part, a few at a time. BadPartError. No method of _Reader: one that its own generator refers to
    would not be freed at once."""
    with _ours(part):
        yield from open_part(at_rest, part, buffer_size=1 << 16).iter_batches(batch_size=_BATCH)


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
