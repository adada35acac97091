"""The index of the log: opened safely, brought up to date by what came since, begun again where it is of another log;
and what it says of days, runs and models.

What is shown of one entry comes from the log itself.
"""

import contextlib
import os
import sqlite3
import stat
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

import audit
from pipeline.index.tables import PRAGMAS, SCHEMA, VERSION
from pipeline.index.values import Day, Happening, ModelUse, RunTold, Throughput, run_from_text
from pipeline.plan import Site
from pipeline.records.entries import begins_with
from pipeline.records.indexes import index_file, remove_former, remove_index

AT_ONCE: Final = 20_000
"""Entries between two commits of the file."""


class LogIndex(ABC):
    """The index, opened, and a context manager. Its methods raise sqlite3.Error where the file cannot be read."""

    def __init__(self, site: Site) -> None:
        self._site, self._db = site, _connect(site)

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
            _make_anew(self._db)
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
        ours = not self.size or begins_with(self._site, self.size, self._about("root", b""))
        return checkpoint.size - self.size if ours else None

    def days(self) -> list[Day]:
        """The days that have entries, the latest first."""
        return [Day(*row) for row in self._db.execute("SELECT * FROM day ORDER BY day DESC")]

    def day(self, day: str) -> Day:
        """A day with entries. LookupError."""
        for row in self._db.execute("SELECT * FROM day WHERE day = ?", (day,)):
            return Day(*row)
        raise LookupError(f"the log has no entry of {day}{self._so_far()}")

    def happenings(self, first: int, last: int, limit: int = 1000) -> list[Happening]:
        """Return what happened beside rows between two entries, in order."""
        rows = self._db.execute(
            "SELECT * FROM happening WHERE n BETWEEN ? AND ? ORDER BY n LIMIT ?", (first, last, limit)
        )
        return [Happening(*row) for row in rows]

    def last_of(self, *types: str) -> Happening | None:
        """The last entry of one of these types; None if there is none."""
        marks = ", ".join("?" * len(types))
        rows = self._db.execute(f"SELECT * FROM happening WHERE type IN ({marks}) ORDER BY n DESC LIMIT 1", types)
        return next((Happening(*row) for row in rows), None)

    def numbers_of(self, *types: str) -> list[int]:
        """The numbers of all entries of these types, in order."""
        marks = ", ".join("?" * len(types))
        return [n for (n,) in self._db.execute(f"SELECT n FROM happening WHERE type IN ({marks}) ORDER BY n", types)]

    def runs(self, job: str | None = None, before: int | None = None, limit: int = 50) -> list[RunTold]:
        """Runs, the latest first; `before`: those that began before this entry."""
        rows = self._db.execute(
            "SELECT told FROM run WHERE (? IS NULL OR job = ?) AND first < ? ORDER BY first DESC LIMIT ?",
            (job, job, 1 << 62 if before is None else before, limit),
        )
        return [run_from_text(text) for (text,) in rows]

    def run(self, run: str) -> RunTold:
        """A run by its name. LookupError."""
        so_far = ""
        for _ in range(2):  # once more after it was asked how far the log is read, for it may have been read meanwhile
            for (text,) in self._db.execute("SELECT told FROM run WHERE run = ?", (run,)):
                return run_from_text(text)
            so_far = so_far or self._so_far()
        raise LookupError(f"the log knows no run {run!r}{so_far}")

    def settings_at(self, digest: str) -> int | None:
        """The first entry that keeps the settings of this digest; None if the log does not have them."""
        row = self._db.execute("SELECT first FROM settings WHERE digest = ?", (digest,)).fetchone()
        return int(row[0]) if row else None

    def throughput(self, since: int, until: int, span: int) -> list[Throughput]:
        """How many rows were made in each span of so many minutes from `since` to before `until` (minutes since 1970),
        those of no row left out."""
        rows = self._db.execute(
            "SELECT (minute - ?) / ?, state, sum(n) FROM made WHERE minute >= ? AND minute < ? GROUP BY 1, 2",
            (since, span, since, until),
        )
        spans = defaultdict[int, dict[str, int]](dict)
        for number, state, count in rows:
            spans[number][state] = count
        return [Throughput((since + number * span) * 60, counts) for number, counts in sorted(spans.items())]

    def models(self, sha256: str | None = None) -> list[ModelUse]:
        """The models that made rows, or the one of this sha256, the last used first."""
        rows = self._db.execute(
            "SELECT model, run.job, run.told ->> '$.model', state, sum(n), min(minute), max(minute) "
            "FROM made JOIN run USING (run) WHERE ? IS NULL OR model = ? GROUP BY 1, 2, 3, 4",
            (sha256, sha256),
        ).fetchall()
        models = [_use(model, [row for row in rows if row[0] == model]) for model in {row[0] for row in rows}]
        return sorted(models, key=lambda each: (-each.last, each.sha256))

    def runs_of(self, sha256: str, limit: int = 50) -> list[RunTold]:
        """The last runs in which this model made rows, the latest first."""
        rows = self._db.execute(
            "SELECT told FROM run WHERE run IN (SELECT DISTINCT run FROM made WHERE model = ?) "
            "ORDER BY first DESC LIMIT ?",
            (sha256, limit),
        )
        return [run_from_text(text) for (text,) in rows]

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

    def _so_far(self) -> str:
        """What has to be said of something that the index does not have while it is not up to date. AuditError."""
        return ", as far as it is read; it is not read to its end yet" if self.behind != 0 else ""

    def _about(self, name: str, default: Any) -> Any:
        row = self._db.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
        return row[0] if row else default

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")


def _use(model: str, rows: Sequence[tuple[Any, ...]]) -> ModelUse:
    states = defaultdict[str, dict[str, int]](dict)
    for _, job, _, state, number, _, _ in rows:
        states[job][state] = states[job].get(state, 0) + number
    names = tuple(sorted({row[2] for row in rows if row[2]}))
    return ModelUse(model, names, min(row[5] for row in rows) * 60, max(row[6] for row in rows) * 60, dict(states))


def _connect(site: Site) -> sqlite3.Connection:
    """The file, opened; one that is new, foreign or broken is empty. Where state/ cannot be written, a file that only
    this process has. sqlite3.Error."""
    try:
        site.state.mkdir(exist_ok=True)
        path = index_file(site)
        if not _is_ours(path) or (path.parent != site.state and (site.state / path.name).exists()):
            remove_index(site)
        if not path.exists():
            remove_former(site)
        try:
            return _prepared(_opened(path))
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
                raise
        remove_index(site)
        return _prepared(_opened(path))
    except (sqlite3.Error, OSError):
        nowhere = ":memory:" if site.at_rest.on else ""
        return _prepared(sqlite3.connect(nowhere, isolation_level=None, check_same_thread=False))


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


def _prepared(db: sqlite3.Connection) -> sqlite3.Connection:
    """The connection, whose file has the tables of this version. sqlite3.Error."""
    try:
        for pragma in PRAGMAS:
            db.execute(f"PRAGMA {pragma}")
        if _version(db) != VERSION:
            _make_anew(db)
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


def _make_anew(db: sqlite3.Connection) -> None:
    db.execute("BEGIN IMMEDIATE")
    try:
        # Virtual tables first, which take tables of their own along; a table takes its indexes and triggers along.
        made = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        for (name,) in db.execute(f"{made} ORDER BY sql LIKE 'CREATE VIRTUAL%' DESC").fetchall():
            db.execute(f'DROP TABLE IF EXISTS "{name}"')
        for statement in SCHEMA:
            db.execute(statement)
        db.execute("INSERT INTO about VALUES ('version', ?)", (VERSION,))
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise
