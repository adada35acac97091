"""Judge a committed row by the one that was computed again."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import engine
from pipeline.document import Row
from pipeline.errors import BadPartError, Failure
from pipeline.outbox.results import row_at
from pipeline.outbox.schema import as_read_back, result_columns, result_sha256
from pipeline.plan import Site
from pipeline.records.settings import label, software
from pipeline.records.types import Document
from pipeline.states import State
from pipeline.tasks import Task

_BY_LIMIT = (Failure.TIMEOUT, Failure.OUT_OF_MEMORY, Failure.TOO_LONG)
_PAGE_LOST = "not recognised: "  # the note of a page that text recognition gave up, mostly for its time


class Verdict(StrEnum):
    """How a committed row compares with the same made again."""

    IDENTICAL = "identical"
    DIFFERENT = "different"
    CHANGED = "changed"
    INCOMPARABLE = "incomparable"
    UNREPLAYABLE = "unreplayable"

    @property
    def sentence(self) -> str:
        """The meaning of the verdict, in one sentence."""
        return _SENTENCES[self]


_SENTENCES = {
    Verdict.IDENTICAL: "Computed again, text and result are the same bit for bit.",
    Verdict.DIFFERENT: "Everything that made it is the same, and text or result are not.",
    Verdict.CHANGED: "Text or result are not the same, and neither is what made them.",
    Verdict.INCOMPARABLE: "It cannot be computed again here.",
    Verdict.UNREPLAYABLE: "Computing it again would prove nothing: it hung on time or memory, or nothing was computed.",
}


@dataclass(frozen=True)
class Replayed:
    """The verdict on one row. `differs`: of input, settings, model, parser, software, text, result. `columns`: of the
    result those that differ, if the row is still in outbox/."""

    entry: int
    job: str
    run: str
    path: str
    document: str | None
    verdict: Verdict
    differs: tuple[str, ...] = ()
    reason: str = ""
    columns: tuple[str, ...] = ()


def verdict_of(
    entry: Document, verdict: Verdict, reason: str, *differs: str, columns: tuple[str, ...] = ()
) -> Replayed:
    """The verdict with what names the row."""
    told = (entry.n, entry.job, entry.run, entry.path, entry.document)
    return Replayed(*told, verdict, differs, reason, columns)


def unreplayable(entry: Document, answer: int | None = None) -> str | None:
    """Why a row cannot be computed again, whatever is still there; None for one that can. `answer`: of a row that a
    person decided, the entry of the model's own answer."""
    if entry.closed:
        return "nothing opens its entry: it was erased, or private/ is not whole"
    if entry.is_decided:
        return f"decided by a person; the model's own answer is entry {answer}"
    if entry.state == State.DUPLICATE:
        return f"nothing was computed: {entry.reason}"
    if entry.failure in _BY_LIMIT:
        return f"it ended at a limit of time or memory: {entry.reason}"
    if entry.document is None and not entry.parent:
        return f"nothing was read: {entry.reason}"
    return None


@dataclass(frozen=True)
class Judge:
    """The judge of one group of rows. `ocr`: what reads pictures of text now."""

    site: Site
    task: Task
    ocr: Mapping[str, Any] | None

    def verdict(self, entry: Document, made: Row) -> Replayed:
        """`made` is the row as it is computed now, without the columns of its maker: those of the entry are taken."""
        if made.get("failure") in _BY_LIMIT:
            return verdict_of(entry, Verdict.INCOMPARABLE, f"reading it came to a limit here: {made['reason']}")
        row = _like(entry, made)
        text, result = row.text_sha256 == entry.text_sha256, result_sha256(self._read(row))
        named = row.having(parser=entry.parser) if row.parser and entry.parser else row
        same = text and result == entry.result_sha256
        makers = dict(self._makers(entry, row, same))
        if same:
            return verdict_of(entry, Verdict.IDENTICAL, "; ".join(makers.values()), *makers)
        found = {} if text else {"text": f"text: sha256 {entry.text_sha256} then, {row['text_sha256']} now"}
        columns: tuple[str, ...] = ()
        if result_sha256(self._read(named)) != entry.result_sha256:
            if (reason := self._by_chance(entry, row)) and not makers:
                return reason
            then, now = self._recorded(entry), self._read(row)
            columns = tuple(name for name in result_columns(now) if then.get(name) != now[name]) if then else ()
            found["result"] = f"result: {', '.join(columns)}" if columns else "result: its sha256"
        verdict = Verdict.CHANGED if makers else Verdict.DIFFERENT
        told = {**makers, **found}
        return verdict_of(entry, verdict, "; ".join(told.values()), *told, columns=columns)

    def _read(self, row: Row) -> Row:
        return as_read_back(row, self.task)

    def _makers(self, entry: Document, row: Row, same: bool) -> Iterator[tuple[str, str]]:
        """Yield the makers of the row that are not the same now."""
        then, now = entry.parser, row.parser
        if then and now and then != now:
            yield "parser", f"parser: {then} then, {now} now"
        elif entry.parse_options.ocr != self.ocr and ("tesseract " in (then or "") or not same):
            yield "parser", "parser: Tesseract or its languages are not the same"
        was, runs = entry.software, software()
        other = [name for name in sorted(was.keys() | runs.keys()) if was.get(name) != runs.get(name)]
        if entry.numerics != engine.NUMERICS:
            other.append(f"numerics ({entry.numerics} then, {engine.NUMERICS} now)")
        if other:
            yield "software", f"software: {', '.join(other)}"

    def _by_chance(self, entry: Document, row: Row) -> Replayed | None:
        """Where what came of a document hung on more than what made it."""
        if entry.parent and entry.failure == Failure.BOMB:
            reason = "how much it may unpack to hung on what is around it in its container"
            return verdict_of(entry, Verdict.UNREPLAYABLE, reason)
        then = self._recorded(entry)
        if then and _lost_pages(then):
            reason = "a page of it was not recognised in time, or not at all"
            return verdict_of(entry, Verdict.UNREPLAYABLE, reason)
        if _lost_pages(row):
            return verdict_of(entry, Verdict.INCOMPARABLE, "a page of it is not recognised here")
        return None

    def _recorded(self, entry: Document) -> Row | None:
        """The row itself, if it still is in outbox/ and the one that the entry proves."""
        try:
            row = row_at(self.site.at_rest, self.site.root / entry.part, entry.row)
        except (OSError, BadPartError):
            return None
        return row if result_sha256(row) == entry.result_sha256 else None


def _like(entry: Document, made: Row) -> Row:
    """The new row with the columns of the maker as they were, and in the reason what Tesseract lacked then."""
    then, reason = entry.reason or "", made.reason
    if made.failure == Failure.NEEDS_OCR and then.startswith(f"{reason}; "):
        reason = then
    return made.having(
        parser=made.parser, text_sha256=made.text_sha256, reason=reason, model_sha256=entry.model_sha256,
        numerics=entry.numerics, job_digest=entry.job_digest, software=label(entry.software),
    )  # fmt: skip


def _lost_pages(row: Row) -> bool:
    return any(_PAGE_LOST in note for note in [*(row.notes or ()), row.reason or ""])
