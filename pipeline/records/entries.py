"""How often the log says each thing, and what it said last: the facts for whoever has to judge how a site is run."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import audit
from pipeline.plan import Site
from pipeline.records.private import Reader
from pipeline.records.types import KINDS, Document, Record, members_of
from pipeline.records.types.base import capitalized
from pipeline.records.types.values import fits


@dataclass
class Tally:
    """The entries of a log, counted. `first` and `latest`: when the first and the last one were written; `last`: the
    last entry of each type, as the log has it; `states`: the rows by their state; `users`: who wrote, by their name in
    the operating system."""

    size: int = 0
    first: str | None = None
    latest: str | None = None
    counts: Counter[str] = field(default_factory=Counter)
    last: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    states: Counter[str] = field(default_factory=Counter)
    users: Counter[str] = field(default_factory=Counter)

    def take(self, entry: Mapping[str, Any]) -> None:
        """Take in the next entry, as the log has it."""
        kind = entry["type"]
        self.size += 1
        self.first, self.latest = self.first or entry["time"], entry["time"]
        self.counts[kind] += 1
        self.last[kind] = entry
        self.users[str(entry["user"])] += 1
        if kind == "document":
            self.states[entry["state"]] += 1


def tally(site: Site) -> Tally:
    """Count all entries of the log, as whoever has only `audit/` can. Raises audit.AuditError."""
    told = Tally()
    for _, entry in recorded_entries(site):
        told.take(entry)
    return told


# Anyone who can write into the workspace's state/ may have made what was handed over (handover.py). So only types that
# prove nothing may be handed over, and each of their values is checked.


_NEAR = 4096  # entries that are read through rather than looked up anew


class Fold(Protocol):
    """Something that comes to know what it asks for by taking every entry of the log, in order."""

    def take(self, entry: Record, /) -> None:
        """Take in the next entry, of any type."""


F = TypeVar("F", bound=Fold)


def fold(entries: Iterable[Record], first: F, *others: Fold) -> F:
    """One pass over the entries for several folds, each of which takes every entry; returns the first of them."""
    folds: tuple[Fold, ...] = (first, *others)
    takes = [each.take for each in folds]
    for entry in entries:
        for take in takes:
            take(entry)
    return first


def read_entries(site: Site, start: int = 0) -> Iterator[Record]:
    """The committed entries from `start` on. audit.AuditError; see audit.read_entries.

    Those of private jobs are opened, for whoever may read private/. What was handed over and may not be, and what this
    version does not know, is `Untold` (entries.py).
    """
    opened = Reader(site.root)
    for number, entry in audit.read_entries(site.audit, site.public_key, start):
        try:
            yield from_json(opened(entry))
        except ValueError as error:
            raise audit.LogUntrusted(f"entry {number}", f"of type {entry['type']!r}: {error}") from None


def begins_with(site: Site, size: int, root: bytes) -> bool:
    """Whether the log has at least `size` entries, and the tree of the first ones has this root. audit.AuditError."""
    try:
        return audit.root_of(site.audit, site.public_key, size) == root
    except LookupError:
        return False


def recorded_entries(site: Site, start: int = 0) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The entries as the log has them, with commitments, for others than those who may read private/."""
    return audit.read_entries(site.audit, site.public_key, start)


def documents_at(site: Site, numbers: Iterable[int]) -> Iterator[Document]:
    """The entries of documents among those of these numbers, in order."""
    return (entry for entry in entries_at(site, numbers) if isinstance(entry, Document))


def entries_at(site: Site, numbers: Iterable[int]) -> Iterator[Record]:
    """The entries of these numbers, in order: for those whose log was read and found whole already."""
    wanted, first = sorted(set(numbers)), 0
    while first < len(wanted):
        near = wanted[first : bisect_left(wanted, wanted[first] + _NEAR)]
        first, asked = first + len(near), set(near)
        for entry in read_entries(site, near[0]):
            if entry.n in asked:
                yield entry
            if entry.n >= near[-1]:
                break


HANDED = frozenset(name for name, kind in KINDS.items() if kind.HANDED)
"""The types that may be handed over: reads, checks, and the service's beginning and end. Whatever proves something or
changes what holds (exports, erasures, holds, releases, models brought in, admitted or revoked, jobs that went back to
one) is written by its command alone."""

UNPROVED = "handed."
"""What the type of an entry begins with, as it is read, that was handed over and may not be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Untold(Record):
    """An entry of which only `said` can be told.

    Either its type is not known to this version; or it was handed over and may not be, for earlier versions took some,
    and whoever may write to state/handover/ can have made it: then its type is `handed.TYPE`, so that nobody takes it
    for what it says it is.
    """

    @property
    def type(self) -> str:
        """The type in `said`."""
        return str(self.said["type"])

    def sentence(self) -> str:
        """That it proves nothing, or its type where that is not known."""
        return capitalized(meaning(self.type) or self.type.replace(".", " "))

    @property
    def forged(self) -> bool:
        """Whether it was handed over and may not be."""
        return self.type.startswith(UNPROVED)


def from_json(said: Mapping[str, Any]) -> Record:
    """The record of an entry, opened where it is private. ValueError where a member is missing that its type has."""
    if "handed" in said:
        said = without_authority(said)
    kind = KINDS.get(said["type"])
    return Untold(run=said["run"], job=said.get("job") or "", said=said) if kind is None else kind.from_json(said)


def without_authority(said: Mapping[str, Any]) -> Mapping[str, Any]:
    """The entry; under the type `handed.TYPE` if it was handed over and may not be."""
    forged = "handed" in said and said["type"] not in HANDED
    return {**said, "type": f"{UNPROVED}{said['type']}"} if forged else said


def meaning(kind: str) -> str | None:
    """The meaning of records of a type, in words; None for a type that this version does not know."""
    if kind.startswith(UNPROVED):
        return "it was handed over, so it proves nothing"
    return KINDS[kind].MEANING if kind in KINDS else None


def check_record(record: Mapping[str, Any]) -> None:
    """ValueError unless a command may make this record, given as JSON: of a type of the table, with exactly its
    members."""
    kind = KINDS.get(str(record.get("type")))
    if kind is None or not kind.COMMAND:
        raise ValueError(f"no command makes records of type {record.get('type')!r}")
    found, members = set(record) - {"run", "type"}, members_of(kind)
    wrong = found ^ members.keys() or {n for n in found if not fits(record[n], members[n])}
    if wrong:
        raise ValueError(f"a record of type {record['type']} with other members or values: {', '.join(sorted(wrong))}")


def check_handed(record: Mapping[str, Any]) -> None:
    """ValueError unless this record may be handed over."""
    check_record(record)
    if record["type"] not in HANDED:
        raise ValueError(f"a record of type {record['type']} proves something, and is never handed over")
