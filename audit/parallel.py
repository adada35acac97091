"""Full segments of signed entries, checked and hashed by several processes. What this finds in order is exactly what
walk.py would: a segment in which anything is out of order gives no hashes, and the walk goes on from its first entry.

Children are spawned, so that none shares the lock of a writer in this process.
"""

import itertools
import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from audit.entry import parse_entry
from audit.errors import AuditError
from audit.merkle import WIDTH, leaf_hash, root_hash
from audit.store import SEGMENT_ENTRIES, open_file, segment_of

Task = TypeVar("Task")
Answer = TypeVar("Answer")

LEAST = 8  # full segments: below that, starting processes takes longer than it saves
_MOST_BYTES = 64 << 20  # of a segment, which is read whole here
_AHEAD = 4  # tasks that wait, for each process


@dataclass(frozen=True)
class Hashed:
    """A segment whose 4096 lines are well-formed entries with the right numbers: the hashes of each 256 of them,
    concatenated, the roots over these, and its size in bytes."""

    leaves: list[bytes]
    roots: list[bytes]
    size: int


def hash_segment(folder: Path, first: int, size: int) -> Hashed | None:
    """The first `size` bytes of the segment of entry `first`; None if anything is wrong with them."""
    try:
        with open_file(folder, segment_of(first)) as file:
            lines = file.read(size if size <= _MOST_BYTES else 0).split(b"\n")
        if len(lines) != SEGMENT_ENTRIES + 1 or lines.pop():
            return None
        for n, line in enumerate(lines, first):
            parse_entry(line, n)
    except (AuditError, OSError, ValueError):
        return None
    hashes = [leaf_hash(line) for line in lines]
    tiles = [hashes[at : at + WIDTH] for at in range(0, SEGMENT_ENTRIES, WIDTH)]
    return Hashed([b"".join(tile) for tile in tiles], [root_hash(tile) for tile in tiles], size)


Hashes = Generator[Hashed, None, None]


def hash_segments(folder: Path, size: int, segments: Mapping[str, int], processes: int) -> Hashes:
    """The full segments of a log of `size` entries, from the first on, until one is not in order."""
    firsts = range(0, size - SEGMENT_ENTRIES + 1, SEGMENT_ENTRIES)
    known = list(itertools.takewhile(lambda first: segment_of(first) in segments, firsts))
    tasks = ((folder, first, segments[segment_of(first)]) for first in known)
    with workers(processes if len(known) >= LEAST else 1) as run:
        for hashed in run(_hash_segment, tasks):
            if hashed is None:
                return
            yield hashed


def _hash_segment(task: tuple[Path, int, int]) -> Hashed | None:
    return hash_segment(*task)


@contextmanager
def workers(processes: int) -> Iterator["Workers"]:
    """Workers in so many child processes, or this process alone for 1."""
    if processes == 1:
        yield Workers(None, 1)
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes, context, signal.signal, (signal.SIGINT, signal.SIG_IGN))
    try:
        yield Workers(pool, processes)
    finally:
        pool.shutdown(cancel_futures=True)


class Workers:
    """Made by workers()."""

    def __init__(self, pool: ProcessPoolExecutor | None, processes: int) -> None:
        self._pool = pool
        self._processes = processes

    def __call__(self, function: Callable[[Task], Answer], tasks: Iterable[Task]) -> Iterator[Answer]:
        """Yield the answer of a module's function to each task, in their order; few of them wait at a time. Where
        children die or cannot be started, this process does their work."""
        waiting: deque[tuple[Task, Future[Answer] | None]] = deque()
        for task in tasks:
            waiting.append((task, self._submit(function, task)))
            if len(waiting) > self._processes * _AHEAD or self._pool is None:
                yield self._answer(function, *waiting.popleft())
        while waiting:
            yield self._answer(function, *waiting.popleft())

    def _submit(self, function: Callable[[Task], Answer], task: Task) -> Future[Answer] | None:
        try:
            return self._pool.submit(function, task) if self._pool else None
        except (BrokenProcessPool, OSError):
            return None

    def _answer(self, function: Callable[[Task], Answer], task: Task, future: Future[Answer] | None) -> Answer:
        try:
            return future.result() if future else function(task)
        except BrokenProcessPool:
            return function(task)
