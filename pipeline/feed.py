"""Files in, parsed documents out, in the order of the scan, while parsers work ahead of the engine.

A document that holds others is followed by them: they are taken from what was unpacked, in their order, and it is
given out after the last of them. So a run that is cut off between two of them meets it again, and knows those that it
has committed. All that is decided about a document (whether it is a duplicate, what may still be unpacked) is decided
when it is given out, in order, so that it does not depend on which parser was faster.
"""

import os
import shutil
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import IO

from pipeline.compute import Work
from pipeline.discover import Candidate
from pipeline.document import Member, Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.history import History
from pipeline.intake import Again, Arrival, StillChangingError, inner_path, staging_of, take, take_again, take_member
from pipeline.parse import Options, PageReader, ParserPool
from pipeline.plan import RunPlan
from pipeline.states import State
from pipeline.visible import shown

_AHEAD_FILES = 32
_AHEAD_INNER = 4  # of the documents of one container: each may unpack to as much again
_AHEAD_BYTES = 64 << 20

Source = Candidate | Again


@dataclass(frozen=True)
class Ended:
    """A document that needs no computing: failed, duplicate, known before (ignored), changing (pending), an archive."""

    arrival: Arrival
    state: State
    reason: str | None
    failure: Failure | None = None
    duplicate_of: str | None = None
    parsed: Parsed | None = None


@dataclass
class _Left:
    """What a file of the input folder, with everything in it, may still unpack to."""

    documents: int
    bytes: int


@dataclass
class _Unpacked:
    """The bytes of the documents in one container; the file ends with the last of those who refer to it."""

    file: IO[bytes]
    container: Arrival
    depth: int
    within: frozenset[str]  # the containers around them, by sha256
    left: _Left


@dataclass
class _Inner:
    """A document in a container."""

    member: Member
    unpacked: _Unpacked

    @property
    def size(self) -> int:
        return self.member.size


@dataclass
class _Outcome:
    """What came of one document by itself, and the file of what was unpacked from it."""

    item: Work | Ended
    file: IO[bytes] | None = None


@dataclass
class _Node:
    """A place in the order: a document, begun or not, or the end of a container whose documents went before it."""

    source: Source | _Inner | None
    outcome: Future[_Outcome] | None = None
    depth: int = 0
    within: frozenset[str] = frozenset()
    left: _Left | None = None

    def weight(self) -> int:
        """Bytes that it may take in memory: of its file, or of its text once that is known."""
        if self.outcome is None or self.source is None:
            return 0
        done = self.outcome.done() and self.outcome.exception() is None
        item = self.outcome.result().item if done else None
        return max(self.source.size, 4 * len(item.parsed.text)) if isinstance(item, Work) else self.source.size


