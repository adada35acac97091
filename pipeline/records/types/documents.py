"""Records of results: rows, tables, reports, what people decide on rows, and what is deleted or held."""

import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.records.types.base import Json, Record, counted, kind, member
from pipeline.records.types.values import Count, Numbers, Text

ACCEPTED, CORRECTED, REJECTED = "accepted", "corrected", "rejected"
ACTIONS = (ACCEPTED, CORRECTED, REJECTED)
"""What a person can decide on a row that was seen."""


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A person's decision on a row, as its signed request said it (records/requests.py).

    `action` is one of ACTIONS, `by` who decided it, `reason` why (None where nothing was said), `at` when. `of` is the
    entry of the row that was seen, and `seen` the sha256 of its result. `answer_sha256` is that of what was to be
    changed (None where nothing was). `id` names the request, `key` the key that signed it, `signature` is in base64.
    """

    action: str
    by: str
    reason: str | None
    of: int
    seen: str
    answer_sha256: str | None
    at: str
    id: str
    key: str
    signature: str


@kind("reviewer_key.admitted", "decisions of people on rows are signed by this key from now on", command=True)
class ReviewerKeyAdmitted(Record):
    """The public key; the one that was admitted before signs nothing any more."""

    public_key: Text


@kind("review.refused", "a request in state/review/ to decide on a row was refused")
class ReviewRefused(Record):
    """The name and owner of the file, why it was refused, and the name under which it is kept; the entry of the row
    that it is about and who made it, where an admitted key signed that (None otherwise)."""

    file: str
    owner: str
    reason: str
    kept: str
    of: int | None
    by: str | None

    def sentence(self) -> str:
        return f"A decision by {self.by or 'somebody'} was not taken up: {self.reason}."


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

    def sentence(self) -> str:
        if self.review:
            return f"{self.job}: {self.review.by} {self.review.action} the answer of entry {self.review.of}."
        name = "a private document" if self.closed else self.path
        return f"{self.job}: {name} is {self.state}{f' ({self.failure})' if self.failure else ''}."


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

    def sentence(self) -> str:
        return f"{self.job}: a table of {counted(self.rows, 'row')} was committed."


@kind("placed", "a part and its documents are in place", "{0.job}: a table and its documents are in place.")
class Placed(Record):
    """The name of the part."""

    file: str


@kind("sampled", "`cloister review sample`: rows were drawn for a person to check", handed=True)
class Sampled(Record):
    """Rows of a job that were drawn by a seed, by their entries (pipeline/review/sampling.py has the rule): of its
    `population` rows that held when the log had `size` entries, that were done, and that nobody had decided; with a
    `label`, of those that had it. `by`: who drew them."""

    of_job: Text = member("job")
    label: Text | None
    seed: Text
    size: Count
    population: Count
    entries: Numbers
    by: Text


@dataclass(frozen=True, slots=True)
class RewrittenPart:
    """A part that was written anew without the rows of `entries`: the number of its entry, and its new sha256."""

    file: str
    part: int
    sha256: str
    entries: tuple[int, ...]


@kind(
    "deleted.by_rule",
    "what the job keeps no longer is to be deleted",
    "{0.job}: what is older than {0.days:g} days is to be deleted, by the rule {0.rule}.",
)
class DeletedByRule(Record):
    """The rule and its days; the entries whose archived bytes and text go, the files of rows that go, and the entries
    whose Markdown and output files, or whose report, go."""

    rule: str = ""
    days: float = 0
    archive: tuple[int, ...]
    parts: tuple[str, ...]
    markdown: tuple[int, ...]


@kind("erased", "a document is to be erased")
class Erased(Record):
    """The entries that cannot be opened again; those whose archived bytes and text, whose copy in failed/, and whose
    Markdown and output files, or whose report, go; the parts that go or are written anew without its rows; and the
    reason given."""

    entries: tuple[int, ...]
    archive: tuple[int, ...]
    failed: tuple[int, ...]
    markdown: tuple[int, ...]
    parts: tuple[str, ...]
    rows: tuple[RewrittenPart, ...]
    reason: str = ""

    @property
    def numbers(self) -> frozenset[int]:
        """All entries that it names."""
        of_rows = (number for part in self.rows for number in part.entries)
        return frozenset((*self.entries, *self.archive, *self.failed, *self.markdown, *of_rows))

    def sentence(self) -> str:
        return f"{counted(len(self.entries), 'row')} and what they rest on are to be erased: {self.reason}."


Deletion = DeletedByRule | Erased
"""The records that announce a deletion; `Deleted` says that it is done."""


@kind("deleted", "a deletion is done", "What entry {0.deletion} announced is deleted.")
class Deleted(Record):
    """The number of the entry that announced it."""

    deletion: int


@kind("hold", "documents may not be deleted")
class Held(Record):
    """Entries of the documents, and why they are held."""

    entries: tuple[int, ...]
    reason: str

    def sentence(self) -> str:
        return f"{counted(len(self.entries), 'document')} may not be deleted: {self.reason}."


@kind("released", "a hold has ended", "The hold of entry {0.hold} ended: {0.reason}.")
class Released(Record):
    """The number of the entry that held them, and why they are released."""

    hold: int
    reason: str


@dataclass(frozen=True, slots=True)
class Pace:
    """Documents that ended in equal times: `counts` of `seconds` each, from `start` (seconds since 1970) on."""

    start: int = 0
    seconds: int = 1
    counts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Shares:
    """Holds what became of the documents of a night: how many ended in each state, failed in each class, got each label
    (of fields: a value), and had a score in each twentieth of 0 to 1; when they ended. No text of a document is in
    it."""

    states: Mapping[str, int] = field(default_factory=dict)
    failures: Mapping[str, int] = field(default_factory=dict)
    labels: Mapping[str, int] = field(default_factory=dict)
    scores: tuple[int, ...] = ()
    pace: Pace = field(default_factory=Pace)
    seconds: float = 0.0
    runs: int = 0


@kind("reported", "a report of a night was made for people, and `shares` to compare later nights with")
class Reported(Record):
    """The evening's date, the number of the first entry that it tells of, the settings (None: of several), the two
    files with their sha256s, the shares, and the entries whose rows it shows. Shares and rows of a private job are
    hidden."""

    night: str
    first: int
    job_digest: str | None
    html: MadeFile
    markdown: MadeFile
    shares: Shares | None
    rows: tuple[int, ...] | None

    @property
    def made_files(self) -> tuple[MadeFile, ...]:
        """The files in outbox/ that were made."""
        return self.html, self.markdown
