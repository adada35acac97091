"""The only writer of results: staged part, log entries and checkpoint, then everything into place."""

import base64
import hashlib
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from pipeline.inbox.intake import Arrival, staging_of
from pipeline.inbox.order import MADE_BY
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
from pipeline.records.private import hide, openings_file, write_openings
from pipeline.records.types import Deleted, Deletion, Document, MadeFile, Part, Placed, Record, Worker
from pipeline.states import ANSWERED
from pipeline.tasks import name_of

Row = dict[str, Any]
R = TypeVar("R", bound=Record)
_IN_ENTRY = (
    "document", "path", "parent", "size", "media_type", "encoding", "encoding_confidence", "language", "pages",
    "state", "failure", "reason", "duplicate_of", "supersedes", "parser", "text_sha256", "tokens",
)  # fmt: skip


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
        mine = self._hidden([self._mine(record) for record in records], first)
        self.log.commit([*self._placed, *mine])
        self._placed.clear()
        return first

    def _mine(self, record: R) -> R:
        return record.made_by(self.run, self.plan.job)

    def delete(self, records: Sequence[Deletion]) -> None:
        """Commit what is to be deleted, delete it, and say with the next commit that it is done."""
        for number, record in enumerate(records, self.note(*records)):
            delete(self.plan.site, record)
            self._placed.append(self._mine(Deleted(deletion=number)))

    def commit(self, rows: Sequence[tuple[Row, Arrival]]) -> None:
        """Make a part of these rows: one entry a row, then one for the part."""
        root, staging = self.plan.site.root, self.plan.outbox / ".staging"
        staging.mkdir(parents=True, exist_ok=True)
        part = self.plan.outbox / f"part-{self.run}-{len(self.parts) + 1:05d}.parquet"
        name = str(part.relative_to(root))
        first = self.log.next_index + len(self._placed)
        for number, (row, arrival) in enumerate(rows, first):
            row |= self._place(row, number, arrival)
            if arrival.staging:
                staging_of(self.plan.archive, arrival.staging).rename(staging_of(self.plan.archive, str(number)))
        table = pa.Table.from_pylist([row for row, _ in rows], schema=table_schema())
        look_before_part(self.plan, len(rows), table.nbytes)
        site, written = self.plan.site, salted(table) if self.plan.private else table
        sha256 = write_table(site.at_rest, staging / staged_name(name), written)
        made = table.to_pylist()
        outputs = self.outputs.make(made, name) if self.outputs else {}
        documents = [
            replace(self._document(row, arrival, name, i), outputs=outputs.get(i), **_by_worker(said, self.maker))
            for i, (row, (said, arrival)) in enumerate(zip(made, rows, strict=True))
        ]
        hidden = self._hidden(documents, first)
        sync(staging, self.plan.archive, *site.key_folders)
        folder, afterwards = self.plan.input_folder, self.plan.input.afterwards
        ended = self._mine(
            Part(file=name, sha256=sha256, rows=len(rows), first=first, folder=folder, afterwards=afterwards)
        )
        self.placing = True
        self.log.commit([*self._placed, *hidden, ended])
        place(site, ended, list(documents_at(site, range(first, first + len(documents)))))
        self.placing = False
        self._placed = [self._mine(Placed(file=name))]
        self.parts.append(part)

    def _place(self, row: Row, number: int, arrival: Arrival) -> Row:
        """The columns that say where a row stands: of which job and task, and which rows it takes the place of."""
        gone = replaced(
            self.last,
            RowKey(row["document"], row["path"], row["state"]),
            number,
            answers_copies(self.plan.input.duplicates),
            arrival.earlier.document if arrival.earlier and arrival.earlier.grown else None,
        )
        of = {"job": self.plan.job, "task": name_of(self.plan.task), "run": self.run, "audit_index": number}
        return {**of, "replaces": gone, "supersedes": max(gone, default=None)}

    def _hidden(self, records: Sequence[Record], first: int) -> Sequence[Writable]:
        """The records as the log may have them, from entry `first` on; what opens them is on the disk."""
        if not self.plan.private:
            return records
        hidden, openings = hide(records, first)
        if openings:
            write_openings(openings_file(self.plan.site.root, self.plan.job, first), openings)
        return hidden

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
            hidden=_tuple(row["hidden"]),
            replaces=_tuple(row.get("replaces")),
            finished_at=to_text(row["finished_at"]),
            seconds=round(row["seconds"], 4),
            path_bytes=None if raw == arrival.path.encode() else base64.b64encode(raw).decode(),
            result_sha256=result_sha256(row),
            markdown=self._write_markdown(row),
            unread=None if row["document"] else arrival.unread,
            earlier=arrival.earlier,
            **vars(self.maker),
        )

    def _write_markdown(self, row: Row) -> MadeFile | None:
        """The document's Markdown file in staging; None where the job asks for none or there is no answer."""
        if "markdown" not in self.plan.formats or row["state"] not in ANSWERED:
            return None
        name = f"outbox/{self.plan.job}/{MARKDOWN}/{markdown_name(row['path'])}"
        body = format_markdown(row, self.plan.job).encode()
        (self.plan.outbox / ".staging" / staged_name(name)).write_bytes(body)
        return MadeFile(name, hashlib.sha256(body).hexdigest())


def _by_worker(row: Row, maker: Maker | None) -> dict[str, Any]:
    """The members of a row's entry that tell of the machine that made it, where that was a worker of a cluster."""
    by = row.get(MADE_BY)
    if by is None or maker is None:
        return {}
    options = replace(maker.parse_options, isolation=by["isolation"])
    return {"worker": Worker(by["worker"], by["host"]), "engine": by["engine"], "parse_options": options}


def _tuple(values: list[Any] | None) -> tuple[Any, ...] | None:
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
