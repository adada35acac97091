"""Documents are answered by the workers of a cluster, in the order of the run, and here where there is none."""

import contextlib
import itertools
import queue
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any, Final, Generic, TypeVar, cast

import engine
from pipeline.answer.compute import Embedding, Pulse
from pipeline.answer.converse import Conversing
from pipeline.cluster.crew import Crew
from pipeline.cluster.errors import BadWorkerError, WorkerLostError, WorkerRefusedError
from pipeline.cluster.roster import Member
from pipeline.cluster.sharing import CHARACTERS, DOCUMENTS, READING, WRITING, Group, Piece, Sharing, places_for
from pipeline.cluster.wire import format_works, parse_rows
from pipeline.document import Parsed, Row
from pipeline.inbox.order import Work

_LOOK_SECONDS: Final = 0.05
ROWS, ROW = 16 << 20, 1 << 20
"""Bytes of an answer beside its rows, and of a row beside what stands in the document, at most."""
_HERE: Final = 8  # documents that the head answers at a time where it is alone, before it looks for workers again

T = TypeVar("T")


@dataclass(frozen=True)
class AnswerThere:
    """Answers documents on the workers of a crew; `here` answers them where there is none."""

    crew: Crew
    here: Embedding | Conversing
    note: Callable[..., None]

    def hands(self) -> int:
        """How many machines answer now: the workers, or this one where there is none."""
        return len(self.crew.roster.working()) or 1

    def threads(self) -> int:
        """How many threads they have in all, of which each reads a document at a time."""
        members = self.crew.roster.working()
        return sum(member.identity.threads for member in members if member.identity) or engine.threads()

    def __call__(
        self, items: Iterable[T], pulse: Pulse, *, review_hidden: bool = False
    ) -> Iterator[list[tuple[T, Row | None]]]:
        """Yield groups of items in order, with a row for each document, as `compute.Embedding` does."""
        yield from _Answering(self, iter(items), pulse, review_hidden).groups()


@dataclass
class _Place(Generic[T]):
    """An item in the order; it is over when it is no document, or has its row."""

    item: T
    row: Row | None = None

    @property
    def over(self) -> bool:
        return self.row is not None or not isinstance(self.item, Work)


_NOWHERE: Final[_Place[Any]] = _Place(None, Row({}))


def made_by(member: Member) -> dict[str, Any]:
    """The worker that made a row, as the row's entry tells of it."""
    assert member.identity is not None
    known = member.identity
    engine_, held = dict(member.facts), dict(member.isolation)
    return {"worker": known.worker, "host": known.host, "engine": engine_, "isolation": held}


