"""The only writer of results: staged part, log entries and checkpoint, then everything into place."""

import base64
import hashlib
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from pipeline.document import Row
from pipeline.inbox.intake import Arrival, staging_of
from pipeline.outbox.deletion import delete
from pipeline.outbox.markdown import format_markdown
from pipeline.outbox.outputs import Outputs
from pipeline.outbox.parts import open_part, write_table
from pipeline.outbox.placement import place, staged_name, sync
from pipeline.outbox.provenance import Maker
from pipeline.outbox.schema import result_sha256, salted, table_schema, to_text
from pipeline.outbox.space import look_before_part
from pipeline.paths.names import MARKDOWN, markdown_name
from pipeline.plan import RunPlan, Site
from pipeline.records.current import Last, RowKey, answers_copies, replaced
from pipeline.records.entries import documents_at
from pipeline.records.journal import Journal, Writable
from pipeline.records.private import hide as hidden_records
from pipeline.records.private import openings_file, write_openings
from pipeline.records.types import Deleted, Deletion, Document, MadeFile, Part, Placed, Record, Worker
from pipeline.states import ANSWERED
from pipeline.tasks import name_of

R = TypeVar("R", bound=Record)
_IN_ENTRY = (
    "document", "path", "parent", "size", "media_type", "encoding", "encoding_confidence", "language", "pages",
    "state", "failure", "reason", "duplicate_of", "supersedes", "parser", "text_sha256", "tokens",
)  # fmt: skip


@dataclass(frozen=True)
class Staged:
    """A part that waits in staging, and the entries of its rows as the log may have them."""

    part: Part
    written: Sequence[Writable]


def stage(
    site: Site, part: Part, rows: list[Row], entries: Callable[[list[Row]], list[Document]], *, private: bool,
    check: Callable[[int], None] = lambda size: None,
) -> Staged:  # fmt: skip
    """Write rows into staging as this part, whose sha256 is not known yet. `entries` makes the entries of the rows as
    the table has them; those of a private job are hidden. `check` raises where there is no room for so many bytes. All
    of it is on the disk when this returns. OSError."""
    staging = site.root / "outbox" / part.job / ".staging"
    staging.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pylist(rows, schema=table_schema())
    check(table.nbytes)
    sha256 = write_table(site.at_rest, staging / staged_name(part.file), salted(table) if private else table)
    made = entries([Row(values) for values in table.to_pylist()])
    written = hide(site, part.job, made, part.first) if private else made
    sync(staging, site.root / "archive" / part.job, *site.key_folders)
    return Staged(replace(part, sha256=sha256), written)


def commit(site: Site, log: Journal, staged: Sequence[Staged], before: Sequence[Writable] = ()) -> None:
    """Commit parts that are staged, the entries of each before that of the part itself, all of them behind `before`;
    they are in place when this returns. audit.AuditError, OSError."""
    log.commit([*before, *(record for each in staged for record in (*each.written, each.part))])
    for each in staged:
        numbers = range(each.part.first, each.part.first + each.part.rows)
        place(site, each.part, list(documents_at(site, numbers)))


def hide(site: Site, job: str, records: Sequence[Record], first: int) -> Sequence[Writable]:
    """The records of a private job as the log may have them, from entry `first` on; what opens them is on the disk."""
    hidden, openings = hidden_records(records, first)
    if openings:
        write_openings(openings_file(site.root, job, first), openings)
    return hidden


def stage_markdown(site: Site, job: str, name: str, row: Row) -> MadeFile:
    """The Markdown file of a row, in staging."""
    body = format_markdown(row, job).encode()
    (site.root / "outbox" / job / ".staging" / staged_name(name)).write_bytes(body)
    return MadeFile(name, hashlib.sha256(body).hexdigest())


