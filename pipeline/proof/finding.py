"""The findings of a check of files against entries."""

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import audit

KINDS = ("parts", "rows", "markdown", "outputs", "reports", "archived", "failed", "deleted", "decisions")

UNOPENED = "an entry that cannot be opened may have made it"


@dataclass
class Found:
    """`altered` differ from their entries, `added` were made by none, `absent` are proved by one and gone; what is
    `unreadable` was not compared; of what is `unjudged` an entry may tell that cannot be opened; `notes` are no part of
    a verdict. `checked` counts what was held against an entry."""

    altered: list[audit.Finding] = field(default_factory=list)
    added: list[audit.Finding] = field(default_factory=list)
    absent: list[audit.Finding] = field(default_factory=list)
    unreadable: list[audit.Finding] = field(default_factory=list)
    unjudged: list[audit.Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    checked: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))

    def alter(self, where: str, number: int, fact: str) -> None:
        """Something is not what entry `number` says."""
        self.altered.append(audit.Finding(where, f"entry {number}: {fact}", number))

    def miss(self, where: str, number: int, fact: str = "it is no longer there") -> None:
        """Something that entry `number` proves is gone."""
        self.absent.append(audit.Finding(where, f"entry {number}: {fact}", number))

    @contextlib.contextmanager
    def reading(self, where: str, number: int | None) -> Iterator[None]:
        """Turn what the system does not let us read, of which entry `number` tells, into a finding."""
        try:
            yield
        except OSError as error:
            told = "" if number is None else f"entry {number}: "
            self.unreadable.append(audit.Finding(where, f"{told}it cannot be read: {error.strerror}", number))

    def add_stray(self, where: str, fact: str = "no entry of the log made this file") -> None:
        """Something that nobody made."""
        self.added.append(audit.Finding(where, fact, None))

    def leave(self, where: str, fact: str, number: int | None = None) -> None:
        """Something of which an entry may tell that cannot be opened."""
        self.unjudged.append(audit.Finding(where, fact, number))

    def join(self, others: Iterable["Found"]) -> None:
        """Add what other checks found."""
        for other in others:
            self.altered += other.altered
            self.added += other.added
            self.absent += other.absent
            self.unreadable += other.unreadable
            self.unjudged += other.unjudged
            self.notes += other.notes
            self.checked = {kind: count + other.checked[kind] for kind, count in self.checked.items()}
