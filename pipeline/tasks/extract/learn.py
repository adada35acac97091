"""Lessons in fields: a JSONL file with `fields`, or a CSV file with a column for each field.

A value is said as it stands in the document, or as its normal form, or as [start, end]. An empty cell or null says that
the document does not have the field; a field that is not mentioned is not learned from that document.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from difflib import get_close_matches
from itertools import islice
from math import fsum
from pathlib import Path
from typing import Any, Final, Self

from pipeline.document import Span
from pipeline.heads import HeadFile
from pipeline.tasks.examples import (
    SOURCES,
    Example,
    ExamplesRefusedError,
    Given,
    Learned,
    Lesson,
    Mistake,
    Progress,
    Read,
    Reads,
    check_file,
    of_file,
    vectors_of,
)
from pipeline.tasks.extract import fit
from pipeline.tasks.extract.fields import Field, Sought
from pipeline.tasks.extract.fit import Answer
from pipeline.tasks.extract.head import Least, least_of
from pipeline.tasks.extract.promises import Finding, HeldOut, arrays_of, by_field, promise_values
from pipeline.tasks.kinds import Embedder
from pipeline.tasks.meanings import Meanings, called
from pipeline.tasks.passages import OVERLAP, passages
from pipeline.tasks.risk import NoPromiseError, Promise, doubt_of, needed, scores_tried
from pipeline.text.values import read_habits

LEAST: Final = 5  # documents
LEAST_WITH: Final = 3  # of them that have a field
_KEYS: Final = "text or document, and fields (JSONL) or a column for each field (CSV)"
_BINS: Final = 10
OFFERED: Final = (0.02, 0.05, 0.1, 0.2)  # risks that are told of
_NEAREST: Final = 20  # mistakes that name the nearest passage
_LINES, _TRIED = 50, 2_000  # that are looked through for it, and pieces of them
_REMEDY: Final = (
    "write it as it stands there; leave it empty (CSV) or null (JSONL) if the document has none; --skip-missing leaves "
    "such values out"
)
Said = str | tuple[int, int]
Values = dict[str, tuple[Said, ...]]


@dataclass(frozen=True)
class FieldMeasured:
    """The counts of a field over documents that heads had not seen: in how many of those that have it a value was
    given, and was right; in how many of those that lack it one was given all the same. `promises`: what `accept` can
    promise of its values; `needed`: how many values `accept` with the highest risk that is told of needs, at least."""

    present: int
    answered: int
    right: int
    absent: int
    answered_where_absent: int
    promises: Sequence[Promise] = ()
    needed: int = 0

    def told(self, name: str) -> Iterator[tuple[str, str]]:
        """The figures for a person."""
        none = f"; given in {self.answered_where_absent} of {self.absent} without it" if self.absent else ""
        yield "field", f"{name}: {self.right} right and {self.answered - self.right} wrong of {self.present}{none}"
        for one in self.promises:
            share = one.accepted / one.examples
            yield "accept", f"{name}, risk: {one.risk:g} would take {share:.1%} of its values, from {one.score:.3f} on"
        if not self.promises:
            values = self.answered + self.answered_where_absent
            least = f"{OFFERED[-1]:g} needs {self.needed:,} at least, all right"
            yield "accept", f"{name}: no risk up to {OFFERED[-1]:g} can be promised by {values:,} values; {least}"


@dataclass(frozen=True)
class FieldsMeasured:
    """`agreement`: the mean token F1 of the best values of documents that have the field, given or not;
    `calibration_error`: by how much the scores were wrong on average, by tenths of the score."""

    fields: dict[str, FieldMeasured]
    agreement: float
    calibration_error: float

    def told(self) -> Iterator[tuple[str, str]]:
        """The figures for a person."""
        for name, one in self.fields.items():
            yield from one.told(name)
        yield "agreement", f"{self.agreement:.3f} token F1 on examples that it had not seen"
        yield "scores", f"wrong by {self.calibration_error:.3f} on average"


@dataclass(frozen=True, kw_only=True)
class FieldLesson(Lesson[Values]):
    """Documents with the values of their fields, of each the answers to all fields."""

    fields: Sequence[Field]
    answers: Sequence[Sequence[Sequence[Answer] | None]]

    @classmethod
    def of(cls, fields: Sequence[Field], source: Path, reads: Reads, *, skip: bool = False) -> Self:
        """Read the examples of a file; if `skip`, without fields whose value does not stand in the document.
        ExamplesRefusedError; OSError."""
        known = [field.known for field in fields]
        given = read_examples(source, [field.name for field in fields])
        read = reads(given, lambda values: f"the values {values}")
        mistakes = list[Mistake]()
        answers = [answers_of(one, known, mistakes) for one in read]
        if mistakes and not skip:
            raise ExamplesRefusedError(mistakes)
        read = [_known(one, known, its) for one, its in zip(read, answers, strict=True)]
        _check_counts(str(source), answers, known)
        return cls(fields=fields, answers=answers, read=read, given=len(given), skipped=mistakes)

    def teaches(self) -> list[Any]:
        return [
            {name: [list(one) if isinstance(one, tuple) else one for one in its] for name, its in values.items()}
            for values in (one.example.taught for one in self.read)
        ]

    def learn(self, model: Embedder, progress: Progress) -> Learned:
        documents = [one.document for one in self.read]
        spans = [passages(document, model, OVERLAP) for document in documents]
        vectors = vectors_of(documents, spans, model, progress)
        rows = zip(documents, spans, vectors, self.answers, strict=True)
        meanings = Meanings([[called(field.name, field.description)] for field in self.fields], model).firsts
        known = [field.known for field in self.fields]
        learned = fit.learn([fit.Taught(*row) for row in rows], known, meanings)
        least = least_of(learned.head, self.fields)
        return Learned(head_of(learned), measured(learned.unseen, known, least))


def read_examples(source: Path, names: Sequence[str]) -> list[Example[Values]]:
    """The examples of a file, in its order, with values of these fields. ExamplesRefusedError; OSError."""
    check_file(source, _KEYS)
    mistakes = list[Mistake]()
    found = [
        Example(line.place, values, line.text, line.path)
        for line in of_file(source, ["fields", *names], _KEYS, mistakes)
        if (values := _values(line, names, mistakes)) is not None
    ]
    if mistakes:
        raise ExamplesRefusedError(mistakes)
    return found


def as_texts(values: Values, text: str) -> Mapping[str, tuple[str, ...]]:
    """The values of each field of the document with this text, those that are said by their places too."""
    return {
        name: tuple(text[one[0] : one[1]] if isinstance(one, tuple) else one for one in its)
        for name, its in values.items()
    }


def _values(line: Given, names: Sequence[str], mistakes: list[Mistake]) -> Values | None:
    """Read the values of the fields from a line; None, and a mistake more, where it cannot be understood."""
    own = {name: value for name, value in line.values.items() if name not in (*SOURCES, "fields")}
    said = line.values.get("fields", own)
    if not isinstance(said, Mapping):
        mistakes.append(Mistake(line.place, f"fields: a {type(said).__name__}", "an object: a value for each field"))
        return None
    if unknown := [name for name in said if name not in names]:
        mistakes.append(Mistake(line.place, f"the field {unknown[0]!r}", f"a field of the job: {', '.join(names)}"))
        return None
    found: Values = {}
    for name, value in said.items():
        its = _said(value)
        if its is None:
            what = "a text, [start, end], a list of these, or null where the document does not have the field"
            mistakes.append(Mistake(line.place, f"the value {value!r:.80} of the field {name!r}", what))
            return None
        found[name] = its
    return found


def _said(value: Any) -> tuple[Said, ...] | None:
    """A value, or several, as a line says them; None where it cannot be one."""
    if value is None or value == "":
        return ()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return (str(value),)
    if isinstance(value, str):
        return (value,) if value.strip() else ()
    if not isinstance(value, list):
        return None
    if len(value) == 2 and all(type(one) is int for one in value):
        return ((value[0], value[1]),) if 0 <= value[0] < value[1] else None
    each = [_said(one) for one in value]
    return None if None in each else tuple(one for its in each if its for one in its)


def answers_of(read: Read[Values], fields: Sequence[Sought], mistakes: list[Mistake]) -> list[Sequence[Answer] | None]:
    """For each field its answers in a document; None where nothing is said of the field, or, which is a mistake, what
    does not stand there."""
    out = list[Sequence[Answer] | None]()
    for field in fields:
        said = read.example.taught.get(field.name)
        answers = None if said is None else [_answer(one, field, read) for one in said]
        if answers and None in answers:
            wrong = said[answers.index(None)] if said else ""
            what = f"the value {wrong!r:.80} of the field {field.name!r}, which does not stand in the document"
            if len(mistakes) < _NEAREST and (near := _nearest(wrong, field, read.document.text)):
                what = f"{what}; the nearest passage is {near!r:.80}"
            mistakes.append(Mistake(read.example.place, what, "a passage of the document, or its offsets", _REMEDY))
            answers = None
        out.append(None if answers is None else [one for one in answers if one])
    return out


def _known(read: Read[Values], fields: Sequence[Sought], answers: Sequence[Sequence[Answer] | None]) -> Read[Values]:
    """The example with the fields alone that are learned from it."""
    known = {field.name for field, its in zip(fields, answers, strict=True) if its is not None}
    taught = {name: its for name, its in read.example.taught.items() if name in known}
    return replace(read, example=replace(read.example, taught=taught))


def _nearest(said: Said, field: Sought, text: str) -> str | None:
    """The value of the field's type, else the words of a line, that are most like what was said; None if none is."""
    if isinstance(said, tuple):
        return None
    words = said.casefold().split()
    values = () if field.type in fit.TEXTS else field.finder(text, read_habits(text))
    found: dict[str, None] = dict.fromkeys(text[value.start : value.end] for value in islice(values, _TRIED))
    if near := get_close_matches(said, found, 1):
        return near[0]
    lines = dict.fromkeys(line for line in text.splitlines() if line.strip())
    like = sorted(lines, key=lambda line: -sum(word in line.casefold() for word in words))[:_LINES]
    parts = (line.split() for line in like)
    tried = [" ".join(its[at : at + len(words)]) for its in parts for at in range(max(1, len(its) - len(words) + 1))]
    return next(iter(get_close_matches(said, tried[:_TRIED], 1)), None)


