"""Files in, parsed documents out, in the order of the scan, while parsers work ahead of the engine.

A document that holds others is followed by them: they are taken from what was unpacked, in their order, and it is
given out after the last of them. So a run that is cut off between two of them meets it again, and knows those that it
has committed.
"""

import shutil
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from itertools import islice

from pipeline.errors import DocumentError
from pipeline.inbox.decide import Decisions, noted
from pipeline.inbox.discover import Candidate
from pipeline.inbox.find import digest_for, refuse_size
from pipeline.inbox.intake import (
    Again,
    Archived,
    Arrival,
    LeftError,
    StillChangingError,
    inner_path,
    take,
    take_again,
    take_archived,
    take_member,
    with_earlier,
)
from pipeline.inbox.order import Ended, Inner, Left, Node, Outcome, Room, Source, Unpacked, Work, depth_of, now
from pipeline.inbox.reader import Reader, failed
from pipeline.openai.line import BATCH_FILE
from pipeline.parse import StoppedError
from pipeline.paths.beneath import Writers
from pipeline.plan import RunPlan
from pipeline.states import State
from pipeline.text.visible import shown

_AHEAD_FILES = 32
AHEAD_BYTES = 64 << 20
"""Of documents that are read ahead, but for the first of them."""
_LOOK_SECONDS = 0.05  # between two looks whether to stop
_AHEAD_UNPACKED = 32 << 20  # of each of them: so much of a disk may wait for its turn, not 32 bombs
_AHEAD_RATIO = 16  # times its size, which a document may unpack to that is one of more than 32


