"""Records of results: each document's row and what made it, the table that holds the rows, and that it is in place."""

import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.records.types.base import Json, Record, kind
from pipeline.records.types.reviews import Reviewed


@dataclass(frozen=True, slots=True)
class MadeFile:
    """A file in outbox/ that was made for a document, by its name in the workspace, and the sha256 of it."""

    file: str
    sha256: str


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """How documents were read: limits and isolation of the parsers, what became of hidden text, and what read pictures
    of text (None where nothing did)."""

    limits: Mapping[str, Any] = field(default_factory=dict)
    isolation: Mapping[str, Any] = field(default_factory=dict)
    hidden: str | None = None
    ocr: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Earlier:
    """A document that was taken from the same path before: the entry of its row, its sha256 and its bytes. `grown`: the
    later one begins with them."""

    row: int
    document: str
    size: int
    grown: bool

    @property
    def note(self) -> str:
        """The note that the later one has."""
        if self.grown:
            return f"a newer version of row {self.row}: the file has grown since {self.size:,} bytes of it were taken"
        return f"a file of other bytes was taken from this path before: row {self.row}"


@dataclass(frozen=True, slots=True)
class Worker:
    """A machine of a cluster, by the name of its worker and of itself."""

    worker: str
    host: str


@kind("document", "a document's row, and everything that made it")
class Document(Record):
    """The columns of a row that say what came in and how it ended; the sha256s of its text and result; the files made
    beside it; its part and its place there; and the settings, model, software and machine that made it.

    `document` is the sha256 of its bytes, None for a file that was not read, of which `unread` says how it lay.
    `path_bytes` is the path in base64 where it is no UTF-8. Of an entry that nothing opens, the hidden members are
    None, but for the path, which stays a commitment. `seconds`: what reading it and its share of the computing took.

    `worker` is the machine of a cluster that read and answered it; without it that was the machine of the log.
    A row that a person decided has `review`, and no run: everything else that made it is as in the row that was seen.
    """

    document: str | None
    path: str
    path_bytes: str | None
    parent: str | None = None
    size: int
    media_type: str | None = None
    encoding: str | None = None
    encoding_confidence: float | None = None
    language: str | None = None
    pages: int | None = None
    state: str
    failure: str | None
    reason: str | None
    hidden: tuple[Mapping[str, Any], ...] | None = None
    duplicate_of: str | None = None
    supersedes: int | None
    replaces: tuple[int, ...] | None = None
    parser: str | None
    text_sha256: str | None
    tokens: int | None
    finished_at: str | None
    result_sha256: str
    markdown: MadeFile | None
    outputs: tuple[MadeFile, ...] | None = None
    unread: str | None = None
    part: str
    row: int
    job_digest: str
    model: str
    model_sha256: str
    tokenizer_sha256: str | None = None
    numerics: str
    engine: Mapping[str, Any] = field(default_factory=dict)
    software: Mapping[str, str]
    parse_options: ParseOptions
    review: Reviewed | None = None
    seconds: float | None = None
    worker: Worker | None = None
    earlier: Earlier | None = None

    def members(self) -> Json:
        """The members beside type, run and job; `review`, `worker` and `earlier` only where there is one, as in entries
        from before them."""
        members = Record.members(self)
        for name in ("review", "worker", "earlier"):
            if members[name] is None:
                del members[name]
        return members

    @property
    def is_decided(self) -> bool:
        """Whether a person decided the row, and no run made it; an entry that nothing opens says that too."""
        if not self.said:  # it is not in the log yet
            return self.review is not None
        return self.said.get("review") is not None or "review" in self.said.get("closed", ())

    @property
    def grown_from(self) -> str | None:
        """The sha256 of the document whose bytes this one goes on from, at the same path."""
        return self.earlier.document if self.earlier and self.earlier.grown else None

    @property
    def raw_path(self) -> str:
        """The path of the input as the system knows it."""
        return os.fsdecode(base64.b64decode(self.path_bytes)) if self.path_bytes else self.path

    @property
    def made_files(self) -> tuple[MadeFile, ...]:
        """The files in outbox/ that were made for the document, beside its row."""
        markdown = (self.markdown,) if self.markdown else ()
        return (*markdown, *(self.outputs or ()))


@kind("part", "a table of results, of the documents before it")
class Part(Record):
    """A Parquet file with its sha256 and the number of its rows, whose entries begin at `first`; the input folder of
    its documents, and what becomes of them there `afterwards`."""

    file: str
    sha256: str
    rows: int
    first: int
    folder: str
    afterwards: str


@kind("placed", "a part and its documents are in place")
class Placed(Record):
    """The name of the part."""

    file: str
