"""A document is decided by more than its contents: it may be known before, a copy of another one, or beyond what may be
unpacked.

All of it is decided when a document is given out, in order, from what stands before it in the order and in the log. So
it does not depend on which parser was faster, nor on when a run was killed.
"""

from dataclasses import dataclass, field, replace

from pipeline.document import Parsed
from pipeline.errors import Failure
from pipeline.inbox.discover import Candidate
from pipeline.inbox.intake import Again, Archived, Arrival
from pipeline.inbox.order import Ended, Inner, Node, Outcome, Room, Source, Work
from pipeline.plan import RunPlan
from pipeline.records.current import Last, RowKey, answers_of, newest_at
from pipeline.records.entries import documents_at
from pipeline.records.history import Held, History
from pipeline.records.types import Document
from pipeline.states import State

_KNOWN = "processed before with these settings"
OVERTAKEN = (
    "another row took the place of the one that was chosen: a person decided on it, or it was answered meanwhile"
)


@dataclass
class Decisions:
    """The decisions of one run. `met`: document -> the first path, of all that did not fail; `brought`: (document,
    path) of what came out of containers while failed ones are taken up again."""

    plan: RunPlan
    history: History
    met: dict[str, str] = field(default_factory=dict)
    brought: set[tuple[str, str]] = field(default_factory=set)

    def known(self, arrival: Arrival, source: Source | Inner) -> Ended | None:
        """Whether this needs no work because of what was done before this run."""
        if isinstance(source, Archived):
            return self._left(arrival)
        if isinstance(source, Inner):
            known = self._held(arrival) is not None
        else:
            kept = isinstance(source, Candidate) and self.plan.input.afterwards == "keep"
            known = kept and (arrival.path, arrival.sha256) in self.history.paths
        if known:
            return Ended(arrival, State.IGNORED, _KNOWN)
        first = self.history.done.get(arrival.sha256 or "") if self.plan.input.duplicates == "skip" else None
        return None if first is None else _duplicate(arrival, first)

    def earlier(self, arrival: Arrival) -> Document | None:
        """The entry of what this job took last from the path of a document."""
        number = newest_at(self.history.last, arrival.path)
        return None if number is None else next(documents_at(self.plan.site, [number]), None)

    def decided(self, node: Node, outcome: Outcome) -> Work | Ended:
        """The document as it ends or is answered, now that everything before it is decided."""
        item, source = outcome.item, node.source
        if source is None or (isinstance(item, Ended) and item.state != State.FAILED):
            return self._remembered(node, item)
        if item.arrival.sha256 is None:
            return item
        if isinstance(source, Again) and (item.arrival.sha256, item.arrival.path) in self.brought:
            return Ended(item.arrival, State.IGNORED, "taken up with the container that it is in")
        if isinstance(source, Inner) and self.plan.retry is not None:
            self.brought.add((item.arrival.sha256, item.arrival.path))
        if isinstance(source, Archived):
            return self._left(item.arrival) or self._first(node, outcome)
        return self._copy(node, item) or self._first(node, outcome)

    def _left(self, arrival: Arrival) -> Ended | None:
        """Whether an archived document is left: its row does not hold any more, or the job, which answers copies no
        longer, has answered another copy of it."""
        sha256 = arrival.sha256 or ""
        if not still_holds(self.history.last, arrival):
            return Ended(arrival, State.IGNORED, OVERTAKEN)
        if self.plan.input.duplicates != "skip":
            return None
        if (shared := self.history.last.get(sha256)) not in (None, arrival.of):
            return Ended(arrival, State.IGNORED, f"the same bytes as the document of row {shared}, which has an answer")
        if (first := self.met.get(sha256)) is not None:
            return Ended(arrival, State.IGNORED, f"the same bytes as {first}")
        return None

    def _remembered(self, node: Node, item: Work | Ended) -> Work | Ended:
        """One that a run did before it was cut off has taken its room, too."""
        if isinstance(node.source, Inner) and (held := self._held(item.arrival)):
            node.left.take(Room(held.documents, held.bytes))
        return item

    def _held(self, arrival: Arrival) -> Held | None:
        return self.history.inner.get(arrival.parent or "", {}).get((arrival.path, arrival.sha256))

    def _copy(self, node: Node, item: Work | Ended) -> Ended | None:
        """Whether there was one of the same bytes before it, of which it is a copy by the rule of the job."""
        sha256 = item.arrival.sha256 or ""
        first = node.within.get(sha256) or (self.met.get(sha256) if self.plan.input.duplicates == "skip" else None)
        return None if first is None else _duplicate(item.arrival, first)

    def _first(self, node: Node, outcome: Outcome) -> Work | Ended:
        """One that failed is no first: it may have failed of its name, or of what is around it."""
        item = outcome.item
        if isinstance(item, Ended):
            return item
        if item.arrival.earlier:
            item = replace(item, parsed=noted(item.parsed, item.arrival.earlier.note))
        if outcome.taken.documents:
            if reason := self._too_much(node, outcome.taken):
                return Ended(item.arrival, State.FAILED, reason, Failure.BOMB)
            node.left.take(outcome.taken)
        sha256, path = item.arrival.sha256 or "", item.arrival.path
        first = self.met.setdefault(sha256, self.history.done.get(sha256, path))
        if first != path and self.plan.input.duplicates == "warn":
            return replace(item, parsed=noted(item.parsed, f"the same bytes as {first}"))
        return item

    def _too_much(self, node: Node, taken: Room) -> str | None:
        limits = self.plan.site.limits
        if node.depth >= limits.unpacked_depth:
            return f"it holds documents deeper than {limits.named('unpacked_depth')} allows"
        if node.left.room.holds(taken):
            return None
        limit = "unpacked_documents" if taken.documents > node.left.room.documents else "unpacked_bytes"
        return f"with what is around it, it unpacks to more than {limits.named(limit)} allows"


def still_holds(last: Last, arrival: Arrival) -> bool:
    """Whether the row whose place a new one may take, if there is such a row, is still current."""
    row = RowKey(arrival.sha256, arrival.path, "")
    return arrival.of is None or arrival.of in answers_of(last, row)


def noted(parsed: Parsed, note: str) -> Parsed:
    """The parsed document with one note more."""
    return replace(parsed, notes=(*parsed.notes, note))


def _duplicate(arrival: Arrival, first: str) -> Ended:
    """A copy of the document at `first`, which may be the very same file that came again."""
    reason = "it came again, and was known" if arrival.path == first else f"the same bytes as {first}"
    return Ended(arrival, State.DUPLICATE, reason, duplicate_of=first)