def unpacks_ahead(size: int, ahead: int) -> int:
    """The bytes that a document of some size may unpack to that is one of so many that are read ahead: all of them
    together to no more than 32 do, or to some times of what they are, however many machines read them."""
    return min(_AHEAD_UNPACKED, max(_AHEAD_UNPACKED * _AHEAD_FILES // ahead, _AHEAD_RATIO * size))


@dataclass
class Feed:
    """Takes files in one after another, has them read, and gives them out as what they are decided to be.

    `workers`: documents that are read at a time, at most; `expect` is told how many documents a container brings;
    `threads`: how many there are to read by, here or elsewhere, for each of which two documents are taken in;
    `waits_for` hears again and again which document it is that is waited for.
    """

    plan: RunPlan
    decisions: Decisions
    reader: Reader
    workers: int
    expect: Callable[[int], None] = lambda count: None
    threads: Callable[[], int] = lambda: 1
    waits_for: Callable[[Arrival], None] = lambda arrival: None

    def __post_init__(self) -> None:
        self.writers = Writers(self.plan.input.folder)

    def __call__(self, sources: Sequence[Source], stop: Callable[[], bool]) -> Iterator[Work | Ended]:
        """One item a document, in order; when `stop()` becomes true, nothing more is taken in or given out."""
        coming, order = iter(sources), deque[Node]()
        threads = ThreadPoolExecutor(self.workers, "parse")
        try:
            while not stop() and self._begin(order, coming, threads):
                node = order.popleft()
                outcome = self._outcome(node, threads, stop)
                item = self.decisions.decided(node, outcome)
                if inner := _inner(node, item, outcome):
                    self.expect(len(inner))
                    order.extendleft([Node(None, node.left, outcome=now(closed(item))), *reversed(inner)])
                else:
                    yield self._kept(alone(item) if isinstance(node.source, Archived) else item)
        except StoppedError:  # in the middle of a document, which stays pending
            return
        finally:  # also when the caller stops in the middle: what is parsed ahead is for nobody any more
            threads.shutdown(wait=False, cancel_futures=True)
            self.reader.close()
            threads.shutdown()

    def _begin(self, order: deque[Node], coming: Iterator[Source], threads: ThreadPoolExecutor) -> bool:
        """Start what there is room for, in order, at least the first; whether there is one."""
        held, ahead = 0, self._ahead()
        for place, node in enumerate(islice(order, ahead)):
            if node.outcome is None and (place == 0 or held <= AHEAD_BYTES):
                self._start(node, threads, ahead=place > 0)
            held += node.weight()
        while len(order) <= ahead and (held <= AHEAD_BYTES or not order):
            source = next(coming, None)
            if source is None:
                break
            limits = self.plan.site.limits
            left = Left(Room(limits.unpacked_documents, limits.unpacked_bytes))
            node = Node(source, left, depth_of(source))
            self._start(node, threads, ahead=bool(order))
            order.append(node)
            held += node.weight()
        return bool(order)

    def _ahead(self) -> int:
        """How many documents may be taken in before the first of them is given out."""
        return max(_AHEAD_FILES, 2 * self.threads())

    def _start(self, node: Node, threads: ThreadPoolExecutor, *, ahead: bool) -> None:
        """Take one in, and have it parsed unless it is known already."""
        begun = time.perf_counter()
        assert node.source is not None
        nameless = _nameless(node.source)
        try:
            if isinstance(node.source, Candidate | Again):
                refuse_size(node.source, self.plan.site.max_document_bytes, self.plan.input_folder)
            arrival = self._take(node.source)
        except StillChangingError as error:
            node.outcome = now(Outcome(Ended(nameless, State.PENDING, str(error))))
        except LeftError as error:
            node.outcome = now(Outcome(Ended(nameless, State.IGNORED, str(error))))
        except DocumentError as error:
            nameless = replace(nameless, unread=digest_for(node.source, error))
            known = self.decisions.known(nameless, node.source)
            node.outcome = now(Outcome(known or failed(nameless, error)))
        else:
            if known := self.decisions.known(arrival, node.source):
                shutil.rmtree(arrival.staged(self.plan.archive).parent)
                node.outcome = now(Outcome(replace(known, arrival=replace(arrival, staging=None))))
            else:
                if isinstance(node.source, Candidate):
                    before = self.decisions.earlier(arrival)
                    arrival = with_earlier(arrival, before, self.plan.archive, self.plan.site.at_rest)
                node.room = node.left.room
                if ahead:
                    most = unpacks_ahead(arrival.size, self._ahead())
                    node.room = replace(node.room, bytes=min(node.room.bytes, most))
                member = node.source.member if isinstance(node.source, Inner) else None
                taken = time.perf_counter() - begun
                node.arrival = arrival
                node.outcome = threads.submit(self.reader, arrival, node.room, taken, member)

    def _take(self, source: Source | Inner) -> Arrival:
        at_rest = self.plan.site.at_rest
        if isinstance(source, Candidate):
            return take(source, self.writers, self.plan.archive, at_rest)
        if isinstance(source, Again):
            return take_again(source, self.plan.failed, self.plan.archive, at_rest)
        if isinstance(source, Archived):
            return take_archived(source, self.plan.site.max_document_bytes, self.plan.archive, at_rest)
        unpacked = source.unpacked
        return take_member(source.member, unpacked.file.fileno(), unpacked.container, self.plan.archive, at_rest)

    def _outcome(self, node: Node, threads: ThreadPoolExecutor, stop: Callable[[], bool]) -> Outcome:
        """The outcome of a node; it is parsed anew if it was parsed ahead and that could have made a difference.
        StoppedError."""
        assert node.outcome is not None
        outcome = self._waited_for(node.outcome, node.arrival, stop)
        if node.is_settled(outcome):
            return outcome
        again = threads.submit(self.reader, outcome.item.arrival, node.left.room)
        return self._waited_for(again, node.arrival, stop)

    def _waited_for(self, outcome: Future[Outcome], arrival: Arrival | None, stop: Callable[[], bool]) -> Outcome:
        """The outcome of a document, unless stopping is asked for before: it may take a minute to be read.
        StoppedError."""
        while not outcome.done():
            if stop():
                raise StoppedError
            if arrival:
                self.waits_for(arrival)
            wait([outcome], _LOOK_SECONDS)
        return outcome.result()

    def _kept(self, item: Work | Ended) -> Work | Ended:
        """Keep the parsed text beside the copy; an archive, which has none, needs no computing."""
        if item.parsed is not None:
            text = item.arrival.staged(self.plan.archive).parent / "text" / f"{item.parsed.text_sha256}.txt"
            text.parent.mkdir()
            data, document = item.parsed.text.encode(), str(item.arrival.sha256)
            self.plan.site.at_rest.write(text, data, self.plan.job, document)
        return item


def _inner(node: Node, item: Work | Ended, outcome: Outcome) -> list[Node]:
    """The documents in one that is read, each a place of its own in the order."""
    if node.source is None or isinstance(node.source, Archived) or isinstance(item, Ended) or outcome.file is None:
        return []
    assert item.arrival.sha256 is not None
    around = {} if item.parsed.media_type == BATCH_FILE else {item.arrival.sha256: item.arrival.path}
    within = {**node.within, **around}  # a request may be all that a file has, and is no copy of it
    unpacked = Unpacked(outcome.file, item.arrival)
    return [Node(Inner(member, unpacked), node.left, node.depth + 1, within) for member in item.parsed.members]


def closed(item: Work | Ended) -> Outcome:
    """A container after its documents: its own text is still to be computed on, if it has one."""
    assert isinstance(item, Work)
    parsed = noted(item.parsed, f"documents inside it, each with a row of its own: {len(item.parsed.members)}")
    if parsed.text:
        return Outcome(replace(item, parsed=parsed))
    return Outcome(Ended(item.arrival, State.DONE, "it only holds other documents", parsed=parsed))


def alone(item: Work | Ended) -> Work | Ended:
    """A document without those in it, which have rows of their own: its own text is to be computed on, if it has one.
    That it holds others is told as in a run that unpacks them."""
    return closed(item).item if isinstance(item, Work) and item.parsed.members else item


def _nameless(source: Source | Inner) -> Arrival:
    """A document of which only the name is known; of one that was read before, its sha256 too."""
    if isinstance(source, Inner):
        container = source.unpacked.container
        path, raw = inner_path(container, source.member)
        return Arrival(path, raw, source.size, parent=container.sha256)
    if isinstance(source, Again | Archived):
        of = source.of if isinstance(source, Archived) else None
        return Arrival(shown(source.path), source.path, source.size, source.sha256, source.parent, of=of)
    return Arrival(shown(source.path), source.path, source.size)