@dataclass
class Feed:
    """Takes files in one after another and parses them in `pool`; documents met twice are found here.

    `pages` reads pictures of text, where that is possible; `expect` is told how many documents a container brings.
    """

    plan: RunPlan
    history: History
    pool: ParserPool
    workers: int
    pages: PageReader | None = None
    expect: Callable[[int], None] = lambda count: None
    met: dict[str, str] = field(default_factory=dict)  # document -> its path, in this run

    def __call__(self, sources: Sequence[Source], stop: Callable[[], bool]) -> Iterator[Work | Ended]:
        """One item a document, in order; when `stop()` becomes true, nothing more is taken in or given out."""
        coming, order = iter(sources), deque[_Node]()
        threads = ThreadPoolExecutor(self.workers, "parse")
        try:
            while not stop() and self._begin(order, coming, threads):
                node = order.popleft()
                assert node.outcome is not None
                outcome = node.outcome.result()
                item = self._decided(node, outcome)
                if inner := self._inner(node, item, outcome.file):
                    self.expect(len(inner))
                    order.extendleft([_Node(None, _now(_closed(item))), *reversed(inner)])
                else:
                    yield self._kept(item)
        finally:  # also when the caller stops in the middle: what has not begun need not be parsed
            threads.shutdown(cancel_futures=True)

    def _begin(self, order: deque[_Node], coming: Iterator[Source], threads: ThreadPoolExecutor) -> bool:
        """Start what there is room for, in order, at least the first; whether there is one."""
        held, inner = 0, 0
        for place, node in enumerate(islice(order, _AHEAD_FILES)):
            inner += isinstance(node.source, _Inner)
            if node.outcome is None and (place == 0 or (held <= _AHEAD_BYTES and inner <= _AHEAD_INNER)):
                self._start(node, threads)
            held += node.weight()
        while len(order) <= _AHEAD_FILES and (held <= _AHEAD_BYTES or not order):
            source = next(coming, None)
            if source is None:
                break
            limits = self.plan.site.limits
            node = _Node(source, left=_Left(limits.unpacked_documents, limits.unpacked_bytes))
            self._start(node, threads)
            order.append(node)
            held += node.weight()
        return bool(order)

    def _start(self, node: _Node, threads: ThreadPoolExecutor) -> None:
        """Take one in, and have it parsed unless it is known already."""
        begun = time.perf_counter()
        source = node.source
        assert source is not None
        nameless = _nameless(source)
        try:
            arrival = self._take(source)
        except StillChangingError as error:
            node.outcome = _now(_Outcome(Ended(nameless, State.PENDING, str(error))))
        except DocumentError as error:
            node.outcome = _now(_Outcome(_failed(nameless, error)))
        else:
            known = self._known(arrival, source)
            if known:
                self._discard(arrival)
                node.outcome = _now(_Outcome(known))
            else:
                node.outcome = threads.submit(self._parse, arrival, node, begun)

    def _take(self, source: Source | _Inner) -> Arrival:
        if isinstance(source, Candidate):
            return take(source, self.plan.input.folder, self.plan.archive)
        if isinstance(source, Again):
            return take_again(source, self.plan.failed, self.plan.archive)
        unpacked = source.unpacked
        return take_member(source.member, unpacked.file.fileno(), unpacked.container, self.plan.archive)

    def _known(self, arrival: Arrival, source: Source | _Inner) -> Ended | None:
        """Whether these bytes need no work because of what was done before this run."""
        assert arrival.sha256 is not None
        if isinstance(source, Again):
            return None
        if isinstance(source, _Inner):
            known = (arrival.path, arrival.sha256, arrival.parent) in self.history.inner
        else:
            known = self.plan.input.afterwards == "keep" and (arrival.path, arrival.sha256) in self.history.paths
        if known:
            return Ended(arrival, State.IGNORED, "processed before with these settings")
        first = self.history.done.get(arrival.sha256)
        return _duplicate(arrival, first) if first is not None and self.plan.input.duplicates == "skip" else None

    def _parse(self, arrival: Arrival, node: _Node, begun: float) -> _Outcome:
        """In a thread: hand the staged copy to a child."""
        if isinstance(node.source, _Inner) and node.source.member.failure:
            member = node.source.member
            return _Outcome(Ended(arrival, State.FAILED, member.reason, member.failure))
        try:
            parsed, file = self._read(arrival, node)
        except DocumentError as error:
            return _Outcome(_failed(arrival, error))
        return _Outcome(Work(arrival, parsed, time.perf_counter() - begun), file if parsed.members else None)

    def _read(self, arrival: Arrival, node: _Node) -> tuple[Parsed, IO[bytes]]:
        if arrival.size > (limit := self.plan.site.max_document_bytes):
            raise DocumentError(Failure.TOO_LARGE, f"it has {arrival.size} bytes; the limit is {limit}")
        assert node.left is not None
        left, hidden, images = node.left, self.plan.input.hidden, self.pages is not None
        options = Options(hidden, max(0, left.documents), max(0, left.bytes), images)
        descriptor = os.open(arrival.staged(self.plan.archive), os.O_RDONLY | os.O_CLOEXEC)
        try:
            out = self._scratch()
            parsed = self.pool.parse(descriptor, arrival.name, options, out.fileno())
            if self.pages and parsed.images:
                texts, notes = self.pages.read(out.fileno(), parsed.images)
                out = self._scratch()
                options = replace(options, images=False, page_texts=texts)
                parsed = self.pages.named(self.pool.parse(descriptor, arrival.name, options, out.fileno()), notes)
            return parsed, out
        finally:
            os.close(descriptor)

    def _scratch(self) -> IO[bytes]:
        """A file without a name for what is unpacked."""
        return tempfile.TemporaryFile(dir=self.plan.archive / ".staging", buffering=0)

    def _decided(self, node: _Node, outcome: _Outcome) -> Work | Ended:
        """What a document is, now that everything before it is."""
        item = outcome.item
        sha256 = item.arrival.sha256
        if node.source is None or sha256 is None or (isinstance(item, Ended) and item.state != State.FAILED):
            return item
        first = self.met.get(sha256)
        if sha256 in node.within or (first is not None and self.plan.input.duplicates == "skip"):
            return _duplicate(item.arrival, first or "the container that it is in")
        self.met.setdefault(sha256, item.arrival.path)
        if first is None:
            first = self.history.done.get(sha256)
        if isinstance(item, Work) and first is not None and self.plan.input.duplicates == "warn":
            item = replace(item, parsed=_noted(item.parsed, f"the same bytes as {first}"))
        return self._within_limits(node, item)

    def _within_limits(self, node: _Node, item: Work | Ended) -> Work | Ended:
        if isinstance(item, Ended) or not item.parsed.members:
            return item
        limits, left, members = self.plan.site.limits, node.left, item.parsed.members
        assert left is not None
        left.documents -= len(members)
        left.bytes -= sum(member.size for member in members if member.offset is not None)
        if node.depth >= limits.unpacked_depth:
            reason = f"it holds documents deeper than {limits.unpacked_depth} levels"
        elif left.documents < 0:
            reason = f"with what is around it, it holds more than {limits.unpacked_documents:,} documents"
        elif left.bytes < 0:
            reason = f"with what is around it, it unpacks to more than {limits.unpacked_bytes:,} bytes"
        else:
            return item
        return Ended(item.arrival, State.FAILED, reason, Failure.BOMB)

    def _inner(self, node: _Node, item: Work | Ended, file: IO[bytes] | None) -> list[_Node]:
        """The documents in one that is read, each a place of its own in the order."""
        if node.source is None or isinstance(item, Ended) or file is None:
            return []
        assert node.left is not None
        assert item.arrival.sha256 is not None
        within = node.within | {item.arrival.sha256}
        unpacked = _Unpacked(file, item.arrival, node.depth + 1, within, node.left)
        return [
            _Node(_Inner(member, unpacked), depth=node.depth + 1, within=within, left=node.left)
            for member in item.parsed.members
        ]

    def _kept(self, item: Work | Ended) -> Work | Ended:
        """With the parsed text beside the copy; an archive, which has none, needs no computing."""
        if item.parsed is None:
            return item
        assert item.arrival.sha256 is not None
        staging = staging_of(self.plan.archive, item.arrival.raw, item.arrival.sha256)
        text = staging / "text" / f"{item.parsed.text_sha256}.txt"
        text.parent.mkdir()
        text.write_bytes(item.parsed.text.encode())
        return item

    def _discard(self, arrival: Arrival) -> None:
        assert arrival.sha256 is not None
        shutil.rmtree(staging_of(self.plan.archive, arrival.raw, arrival.sha256))