_CUT = re.compile(r"\w[.,]?$")
_NUMBER = re.compile(r"(-?\d+(?:\.\d+)?)(?: [A-Z]{3}|%)?")
_GOES_ON = re.compile(r"\w|[.,]\d")


def _answer(said: Said, field: Sought, read: Read[Values]) -> Answer | None:
    """A value as the finder of its type gives it, with its place where that is said; None if it is not there."""
    text = read.document.text
    if isinstance(said, tuple):
        span = _placed(said, read)
        return None if span is None else Answer(_normal(text[span.start : span.end], field), span)
    found = list(field.finder(text, read_habits(text)))
    normal = _normal(said, field)
    for meant in (said, normal):
        if any(one.value == meant for one in found):
            return Answer(meant)
    places = [match.span() for match in _pattern(said).finditer(text)]
    if field.type not in fit.TEXTS:  # an amount may be given without its currency, as other programs export it
        whole = [place for place in places if not _CUT.search(text, max(0, place[0] - 2), place[0])]
        whole = [place for place in whole if not _GOES_ON.match(text, place[1])]
        values = {one.value for one in found for start, end in whole if one.start <= start and end <= one.end}
        values = values or {one.value for one in found if (given := _amount(normal)) and _amount(one.value) == given}
        if len(values) == 1:
            return Answer(values.pop())
    return Answer(normal) if places else None


