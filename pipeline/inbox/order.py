"""The order of a run holds documents, begun or not, and the ends of containers after their documents; and the rows of
documents that need no answer."""

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import asdict, dataclass, field
from typing import IO

from pipeline.document import Member, Parsed, Row
from pipeline.errors import Failure
from pipeline.inbox.discover import Candidate
from pipeline.inbox.intake import INSIDE, Again, Archived, Arrival
from pipeline.states import State
from pipeline.text.language import language


@dataclass(frozen=True)
class Work:
    """A parsed document on its way to an answer; `seconds` is what it took so far."""

    arrival: Arrival
    parsed: Parsed
    seconds: float


def failed_row(arrival: Arrival, parsed: Parsed | None, failure: Failure, reason: str) -> Row:
    """The row of a document that has no answer."""
    came = input_columns(arrival, parsed)
    return came.having(state=State.FAILED.value, failure=failure.value, reason=reason, tokens=0, seconds=0.0)


def input_columns(arrival: Arrival, parsed: Parsed | None) -> Row:
    """A row with the columns that say what came in."""
    row = Row({"document": arrival.sha256, "path": arrival.path, "parent": arrival.parent, "size": arrival.size})
    return row if not parsed else row.having(
        media_type=parsed.media_type,
        encoding=parsed.encoding,
        encoding_confidence=parsed.encoding_confidence,
        language=language(parsed.text),
        pages=len(parsed.page_starts) or None,
        notes=list(parsed.notes),
        hidden=[asdict(hidden) for hidden in parsed.hidden],
        parser=parsed.parser,
        text_sha256=parsed.text_sha256,
    )  # fmt: skip


Source = Candidate | Again | Archived


@dataclass(frozen=True)
class Ended:
    """A document that needs no computing: failed, duplicate, known before (ignored), changing (pending), an archive."""

    arrival: Arrival
    state: State
    reason: str | None
    failure: Failure | None = None
    duplicate_of: str | None = None
    parsed: Parsed | None = None


def ended_row(ended: Ended) -> Row:
    """The row of a document that has ended."""
    if ended.failure:
        return failed_row(ended.arrival, None, ended.failure, ended.reason or ended.failure.sentence)
    came, state = input_columns(ended.arrival, ended.parsed), ended.state.value
    return came.having(state=state, reason=ended.reason, duplicate_of=ended.duplicate_of, tokens=0, seconds=0.0)


@dataclass(frozen=True)
class Room:
    """The room for everything that a document unpacks to."""

    documents: int
    bytes: int

    def holds(self, taken: "Room") -> bool:
        """Whether so much fits."""
        return taken.documents <= self.documents and taken.bytes <= self.bytes


@dataclass
class Left:
    """The room of a file of the input folder that is left for everything in it."""

    room: Room

    def take(self, taken: Room) -> None:
        """Take off the room that is used."""
        self.room = Room(self.room.documents - taken.documents, self.room.bytes - taken.bytes)


@dataclass(frozen=True)
class Unpacked:
    """The bytes of the documents in one container; the file ends with the last of those who refer to it."""

    file: IO[bytes]
    container: Arrival


@dataclass(frozen=True)
class Inner:
    """A document in a container."""

    member: Member
    unpacked: Unpacked

    @property
    def size(self) -> int:
        """Bytes, as the container says."""
        return self.member.size


@dataclass(frozen=True)
class Outcome:
    """The outcome of one document by itself. `file` holds what was unpacked from it, `written` bytes."""

    item: Work | Ended
    file: IO[bytes] | None = None
    written: int = 0

    @property
    def taken(self) -> Room:
        """The room that the documents in it take."""
        members = () if self.item.parsed is None else self.item.parsed.members
        return Room(len(members), sum(member.size for member in members if member.offset is not None))


@dataclass
class Node:
    """A place in the order. Without a source it is the end of a container whose documents went before it.

    `within`: the containers around it, sha256 -> path. `room`: what it could unpack to when it was parsed, which may
    have been ahead of its turn. `arrival`: what is being read.
    """

    source: Source | Inner | None
    left: Left
    depth: int = 0
    within: Mapping[str, str] = field(default_factory=dict)
    outcome: Future[Outcome] | None = None
    room: Room | None = None
    arrival: Arrival | None = None
    _weight: int | None = field(default=None, init=False)

    def weight(self) -> int:
        """Bytes that it may take in memory: of its file, or of its text once that is known."""
        if self._weight is not None:
            return self._weight
        if self.outcome is None or self.source is None:
            return 0
        if not self.outcome.done():
            return self.source.size
        item = None if self.outcome.exception() else self.outcome.result().item
        self._weight = max(self.source.size, 4 * len(item.parsed.text) if isinstance(item, Work) else 0)
        return self._weight

    def is_settled(self, outcome: Outcome) -> bool:
        """Whether the same would have come of it with exactly what is left for it now.

        If it was given more, what it holds may not fit any more, or it would have come to that limit before it came
        to what it failed of; if less, the limit may have been ours.
        """
        if self.room is None or self.room == self.left.room:
            return True
        item, left = outcome.item, self.left.room
        if isinstance(item, Ended) and item.state == State.FAILED:
            return item.failure != Failure.BOMB and (not outcome.written or left.holds(self.room))
        return left.holds(outcome.taken)


def depth_of(source: Source) -> int:
    """How many containers are around a document that is taken by itself: one that was read in them before may be."""
    return source.path.count(INSIDE) if not isinstance(source, Candidate) and source.parent else 0


def now(outcome: Outcome) -> Future[Outcome]:
    """An outcome that nobody has to wait for."""
    future: Future[Outcome] = Future()
    future.set_result(outcome)
    return future
