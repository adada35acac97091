"""state/history/: what a job knows of a long log, kept so that a run reads only what came since; and what a process
knows while it takes decisions of people.

One SQLite file for each job. It holds for the entries before `size`, whose tree has `root`; of another log, other
settings or another version of this code it is made anew. It is a cache: without it, or where it cannot be written, the
log is read whole. It is sealed (seal.py), for a run acts on what it says. A run only reads it; what comes of the run is
in the log, from which the next one brings it up to date. Of a log with entries of private jobs nothing is kept, for
what opens them may be gone tomorrow.
"""

import contextlib
import errno
import hashlib
import json
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final, TypeVar, get_args, get_type_hints

import audit
from pipeline.plan import Site
from pipeline.records.entries import begins_with, fold, read_entries
from pipeline.records.history import History, read_history
from pipeline.records.plain import from_plain, to_plain
from pipeline.records.seal import check_seal, make_folder, remove_sealed, write_seal
from pipeline.records.types import Document, Record

LONG = 20_000
"""Entries, from which on a log is long: fewer are read in a second or two, and proved to be what was signed."""

_VERSION = 11
_AT_ONCE = 200_000  # entries between two commits of the file


def job_history(site: Site, size: int, job: str, job_digest: str) -> History:
    """`read_history` of the whole log, which has `size` entries. AuditError."""
    if size >= LONG:
        path = site.state / "history" / f"{job}.sqlite"
        with contextlib.suppress(sqlite3.Error, OSError, ValueError):  # a cache that is full, broken or forbidden
            index = _Index(site, path, _text([_VERSION, job, job_digest]))
            index.history.job, index.history.job_digest = job, job_digest
            if index.bring_up_to_date():
                return index.history
        _remove(path)
    return read_history(read_entries(site), job, job_digest)


def history_of(site: Site, size: int, job: str) -> History:
    """The history of a job in a log of `size` entries, for what hangs on no settings: it is as some settings see it.
    What is remembered is only read, so that this may be asked while a run goes on. AuditError."""
    if size >= LONG:
        path = site.state / "history" / f"{job}.sqlite"
        with contextlib.suppress(sqlite3.Error, OSError, ValueError, audit.KeyRefused):
            with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
                ((key,),) = db.execute("SELECT value FROM about WHERE name = 'key'")
            version, of, digest = json.loads(str(key))
            if (version, of) == (_VERSION, job):
                index = _Index(site, path, _text([version, of, digest]), only_read=True)
                index.history.job, index.history.job_digest = job, digest
                if index.bring_up_to_date():
                    return index.history
    return read_history(read_entries(site), job, "")


_JOBS = 16  # of which the history is kept


@dataclass(frozen=True)
class _Kept:
    history: History
    size: int
    root: bytes


