"""Which worker gets which documents: in groups, in their order, more to a fast worker, less when the night ends.

Nothing here knows of a network or a clock, so that nights of any size can be simulated. Sizes are characters of text,
times are seconds.
"""

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

FIRST: Final = 60_000
"""The size of a group for a worker of which nothing is known yet."""
DOCUMENTS: Final = 256
"""Of a group, at most."""
CHARACTERS: Final = 256_000_000
"""Of texts that are under way, at most: the head's memory is bounded, however many workers there are."""
AT_A_TIME: Final = 2
"""Groups of a worker: one that it computes, one that waits there, so that it never waits itself."""
_MEMORY: Final = 0.5  # the weight of the newest group in what is known of a worker's speed
_OVERDUE, _PATIENCE = (
    3.0,
    5.0,
)  # a group that takes so many times what was expected, and so many seconds, goes out again
_HOPELESS, _WAITED = 10.0, 600.0  # a worker that has a group so many times longer, and so many seconds, has hung
_SPLIT_AFTER: Final = 2  # workers lost with a group: then its documents go out one by one
_LOST: Final = 5  # workers lost with one document: then it is for the head itself


@dataclass(frozen=True)
class Grouping:
    """How large groups are: `seconds` is the time that one should take its worker, long against a message, short
    against a night; `least`, the documents that it has at least while there are so many, because a model that writes
    works on many at a time, and reads what they have in common once."""

    seconds: float
    least: int


READING, WRITING = Grouping(20.0, 1), Grouping(240.0, 32)
"""For a model that reads, and for one that writes."""


@dataclass(frozen=True)
class Piece:
    """A document by its number in the order of the run, its size, and the workers that were lost with it."""

    number: int
    size: int
    lost: int = 0


@dataclass
class Group:
    """Documents that went out together, and to whom, and when."""

    name: int
    pieces: tuple[Piece, ...]
    to: dict[str, float] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Characters."""
        return sum(piece.size for piece in self.pieces)


@dataclass
class Sharing:
    """Documents that wait, groups that are under way, and how fast each worker is."""

    grouping: Grouping = READING
    waiting: deque[Piece] = field(default_factory=deque)
    groups: dict[int, Group] = field(default_factory=dict)
    speeds: dict[str, float] = field(default_factory=dict)
    ended: dict[str, float] = field(default_factory=dict)  # when each worker's last group came back
    holds: Counter[str] = field(default_factory=Counter)  # how many groups each worker has
    characters: int = 0  # of what waits
    names: int = 0

    def add(self, number: int, size: int) -> None:
        """A document waits, as the last one."""
        self.waiting.append(Piece(number, max(1, size)))
        self.characters += max(1, size)

    def next_for(self, worker: str, workers: int, now: float, *, more: bool) -> Group | None:
        """The group that a worker should have now, of `workers` in all; None for none. `more`: others will come."""
        if self.holds[worker] >= AT_A_TIME:
            return None
        if self.waiting and self.waiting[0].lost < _LOST:
            least = self.grouping.least if more else min(self.grouping.least, len(self.waiting) // (2 * workers))
            group = Group(self.names, tuple(self._taken(self._room(worker, workers, more=more), least)))
            self.names += 1
            self.groups[group.name] = group
        elif (overdue := self._overdue(worker, now)) is not None:
            group = overdue
        else:
            return None
        group.to[worker] = now
        self.holds[worker] += 1
        return group

    def is_enough(self) -> bool:
        """Whether what waits is a group for a worker that has nothing."""
        return self.characters >= FIRST and len(self.waiting) >= self.grouping.least

    def for_head(self) -> Piece | None:
        """A document that the head should answer itself, for too many workers were lost with it."""
        return self._next() if self.waiting and self.waiting[0].lost >= _LOST else None

    def any_for_head(self) -> Piece | None:
        """The next document, where there is no worker."""
        return self._next() if self.waiting else None

    def _next(self) -> Piece:
        piece = self.waiting.popleft()
        self.characters -= piece.size
        return piece

    def done(self, worker: str, name: int, now: float) -> bool:
        """A group came back from a worker; False if it did before, from another."""
        group = self.groups.get(name)
        if group is None or worker not in group.to:
            return False
        begun = max(group.to[worker], self.ended.get(worker, 0.0))
        speed = group.size / max(now - begun, 1e-6)
        known = self.speeds.get(worker)
        self.speeds[worker] = speed if known is None else _MEMORY * speed + (1 - _MEMORY) * known
        self.ended[worker] = now
        for other in group.to:
            self.holds[other] -= 1
        del self.groups[name]
        return True

    def lost(self, worker: str) -> None:
        """A worker is gone: what only it had waits again, before all others."""
        again: list[Piece] = []
        had = [group for group in self.groups.values() if worker in group.to] if self.holds.pop(worker, 0) else []
        for group in had:
            del group.to[worker]
            if not group.to:
                again += [Piece(piece.number, piece.size, piece.lost + 1) for piece in group.pieces]
                del self.groups[group.name]
        self.waiting.extendleft(sorted(again, key=lambda piece: -piece.number))
        self.characters += sum(piece.size for piece in again)
        self.ended.pop(worker, None)

    def hopeless(self, now: float) -> set[str]:
        """Workers that have a group for so long that they will never answer, whatever else they say."""
        return {
            worker
            for group in self.groups.values()
            for worker, since in group.to.items()
            if now - since > _WAITED + _HOPELESS * self._expected_of(worker, group)
        }

    def _room(self, worker: str, workers: int, *, more: bool) -> float:
        """The size of a worker's next group. Where no more documents come, what waits is shared by speed, a half of it
        at a time, so that all end nearly together (guided self-scheduling: Polychronopoulos and Kuck, 1987)."""
        speed, most = self.speeds.get(worker), CHARACTERS / (AT_A_TIME * max(1, workers))
        if speed is None:
            return min(FIRST, most)
        room = min(speed * self.grouping.seconds, most)
        if not more:  # speeds are those of workers that were here, too: only their mean is used
            known = sum(self.speeds.values()) * workers / len(self.speeds)
            room = min(room, self.characters * speed / known / 2)
        return max(1.0, room)

    def _taken(self, room: float, least: int) -> Iterable[Piece]:
        """The next documents, at least one and at most what there is room for, but for `least` of them."""
        taken, size = 0, 0
        while self.waiting and taken < DOCUMENTS and (taken < max(1, least) or size + self.waiting[0].size <= room):
            piece = self.waiting[0]
            if piece.lost >= _SPLIT_AFTER and taken:
                return
            yield self._next()
            taken, size = taken + 1, size + piece.size
            if piece.lost >= _SPLIT_AFTER:
                return

    def _overdue(self, worker: str, now: float) -> Group | None:
        """The group of other workers that has been under way for much too long, the longest; it goes out once more."""
        speed = self.speeds.get(worker)
        if speed is None:
            return None
        late = [
            (now - min(group.to.values()), group)
            for group in self.groups.values()
            if worker not in group.to and len(group.to) == 1
        ]
        late = [(age, group) for age, group in late if age > _PATIENCE + _OVERDUE * self._expected(group)]
        return max(late, key=lambda one: one[0])[1] if late else None

    def _expected(self, group: Group) -> float:
        """The seconds that a group should take those who have it, with one before it."""
        return max(self._expected_of(worker, group) for worker in group.to)

    def _expected_of(self, worker: str, group: Group) -> float:
        return AT_A_TIME * group.size / (self.speeds.get(worker) or FIRST / self.grouping.seconds)
