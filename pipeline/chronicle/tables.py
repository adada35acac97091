"""state/chronicle.sqlite: its tables, and how the file is opened.

It holds what the log says in the clear and no name of a document, so nothing has to be forgotten when one is erased.
"""

import os
import sqlite3
import stat
from pathlib import Path
from typing import Final

from pipeline.plan import Site

VERSION: Final = 1
_NAME: Final = "chronicle.sqlite"
_SCHEMA: Final = (
    "CREATE TABLE about (name TEXT PRIMARY KEY, value) WITHOUT ROWID",
    "CREATE TABLE happening (n INTEGER PRIMARY KEY, type TEXT, time TEXT, run TEXT, job TEXT, user TEXT)",
    "CREATE INDEX by_type ON happening (type, n)",
    "CREATE TABLE day (day TEXT PRIMARY KEY, first INTEGER, last INTEGER, documents INTEGER) WITHOUT ROWID",
    "CREATE TABLE run (run TEXT PRIMARY KEY, job TEXT, first INTEGER, told TEXT) WITHOUT ROWID",
    "CREATE INDEX by_first ON run (first)",
    "CREATE INDEX by_job ON run (job, first)",
    "CREATE TABLE tally (model TEXT, run TEXT, minute INTEGER, state TEXT, n INTEGER, "
    "PRIMARY KEY (model, run, minute, state)) WITHOUT ROWID",
    "CREATE INDEX by_minute ON tally (minute)",
    "CREATE INDEX by_run ON tally (run)",
    "CREATE TABLE private (job TEXT PRIMARY KEY) WITHOUT ROWID",
    "CREATE TABLE settings (digest TEXT PRIMARY KEY, first INTEGER) WITHOUT ROWID",
)


def connect(site: Site) -> sqlite3.Connection:
    """The index, opened; one that is new, foreign or broken is empty. Where state/ cannot be written, a file that only
    this process has. sqlite3.Error."""
    path = site.state / _NAME
    try:
        site.state.mkdir(exist_ok=True)
        if not _is_ours(path):
            _remove(path)
        return _opened_whole(path)
    except (sqlite3.Error, OSError):
        return _prepared(sqlite3.connect("", isolation_level=None, check_same_thread=False))


def _opened_whole(path: Path) -> sqlite3.Connection:
    try:
        return _prepared(_opened(path))
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            raise
    _remove(path)
    return _prepared(_opened(path))


def _is_ours(path: Path) -> bool:
    """Whether the file is a regular one of this user, to which nobody else may write; so is one that is not there."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return True
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _remove(path: Path) -> None:
    for ending in ("", "-wal", "-shm", "-journal"):
        path.with_name(_NAME + ending).unlink(missing_ok=True)


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


def _prepared(db: sqlite3.Connection) -> sqlite3.Connection:
    """The connection, whose file has the tables of this version. sqlite3.Error."""
    try:
        db.execute("PRAGMA trusted_schema = OFF")
        if _version(db) != VERSION:
            make_anew(db)
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


def make_anew(db: sqlite3.Connection) -> None:
    """Empty the index. sqlite3.Error."""
    db.execute("BEGIN IMMEDIATE")
    try:
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            db.execute(f'DROP TABLE "{name}"')
        for statement in _SCHEMA:
            db.execute(statement)
        db.execute("INSERT INTO about VALUES ('version', ?)", (VERSION,))
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise
