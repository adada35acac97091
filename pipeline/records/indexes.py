"""Files in state/ that are made anew when they are not there: indexes of the log, and vectors of examples.

What is deleted by rule or on request must not live on in them. So deleting rows makes the index of rows forget them,
and erasing a document deletes the vectors, for a vector tells much of its text.
"""

import contextlib
import os
import shutil
import sqlite3
import stat
import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import audit
from pipeline.plan import Site

NAME = "queue.sqlite"


def remove_index(site: Site) -> None:
    """Remove the index; it is made again when somebody asks. OSError."""
    remove(site, NAME)


def forget_parts(site: Site, parts: Collection[str]) -> None:
    """Remove what the index has of the rows of these parts, also from its journal; all of it, where that cannot be
    done. OSError."""
    try:
        file = path_of(site, NAME)
    except PermissionError:  # in a folder of somebody else nothing is ours
        return
    if not parts or not file.is_file():
        return
    try:
        with contextlib.closing(sqlite3.connect(file, isolation_level=None, timeout=30)) as db:
            db.execute("PRAGMA secure_delete = ON")
            db.execute("BEGIN IMMEDIATE")
            words = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'words'").fetchone()
            for part in parts:
                mine = "SELECT entry FROM item WHERE part = (SELECT id FROM part WHERE file = ?)"
                if words:
                    gone = f"SELECT 'delete', entry, text FROM told WHERE entry IN ({mine})"
                    db.execute(f"INSERT INTO words (words, rowid, text) {gone}", (part,))
                for table in ("told", "item"):
                    db.execute(f"DELETE FROM {table} WHERE entry IN ({mine})", (part,))
            if words:
                db.execute("INSERT INTO words (words) VALUES ('optimize')")  # what is gone is left out of it
            db.execute("COMMIT")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error:
        remove_index(site)


OF_ANSWERS = frozenset({"queue.sqlite"})
"""Files with what was answered: where that may be encrypted, they lie in memory."""


def path_of(site: Site, name: str) -> Path:
    """Where the file of this name lies. PermissionError where somebody else has the folder for it in memory."""
    return (site.at_rest.cache(site.state) if name in OF_ANSWERS else site.state) / name


def remove(site: Site, name: str) -> None:
    """Remove the file with its journals; it is made again when somebody asks. OSError."""
    folders = {site.state}
    with contextlib.suppress(PermissionError):  # in a folder of somebody else nothing is ours
        folders.add(path_of(site, name).parent)
    for folder in folders:
        for ending in ("", "-wal", "-shm", "-journal"):
            (folder / (name + ending)).unlink(missing_ok=True)


@dataclass(frozen=True)
class IndexFile:
    """A file by its name, and what is in it: statements that make its tables, of which `about` (name, value) is one.
    `pragmas` are set on each connection. A file of another `version` is made anew."""

    name: str
    version: int
    schema: tuple[str, ...]
    pragmas: tuple[str, ...] = ()

    def connect(self, site: Site) -> sqlite3.Connection:
        """The file, opened; one that is new, foreign or broken is empty. Where state/ cannot be written, a file that
        only this process has. sqlite3.Error."""
        try:
            site.state.mkdir(exist_ok=True)
            path = path_of(site, self.name)
            if not _is_ours(path) or (path.parent != site.state and (site.state / self.name).exists()):
                remove(site, self.name)
            return self._opened_whole(site)
        except (sqlite3.Error, OSError):
            nowhere = ":memory:" if self.name in OF_ANSWERS and site.at_rest.on else ""
            return self._prepared(sqlite3.connect(nowhere, isolation_level=None, check_same_thread=False))

    def make_anew(self, db: sqlite3.Connection) -> None:
        """Empty the file. sqlite3.Error."""
        db.execute("BEGIN IMMEDIATE")
        try:
            # Virtual tables first, which take tables of their own along; a table takes its indexes and triggers along.
            made = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            for (name,) in db.execute(f"{made} ORDER BY sql LIKE 'CREATE VIRTUAL%' DESC").fetchall():
                db.execute(f'DROP TABLE IF EXISTS "{name}"')
            for statement in self.schema:
                db.execute(statement)
            db.execute("INSERT INTO about VALUES ('version', ?)", (self.version,))
            db.execute("COMMIT")
        except BaseException:
            db.execute("ROLLBACK")
            raise

    def _opened_whole(self, site: Site) -> sqlite3.Connection:
        try:
            return self._prepared(_opened(path_of(site, self.name)))
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
                raise
        remove(site, self.name)
        return self._prepared(_opened(path_of(site, self.name)))

    def _prepared(self, db: sqlite3.Connection) -> sqlite3.Connection:
        """The connection, whose file has the tables of this version. sqlite3.Error."""
        try:
            for pragma in ("trusted_schema = OFF", *self.pragmas):
                db.execute(f"PRAGMA {pragma}")
            if _version(db) != self.version:
                self.make_anew(db)
            return db
        except sqlite3.Error:
            db.close()
            raise