@dataclass
class _Answering(Generic[T]):
    """One way through all items."""

    by: AnswerThere
    items: Iterator[T]
    pulse: Pulse
    review_hidden: bool
    sharing: Sharing = field(init=False)
    places: dict[int, _Place[T]] = field(default_factory=dict)  # by number, from `first` on
    first: int = 0
    count: int = 0
    characters: int = 0
    more: bool = True
    back: "queue.SimpleQueue[tuple[Member, Group, Future[dict[str, Any]]]]" = field(default_factory=queue.SimpleQueue)

    def __post_init__(self) -> None:
        self.sharing = Sharing(WRITING if isinstance(self.by.here, Conversing) else READING)

    def groups(self) -> Iterator[list[tuple[T, Row | None]]]:
        crew = self.by.crew
        while self.more or self.places:
            self._take_in()
            self._give_out()
            if piece := self.sharing.for_head():
                self._answer([piece])
            elif not crew.roster.working() and not crew.wait_for_some():
                self._answer(list(itertools.islice(iter(self.sharing.any_for_head, None), _HERE)))
            # Hear what came back; wait a little for it, and tell the run that it goes on.
            self.pulse(0, 0)
            for event, facts in self.by.crew.notes():
                self.by.note(event, **facts)
            waits = any(self.sharing.has.values()) and not self.places.get(self.first, _NOWHERE).over
            with contextlib.suppress(queue.Empty):
                if waits:
                    self._take_back(*self.back.get(timeout=_LOOK_SECONDS))
                while True:
                    self._take_back(*self.back.get_nowait())
            hopeless = self.sharing.hopeless(time.monotonic())
            for member in self.by.crew.roster.working() if hopeless else ():
                if member.key in hopeless:
                    self.by.crew.dismiss(member, BadWorkerError("it had documents for far too long"))
            if over := self._over():
                yield over

    def _take_in(self) -> None:
        """Take in what there is room for; not more at once than a worker takes, so that nobody waits for a group."""
        taken, working = 0, self.by.crew.roster.working
        while self.more and len(self.places) < places_for(len(working())) and taken < DOCUMENTS:
            if self.characters >= CHARACTERS:
                return
            item = next(self.items, None)
            if item is None:
                self.more = False
                return
            self.places[self.count] = _Place(item)
            if isinstance(item, Work):
                self.sharing.add(self.count, len(item.parsed.text))
                self.characters += len(item.parsed.text)
            self.count, taken = self.count + 1, taken + 1
            idle = any(not self.sharing.has.get(member.key) for member in working())
            if not self.back.empty() or (idle and self.sharing.is_enough()):
                return

    def _give_out(self) -> None:
        """Give each worker what it should have; the fastest first."""
        members, now = self.by.crew.roster.working(), time.monotonic()
        for member in sorted(members, key=lambda one: -self.sharing.speeds.get(one.key, 0.0)):
            while group := self.sharing.next_for(member.key, len(members), now, more=self.more):
                self._send(member, group)

    def _send(self, member: Member, group: Group) -> None:
        crew, documents = self.by.crew, format_works(self._works(group))
        room = ROWS + ROW * len(group.pieces) + 8 * len(documents)
        future = crew.call(member, "answer", room=room, commission=crew.told.digest, documents=documents)
        future.add_done_callback(lambda done: self.back.put((member, group, done)))

    def _works(self, group: Group) -> list[Work]:
        items = (self.places[piece.number].item for piece in group.pieces)
        return [item for item in items if isinstance(item, Work)]

    def _take_back(self, member: Member, group: Group, done: Future[dict[str, Any]]) -> None:
        """Take the rows of a group, unless they came before from another worker."""
        works = self._works(group) if group.name in self.sharing.groups else []
        try:
            answer = done.result()
            rows = parse_rows(answer.get("rows"), works) if works else []
        except (WorkerLostError, BadWorkerError, WorkerRefusedError) as error:
            self.sharing.lost(member.key)
            self.by.crew.dismiss(member, error)
            return
        if not self.sharing.done(member.key, group.name, time.monotonic()):
            return
        member.documents += len(rows)
        for piece, row in zip(group.pieces, rows, strict=True):
            self._put(piece, row.having(made_by=made_by(member)))

    def _answer(self, pieces: Sequence[Piece]) -> None:
        works = [cast(Work, self.places[piece.number].item) for piece in pieces]
        groups = self.by.here(works, self.pulse, review_hidden=self.review_hidden)
        rows = [row for group in groups for _, row in group]
        for piece, row in zip(pieces, rows, strict=True):
            self._put(piece, cast(Row, row))

    def _put(self, piece: Piece, row: Row) -> None:
        """A document has its row. It may wait long for those before it, and so its text is let go."""
        place = self.places[piece.number]
        work = cast(Work, place.item)
        self.characters -= len(work.parsed.text)
        place.item = cast(T, replace(work, parsed=Parsed("", work.parsed.media_type, work.parsed.parser)))
        place.row = row

    def _over(self) -> list[tuple[T, Row | None]]:
        """The items from the first on that are over."""
        over = list[tuple[T, Row | None]]()
        while self.first in self.places and self.places[self.first].over:
            place = self.places.pop(self.first)
            self.first += 1
            over.append((place.item, place.row))
        return over
