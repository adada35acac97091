"""Everything that ever happened to one document, from the log."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.keep.about import is_meant, only_one
from pipeline.plan import Site
from pipeline.records.entries import read_entries

Entry = Mapping[str, Any]


@dataclass(frozen=True)
class Story:
    """The entries about one document (by its bytes), of all types, oldest first; of long lists only what is about it.

    `document` is None for a path that never got a row. `placed` says which of its parts are in place.
    """

    document: str | None
    entries: tuple[Entry, ...]
    placed: frozenset[str]


def story(site: Site, document: str) -> Story:
    """By sha256 (six digits or more) or path. Raises LookupError with the remedy, and audit.AuditError."""
    telling = _Telling(_found(site, document), {document})
    for number, entry in read_entries(site):
        telling.take(number, entry)
    return Story(telling.document, tuple(telling.entries), frozenset(telling.placed))


@dataclass
class _Telling:
    """What is known of the document so far, as the log is read: where it lay, its entries, its parts, its holds."""

    document: str | None
    paths: set[str]
    numbers: set[int] = field(default_factory=set)
    parts: set[str] = field(default_factory=set)
    entries: list[Entry] = field(default_factory=list)
    placed: set[str] = field(default_factory=set)

    def take(self, number: int, entry: Entry) -> None:
        """The next entry of the log."""
        if entry["type"] == "placed":
            self.placed |= {entry["file"]} & self.parts
            return
        if self.document is not None and entry.get("document") == self.document:
            self.entries.append(entry)
            if entry["type"] == "document":
                self.numbers.add(number)
                self.paths.add(entry["path"])
                self.parts.add(entry["part"])
        elif (about := self._lists(entry)) or {entry.get("hold"), entry.get("deletion")} & self.numbers:
            self.numbers.add(number)  # what ends it names it
            self.entries.append({**entry, **about})

    def _lists(self, entry: Entry) -> dict[str, list[Any]]:
        """Of the lists in an entry about many documents, what is about this one; empty if nothing is."""
        known: dict[str, set[Any]] = {
            "entries": self.numbers, "archive": self.numbers, "markdown": self.numbers, "parts": self.parts,
            "paths": self.paths,
        }  # fmt: skip
        lists = {
            name: [each for each in entry[name] if each in its] for name, its in known.items() if _is_list(entry, name)
        }
        return lists if any(lists.values()) else {}


def _is_list(entry: Entry, name: str) -> bool:
    return isinstance(entry.get(name), list)


def _found(site: Site, wanted: str) -> str | None:
    """The document that is meant; None if only its path is known. LookupError."""
    documents: set[str] = set()
    mentioned = False
    for _, entry in read_entries(site):
        if entry["type"] == "document" and is_meant(entry, wanted):
            mentioned = True
            documents |= {entry["document"]} - {None}
        mentioned |= entry["type"] == "inputs" and wanted in (entry["paths"] or ())
    return None if mentioned and not documents else only_one(documents, wanted)
