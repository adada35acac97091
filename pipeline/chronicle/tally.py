"""How often the log says each thing, and what it said last: the facts for whoever has to judge how a site is run."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.plan import Site
from pipeline.records.entries import recorded_entries


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
