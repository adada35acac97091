"""Legal holds: documents that no rule deletes and nobody erases, until they are released.

A hold names entries of its document, not the document: an entry says whatever the job lets the log say.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pipeline.keep.about import about
from pipeline.outbox.recover import recovered_log
from pipeline.plan import Site
from pipeline.records.entries import documents_at, fold, read_entries
from pipeline.records.types import Held, Record, Released


@dataclass(frozen=True)
class Hold:
    """A hold in force: the number of its entry, the documents that it holds, why, and who asked for it when."""

    number: int
    documents: tuple[str, ...]
    reason: str
    user: str
    time: str


@dataclass
class Holds:
    """The entries of the holds in force, of all jobs, by number."""

    entries: dict[int, Held] = field(default_factory=dict)

    def take(self, entry: Record) -> None:
        """Take in the next entry, of any type."""
        if isinstance(entry, Held):
            self.entries[entry.n] = entry
        elif isinstance(entry, Released):
            self.entries.pop(entry.hold, None)


def holds(site: Site) -> list[Hold]:
    """The holds in force, oldest first. audit.AuditError."""
    found = fold(read_entries(site), Holds()).entries
    return [
        Hold(number, tuple(sorted(held_documents(site, [entry.entries]))), entry.reason, entry.user, entry.time)
        for number, entry in found.items()
    ]


def hold(site: Site, wanted: str, reason: str, *, wait: float = 0) -> Hold:
    """Hold a document and what was in it. LookupError (no such document), audit.AuditError (of them LogHeld after
    `wait` seconds)."""
    with recovered_log(site, wait) as log:
        found = about(site, wanted)
        first = {entry.document: entry.n for entry in reversed(found.entries) if entry.document}
        number = log.commit([Held(entries=tuple(sorted(first.values())), reason=reason)])
    return next(each for each in holds(site) if each.number == number)


def release(site: Site, wanted: str, number: int | None, reason: str, *, wait: float = 0) -> Hold:
    """End the hold of a document, or of its holds the one of entry `number`. LookupError, audit.AuditError (of them
    LogHeld after `wait` seconds)."""
    with recovered_log(site, wait) as log:
        document = about(site, wanted).document
        found = [each for each in holds(site) if document in each.documents and number in (None, each.number)]
        if len(found) != 1:
            raise LookupError(_no_one_hold(document, found))
        log.commit([Released(hold=found[0].number, reason=reason)])
    return found[0]


def _no_one_hold(document: str, found: Sequence[Hold]) -> str:
    if not found:
        return f"no such hold on document {document}"
    named = "; ".join(f"{each.number}: {each.reason}" for each in found)
    return f"there are {len(found)} holds on document {document}; choose one with --hold N: {named}"


def held_documents(site: Site, held: Iterable[Sequence[int]]) -> frozenset[str]:
    """The documents of the entries that holds name."""
    entries = documents_at(site, (n for numbers in held for n in numbers))
    return frozenset(entry.document for entry in entries if entry.document)