class Known:
    """The histories of jobs, each with the size and root of the log that it is of: a log that was put back to an
    earlier state is read anew. One at a time may ask."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str, str], _Kept] = {}
        self._lock = threading.Lock()

    def history(self, site: Site, job: str) -> History:
        """The history of a job, for what hangs on no settings, up to the last entry. audit.AuditError."""
        key = str(site.audit), site.public_key, job
        with self._lock:
            kept = self._kept.pop(key, None)
            size = audit.read_checkpoint(site.audit, site.public_key).size
            if kept is None or kept.size > size or not begins_with(site, kept.size, kept.root):
                history = history_of(site, size, job)
            else:
                history = kept.history
                if size > kept.size:
                    fold((entry for entry in read_entries(site, kept.size) if entry.n < size), history)
            if not history.openings:
                while len(self._kept) >= _JOBS:
                    self._kept.pop(next(iter(self._kept)))
                self._kept[key] = _Kept(history, size, audit.root_of(site.audit, site.public_key, size))
        return history


KNOWN = Known()
"""What this process knows."""


class _Index:
    """The file, and the history in it. sqlite3.Error, OSError or ValueError: it is no such file, or not to be had."""

    def __init__(self, site: Site, path: Path, key: str, *, only_read: bool = False) -> None:
        self._site, self._key, self._path, self._only_read = site, key, path, only_read
        self._secret = audit.derive_secret(site.key_file, site.public_key, "state/history", site.passphrase_file)
        make_folder(path.parent)
        if not only_read:
            _journal_of(path).unlink(missing_ok=True)  # SQLite would bring into the file what it holds
        if path.exists():
            check_seal(path, self._secret)
        self._db = _connected(path, only_read)
        about = dict(self._db.execute("SELECT name, value FROM about"))
        self.size = about.get("size", 0)
        if about and (about["key"] != key or not begins_with(site, about["size"], about["root"])):
            raise ValueError("of another log, or of other settings")
        self._tables = Tables(self._db)
        self.history = self._tables.history(json.loads(about["rest"]) if about else None)

    def bring_up_to_date(self) -> bool:
        """Take in what came since; False where there are private jobs."""
        entries, before = read_entries(self._site, self.size), -1
        while before < self.size:
            before = self.size
            fold(self._next(entries), self.history)
            if self.history.openings:
                return False
            if not self._only_read and self.size > before:
                root = audit.root_of(self._site.audit, self._site.public_key, self.size)
                self._db.execute("BEGIN IMMEDIATE")
                rest = _text(self._tables.save(self.history))
                about = {"key": self._key, "size": self.size, "root": root, "rest": rest}
                self._db.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", about.items())
                self._db.execute("COMMIT")
                write_seal(self._path, self._secret)
        self._db.execute("PRAGMA query_only = ON")
        return True

    def _next(self, entries: Iterator[Record]) -> Iterator[Record]:
        for count, entry in enumerate(entries, 1):
            self.size = entry.n + 1
            yield entry
            if count >= _AT_ONCE and not isinstance(entry, Document):
                return


def _connected(path: Path, only_read: bool) -> sqlite3.Connection:
    if only_read:
        return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA synchronous = FULL")
    db.execute("CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value) WITHOUT ROWID")
    return db


def _journal_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-journal")


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        _journal_of(path).unlink(missing_ok=True)
        remove_sealed(path)


# What changes in the tables stays in memory until it is saved. Keys are short: a digest as bytes, and what is asked for
# only as a whole is its digest.

K = TypeVar("K")
V = TypeVar("V")


class Remembered(MutableMapping[K, V]):
    """One table, `key` and `value`, below what changed since it was saved. `to_key` and `from_key`: how a key is made
    bytes and back; `kind`: the type of the values. OSError where the file cannot be read."""

    def __init__(
        self,
        db: sqlite3.Connection,
        table: str,
        to_key: Callable[[K], bytes],
        from_key: Callable[[bytes], K],
        kind: Any,
    ) -> None:
        self._db, self._table, self._to_key, self._from_key, self._kind = db, table, to_key, from_key, kind
        self._new: dict[K, V] = {}
        self._gone: set[K] = set()
        db.execute(f"CREATE TABLE IF NOT EXISTS {table} (key BLOB PRIMARY KEY, value) WITHOUT ROWID")

    def __getitem__(self, key: K) -> V:
        if key in self._new:
            return self._new[key]
        rows = [] if key in self._gone else self._rows("WHERE key = ?", self._to_key(key))
        if rows:
            value: V = from_plain(self._kind, json.loads(rows[0][1]))
            return value
        raise KeyError(key)

    def __setitem__(self, key: K, value: V) -> None:
        self._new[key] = value
        self._gone.discard(key)

    def __delitem__(self, key: K) -> None:
        if key not in self:
            raise KeyError(key)
        self._new.pop(key, None)
        self._gone.add(key)

    def __iter__(self) -> Iterator[K]:
        for row in self._rows(""):
            key = self._from_key(row[0])
            if key not in self._gone and key not in self._new:
                yield key
        yield from self._new

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def save(self) -> None:
        """Within the caller's transaction. sqlite3.Error."""
        gone = ((self._to_key(key),) for key in self._gone)
        new = ((self._to_key(key), _text(to_plain(value))) for key, value in self._new.items())
        self._db.executemany(f"DELETE FROM {self._table} WHERE key = ?", gone)
        self._db.executemany(f"INSERT OR REPLACE INTO {self._table} VALUES (?, ?)", new)
        self._new.clear()
        self._gone.clear()

    def _rows(self, where: str, *values: bytes) -> list[tuple[bytes, Any]]:
        try:
            return self._db.execute(f"SELECT key, value FROM {self._table} {where}", values).fetchall()
        except sqlite3.Error as error:
            raise OSError(errno.EIO, f"{error}; delete the folder, it is made again", "state/history") from error


def _digest(met: tuple[str, str | None]) -> bytes:
    return hashlib.blake2b(f"{met[0]}\0{met[1]}".encode(), digest_size=20).digest()


def _text(value: Any) -> str:
    """JSON in ASCII, for names that are no UTF-8."""
    return json.dumps(value, separators=(",", ":"))


_HEX: Final = (bytes.fromhex, bytes.hex)
_NAME: Final = (str.encode, bytes.decode)
_TABLES: Final[Mapping[str, tuple[Callable[[Any], bytes], Callable[[bytes], Any]]]] = {
    "done": _HEX,
    "paths": (_digest, bytes),  # only asked for members
    "last": (lambda identity: bytes.fromhex(identity) if isinstance(identity, str) else identity, bytes),
    "failed": (lambda pair: _text(pair).encode(), lambda key: tuple(json.loads(key))),
    "unread": _NAME,
    "answered": _NAME,
    "decided": _HEX,
    "corrected": _HEX,
}
"""Members of a History that grow with its documents -> their keys as bytes, and back."""
_TYPES: Final = get_type_hints(History)
_REST: Final = tuple(
    each.name
    for each in fields(History)
    if each.name not in (*_TABLES, "openings", "closed", "job", "job_digest", "_rows")
)
"""The other members that are remembered; of a log with hidden entries nothing is."""


class Tables:
    """The tables of a file, which is empty or was saved before."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._tables: dict[str, Remembered[Any, Any]] = {
            name: Remembered(db, name, *keys, get_args(_TYPES[name])[1]) for name, keys in _TABLES.items()
        }

    def history(self, rest: list[Any] | None) -> History:
        """A history over the tables; `rest` is what `save` gave with them."""
        said = [] if rest is None else zip(_REST, rest, strict=True)
        members: Mapping[str, Any] = {**self._tables, **{name: from_plain(_TYPES[name], each) for name, each in said}}
        return History(**members)

    def save(self, history: History) -> list[Any]:
        """Save what changed in the tables; gives the rest as JSON has it. sqlite3.Error."""
        for table in self._tables.values():
            table.save()
        return [to_plain(getattr(history, name)) for name in _REST]
