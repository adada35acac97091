"""state/history/: what a job knows of a long log, kept so that a run reads only what came since.

One SQLite file for each job. It holds for the entries before `size`, whose tree has `root`; of another log, other
settings or another version of this code it is made anew. It is a cache: without it, or where it cannot be written, the
log is read whole. It is sealed (seal.py), for a run acts on what it says. A run only reads it; what comes of the run is
in the log, from which the next one brings it up to date. Of a log with entries of private jobs nothing is kept, for
what opens them may be gone tomorrow.
"""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import audit
from pipeline.plan import Site
from pipeline.records.entries import fold, read_entries
from pipeline.records.history import History, read_history
from pipeline.records.remembered import Tables, from_text, to_text
from pipeline.records.seal import check_seal, make_folder, remove_sealed, write_seal
from pipeline.records.types import Document, Record

LONG = 20_000
"""Entries, from which on a log is long: fewer are read in a second or two, and proved to be what was signed."""

_VERSION = 10
_AT_ONCE = 200_000  # entries between two commits of the file


def job_history(site: Site, size: int, job: str, job_digest: str) -> History:
    """`read_history` of the whole log, which has `size` entries. AuditError."""
    if size >= LONG:
        path = site.state / "history" / f"{job}.sqlite"
        with contextlib.suppress(sqlite3.Error, OSError, ValueError):  # a cache that is full, broken or forbidden
            index = _Index(site, path, to_text([_VERSION, job, job_digest]))
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
            version, of, digest = from_text(_key_of(path))
            if (version, of) == (_VERSION, job):
                index = _Index(site, path, to_text([version, of, digest]), only_read=True)
                index.history.job, index.history.job_digest = job, digest
                if index.bring_up_to_date():
                    return index.history
    return read_history(read_entries(site), job, "")


def _key_of(path: Path) -> str:
    with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
        ((key,),) = db.execute("SELECT value FROM about WHERE name = 'key'")
    return str(key)


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
        if about and (about["key"] != key or not self._is_of(about["size"], about["root"])):
            raise ValueError("of another log, or of other settings")
        self._tables = Tables(self._db)
        self.history = self._tables.history(from_text(about["rest"]) if about else None)

    def _is_of(self, size: int, root: bytes) -> bool:
        try:
            return audit.root_of(self._site.audit, self._site.public_key, size) == root
        except LookupError:
            return False

    def bring_up_to_date(self) -> bool:
        """Take in what came since; False where there are private jobs."""
        entries, before = read_entries(self._site, self.size), -1
        while before < self.size:
            before = self.size
            fold(self._next(entries), self.history)
            if self.history.openings:
                return False
            if not self._only_read:
                self._save(before)
        self._db.execute("PRAGMA query_only = ON")
        return True

    def _next(self, entries: Iterator[Record]) -> Iterator[Record]:
        """Some more entries, to the end of a part."""
        for count, entry in enumerate(entries, 1):
            self.size = entry.n + 1
            yield entry
            if count >= _AT_ONCE and not isinstance(entry, Document):
                return

    def _save(self, before: int) -> None:
        if self.size > before:
            root = audit.root_of(self._site.audit, self._site.public_key, self.size)
            self._db.execute("BEGIN IMMEDIATE")
            rest = to_text(self._tables.save(self.history))
            about = {"key": self._key, "size": self.size, "root": root, "rest": rest}
            self._db.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", about.items())
            self._db.execute("COMMIT")
            write_seal(self._path, self._secret)


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
