"""An SQLite file in state/ that may be deleted at any time: opened safely, made anew where it is foreign or broken."""

import contextlib
import os
import sqlite3
import stat
from dataclasses import dataclass
from pathlib import Path

from pipeline.plan import Site

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
