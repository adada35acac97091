"""Documents are answered by the workers of a cluster, in the order of the run, and here where there is none."""

import queue
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any, Final, Generic, TypeVar

from pipeline.answer.compute import Embedding, Pulse
from pipeline.answer.converse import Conversing
from pipeline.cluster.crew import Crew
from pipeline.cluster.errors import BadWorkerError, WorkerLostError, WorkerRefusedError
from pipeline.cluster.roster import Member
from pipeline.cluster.sharing import AT_A_TIME, DOCUMENTS, Group, Sharing
from pipeline.cluster.wire import format_works, parse_rows
from pipeline.inbox.rows import Row, Work

CHARACTERS: Final = 64_000_000
"""Of texts that are under way, at most: the head's memory is bounded, however many workers there are."""
_LOOK_SECONDS: Final = 0.05
_MADE_BY: Final = "made_by"

T = TypeVar("T")


@dataclass(frozen=True)
class AnswerThere:
    """Answers documents on the workers of a crew; `here` answers them where there is none."""

    crew: Crew
    here: Embedding | Conversing

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


@dataclass
class _Answering(Generic[T]):
    """One way through all items."""

    by: AnswerThere
    items: Iterator[T]
    pulse: Pulse
    review_hidden: bool
    sharing: Sharing = field(default_factory=Sharing)
    places: dict[int, _Place[T]] = field(default_factory=dict)  # by number, from `first` on
    first: int = 0
    count: int = 0
    characters: int = 0
    more: bool = True
    back: "queue.SimpleQueue[tuple[Member, Group, Future[dict[str, Any]]]]" = field(default_factory=queue.SimpleQueue)
    asked: dict[tuple[str, int], Future[dict[str, Any]]] = field(default_factory=dict)

    def groups(self) -> Iterator[list[tuple[T, Row | None]]]:
        crew = self.by.crew
        while self.more or self.places:
            self._take_in()
            self._give_out()
            if not crew.roster.working():
                crew.wait_for_some(self._hears)
                if not crew.roster.working():
                    self._answer_here()
            self._hear()
            if over := self._over():
                yield over

    def _room(self) -> int:
        return DOCUMENTS * AT_A_TIME * (1 + len(self.by.crew.roster.working()))

    def _take_in(self) -> None:
        """Take in what there is room for; not more at once than a worker takes, so that nobody waits for a group."""
        taken = 0
        while self.more and len(self.places) < self._room() and self.characters < CHARACTERS and taken < DOCUMENTS:
            item = next(self.items, None)
            if item is None:
                self.more = False
                return
            self.places[self.count] = _Place(item)
            if isinstance(item, Work):
                self.sharing.add(self.count, len(item.parsed.text))
                self.characters += len(item.parsed.text)
            self.count, taken = self.count + 1, taken + 1
            if not self.back.empty() or self._somebody_waits():
                return

    def _somebody_waits(self) -> bool:
        """Whether a worker has nothing, and there is enough for it."""
        busy = {name for group in self.sharing.groups.values() for name in group.to}
        idle = len(self.by.crew.roster.working()) > len(busy)
        return idle and sum(piece.size for piece in self.sharing.waiting) >= self.sharing.least

    def _give_out(self) -> None:
        """Give each worker what it should have; the fastest first."""
        members = self.by.crew.roster.working()
        for member in sorted(members, key=lambda one: -self.sharing.speeds.get(one.address, 0.0)):
            while group := self.sharing.next_for(member.address, len(members), self.by.crew.now(), more=self.more):
                self._send(member, group)

    def _send(self, member: Member, group: Group) -> None:
        documents = format_works(self._works(group))
        future = self.by.crew.call(member, "answer", commission=self.by.crew.told.digest, documents=documents)
        future.add_done_callback(lambda done: self.back.put((member, group, done)))

    def _works(self, group: Group) -> list[Work]:
        items = (self.places[piece.number].item for piece in group.pieces)
        return [item for item in items if isinstance(item, Work)]

    def _hear(self) -> None:
        """Hear what came back; wait a little for it, and tell the run that it goes on."""
        self.pulse(0, 0)
        for event, facts in self.by.crew.notes():
            self.by.observer.note(event, **facts)
