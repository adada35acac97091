"""Choose which rows of a log are computed again: those of a document, of a run, or of all of them a share drawn by a
seed."""

import hashlib
import math
from array import array
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from pipeline.keep.about import is_meant, only_one
from pipeline.outbox.deletion import Deletions
from pipeline.plan import Site
from pipeline.proof.judge import Replayed, Verdict, unreplayable, verdict_of
from pipeline.records.entries import documents_at, fold, read_entries
from pipeline.records.settings import KeptSettings
from pipeline.records.types import Document, Record, RunStarted
from pipeline.states import State

_LISTED = 100  # rows that cannot be replayed; the others are only counted
_RUNS = 3  # the last ones, told where a run is asked for that is none


@dataclass(frozen=True)
class Choice:
    """A document by its path or sha256 (six digits or more), or a run, or neither: every row. Of these `share`, over 0
    and at most 1, is drawn by `seed`: the same rows of the same log. Rows that cannot be replayed are not drawn."""

    document: str | None = None
    run: str | None = None
    share: float = 1.0
    seed: int = 0


class Group(NamedTuple):
    """Rows that one recompute makes: of the same settings and model, with the same languages for text recognition."""

    job_digest: str
    model: str
    model_sha256: str
    languages: tuple[str, ...] | None


@dataclass
class Chosen:
    """Numbers of entries by group. `of`: rows in question that can be replayed; `left_out`: how many cannot, of which
    `told` are the first. By the number of a row: `firsts`, the document of which its own is a copy that was answered
    too; `deleted`, the entry that says that its archived bytes went."""

    groups: dict[Group, list[int]]
    of: int
    left_out: int
    told: list[Replayed]
    settings: KeptSettings
    firsts: Mapping[int, str]
    deleted: Mapping[int, int]
    document: str | None = None
    told_as: str | None = None  # the same as the log may say it


@dataclass
class _Survey:
    """The findings of one pass over the log."""

    choice: Choice
    settings: KeptSettings = field(default_factory=KeptSettings)
    told: list[Replayed] = field(default_factory=list)
    left_out: int = 0
    found: set[str] = field(default_factory=set)
    runs: list[str] = field(default_factory=list)
    groups: 'dict[Group, "array[int]"]' = field(default_factory=dict)
    telling: set[str] = field(default_factory=set)
    deletions: Deletions = field(default_factory=Deletions)
    answers: dict[int, int] = field(default_factory=dict)  # row that a person decided -> the model's own answer
    hidden: list[int] = field(default_factory=list)  # entries of private jobs that a document was asked for by

    def take(self, entry: Record) -> None:
        """Take in the next entry, of any type."""
        match entry:
            case Document():
                if entry.review is not None:
                    self.answers[entry.n] = self.answers.get(entry.review.of, entry.review.of)
                if self._is_meant(entry):
                    self._row(entry)
            case RunStarted():
                self.runs = [*self.runs[1 - _RUNS :], entry.run]
                if entry.duplicates == "warn":
                    self.telling.add(entry.run)
            case _:
                self.settings.take(entry)
                self.deletions.take(entry)

    def told_as(self, document: str | None) -> str | None:
        """How the log may name the document: of a private job by the entry that it has."""
        return f"entry {self.hidden[0]}" if self.hidden else document

    def _is_meant(self, entry: Document) -> bool:
        if self.choice.document is not None:
            return is_meant(entry, self.choice.document)
        return self.choice.run in (None, entry.run)

    def _row(self, entry: Document) -> None:
        self.found.add(str(entry.document))
        if entry.private is not None and self.choice.document is not None:
            self.hidden.append(entry.n)
        if reason := unreplayable(entry, self.answers.get(entry.n)):
            self.left_out += 1
            if len(self.told) < _LISTED:
                self.told.append(verdict_of(entry, Verdict.UNREPLAYABLE, reason))
            return
        ocr = entry.parse_options.ocr
        languages = tuple(ocr["languages"]) if ocr else None
        group = Group(entry.job_digest, entry.model, entry.model_sha256, languages)
        self.groups.setdefault(group, array("Q")).append(entry.n)


@dataclass
class _Firsts:
    """The document of which each copy is told to be one, in runs that answer copies and say so, as decide.py has it.

    `copies`: (job, document) of the rows in question; `telling`: those runs.
    """

    copies: Collection[tuple[str, str]]
    telling: Collection[str]
    done: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    met: dict[tuple[str, str], str] = field(default_factory=dict)
    firsts: dict[int, str] = field(default_factory=dict)

    def take(self, entry: Record) -> None:
        """Take in the next entry, of any type."""
        if not isinstance(entry, Document) or not entry.document or entry.state == State.DUPLICATE:
            return
        if entry.is_decided:  # nothing came
            return
        document, path, digest = entry.document, entry.path, entry.job_digest
        if (entry.job, document) not in self.copies:
            return
        done = self.done.setdefault((entry.job, document), {})
        if entry.text_sha256 is not None and entry.run in self.telling:
            first = self.met.setdefault((entry.run, document), done.get(digest) or path)
            if first != path:
                self.firsts[entry.n] = first
        if entry.state == State.FAILED:
            self.done[entry.job, document] = {digest: first for digest, first in done.items() if first != path}
        else:
            done.setdefault(digest, path)


def choose(site: Site, choice: Choice) -> Chosen:
    """One pass over the log. LookupError for a document or a run that it does not know; audit.AuditError."""
    survey = fold(read_entries(site), _Survey(choice))
    document = only_one(survey.found, choice.document) if choice.document is not None else None
    if choice.run is not None and not survey.found:
        last = ", ".join(reversed(survey.runs))
        raise LookupError(f"the log has no rows of a run {choice.run!r}; the last runs are {last or 'none'}")
    deleted = survey.deletions.archive
    every = [number for its in survey.groups.values() for number in its]
    without = deleted if choice.share < 1 else {}  # no sample has rows whose bytes were deleted, as the log says
    offered = [number for number in every if number not in without]
    drawn = _drawn(offered, choice)
    groups = {group: [number for number in its if number in drawn] for group, its in survey.groups.items()}
    telling = survey.telling  # where it is needed, there is a second pass
    rows = (row for row in documents_at(site, sorted(drawn)) if row.run in telling) if telling else ()
    copies = {(row.job, row.document) for row in rows if row.document}
    firsts = fold(read_entries(site) if copies else (), _Firsts(copies, telling)).firsts
    left_out = survey.left_out + len(every) - len(offered)
    told_as = survey.told_as(document)
    return Chosen(
        groups,
        len(offered),
        left_out,
        survey.told,
        settings=survey.settings,
        firsts=firsts,
        deleted=deleted,
        document=document,
        told_as=told_as,
    )


def _drawn(numbers: Sequence[int], choice: Choice) -> Collection[int]:
    """The rows drawn: those whose numbers have the least digests with the seed."""
    count = math.ceil(round(choice.share * len(numbers), 9))
    if count == len(numbers):
        return set(numbers)
    digests = (hashlib.sha256(f"{choice.seed} {number}".encode()).digest()[:8] for number in numbers)
    keys = np.array([int.from_bytes(digest) for digest in digests], dtype=np.uint64)
    return {numbers[place] for place in np.argpartition(keys, count)[:count]}
