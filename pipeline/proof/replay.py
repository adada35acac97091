"""Rows computed again from what is kept of them, and held bit for bit against what the log says of them.

Everything that makes a row comes from the log and from the archive: the document by its sha256, the model by its
sha256, the settings by their digest. Today's job files are not asked.
"""

import contextlib
import hashlib
import math
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import engine
from pipeline.answer.compute import Embedding
from pipeline.answer.converse import Conversing
from pipeline.answer.models import Loaded, answerer, check_machine, load_model
from pipeline.document import Member, Row
from pipeline.errors import DocumentError, Failure, ModelRefusedError
from pipeline.heads import head_files
from pipeline.inbox.decide import Decisions
from pipeline.inbox.feed import alone
from pipeline.inbox.intake import Again, Kept, inner_path
from pipeline.inbox.order import Ended, Left, Node, Room, Work, depth_of, ended_row
from pipeline.inbox.reader import Reader, ReadHere, failed, open_parsers, unconfined
from pipeline.parse import Tesseract, find_tesseract
from pipeline.paths.names import file_sha256
from pipeline.plan import HeadRef, ModelRef, RunPlan, Site
from pipeline.proof.choose import Choice, Chosen, Group, choose
from pipeline.proof.judge import Judge, Replayed, Verdict, verdict_of
from pipeline.proof.kept import BytesGoneError, kept, kept_container
from pipeline.records.entries import documents_at
from pipeline.records.history import History
from pipeline.records.settings import job_digest, restored_plan
from pipeline.records.types import Document, RowsReplayed
from pipeline.tasks import Writing

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
                if row:
                    yield row
                elif not isinstance(item, Work):
                    yield ended_row(item) if isinstance(item, Ended) else item

    def _read(self, wanted: Wanted) -> Work | Ended | BytesGoneError:
        entry = wanted.entry
        try:
            if entry.parent and (entry.document is None or entry.failure == Failure.NAME_REFUSED):
                return self._refused(entry)
            arrival = kept(self.root, self.plan.site.at_rest, entry)
        except BytesGoneError as error:
            return error
        outcome = self.reader(arrival, self._room)
        first = {arrival.sha256: wanted.first} if arrival.sha256 and wanted.first else {}
        source = Again(arrival.raw, arrival.size, arrival.sha256 or "", arrival.parent)
        node = Node(source, Left(self._room), depth_of(source))
        item = Decisions(self.plan, History(done=first)).decided(node, outcome)
        return alone(item)

    @property
    def _room(self) -> Room:
        limits = self.plan.site.limits
        return Room(limits.unpacked_documents, limits.unpacked_bytes)

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
        outcome = self.reader(container, self._room)
        if outcome.file is None or outcome.item.parsed is None:
            return []
        unpacked, found = outcome.file.fileno(), list[tuple[str, Member, str | None]]()
        for member in outcome.item.parsed.members:
            sha256 = None if member.offset is None else _sha256(unpacked, member.offset, member.size)
            found.append((inner_path(container, member)[0], member, sha256))
        return found


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


def _sha256(unpacked: int, at: int, size: int) -> str:
    digest, end = hashlib.sha256(), at + size
    while at < end and (chunk := os.pread(unpacked, min(1 << 20, end - at), at)):
        digest.update(chunk)
        at += len(chunk)
    return digest.hexdigest()


Progress = Callable[[int, int], None]
_TOGETHER = 64  # documents
_BYTES = 64 << 20  # of them


@dataclass(frozen=True)
class Replay:
    """The result of a replay: verdicts in the order of the log. `of`: so many rows in question can be replayed;
    `untold`: so many cannot, beside those that are among `rows`. `document`: the sha256 of the one asked for;
    `told`: as the log may say it."""

    choice: Choice
    document: str | None
    rows: tuple[Replayed, ...]
    of: int
    untold: int
    told: str | None = None

    @property
    def counts(self) -> dict[str, int]:
        """How often each verdict fell, all rows in question that cannot be replayed among them."""
        found = Counter(row.verdict for row in self.rows)
        found[Verdict.UNREPLAYABLE] += self.untold
        return {verdict.value: found[verdict] for verdict in Verdict}

    def to_record(self) -> RowsReplayed:
        """The record of the replay for the log."""
        asked: dict[str, Any] = {"document": self.told, "run": self.choice.run, "share": self.choice.share}
        different = [row.entry for row in self.rows if row.verdict == Verdict.DIFFERENT]
        return RowsReplayed(
            asked=asked | {"seed": self.choice.seed}, rows=self.of, counts=self.counts, different=tuple(different[:100])
        )


def replay(site: Site, choice: Choice, progress: Progress | None = None, *, together: int = _TOGETHER) -> Replay:
    """Compute the rows of `choice` again, at most `together` documents at a time, and compare them.

    What is unpacked lies in state/ meanwhile; for a user who may not write there, such as an auditor, in the folder for
    temporary files, where nobody else may read it. Raises LookupError for a choice that the log does not know,
    MachineRefusedError, audit.AuditError, and OSError. What is gone is a verdict.
    """
    check_machine()
    chosen = choose(site, choice)
    site.state.mkdir(exist_ok=True)
    rows, total = list(chosen.told), sum(map(len, chosen.groups.values()))
    place = site.state if os.access(site.state, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="replay-", dir=place) as scratch:
        for replayed in _Replaying(site, chosen, Path(scratch), together).verdicts():
            rows.append(replayed)
            if progress:
                progress(len(rows) - len(chosen.told), total)
    ordered = tuple(sorted(rows, key=lambda row: row.entry))
    return Replay(choice, chosen.document, ordered, chosen.of, chosen.left_out - len(chosen.told), chosen.told_as)


