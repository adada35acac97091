"""Who works on a run, who is gone or refused, why, and since when."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pipeline.cluster.identity import Identity

JOINING, WORKING, REFUSED, GONE = "joining", "working", "refused", "gone"
READS_PER_THREAD: Final = 8
"""Small documents that a worker has to read at a time, for each of its threads: some of them are on their way."""
LARGE: Final = 4
"""Small documents that a large one counts as."""


@dataclass
class Member:
    """A worker as its head knows it. `since`: seconds since 1970 of its state; `facts` are those of its engine;
    `refusals`: how often it answered with nonsense; `again`: when it may be asked again, by a clock that only goes on;
    `number`: how many had its address before."""

    address: str
    name: str
    state: str
    since: float
    why: str = ""
    identity: Identity | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    isolation: Mapping[str, bool] = field(default_factory=dict)
    reads: int = 0
    documents: int = 0
    refusals: int = 0
    again: float = 0.0
    number: int = 0

    @property
    def key(self) -> str:
        """The member, and not another one that had its address before, or has it after it."""
        return f"{self.address} {self.number}"

    @property
    def room(self) -> int:
        """The small documents that it could take besides those that it has."""
        return READS_PER_THREAD * (self.identity.threads if self.identity else 1) - self.reads

    def to_json(self) -> dict[str, Any]:
        """The facts for people and programs who ask."""
        known = self.identity
        machine = {} if known is None else {"host": known.host, "cpu": known.cpu, "isa": known.isa}
        return {
            "worker": self.name, "address": self.address, "state": self.state, "since": self.since,
            "why": self.why or None, "documents": self.documents, **machine,
        }  # fmt: skip


class Roster:
    """The members by address. A worker that was gone and comes back is another member. `members` is never changed, but
    replaced: other threads go through it meanwhile."""

    def __init__(self) -> None:
        self.members: Mapping[str, Member] = {}

    def add(self, member: Member) -> None:
        """Take one up, instead of one of that address."""
        self.members = {**self.members, member.address: member}

    def working(self) -> list[Member]:
        """Those to whom documents go."""
        return [member for member in self.members.values() if member.state == WORKING]

    def reader(self) -> Member | None:
        """Who should read the next document: the one with the most room for it."""
        best = max(self.working(), key=lambda member: member.room, default=None)
        return best if best and best.room > 0 else None