@dataclass
class Committer:
    """Commits the rows of one run in parts. `last` are the entries whose rows are current (History.last); `maker` goes
    into every document's entry; `parts` are those in place. `outputs` makes the files of a batch job."""

    plan: RunPlan
    log: Journal
    run: str
    last: Last
    maker: Maker | None = None
    parts: list[Path] = field(default_factory=list)
    outputs: Outputs | None = None
    placing: bool = False  # a part may be committed whose files are staged still
    _placed: list[Record] = field(default_factory=list)

    def note(self, *records: Record) -> int:
        """Commit records that are no results, and with them that the last part is in place; the number of the first."""
        first = self.log.next_index + len(self._placed)
        mine = [self._mine(record) for record in records]
        hidden = hide(self.plan.site, self.plan.job, mine, first) if self.plan.private else mine
        self.log.commit([*self._placed, *hidden])
        self._placed.clear()
        return first

    def _mine(self, record: R) -> R:
        return record.made_by(self.run, self.plan.job)

    def delete(self, records: Sequence[Deletion]) -> None:
        """Commit what is to be deleted, delete it, and say with the next commit that it is done."""
        for number, record in enumerate(records, self.note(*records)):
            delete(self.plan.site, record)
            self._placed.append(self._mine(Deleted(deletion=number)))

    def commit(self, made: Sequence[tuple[Row, Arrival]]) -> list[Row]:
        """Make a part of these rows: one entry a row, then one for the part. The rows with their places."""
        plan, name = self.plan, f"outbox/{self.plan.job}/part-{self.run}-{len(self.parts) + 1:05d}.parquet"
        first = self.log.next_index + len(self._placed)
        rows = [self._placed_row(row, number, arrival) for number, (row, arrival) in enumerate(made, first)]
        for number, (_, arrival) in enumerate(made, first):
            if arrival.staging:
                staging_of(plan.archive, arrival.staging).rename(staging_of(plan.archive, str(number)))
        part = self._mine(Part(
            file=name, sha256="", rows=len(rows), first=first, folder=plan.input_folder,
            afterwards=plan.input.afterwards,
        ))  # fmt: skip
        staged = stage(
            plan.site, part, rows, partial(self._entries, made, name),
            private=plan.private, check=partial(look_before_part, plan, len(rows)),
        )  # fmt: skip
        self.placing = True
        commit(plan.site, self.log, [staged], before=self._placed)
        self.placing = False
        self._placed = [self._mine(Placed(file=name))]
        self.parts.append(plan.site.root / name)
        return rows

    def _entries(self, rows: Sequence[tuple[Row, Arrival]], part: str, made: list[Row]) -> list[Document]:
        outputs = self.outputs.make(made, part) if self.outputs else {}
        return [
            replace(self._document(row, arrival, part, i), outputs=outputs.get(i), **_by_worker(said, self.maker))
            for i, (row, (said, arrival)) in enumerate(zip(made, rows, strict=True))
        ]

    def _placed_row(self, row: Row, number: int, arrival: Arrival) -> Row:
        """The row with where it stands: of which job and task, and which rows it takes the place of."""
        gone = replaced(
            self.last,
            RowKey(row.document, row.path, row.state),
            number,
            answers_copies(self.plan.input.duplicates),
            arrival.earlier.document if arrival.earlier and arrival.earlier.grown else None,
        )
        return row.having(
            job=self.plan.job, task=name_of(self.plan.task), run=self.run, audit_index=number,
            replaces=gone, supersedes=max(gone, default=None),
        )  # fmt: skip

    def _document(self, row: Row, arrival: Arrival, part: str, number: int) -> Document:
        """The entry of row `number` of a part: everything that proves it, so that the one record can stand alone."""
        raw = os.fsencode(arrival.raw)
        assert self.maker is not None  # nothing is answered without
        return Document(
            run=self.run,
            job=self.plan.job,
            part=part,
            row=number,
            **{key: row[key] for key in _IN_ENTRY},
            hidden=_tuple(row.hidden),
            replaces=_tuple(row.replaces),
            finished_at=to_text(row.finished_at),
            seconds=round(row.seconds, 4),
            path_bytes=None if raw == arrival.path.encode() else base64.b64encode(raw).decode(),
            result_sha256=result_sha256(row),
            markdown=self._write_markdown(row),
            unread=None if row.document else arrival.unread,
            earlier=arrival.earlier,
            **vars(self.maker),
        )

    def _write_markdown(self, row: Row) -> MadeFile | None:
        """The document's Markdown file in staging; None where the job asks for none or there is no answer."""
        if "markdown" not in self.plan.formats or row.state not in ANSWERED:
            return None
        name = f"outbox/{self.plan.job}/{MARKDOWN}/{markdown_name(row['path'])}"
        return stage_markdown(self.plan.site, self.plan.job, name, row)


def _by_worker(row: Row, maker: Maker | None) -> dict[str, Any]:
    """The members of a row's entry that tell of the machine that made it, where that was a worker of a cluster."""
    by = row.made_by
    if by is None or maker is None:
        return {}
    options = replace(maker.parse_options, isolation=by["isolation"])
    return {"worker": Worker(by["worker"], by["host"]), "engine": by["engine"], "parse_options": options}


def _tuple(values: Sequence[Any] | None) -> tuple[Any, ...] | None:
    return None if values is None else tuple(values)


def write_without(site: Site, file: str, entries: Collection[int], private: bool) -> str:
    """Write a part anew without the rows of these entries, into staging, where it waits for its place; its sha256. That
    of a private job gets another salt: with the old one goes what its old sha256 could be made of."""
    source = site.root / file
    with open_part(site.at_rest, source) as opened:
        table = opened.read()
    numbers = table.column("audit_index").to_pylist()
    kept = table.filter(pa.array([number not in entries for number in numbers], pa.bool_()))
    staged = source.parent / ".staging" / staged_name(file)
    staged.parent.mkdir(exist_ok=True)
    return write_table(site.at_rest, staged, salted(kept) if private else kept)
