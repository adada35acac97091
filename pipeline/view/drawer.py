"""The parsers' children that draw pages: started with the first page that somebody looks at, and held as in a run."""

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypeVar

from pipeline.document import Parsed
from pipeline.inbox.reader import open_parsers
from pipeline.parse import Options, ParserPool
from pipeline.parse.view.seen import Pages, PageText, Pixels
from pipeline.plan import Site

T = TypeVar("T")
_SECONDS = 20.0  # for a document: nobody waits longer for a page
_MEMORY = 1 << 30  # bytes
_REMEMBERED = 32  # documents of which what was found is kept
_WORKERS = 2


class Drawer:
    """Reads documents and draws their pages, in children with the limits of the site, or tighter ones; a context
    manager, for any number of threads. No file of a document is opened by anything but a child."""

    def __init__(self, site: Site, workers: int = _WORKERS) -> None:
        limits = site.limits
        tighter = replace(limits, seconds=min(limits.seconds, _SECONDS), memory_bytes=min(limits.memory_bytes, _MEMORY))
        self._site, self._workers = replace(site, limits=tighter), workers
        self._lock = threading.Lock()
        self._pool: ParserPool | None = None
        self._found: OrderedDict[object, Any] = OrderedDict()

    def read(self, file: Path, name: str, options: Options) -> Parsed:
        """The document in a file. DocumentError; MachineRefusedError, OSError."""
        return self._ask(file, lambda pool, fd: pool.parse(fd, name, options))

    def pages(self, file: Path, options: Options, texts: Sequence[PageText]) -> Pages:
        """The sizes of its pages, and marks on them. DocumentError; MachineRefusedError, OSError."""
        return self._ask(file, lambda pool, fd: pool.pages(fd, options, texts))

    def draw(self, file: Path, options: Options, number: int, width: int) -> Pixels:
        """A page of it. DocumentError; MachineRefusedError, OSError."""
        return self._ask(file, lambda pool, fd: pool.draw(fd, options, number, width))

    def remembered(self, key: object, find: Callable[[], T]) -> T:
        """Return what `find` found for this key, which is kept for a while; `key` says all that it depends on."""
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key]  # type: ignore[no-any-return]
        found = find()
        with self._lock:
            self._found[key] = found
            while len(self._found) > _REMEMBERED:
                self._found.popitem(last=False)
        return found

    def close(self) -> None:
        """End the children."""
        with self._lock:
            if self._pool is not None:
                self._pool.close()
            self._pool = None

    def _ask(self, file: Path, ask: Callable[[ParserPool, int], T]) -> T:
        descriptor = self._site.at_rest.open(file, os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            with self._lock:
                if self._pool is None:
                    self._pool = open_parsers(self._site, self._workers)
                pool = self._pool
            return ask(pool, descriptor)
        finally:
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
