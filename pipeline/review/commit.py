"""Decisions of people become rows: a part of their own, their entries and the checkpoint, then everything into place.

Nothing comes in and nothing goes: the part says that inputs are kept, and no document has a copy in staging. A killed
commit is redone or undone as that of a run is.
"""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.outbox.markdown import format_markdown
from pipeline.outbox.parts import write_table
from pipeline.outbox.placement import place, staged_name, sync
from pipeline.outbox.schema import result_sha256, salted, table_schema, to_text
from pipeline.plan import Site
from pipeline.records.entries import documents_at
from pipeline.records.journal import Journal, Writable
from pipeline.records.private import hide, openings_file, refuse_open, write_openings
from pipeline.records.requests import Request
from pipeline.records.types import Document, MadeFile, Part
from pipeline.review.seen import Seen
from pipeline.tasks import name_of

Row = dict[str, Any]
_FOLDER = ""  # of inputs: there are none


@dataclass(frozen=True)
class Decided:
    """A decision that holds: the request, the row that was seen, and the answer that takes its place."""

    request: Request
    seen: Seen
    row: Row


@dataclass(frozen=True)
class _Staged:
    """A part in staging with its entries: as they are, and as the log may have them."""

    part: Part
    entries: list[Document]
    written: list[Writable]


def commit_decided(site: Site, log: Journal, groups: Sequence[Sequence[Decided]]) -> list[str]:
    """Commit the decisions, a part for each group, whose rows are of one job; the names of the parts, which are in
    place. The first row's entry has the number `log.next_index`, and each part has an entry behind its rows.
    audit.AuditError, OSError."""
    first, staged = log.next_index, list[_Staged]()
    for group in groups:
        staged.append(_stage(site, group, first))
        first += len(group) + 1
    sync(*(site.root / "outbox" / each.part.job / ".staging" for each in staged), *site.key_folders)
    log.commit([record for each in staged for record in (*each.written, each.part)])
    for each in staged:
        numbers = range(each.part.first, each.part.first + each.part.rows)
        place(site, each.part, list(documents_at(site, numbers)))
    return [each.part.file for each in staged]


def _stage(site: Site, group: Sequence[Decided], first: int) -> _Staged:
    job = group[0].request.job
    staging = site.root / "outbox" / job / ".staging"
    staging.mkdir(parents=True, exist_ok=True)
    name = f"{datetime.now(UTC).strftime('%Y%m%dT%H%M%SZ')}-{secrets.token_hex(3)}"
    file = f"outbox/{job}/part-{name}-review.parquet"
    private = group[0].seen.entry.private is not None
    rows = [_whole(each, number) for number, each in enumerate(group, first)]
    table = pa.Table.from_pylist(rows, schema=table_schema())
    sha256 = write_table(site.at_rest, staging / staged_name(file), salted(table) if private else table)
    made = table.to_pylist()
    entries = [_entry(each, row, file, at, staging) for at, (each, row) in enumerate(zip(group, made, strict=True))]
    part = Part(job=job, file=file, sha256=sha256, rows=len(rows), first=first, folder=_FOLDER, afterwards="keep")
    if not private:
        return _Staged(part, entries, list(entries))
    refuse_open(site.root)
    hidden, openings = hide(entries, first)
    write_openings(openings_file(site.root, job, first), openings)
    return _Staged(part, entries, list(hidden))


def _whole(decided: Decided, number: int) -> Row:
    """The row with the columns of the decision; nothing was computed for it."""
    request = decided.request
    columns = dict.fromkeys(table_schema().names) | decided.row
    review = {"action": request.action, "by": request.by, "reason": request.reason, "of": request.of}
    return columns | {
        "job": request.job, "task": name_of(decided.seen.task), "run": "", "audit_index": number, "review": review,
        "replaces": [request.of], "supersedes": request.of, "duplicate_of": None, "failure": None,
        "tokens": 0, "seconds": 0.0, "finished_at": datetime.now(UTC),
    }  # fmt: skip


def _entry(decided: Decided, row: Row, part: str, number: int, staging: Path) -> Document:
    """The entry of row `number` of a part: everything that made the row which was seen, and the decision."""
    return replace(
        decided.seen.entry,
        said={},
        run="",
        part=part,
        row=number,
        state=row["state"],
        failure=None,
        reason=None,
        duplicate_of=None,
        supersedes=row["supersedes"],
        replaces=tuple(row["replaces"]),
        tokens=0,
        finished_at=to_text(row["finished_at"]),
        result_sha256=result_sha256(row),
        markdown=_markdown(decided.seen.entry.markdown, row, staging),
        outputs=None,
        unread=None,
        review=decided.request.reviewed(),
    )


def _markdown(before: MadeFile | None, row: Row, staging: Path) -> MadeFile | None:
    """The document's Markdown file anew in staging, if there was one."""
    if before is None:
        return None
    body = format_markdown(row, row["job"]).encode()
    (staging / staged_name(before.file)).write_bytes(body)
    return MadeFile(before.file, hashlib.sha256(body).hexdigest())
