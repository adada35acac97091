"""Rows that a person decided are held against the keys that the log admits: did one of them sign each decision?"""

from dataclasses import dataclass, field

from pipeline.proof.finding import Found
from pipeline.records.requests import is_signed
from pipeline.records.types import Document, Record, ReviewerKeyAdmitted


@dataclass
class Decisions:
    """Made by taking every entry, in order."""

    _key: str | None = None
    _checked: int = 0
    _wrong: list[tuple[int, str]] = field(default_factory=list)
    _ids: set[str] = field(default_factory=set)

    def take(self, entry: Record) -> None:
        """Take in the next entry, of any type. What nothing opens cannot be checked."""
        if isinstance(entry, ReviewerKeyAdmitted):
            self._key = entry.public_key
        elif isinstance(entry, Document) and entry.is_decided and not entry.closed:
            self._checked += 1
            if (fact := self._fault(entry)) is not None:
                self._wrong.append((entry.n, fact))

    def _fault(self, entry: Document) -> str | None:
        review = entry.review
        if review is None:
            return "no run made the row, and no person decided it"
        if review.id in self._ids:
            return "the decision was taken up before"
        self._ids.add(review.id)
        if not is_signed(self._key, entry.job, review):
            return "the key that was admitted then did not sign the decision"
        return None if entry.replaces == (review.of,) else "it does not take the place of the row that was seen"

    def check(self, found: Found) -> None:
        """Tell of what is wrong, and count what was checked."""
        for number, fact in self._wrong:
            found.alter(f"entry {number}", number, fact)
        found.checked["decisions"] = self._checked
