"""Files in, parsed documents out, in the order of the scan, while parsers work ahead of the engine."""

import os
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from pipeline.compute import Work
from pipeline.discover import Candidate
from pipeline.errors import DocumentError, Failure
from pipeline.history import History
from pipeline.intake import Arrival, StillChangingError, staging_of, take
from pipeline.parse import ParserPool
from pipeline.plan import RunPlan
from pipeline.states import State
from pipeline.visible import shown

_AHEAD_FILES = 32
_AHEAD_BYTES = 64 << 20


@dataclass(frozen=True)
class Ended:
    """A document that needs no computing: failed, duplicate, known before (ignored) or changing (pending)."""

    arrival: Arrival
    state: State
    reason: str
    failure: Failure | None = None
    duplicate_of: str | None = None


@dataclass
class Feed:
    """Takes files in one after another and parses them in `pool`; documents met twice are found here."""

    plan: RunPlan
    history: History
    pool: ParserPool
    workers: int
    met: dict[str, str] = field(default_factory=dict)  # document -> its path, in this run

    def __call__(self, candidates: tuple[Candidate, ...], stop: Callable[[], bool]) -> Iterator[Work | Ended]:
        """One item a candidate, in order; when `stop()` becomes true, nothing more is taken in or given out."""
        ahead: deque[tuple[int, Future[Work | Ended]]] = deque()
        threads = ThreadPoolExecutor(self.workers, "parse")
        try:
            for candidate in candidates:
                ahead.append((candidate.size, self._take(candidate, threads)))
                while len(ahead) > _AHEAD_FILES or sum(_weight(*one) for one in ahead) > _AHEAD_BYTES:
                    yield ahead.popleft()[1].result()
                if stop():
                    break
            while ahead and not stop():
                yield ahead.popleft()[1].result()
        finally:  # also when the caller stops in the middle: what has not begun need not be parsed
            threads.shutdown(cancel_futures=True)

    def _take(self, candidate: Candidate, threads: ThreadPoolExecutor) -> Future[Work | Ended]:
        begun = time.perf_counter()
        try:
            arrival = take(candidate, self.plan.input.folder, self.plan.archive)
        except StillChangingError as error:
            return _now(Ended(_nameless(candidate), State.PENDING, str(error)))
        except DocumentError as error:
            return _now(_failed(_nameless(candidate), error))
        known = self._known(arrival)
        if known is None:
            return threads.submit(self._parse, arrival, begun)
        if arrival.copy:
            shutil.rmtree(arrival.copy.parents[1])
        return _now(known)

    def _known(self, arrival: Arrival) -> Ended | None:
        """Whether these bytes need no work; the first of several paths with the same bytes is the document."""
        assert arrival.sha256 is not None
        if self.plan.input.afterwards == "keep" and (arrival.path, arrival.sha256) in self.history.paths:
            return Ended(arrival, State.IGNORED, "processed before with these settings")
        first = self.history.done.get(arrival.sha256) or self.met.get(arrival.sha256)
        if first is None:
            self.met[arrival.sha256] = arrival.path
            return None
        return Ended(arrival, State.DUPLICATE, f"the same bytes as {first}", duplicate_of=first)

    def _parse(self, arrival: Arrival, begun: float) -> Work | Ended:
        """In a thread: hand the staged copy to a child, put the parsed text beside the copy."""
        assert arrival.copy is not None
        try:
            if arrival.size > (limit := self.plan.site.max_document_bytes):
                raise DocumentError(Failure.TOO_LARGE, f"it has {arrival.size} bytes; the limit is {limit}")
            descriptor = os.open(arrival.copy, os.O_RDONLY | os.O_CLOEXEC)
            try:
                parsed = self.pool.parse(descriptor, arrival.copy.name)
            finally:
                os.close(descriptor)
        except DocumentError as error:
            return _failed(arrival, error)
        assert arrival.sha256 is not None
        text = staging_of(self.plan.archive, arrival.sha256) / "text" / f"{parsed.text_sha256}.txt"
        text.parent.mkdir()
        text.write_bytes(parsed.text.encode())
        return Work(arrival, parsed, time.perf_counter() - begun)


def _weight(size: int, future: Future[Work | Ended]) -> int:
    """Bytes that a document may take in memory: of its file, or of its text once that is known."""
    item = future.result() if future.done() else None
    return max(size, 4 * len(item.parsed.text)) if isinstance(item, Work) else size


def _failed(arrival: Arrival, error: DocumentError) -> Ended:
    return Ended(arrival, State.FAILED, error.reason, error.failure)


def _nameless(candidate: Candidate) -> Arrival:
    return Arrival(shown(candidate.path), candidate.path, candidate.size)


def _now(ended: Ended) -> Future[Work | Ended]:
    future: Future[Work | Ended] = Future()
    future.set_result(ended)
    return future
