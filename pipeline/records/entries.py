"""The entries of a workspace's log, as everything in this package reads them."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Any

import audit
from pipeline.plan import Site
from pipeline.records.private import Reader
from pipeline.records.records import HANDED, UNPROVED

Entry = dict[str, Any]
_NEAR = 4096  # entries that are read through rather than looked up anew


def read_entries(site: Site, start: int = 0) -> Iterator[tuple[int, Entry]]:
    """The committed entries from `start` on, with their numbers. audit.AuditError; see audit.read_entries.

    Those of private jobs are opened, for whoever may read private/. What was handed over and may not be (records.py)
    has the type `handed.TYPE`, so that nobody takes it for what it says it is.
    """
    opened = Reader(site.root)
    read = audit.read_entries(site.audit, site.public_key, start)
    return ((number, without_authority(opened(entry))) for number, entry in read)


def without_authority(entry: Entry) -> Entry:
    """The entry; one that was handed over and may not be, under a type of its own: earlier versions took some, and
    whoever may write to state/handover/ can have made it."""
    forged = "handed" in entry and entry["type"] not in HANDED
    return {**entry, "type": f"{UNPROVED}{entry['type']}"} if forged else entry


def recorded_entries(site: Site, start: int = 0) -> Iterator[tuple[int, Entry]]:
    """The same for others than those who may read private/: commitments, as the log has them."""
    return audit.read_entries(site.audit, site.public_key, start)


def entries_at(site: Site, numbers: Iterable[int]) -> Iterator[Entry]:
    """The entries of these numbers, in order: for those whose log was read and found whole already."""
    wanted, first = sorted(set(numbers)), 0
    while first < len(wanted):
        near = wanted[first : bisect_left(wanted, wanted[first] + _NEAR)]
        first, asked = first + len(near), set(near)
        for number, entry in read_entries(site, near[0]):
            if number in asked:
                yield entry
            if number >= near[-1]:
                break
