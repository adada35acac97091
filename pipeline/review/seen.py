"""A row as a person sees it: its entry in the log, the row itself, the task that made it, and the text."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import audit
from pipeline.document import Row
from pipeline.errors import BadPartError
from pipeline.outbox.deletion import Deletions
from pipeline.outbox.placement import archive_folder
from pipeline.outbox.results import read_row, rows_numbered
from pipeline.outbox.schema import result_sha256
from pipeline.plan import Site
from pipeline.records.entries import fold, read_entries
from pipeline.records.entries import from_json as record_of
from pipeline.records.private import Reader
from pipeline.records.settings import KeptSettings
from pipeline.records.types import ACCEPTED, CORRECTED, REJECTED, Document
from pipeline.states import ANSWERED, State
from pipeline.tasks import Task, from_json
from pipeline.tasks.correcting import ReviewRefusedError


@dataclass(frozen=True)
class Seen:
    """A row that can be decided on. `row` is as the table has it."""

    site: Site
    entry: Document
    row: Row
    task: Task

    @cached_property
    def text(self) -> str | None:
        """The parsed text from the archive; None where it is gone, or is not the text that was answered from."""
        return text_of(self.site, self.entry)

    def decided(self, action: str, answer: Mapping[str, Any] | None) -> Row:
        """The row that takes the place of this one, without the columns of the decision itself. ReviewRefusedError."""
        row, task = self.row, self.task
        if task.unreviewed:
            raise ReviewRefusedError(task.unreviewed)
        if action != CORRECTED and answer is not None:
            raise ReviewRefusedError(f"what is {action} is not changed: only a correction has an answer")
        columns: Mapping[str, Any] = {}
        if action == CORRECTED:
            if not answer:
                raise ReviewRefusedError("a correction says what is right")
            columns = task.correct(row, self.text, answer)
            if row.state == State.DONE and all(row.get(name) == value for name, value in columns.items()):
                raise ReviewRefusedError("the row says that already: accept it instead")
        elif action == ACCEPTED and row.state == State.REJECTED:
            raise ReviewRefusedError("the row was rejected, so it has no answer that could be accepted: correct it")
        elif action == ACCEPTED and not row.get(task.columns[0].name):  # that no field has a value is an answer
            raise ReviewRefusedError("the row has no answer that could be accepted: correct it, or reject it")
        elif action == REJECTED:
            columns = {**dict.fromkeys(column.name for column in task.columns), "evidence": []}
        state = State.REJECTED if action == REJECTED else State.DONE
        return row.having(**columns, state=state.value, reason=None)


def text_of(site: Site, entry: Document) -> str | None:
    """The parsed text of a document from the archive; None where it is gone, or another one."""
    folder = archive_folder(site.root, entry.job, str(entry.document))
    try:
        data = site.at_rest.read_bytes(folder / "text" / f"{entry.text_sha256}.txt")
    except OSError:
        return None
    return data.decode() if hashlib.sha256(data).hexdigest() == entry.text_sha256 else None


def job_of(site: Site, entry: int) -> str:
    """The job of a row, by its entry. LookupError with a sentence; audit.AuditError."""
    return document_at(site, entry).job


def document_at(site: Site, entry: int) -> Document:
    """The entry of a row, proved and opened. LookupError with a sentence; audit.AuditError."""
    found = entry_of(site, entry)
    if found.closed:
        raise LookupError(f"nothing opens entry {entry:,}: it was erased, or private/ is not whole")
    return found


def held_row(site: Site, entry: Document) -> Row:
    """The row of an entry. LookupError, BadPartError."""
    part = site.root / entry.part
    if not part.is_file():
        raise LookupError(f"the row of entry {entry.n:,} is not in outbox/ any more: {entry.part} is gone")
    row = next(rows_numbered(site.at_rest, part, {entry.n}), None)
    if row is None:
        raise LookupError(f"the row of entry {entry.n:,} is not in {entry.part} any more")
    if result_sha256(row) != entry.result_sha256:
        raise BadPartError(part)
    return row


def seen_of(site: Site, entry: Document, settings: KeptSettings) -> Seen:
    """The row of an entry, to be decided on. ReviewRefusedError."""
    if entry.state not in (*ANSWERED, State.REJECTED):
        raise ReviewRefusedError(f"the row of entry {entry.n:,} is {entry.state}: there is no answer to decide on")
    values = settings.get(entry.job_digest)
    if values is None:
        raise ReviewRefusedError(f"the log does not have the settings that made entry {entry.n:,}")
    try:
        return Seen(site, entry, held_row(site, entry), from_json(values["task"]))
    except (LookupError, BadPartError, OSError) as error:
        raise ReviewRefusedError(str(error.args[0] if isinstance(error, LookupError) else error)) from error


def entry_of(site: Site, entry: int) -> Document:
    """The entry of a row, proved to be what the log's key signed, and opened if it is private. LookupError with a
    sentence; audit.AuditError."""
    proofs = audit.prove_entries(site.audit, site.public_key, entry, entry + 1)
    said = Reader(site.root)(dict(audit.check_proof(next(proofs), site.public_key).entry))
    record = record_of(said)
    if not isinstance(record, Document):
        raise LookupError(f"entry {entry} is of type {record.type!r}, and no row of the results")
    return record


def row_of(site: Site, entry: int) -> Row:
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
    return row.having(job=said.job)


def _why_gone(site: Site, said: Document) -> str:
    deletions = fold(read_entries(site), Deletions())
    if (by := deletions.by(said.n, said.part)) is not None:
        return f"the row of entry {said.n} was deleted by entry {by} of the log"
    return f"{said.part} is no longer there, or has no row of entry {said.n}; restore it from a backup"
