"""One row as it may be shown or decided on: from its part, held against the entry of the log that proves it."""

from typing import Any

import audit
from pipeline.errors import BadPartError
from pipeline.outbox.deletion import Deletions
from pipeline.outbox.results import read_row
from pipeline.outbox.schema import result_sha256
from pipeline.plan import Site
from pipeline.records.entries import fold, from_json, read_entries
from pipeline.records.private import Reader
from pipeline.records.types import Document


def entry_of(site: Site, entry: int) -> Document:
    """The entry of a row, proved to be what the log's key signed, and opened if it is private. LookupError with a
    sentence; audit.AuditError."""
    proofs = audit.prove_entries(site.audit, site.public_key, entry, entry + 1)
    said = Reader(site.root)(dict(audit.check_proof(next(proofs), site.public_key).entry))
    record = from_json(said)
    if not isinstance(record, Document):
        raise LookupError(f"entry {entry} is of type {record.type!r}, and no row of the results")
    return record


def row_of(site: Site, entry: int) -> dict[str, Any]:
    """The whole row of an entry, current or not, as `results` gives rows.

    LookupError with a sentence where there is no such row (any more); BadPartError where the row is not the one that
    the entry proves; audit.AuditError.
    """
    said = entry_of(site, entry)
    part = site.root / said.part
    try:
        row = read_row(site.at_rest, part, entry)
    except FileNotFoundError:
        row = None
    if row is None:
        raise LookupError(_why_gone(site, said))
    if said.closed:
        raise LookupError(f"nothing opens entry {entry} of the log: it was erased, or private/ is not whole")
    if result_sha256(row) != said.result_sha256:
        raise BadPartError(part, f"the row of entry {entry} is not the one that the log proves")
    return row | {"job": said.job}


def _why_gone(site: Site, said: Document) -> str:
    """Why the row of an entry is not in its part."""
    deletions = fold(read_entries(site), Deletions())
    if (by := deletions.by(said.n, said.part)) is not None:
        return f"the row of entry {said.n} was deleted by entry {by} of the log"
    return f"{said.part} is no longer there, or has no row of entry {said.n}; restore it from a backup"