def _amount(value: str) -> Decimal | None:
    """The number of an amount or a percentage without its unit; None for what is none."""
    number = _NUMBER.fullmatch(value)
    return Decimal(number[1]) if number else None


def _placed(said: tuple[int, int], read: Read[Values]) -> Span | None:
    """The span in the document; of a text that stands in the file of examples, whose white space was cut since then,
    the nearest place where it stands."""
    given, text = read.example.text, read.document.text
    if given is None:
        return Span(*said) if said[1] <= len(text) and text[said[0] : said[1]].strip() else None
    if said[1] > len(given) or not given[said[0] : said[1]].strip():
        return None
    places = [match.span() for match in _pattern(given[said[0] : said[1]]).finditer(text)]
    return Span(*min(places, key=lambda place: (abs(place[0] - said[0]), place))) if places else None


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(r"\s+".join(map(re.escape, text.split())), re.IGNORECASE)


def _normal(verbatim: str, field: Sought) -> str:
    """A value in the form in which the field gives it; itself where it is none of that type."""
    if field.type not in fit.TEXTS:
        for value in field.finder(verbatim, read_habits(verbatim)):
            return str(value.value)
    return " ".join(verbatim.split())


def _check_counts(where: str, answers: Sequence[Sequence[Sequence[Answer] | None]], fields: Sequence[Sought]) -> None:
    mistakes = list[Mistake]()
    if len(answers) < LEAST:
        mistakes.append(Mistake(where, f"{len(answers)} different documents", f"{LEAST} at least"))
    for index, field in enumerate(fields):
        count = sum(bool(its[index]) for its in answers)
        if count < LEAST_WITH:
            found = f"{count} different documents with a value of the field {field.name!r}"
            mistakes.append(Mistake(where, found, f"{LEAST_WITH} at least", "add examples, or leave the field out"))
    if mistakes:
        raise ExamplesRefusedError(mistakes)


