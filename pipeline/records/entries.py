"""The entries of a workspace's log, as everything in this package reads them."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol, TypeVar

import audit
from pipeline.plan import Site
from pipeline.records.private import Reader
from pipeline.records.records import from_json
from pipeline.records.types import Document, Record

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
    version does not know, is `Untold` (records.py).
    """
    opened = Reader(site.root)
    for number, entry in audit.read_entries(site.audit, site.public_key, start):
        try:
            yield from_json(opened(entry))
        except ValueError as error:
            raise audit.LogUntrusted(f"entry {number}", f"of type {entry['type']!r}: {error}") from None


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
