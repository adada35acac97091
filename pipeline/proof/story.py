"""Everything that ever happened to one document, from the log."""

from dataclasses import dataclass, field
from typing import Any

from pipeline.keep.about import is_meant, only_one
from pipeline.plan import Site
from pipeline.records.entries import fold, from_json, read_entries
from pipeline.records.types import Document, Inputs, Json, Placed, Record

_ABOUT = ("hold", "deletion", "of")
"""Members that name an entry which a record is about."""
_LISTS = ("entries", "archive", "markdown", "parts", "paths")


@dataclass(frozen=True)
class Story:
    """The entries about one document (by its bytes), of all types, oldest first; of long lists only what is about it.

    `document` is None for a path that never got a row. `placed` says which of its parts are in place.
    """

    document: str | None
    entries: tuple[Record, ...]
    placed: frozenset[str]

    def to_json(self) -> Json:
        """The story for other programs, with each entry as the log has it, opened."""
        return {"document": self.document, "entries": [entry.said for entry in self.entries], "placed": self.placed}


def story(site: Site, document: str) -> Story:
    """Tell the story of a document, by sha256 (six digits or more) or path. Raises LookupError with the remedy, and
    audit.AuditError."""
    telling = fold(read_entries(site), _Telling(_found(site, document), {document}))
    return Story(telling.document, tuple(telling.entries), frozenset(telling.placed))


@dataclass
class _Telling:
    """The facts about a document, as the log is read: where it lay, its entries, its parts, its holds."""

    document: str | None
    paths: set[str]
    numbers: set[int] = field(default_factory=set)
    parts: set[str] = field(default_factory=set)
    entries: list[Record] = field(default_factory=list)
    placed: set[str] = field(default_factory=set)

    def take(self, entry: Record) -> None:
        """Take in the next entry, of any type."""
        if isinstance(entry, Placed):
            self.placed |= {entry.file} & self.parts
        elif self.document is not None and entry.said.get("document") == self.document:
            self.entries.append(entry)
            if isinstance(entry, Document):
                self.numbers.add(entry.n)
                self.paths.add(entry.path)
                self.parts.add(entry.part)
        elif (about := self._lists(entry)) or {entry.said.get(name) for name in _ABOUT} & self.numbers:
            self.numbers.add(entry.n)  # what ends it names it
            self.entries.append(from_json({**entry.said, **about}))

    def _lists(self, entry: Record) -> dict[str, list[Any]]:
        """The items about this document in the lists of an entry about many; empty if there are none."""
        known: tuple[set[Any], ...] = (self.numbers, self.numbers, self.numbers, self.parts, self.paths)
        said = ((name, entry.said.get(name), its) for name, its in zip(_LISTS, known, strict=True))
        lists = {name: [each for each in found if each in its] for name, found, its in said if isinstance(found, list)}
        return lists if any(lists.values()) else {}


def _found(site: Site, wanted: str) -> str | None:
    """The document that is meant; None if only its path is known. LookupError."""
    documents: set[str] = set()
    mentioned = False
    for entry in read_entries(site):
        if isinstance(entry, Document) and is_meant(entry, wanted):
            mentioned = True
            documents |= {entry.document} if entry.document else set()
        elif isinstance(entry, Inputs):
            mentioned |= wanted in (entry.paths or ())
    return None if mentioned and not documents else only_one(documents, wanted)
