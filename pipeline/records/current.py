"""Rows are current by one rule, for the commit, for `results` and for `recall`.

A row takes the place of what was there before it:

* of the row of the same bytes at the same path, whatever became of them; but that a document came again (`duplicate`)
  takes the place of no answer;
* an answer, also of the answer to the same bytes at another path, unless the job answers copies too;
* of the row of a file at its path that could not be read;
* of the rows of the document at its path with whose bytes it begins: the file has grown since.

A row that a person decided takes the place of the one that was seen, and of no other.

The commit writes the entries whose rows a row takes the place of into its column `replaces`, so that who reads the
parts needs no more than that column: a row is current if no other row names its `audit_index` there. Rows from before
there was such a column are held against each other by the same rule.
"""

import hashlib
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field

from pipeline.records.types import Document
from pipeline.states import State

Identity = str | bytes
Last = MutableMapping[Identity, int]
"""What stands for a document, for a document at its path, or for a path -> the entry of the current row."""


@dataclass(frozen=True, slots=True)
class RowKey:
    """The facts that the rule asks of a row."""

    document: str | None
    path: str
    state: str


Row = RowKey | Document


def replaced(last: Last, row: Row, number: int, copies: bool, grown_from: str | None = None) -> list[int]:
    """The entries whose rows `row`, of entry `number`, takes the place of, at most seven; `last` is brought up to date.

    `copies`: the job answers a document at another path as another document; `grown_from`: the document with whose
    bytes this one begins.
    """
    document, path = row.document, row.path
    unread = identity("unread", "", path)
    gone = [last.pop(unread, None)]
    if document is None:
        last[unread] = number
        return _numbers(gone)
    if grown_from:
        gone += [last.pop(identity("other", grown_from, path), None), *_answered(last, grown_from, path)]
    last[identity("newest", "", path)] = number
    alone, shared, other = (identity(kind, document, path) for kind in ("alone", "shared", "other"))
    gone.append(last.pop(other, None))
    if row.state != State.DUPLICATE:
        gone += _answered(last, document, path)
    if row.state in (State.FAILED, State.DUPLICATE):
        last[other] = number
    elif copies:
        last[alone] = number
    else:
        gone.append(last.pop(document, None))
        last[document] = last[shared] = number
    return _numbers(gone)


def _answered(last: Last, document: str, path: str) -> Iterator[int | None]:
    yield last.pop(identity("alone", document, path), None)
    if (at := last.pop(identity("shared", document, path), None)) is not None and last.get(document) == at:
        yield last.pop(document)


def newest_at(last: Last, path: str) -> int | None:
    """The entry of the row of what was taken last from a path, if it could be read."""
    return last.get(identity("newest", "", path))


def answers_of(last: Last, row: Row) -> list[int]:
    """The entries of the answers that hold for the document at its path, ascending: one as a rule, two where a job
    answered copies for a time."""
    return sorted({last[its] for its in _answers(row) if its in last})


def decide(last: Last, row: Row, of: int, number: int) -> None:
    """Bring `last` up to date: the row of entry `number`, which a person decided, takes the place of that of entry
    `of`, and of no other, for nothing came in."""
    for its in _answers(row):
        if last.get(its) == of:
            last[its] = number


def _answers(row: Row) -> tuple[Identity, Identity, Identity]:
    document, path = row.document or "", row.path
    return identity("alone", document, path), identity("shared", document, path), document


def answers_copies(duplicates: str | None) -> bool:
    """Whether a job with this `input.duplicates` answers a document at another path as another document."""
    return duplicates not in (None, "skip")


@dataclass
class Replaced:
    """Rows of one job, taken in the order of their entries. `by`: an entry -> the one whose row took its place."""

    by: dict[int, int] = field(default_factory=dict)
    _last: Last = field(default_factory=dict)

    def add(self, row: Row, number: int, said: Sequence[int] | None, copies: bool) -> None:
        """Add a row, or its entry, which has `said` what it replaces; where it did not, the rule does, by the mode of
        its run."""
        self.by |= dict.fromkeys(replaced(self._last, row, number, copies) if said is None else said, number)


@dataclass
class Versions:
    """The rows of one job by the files that they are of: documents at a path. The newest file of a path is the one that
    came there last, for the first time or, as a `duplicate` row says, again; that an older one is answered again makes
    it no newer."""

    _files: dict[bytes, int] = field(default_factory=dict)
    _came: list[tuple[str, int, int, int]] = field(default_factory=list)  # path, first row, last copy, last other

    def add(self, row: Row, number: int) -> int:
        """Add a row, of entry `number`, in any order; the number of its file."""
        key = identity("file", row.document or "", row.path)
        file = self._files.setdefault(key, len(self._files))
        if file == len(self._came):
            self._came.append((row.path, number, -1, -1))
        path, first, again, last = self._came[file]
        if row.state == State.DUPLICATE:
            again = max(again, number)
        else:
            last = max(last, number)
        self._came[file] = path, min(first, number), again, last
        return file

    def newer(self) -> list[int | None]:
        """Of each file the entry of a row of the newest one at its path; None for the newest itself."""
        newest: dict[str, tuple[int, int, int]] = {}  # path -> when its newest file came, that file, a row of it
        for file, (path, first, again, last) in enumerate(self._came):
            its = (max(first, again), file, last if last >= 0 else again)
            newest[path] = max(newest.get(path, its), its)
        return [None if newest[path][1] == file else newest[path][2] for file, (path, *_) in enumerate(self._came)]


def identity(kind: str, document: str, path: str) -> bytes:
    """A digest, which costs the same however long the path is. `kind`: "alone" for an answer to a document at its path,
    "shared" for where the answer to all copies was given, "other" for a failure or a copy, "unread" for a file, "file"
    for a document at its path, whatever became of it, "newest" for what was read last at a path."""
    return hashlib.blake2b(f"{kind} {document} {path}".encode(), digest_size=24).digest()


def _numbers(gone: list[int | None]) -> list[int]:
    return sorted(number for number in gone if number is not None)
