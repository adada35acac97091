"""An index of the log: it is brought up to date by what came since, and begun again where it is of another log."""

import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, Final, Self

import audit
from pipeline.plan import Site
from pipeline.records.indexes.file import IndexFile

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
