"""Everything that ever happened to one document, from the log."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.entries import read_entries
from pipeline.plan import Site


@dataclass(frozen=True)
class Story:
    """The entries of one document (by its bytes), oldest first; `placed` says which of its parts are in place."""

    document: str
    entries: tuple[Mapping[str, Any], ...]
    placed: frozenset[str]


def story(site: Site, document: str) -> Story:
    """By sha256 (six digits or more) or path. Raises LookupError with the remedy, and audit.AuditError."""
    entries, placed = [], set()
    for _, entry in read_entries(site):
        if entry["type"] == "document" and is_meant(entry, document):
            entries.append(entry)
        elif entry["type"] == "placed":
            placed.add(entry["file"])
    found = only_one({str(entry["document"]) for entry in entries}, document)
    return Story(found, tuple(entries), frozenset(placed))


def is_meant(entry: Mapping[str, Any], wanted: str) -> bool:
    """Whether an entry is of a document that somebody asks for by sha256 (six digits or more) or path."""
    sha256 = entry["document"] or ""
    return entry["path"] == wanted or (len(wanted) >= 6 and sha256.startswith(wanted.lower()))


def only_one(found: Collection[str], wanted: str) -> str:
    """The one document that is meant. LookupError with the remedy if it is none, or several."""
    if not found:
        raise LookupError(f"the log knows no document {wanted!r}: give its path below the input folder, or its sha256")
    if len(found) > 1:
        several = ", ".join(sorted(found)[:5])
        raise LookupError(f"{wanted!r} names {len(found)} documents; give more of the sha256: {several}")
    return next(iter(found))