def _is_ours(path: Path) -> bool:
    """Whether the file is a regular one of this user, to which nobody else may write; so is one that is not there."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return True
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _opened(path: Path) -> sqlite3.Connection:
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        return db
    except sqlite3.Error:
        db.close()
        raise


def _version(db: sqlite3.Connection) -> int | None:
    try:
        (found,) = db.execute("SELECT value FROM about WHERE name = 'version'").fetchone() or (None,)
    except sqlite3.OperationalError:
        return None
    return found if isinstance(found, int) else None


def vectors_of(site: Site) -> Path:
    """The folder of the kept vectors."""
    return site.state / "vectors"


def forget_vectors(site: Site) -> None:
    """Delete all kept vectors: those of a document that is erased are among them, perhaps."""
    shutil.rmtree(vectors_of(site), ignore_errors=True)


AT_ONCE: Final = 20_000
"""Entries between two commits of the file."""


class LogIndex(ABC):
    """An index, opened, and a context manager. Its methods raise sqlite3.Error where the file cannot be read."""

    def __init__(self, site: Site, file: IndexFile) -> None:
        self._site, self._file, self._db = site, file, file.connect(site)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def refresh(self, seconds: float | None = None) -> bool:
        """Take in what came since, for so many seconds, or all of it; whether all is taken in. AuditError."""
        until = None if seconds is None else time.monotonic() + seconds
        if self.behind is None:
            self._file.make_anew(self._db)
        while self.behind:
            with self._transaction():
                self._take_some()
            if until is not None and time.monotonic() >= until:
                return not self.behind
        return True

    @property
    def size(self) -> int:
        """How many entries of the log were taken in."""
        return int(self._about("size", 0))

    @property
    def behind(self) -> int | None:
        """How many entries of the log are not taken in; None if the index is of another log. AuditError."""
        checkpoint = audit.read_checkpoint(self._site.audit, self._site.public_key)
        if (self.size, self._about("root", checkpoint.root)) == (checkpoint.size, checkpoint.root):
            return 0
        return checkpoint.size - self.size if self._is_of_this_log() else None

    @abstractmethod
    def _take_in(self, size: int) -> tuple[int, Mapping[str, Any]]:
        """Take in some entries, about AT_ONCE, from number `size` on; the size after that, and what else is to be
        remembered."""

    def _take_some(self) -> None:
        """Take in some entries. The size is read within the transaction: another process may have taken them in."""
        size, more = self._take_in(self.size)
        root = audit.root_of(self._site.audit, self._site.public_key, size)
        about = {"size": size, "root": root, **more}
        self._db.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", about.items())

    def _about(self, name: str, default: Any) -> Any:
        row = self._db.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
        return row[0] if row else default

    def _is_of_this_log(self) -> bool:
        try:
            return not self.size or self._about("root", b"") == audit.root_of(
                self._site.audit, self._site.public_key, self.size
            )
        except LookupError:
            return False

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")
