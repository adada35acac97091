"""The entries about a document are those of its bytes, and those of the documents that were in it."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from pipeline.plan import Site
from pipeline.records.entries import read_entries
from pipeline.records.types import Document

_FEWEST = 6  # digits of a sha256 that name a document


@dataclass(frozen=True)
class About:
    """A document by its bytes, with everything in it: their entries, oldest first."""

    document: str
    documents: frozenset[str]
    entries: tuple[Document, ...]


def about(site: Site, wanted: str) -> About:
    """Find a document by sha256 (six digits or more) or path. LookupError with the remedy, audit.AuditError."""
    found = {entry.document for entry in _documents(site) if entry.document and is_meant(entry, wanted)}
    document = only_one(found, wanted)
    return _about(site, document, {document})


def with_containers(site: Site, found: About) -> About:
    """Add every document in which a document came, at any depth, and with everything else that was in these."""
    return _about(
        site, found.document, {found.document, *(each.document for each in containers_of(site, found) if each.document)}
    )


def containers_of(site: Site, found: About) -> list[Document]:
    """The entries, oldest first, of the documents in which a document came (mails, archives), at any depth."""
    wanted, before = {entry.parent for entry in found.entries} - {None} - found.documents, -1
    entries: list[Document] = []
    while len(wanted) > before:
        before = len(wanted)
        entries = [entry for entry in _documents(site) if entry.document in wanted] if wanted else []
        wanted |= {entry.parent for entry in entries} - {None}
    return entries


def _about(site: Site, document: str, documents: set[str]) -> About:
    """The entries of these documents, and of what was in them."""
    before = 0
    while len(documents) > before:  # what is in it has entries before its own
        before, entries = len(documents), list[Document]()
        for entry in _documents(site):
            if entry.document in documents or entry.parent in documents:
                entries.append(entry)
                documents |= {entry.document} if entry.document else set()
    return About(document, frozenset(documents), tuple(entries))


def _documents(site: Site) -> Iterator[Document]:
    return (entry for entry in read_entries(site) if isinstance(entry, Document))


def is_meant(entry: Document, wanted: str) -> bool:
    """Whether an entry is of a document that somebody asks for by sha256 (six digits or more) or path."""
    sha256 = entry.document or ""
    return entry.path == wanted or (len(wanted) >= _FEWEST and sha256.startswith(wanted.lower()))


def only_one(found: Collection[str], wanted: str) -> str:
    """The one document that is meant. LookupError with the remedy if it is none, or several."""
    if not found:
        raise LookupError(f"the log knows no document {wanted!r}: give its path below the input folder, or its sha256")
    if len(found) > 1:
        several = ", ".join(sorted(found)[:5])
        raise LookupError(f"{wanted!r} names {len(found)} documents; give more of the sha256: {several}")
    return next(iter(found))