def head_of(learned: fit.Learned) -> HeadFile:
    """The head, with what it found in documents that it had not seen, by which promises are made."""
    head = learned.head.to_file()
    return HeadFile(head.facts, {**head.arrays, **arrays_of([one.finding for one in learned.unseen])})


def measured(unseen: Sequence[HeldOut], fields: Sequence[Sought], least: Sequence[Least]) -> FieldsMeasured:
    """The figures of each field; `least`: from which scores on its values are given."""
    each, found = dict[str, FieldMeasured](), by_field([one.finding for one in unseen])
    for index, (field, enough) in enumerate(zip(fields, least, strict=True)):
        its = [one for one in unseen if one.field == index]
        given = [one for one in its if one.candidate and one.score >= enough.best]
        there = [one for one in its if one.is_there]
        answered = [one for one in given if one.is_there]
        each[field.name] = FieldMeasured(
            present=len(there),
            answered=len(answered),
            right=sum(one.right for one in answered),
            absent=len(its) - len(there),
            answered_where_absent=len(given) - len(answered),
            **_promises(found.get(index, []), enough),
        )
    there = [one for one in unseen if one.is_there]
    return FieldsMeasured(each, fsum(one.agreement for one in there) / len(there), calibration_error(unseen))


def _promises(found: Sequence[Finding], least: Least) -> dict[str, Any]:
    """Return what can be promised of the values of a field, and how many the highest risk needs."""
    made = list[Promise]()
    for risk in OFFERED:
        with suppress(NoPromiseError):
            made.append(promise_values(found, risk, least))
    tried = list(scores_tried(OFFERED[-1], least.further))
    return {"promises": made, "needed": needed(OFFERED[-1], doubt_of(tried))}


def calibration_error(unseen: Sequence[HeldOut]) -> float:
    """The mean, over tenths of the score and weighted by how many fall there, of |share that is right - mean score|."""
    tenths: dict[int, list[HeldOut]] = {}
    for one in unseen:
        tenths.setdefault(min(int(one.score * _BINS), _BINS - 1), []).append(one)
    errors = (abs(sum(one.right for one in its) - fsum(one.score for one in its)) for its in tenths.values())
    return fsum(errors) / max(1, len(unseen))