def _closed(item: Work | Ended) -> _Outcome:
    """A container after its documents: its own text is still to be computed on, if it has one."""
    assert isinstance(item, Work)
    parsed = _noted(item.parsed, f"documents inside it, each with a row of its own: {len(item.parsed.members)}")
    if parsed.text:
        return _Outcome(replace(item, parsed=parsed))
    return _Outcome(Ended(item.arrival, State.DONE, "it only holds other documents", parsed=parsed))


def _noted(parsed: Parsed, note: str) -> Parsed:
    return replace(parsed, notes=(*parsed.notes, note))


def _duplicate(arrival: Arrival, first: str) -> Ended:
    return Ended(arrival, State.DUPLICATE, f"the same bytes as {first}", duplicate_of=first)


def _failed(arrival: Arrival, error: DocumentError) -> Ended:
    return Ended(arrival, State.FAILED, error.reason, error.failure)


def _nameless(source: Source | _Inner) -> Arrival:
    """A document of which only the name is known."""
    if isinstance(source, _Inner):
        container = source.unpacked.container
        path, raw = inner_path(container, source.member)
        return Arrival(path, raw, source.size, parent=container.sha256)
    return Arrival(shown(source.path), source.path, source.size)


def _now(outcome: _Outcome) -> Future[_Outcome]:
    future: Future[_Outcome] = Future()
    future.set_result(outcome)
    return future
