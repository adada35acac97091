"""Which worker gets which documents: in groups, in their order, more to a fast worker, less when the night ends.

Nothing here knows of a network or a clock, so that nights of any size can be simulated. Sizes are characters of text,
times are seconds.
"""

import math
from collections import deque
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
PLACES: Final = 1 << 16
"""Documents that are under way or wait for one before them, at most: their rows are in the head's memory."""
_MEMORY: Final = 0.5  # the weight of the newest group in what is known of a worker's speed
_SHORT: Final = 0.25  # seconds of work that are not worth a message so soon after another one
_PATIENCE: Final = 5.0  # seconds by which a group must be expected later than a second worker would need to have it
_WORTH_WHILE, _WORTH_AT_THE_END = 3.0, 1.0  # and times the seconds in which that one computes it: others may be to come
_HOPELESS, _WAITED = 10.0, 600.0  # a worker that has a group so many times longer, and so many seconds, has hung
_SPLIT_AFTER: Final = 2  # workers lost with a group: then its documents go out one by one
_LOST: Final = 5  # workers lost with one document: then it is for the head itself


def places_for(workers: int) -> int:
    """How many documents may be under way, or wait for one before them, with so many workers."""
    return min(PLACES, DOCUMENTS * AT_A_TIME * (1 + workers))


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
    size: int = field(init=False)  # in characters

    def __post_init__(self) -> None:
        self.size = sum(piece.size for piece in self.pieces)


@dataclass
class Sharing:
    """Documents that wait, groups that are under way, and how fast each worker is."""

    grouping: Grouping = READING
    waiting: deque[Piece] = field(default_factory=deque)
    groups: dict[int, Group] = field(default_factory=dict)
    speeds: dict[str, float] = field(default_factory=dict)
    ended: dict[str, float] = field(default_factory=dict)  # when each worker's last group came back
    given: dict[str, float] = field(default_factory=dict)  # when each worker got its last group
    has: dict[str, dict[int, Group]] = field(default_factory=dict)  # unanswered by it, if by others
    characters: int = 0  # of what waits
    names: int = 0
    looked: float = -1.0  # when it was looked last how long groups will take, and for whom none was found
    remaining: list[tuple[float, Group]] = field(default_factory=list)
    in_vain: set[str] = field(default_factory=set)

    def add(self, number: int, size: int) -> None:
        """A document waits, as the last one."""
        self.waiting.append(Piece(number, max(1, size)))
        self.characters += max(1, size)

    def next_for(self, worker: str, workers: int, now: float, *, more: bool) -> Group | None:
        """The group that a worker should have now, of `workers` in all; None for none. `more`: others will come."""
        if len(self.has.get(worker, ())) >= AT_A_TIME:
            return None
        if (
            more
            and (0 < self.characters < _SHORT * self.speeds.get(worker, 0.0))
            and now - self.given.get(worker, -_SHORT) < _SHORT
        ):
            return None
        if self.waiting and self.waiting[0].lost < _LOST:
            least = self.grouping.least if more else min(self.grouping.least, len(self.waiting) // (2 * workers))
            group = Group(self.names, tuple(self._taken(self._room(worker, workers, more=more), least)))
            self.names += 1
            self.groups[group.name] = group
        elif (again := self._again(worker, now, more=more)) is not None:
            group = again
        else:
            return None
        group.to[worker] = self.given[worker] = now
        self.has.setdefault(worker, {})[group.name] = group
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
        group = self.has.get(worker, {}).pop(name, None)
        if group is None:
            return False
        begun = max(group.to[worker], self.ended.get(worker, 0.0))
        speed = group.size / max(now - begun, 1e-6)
        known = self.speeds.get(worker)
        self.speeds[worker] = speed if known is None else _MEMORY * speed + (1 - _MEMORY) * known
        self.ended[worker] = now
        return self.groups.pop(name, None) is not None

    def lost(self, worker: str) -> None:
        """A worker is gone: what only it had waits again, before all others."""
        again: list[Piece] = []
        for group in self.has.pop(worker, {}).values():
            del group.to[worker]
            if not group.to and group.name in self.groups:
                del self.groups[group.name]
                again += [Piece(piece.number, piece.size, piece.lost + 1) for piece in group.pieces]
        self.waiting.extendleft(sorted(again, key=lambda piece: -piece.number))
        self.characters += sum(piece.size for piece in again)
        self.ended.pop(worker, None)

    def hopeless(self, now: float) -> set[str]:
        """Workers that have a group for so long that they will never answer, whatever else they say."""
        return {
            worker
            for worker, groups in self.has.items()
            for group in groups.values()
            if now - group.to[worker] > _WAITED + _HOPELESS * (AT_A_TIME * group.size / self._speed_of(worker))
        }

    def _room(self, worker: str, workers: int, *, more: bool) -> float:
        """The size of a worker's next group. Where no more documents come, what waits is shared by speed, a half of it
        at a time, so that all end nearly together (guided self-scheduling: Polychronopoulos and Kuck, 1987)."""
        speed, most = self.speeds.get(worker), CHARACTERS / (2 * AT_A_TIME)  # the other half waits, or comes just then
        if speed is None:
            return max(1.0, min(FIRST, most / workers, math.inf if more else self.characters / workers / 2))
        known = sum(self.speeds.values()) * workers / len(self.speeds)  # also of workers that are here no more
        room = min(speed * self.grouping.seconds, most * speed / known)
        if not more:
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

    def _again(self, worker: str, now: float, *, more: bool) -> Group | None:
        """The group of another worker that would come back much sooner if this one, which has nothing else to do, had
        it too: the one that is expected last (the rule LATE of Zaharia et al., 2008)."""
        if self.looked != now:  # once for all workers that are asked about at a time: they may be hundreds
            self.remaining, self.looked, self.in_vain = self._remaining(now), now, set()
        if worker in self.in_vain:
            return None
        worth = _WORTH_WHILE if more else _WORTH_AT_THE_END
        for seconds, group in self.remaining:
            if seconds < _PATIENCE:
                break
            alone = len(group.to) == 1 and worker not in group.to
            if alone and seconds > _PATIENCE + worth * group.size / self._speed_of(worker):
                return group
        self.in_vain.add(worker)
        return None

    def _remaining(self, now: float) -> list[tuple[float, Group]]:
        """In how many seconds each group that one worker has is expected, the last one first. One that is late is
        expected to be as late once more."""
        ends, found = dict[str, float](), list[tuple[float, Group]]()
        for group in self.groups.values():  # those of a worker in the order in which it has them
            if len(group.to) == 1:
                [(worker, since)] = group.to.items()
                begins = max(ends.get(worker, self.ended.get(worker, since)), since)
                ends[worker] = begins + group.size / self._speed_of(worker)
                found.append((abs(ends[worker] - now), group))
        return sorted(found, key=lambda one: -one[0])

    def _speed_of(self, worker: str) -> float:
        return self.speeds.get(worker) or FIRST / self.grouping.seconds