@dataclass
class _Replaying:
    """One replay on its way; rows of the same model follow one another."""

    site: Site
    chosen: Chosen
    scratch: Path
    together: int

    def verdicts(self) -> Iterator[Replayed]:
        """One a row that was drawn, by group."""
        models = _Models(self.site)
        drawn = [group for group, numbers in self.chosen.groups.items() if numbers]
        for group in sorted(drawn, key=lambda one: (one.model_sha256, one.job_digest, one.languages or ())):
            yield from self._of_group(group, models)

    def _of_group(self, group: Group, models: "_Models") -> Iterator[Replayed]:
        entries = documents_at(self.site, self.chosen.groups[group])
        plan = self._plan(group, models)
        if isinstance(plan, str):
            return (yield from _all(entries, plan, "settings"))
        model = models.load(plan)
        if isinstance(model, str):
            return (yield from _all(entries, model, "model"))
        try:
            bounds = replace(plan.site.bounds, seconds=math.inf)  # whoever was done then is done, however long it takes
            answers = replace(answerer(plan, model), bounds=bounds)
        except ModelRefusedError as error:  # such as too little memory here
            return (yield from _all(entries, f"model: {error}", "model"))
        with recompute(plan, self.site.root, answers, group.languages) as again:
            judge = Judge(self.site, plan.task, again.ocr)
            for batch in _batches(entries, self.together):
                yield from self._compared(batch, again, judge)

    def _plan(self, group: Group, models: "_Models") -> RunPlan | str:
        """The plan that the runs were told; or why that is not known."""
        values = self.chosen.settings.get(group.job_digest)
        if values is None:
            return (
                f"settings: the log does not have those of the digest {group.job_digest}, or not as this program does"
            )
        model = ModelRef(group.model, models.path(group), group.model_sha256)
        plan = restored_plan(values, self.site, self.scratch, model)
        plan = replace(plan, model=replace(plan.model, head=models.head(plan.model.head)))
        if job_digest(plan, group.model_sha256) != group.job_digest:
            return f"settings: those of the digest {group.job_digest} mean something else to this program"
        return plan

    def _compared(self, batch: Sequence[Document], again: Recompute, judge: Judge) -> Iterator[Replayed]:
        wanted = [Wanted(entry, self.chosen.firsts.get(entry.n)) for entry in batch]
        for entry, row in zip(batch, again.rows(wanted), strict=True):
            if isinstance(row, BytesGoneError) and entry.n in self.chosen.deleted:
                reason = f"its bytes were deleted, as entry {self.chosen.deleted[entry.n]} says"
                yield verdict_of(entry, Verdict.UNREPLAYABLE, reason)
            elif isinstance(row, BytesGoneError):
                yield verdict_of(entry, Verdict.INCOMPARABLE, f"input: {row}", "input")
            else:
                yield judge.verdict(entry, row)


@dataclass
class _Models:
    """Model files of the workspace by what is in them; the last one stays loaded."""

    site: Site

    def __post_init__(self) -> None:
        self._sha256: dict[Path, str] = {}
        self._loaded: tuple[tuple[str, Writing | None], Loaded] | None = None

    def path(self, group: Group) -> Path:
        """The file with these bytes, whatever it is called now; if none has them, where it was."""
        named = self.site.models / f"{group.model}.gguf"
        others = (path for path in sorted(self.site.models.glob("*.gguf")) if path != named)
        return next((path for path in (named, *others) if self._of(path) == group.model_sha256), named)

    def head(self, ref: HeadRef | None) -> HeadRef | None:
        """The learned head with the file that has its bytes, whatever that is called now; if none has them, where it
        was."""
        if ref is None:
            return None
        others = (path for path in head_files(self.site.models) if path != ref.path)
        return replace(ref, path=next((path for path in (ref.path, *others) if self._of(path) == ref.sha256), ref.path))

    def load(self, plan: RunPlan) -> Loaded | str:
        """The model; or why it cannot be had."""
        model = plan.model
        assert model.sha256 is not None
        if self._loaded and self._loaded[0] == (model.sha256, plan.writing):
            return self._loaded[1]
        if self._of(model.path) != model.sha256:
            return f"model: no file in models/ has the sha256 {model.sha256}, as {model.name} had"
        self._loaded = None  # before there is another one: there may not be room for two
        try:
            loaded = load_model(plan, model.sha256, lambda fact: None)
        except ModelRefusedError as error:
            return f"model: {error}"
        self._loaded = ((model.sha256, plan.writing), loaded)
        return loaded

    def _of(self, path: Path) -> str | None:
        if path not in self._sha256 and path.is_file():
            self._sha256[path] = file_sha256(path)
        return self._sha256.get(path)


def _all(entries: Iterable[Document], reason: str, what: str) -> Iterator[Replayed]:
    return (verdict_of(entry, Verdict.INCOMPARABLE, reason, what) for entry in entries)


def _batches(entries: Iterable[Document], together: int) -> Iterator[list[Document]]:
    """Lists of at most `together` documents, and of at most _BYTES but for one that is larger."""
    batch, size = list[Document](), 0
    for entry in entries:
        if batch and (len(batch) >= together or size + entry.size > _BYTES):
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += entry.size
    if batch:
        yield batch
