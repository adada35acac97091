"""The index that pages read, and the thread that keeps it up to date.

A page takes in what came since and shows it. While the index is being made for the first time, pages show how far it
is.
"""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import audit
import pipeline
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace

_SHORT_SECONDS: Final = 0.3
_LOOK_SECONDS: Final = 1.0
_SLICE_SECONDS: Final = 5.0
_FEW: Final = 5000
"""Entries that a page is not told of as lacking, and that are taken in without a process of its own."""


class BrokenIndexError(Exception):
    """An index cannot be read; the text is one sentence."""


@dataclass
class Indexes:
    """The index of a workspace. `close` ends the thread that `start` began."""

    site: pipeline.Site
    _filling: threading.Lock = field(default_factory=threading.Lock)
    _ended: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _making: bool = False  # by a child, which ends with what makes lists quick, when all entries are taken in

    def start(self) -> None:
        """Begin to keep the index up to date."""
        self._thread = threading.Thread(target=self._follow, name="indexes", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(timeout=10)

    @contextlib.contextmanager
    def opened(self) -> Iterator[pipeline.index.Index]:
        """The index, as new as can be had at once. audit.AuditError; BrokenIndexError."""
        with _told(), pipeline.index.open_index(self.site) as index:
            lacking = index.behind
            few = lacking is not None and lacking <= _FEW  # all of it, so that no page tells of a log it has not read
            if not self._making and self._filling.acquire(timeout=_SLICE_SECONDS if few else 0):
                try:
                    index.refresh(None if few else _SHORT_SECONDS)
                finally:
                    self._filling.release()
            yield index

    def behind(self) -> tuple[int, int] | None:
        """While the index is being made: how many entries are taken in, and of how many. None when that is done."""
        size = audit.read_checkpoint(self.site.audit, self.site.public_key).size
        with _told(), pipeline.index.open_index(self.site) as index:
            lacking = index.behind
        lacking = size if lacking is None else lacking
        return (size - lacking, size) if self._making or lacking > _FEW else None

    def _follow(self) -> None:
        before: bytes | None = None
        while not self._ended.wait(_LOOK_SECONDS):
            with contextlib.suppress(audit.AuditError, sqlite3.Error, OSError):  # pages say what is wrong
                now = (self.site.audit / "checkpoint").read_bytes()
                if now != before and self._fill():
                    before = now

    def _fill(self) -> bool:
        """Bring the index up to date: what is much by a process of its own, so that the console stays small, the rest
        in slices between which pages get their turn. Whether it is up to date."""
        if self.behind():
            command = [sys.executable, "-P", "-m", "jobs.console.indexes", str(self.site.root)]
            quiet = subprocess.DEVNULL
            self._making = True
            with self._filling, subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet) as child:
                while child.poll() is None and not self._ended.wait(_LOOK_SECONDS):
                    pass
                child.terminate()
            self._making = False
        with pipeline.index.open_index(self.site) as index:
            while not self._ended.is_set():
                with self._filling:
                    done = index.refresh(_SLICE_SECONDS)
                if done:
                    break
        return not self._ended.is_set()


@contextlib.contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise BrokenIndexError(
            f"The index state/index.sqlite cannot be read ({error}); it may be deleted, and is made again."
        ) from error


if __name__ == "__main__":  # the child of a console
    with pipeline.index.open_index(make_site(open_workspace(Path(sys.argv[1])))) as made:
        made.refresh()
