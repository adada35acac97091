"""Everything that ever happened to one document, from the log."""

from collections.abc import Mapping
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
        if entry["type"] == "document" and _meant(entry, document):
            entries.append(entry)
        elif entry["type"] == "placed":
            placed.add(entry["file"])
    found = sorted({str(entry["document"]) for entry in entries})
    if not found:
        raise LookupError(
            f"the log knows no document {document!r}: give its path below the input folder, or its sha256"
        )
    if len(found) > 1:
        raise LookupError(f"{document!r} names {len(found)} documents; give more of the sha256: {', '.join(found[:5])}")
    return Story(found[0], tuple(entries), frozenset(placed))


def _meant(entry: Mapping[str, Any], wanted: str) -> bool:
    sha256 = entry["document"] or ""
    return entry["path"] == wanted or (len(wanted) >= 6 and sha256.startswith(wanted.lower()))
