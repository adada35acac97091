"""The two indexes that pages read, chronicle and queue, and the thread that keeps them up to date.

A page looks at once at what is there, after a short attempt to take in what came since. While an index is being made
for the first time, pages show how far it is.
"""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol, Self

import audit
import pipeline

_SHORT_SECONDS: Final = 0.3
_LOOK_SECONDS: Final = 1.0
_SLICE_SECONDS: Final = 5.0


class BrokenIndexError(Exception):
    """An index cannot be read; the text is one sentence."""


class _Index(Protocol):
    @property
    def behind(self) -> int | None: ...
    def refresh(self, seconds: float | None = None) -> bool: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...


@dataclass
class Indexes:
    """The indexes of a workspace. `close` ends the thread that `start` began."""

    site: pipeline.Site
    _filling: threading.Lock = field(default_factory=threading.Lock)
    _ended: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _making: bool = False  # by a child, which ends with what makes lists quick, when all entries are taken in

    def start(self) -> None:
        """Begin to keep the indexes up to date."""
        self._thread = threading.Thread(target=self._follow, name="indexes", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(timeout=10)

    @contextlib.contextmanager
    def chronicle(self) -> Iterator[pipeline.Chronicle]:
        """The chronicle, as new as can be had at once. audit.AuditError; BrokenIndexError."""
        with _told("chronicle"), pipeline.open_chronicle(self.site) as chronicle:
            self._freshen(chronicle)
            yield chronicle

    @contextlib.contextmanager
    def queue(self) -> Iterator[pipeline.Queue]:
        """The queue, as new as can be had at once. audit.AuditError; BrokenIndexError."""
        with _told("queue"), pipeline.open_queue(self.site) as queue:
            self._freshen(queue)
            yield queue

    def behind(self) -> tuple[int, int] | None:
        """While an index is being made: how many entries are taken in, and of how many. None when that is done."""
        size = audit.read_checkpoint(self.site.audit, self.site.public_key).size
        with _told("index"), pipeline.open_chronicle(self.site) as chronicle, pipeline.open_queue(self.site) as queue:
            left = [chronicle.behind, queue.behind]
        lacking = max(size if each is None else each for each in left)
        return (size - lacking, size) if self._making or lacking > _FEW else None

    def _freshen(self, index: _Index) -> None:
        """Take in what is new, unless somebody is doing so."""
        if self._filling.acquire(blocking=False):
            try:
                index.refresh(_SHORT_SECONDS)
            finally:
                self._filling.release()

    def _follow(self) -> None:
        before: bytes | None = None
        while not self._ended.wait(_LOOK_SECONDS):
            with contextlib.suppress(audit.AuditError, sqlite3.Error, OSError):  # pages say what is wrong
                now = (self.site.audit / "checkpoint").read_bytes()
                if now != before and self._fill():
                    before = now

    def _fill(self) -> bool:
        """Bring both indexes up to date, in slices between which pages get their turn; whether they are."""
        if self.behind():
            self._fill_in_child()
        whole = True
        for opened in (pipeline.open_chronicle, pipeline.open_queue):
            with opened(self.site) as index:
                while not self._ended.is_set():
                    with self._filling:
                        done = index.refresh(_SLICE_SECONDS)
                    if done:
                        break
                whole &= not self._ended.is_set()
        return whole

    def _fill_in_child(self) -> None:
        """Take in what is much by a process of its own (making.py); pages show what is there meanwhile."""
        command = [sys.executable, "-P", "-m", "jobs.console.making", str(self.site.root)]
        quiet = subprocess.DEVNULL
        with self._filling, subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet) as child:
            self._making = True
            while child.poll() is None and not self._ended.wait(_LOOK_SECONDS):
                pass
            child.terminate()
        self._making = False


_FEW: Final = 5000
"""Entries that a page is not told of as lacking, and that are taken in without a process of its own."""


@contextlib.contextmanager
def _told(name: str) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise BrokenIndexError(
            f"The index state/{name}.sqlite cannot be read ({error}); it may be deleted, and is made again."
        ) from error
