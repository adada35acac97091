"""Rows computed again, by the very code of a run, from documents that lie where they are kept."""

import contextlib
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import engine
from pipeline.answer.compute import Embedding
from pipeline.answer.converse import Conversing
from pipeline.document import Member, Row
from pipeline.errors import DocumentError, Failure
from pipeline.inbox.decide import Decisions
from pipeline.inbox.feed import alone
from pipeline.inbox.intake import Again, Kept, inner_path
from pipeline.inbox.order import Ended, Left, Node, Outcome, Room, Work, depth_of, ended_row
from pipeline.inbox.reader import Reader, ReadHere, failed, open_parsers, unconfined
from pipeline.parse import Tesseract, find_tesseract
from pipeline.plan import RunPlan
from pipeline.proof.kept import BytesGoneError, kept, kept_container
from pipeline.records.history import History
from pipeline.records.types import Document

_CONTAINERS = 4  # of which what was in them is remembered: the entries of one follow one another


@dataclass(frozen=True)
class Wanted:
    """The entry of a row; `first`: the path of which it is told to be a copy, though answered (duplicates: warn)."""

    entry: Document
    first: str | None = None


@dataclass
class Recompute:
    """One plan, ready to make rows. `root`: the workspace; `ocr`: what reads pictures of text, as an entry tells it."""

    plan: RunPlan
    root: Path
    answers: Embedding | Conversing
    reader: Reader
    threads: ThreadPoolExecutor
    ocr: Mapping[str, Any] | None

    def __post_init__(self) -> None:
        self._members = lru_cache(_CONTAINERS)(self._unpacked)

    def rows(self, wanted: Sequence[Wanted]) -> Iterator[Row | BytesGoneError]:
        """Yield for each the row without the columns of its maker, or why there can be none; computed together, in
        order."""
        read = list(self.threads.map(self._read, wanted))
        review = self.plan.input.hidden == "review"
        answered = self.answers(read, lambda done, total: None, review_hidden=review)
        for group in answered:
            for item, row in group:
                yield row or (ended_row(item) if isinstance(item, Ended) else _gone(item))

    def _read(self, wanted: Wanted) -> Work | Ended | BytesGoneError:
        entry = wanted.entry
        try:
            if entry.parent and (entry.document is None or entry.failure == Failure.NAME_REFUSED):
                return self._refused(entry)
            arrival = kept(self.root, self.plan.site.at_rest, entry)
        except BytesGoneError as error:
            return error
        outcome = self._parsed(arrival)
        first = {arrival.sha256: wanted.first} if arrival.sha256 and wanted.first else {}
        source = Again(arrival.raw, arrival.size, arrival.sha256 or "", arrival.parent)
        node = Node(source, Left(self._room), depth_of(source))
        item = Decisions(self.plan, History(done=first)).decided(node, outcome)
        return alone(item)

    @property
    def _room(self) -> Room:
        limits = self.plan.site.limits
        return Room(limits.unpacked_documents, limits.unpacked_bytes)

    def _parsed(self, arrival: Kept) -> Outcome:
        return self.reader(arrival, self._room)

    def _refused(self, entry: Document) -> Ended | BytesGoneError:
        """A document that its container could not give, or only under a name that is none: of that it tells alone."""
        container = kept_container(self.root, self.plan.site.at_rest, entry)
        arrival = replace(container, path=entry.path, raw=entry.raw_path, parent=entry.parent)
        for path, member, sha256 in self._members(container):
            if path == entry.path and member.failure:
                error = DocumentError(member.failure, member.reason or member.failure.sentence)
                return failed(replace(arrival, size=member.size, sha256=sha256), error)
        return failed(arrival, DocumentError(Failure.CORRUPT, "there is no such document in its container"))

    def _unpacked(self, container: Kept) -> list[tuple[str, Member, str | None]]:
        """The documents in a container, with their paths and sha256."""
        outcome = self._parsed(container)
        if outcome.file is None or outcome.item.parsed is None:
            return []
        members = outcome.item.parsed.members
        unpacked = outcome.file.fileno()
        return [(inner_path(container, member)[0], member, _sha256(unpacked, member)) for member in members]


@contextlib.contextmanager
def recompute(
    plan: RunPlan, root: Path, answers: Embedding | Conversing, languages: Sequence[str] | None
) -> Iterator[Recompute]:
    """Everything that a run has before its first document; below `plan.site.root` lies only what is unpacked.

    `languages`: of the text recognition; None where there was none.
    """
    (plan.archive / ".staging").mkdir(parents=True, exist_ok=True)
    found = None if languages is None else find_tesseract(languages)
    workers = engine.threads()
    with open_parsers(plan.site, workers) as pool, ThreadPoolExecutor(workers, "parse") as threads:
        tesseract = found if isinstance(found, Tesseract) and not unconfined(plan.site, pool) else None
        reader = Reader(plan, ReadHere(pool, pool.reader(tesseract) if tesseract else None))
        ocr = tesseract.describe() if tesseract else None
        yield Recompute(plan, root, answers, reader, threads, ocr)


def _gone(item: Work | Ended | BytesGoneError) -> BytesGoneError:
    assert isinstance(item, BytesGoneError)
    return item


def _sha256(unpacked: int, member: Member) -> str | None:
    if member.offset is None:
        return None
    digest, at, end = hashlib.sha256(), member.offset, member.offset + member.size
    while at < end and (chunk := os.pread(unpacked, min(1 << 20, end - at), at)):
        digest.update(chunk)
        at += len(chunk)
    return digest.hexdigest()
