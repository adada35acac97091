"""A row as a person sees it: its entry in the log, the row itself, the task that made it, and the text."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pipeline.errors import BadPartError
from pipeline.outbox.placement import archive_folder
from pipeline.outbox.results import rows_numbered
from pipeline.outbox.schema import result_sha256
from pipeline.plan import Site
from pipeline.records.settings import KeptSettings
from pipeline.records.types import Document
from pipeline.review.refused import ReviewRefusedError
from pipeline.review.row import entry_of
from pipeline.states import ANSWERED, State
from pipeline.tasks import Task, from_json

Row = dict[str, Any]


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

    def places(self) -> Iterator[Row]:
        """The places in the text that the row names."""
        yield from self.row.get("evidence") or ()
        for column in ("fields", "values"):
            yield from (each["evidence"] for each in self.row.get(column) or () if each["evidence"])


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
