"""Learn to find the values of fields in documents, and tell from documents that were not seen how often that is right.

For each field a logistic regression tells right candidates from wrong ones. Of the wrong ones a few of each document
are learned from: first such as lie evenly in it, then those that the last regression took for right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

import engine
from pipeline.document import Parsed, Span
from pipeline.tasks.examples import f1, tokens_of
from pipeline.tasks.extract.candidates import Candidate, Page
from pipeline.tasks.extract.fields import Sought
from pipeline.tasks.extract.head import MOST, FieldsHead, View, distinct
from pipeline.tasks.extract.promises import FLOOR, RIGHT, HeldOut, Scored, calibrated, thresholds_of
from pipeline.tasks.features import Vectors, middle_and_scale


class Words:
    """The words of all candidates, numbered as they come."""

    def __init__(self) -> None:
        self._numbers = dict[str, int]()

    def bags(self, words: Iterable[Iterable[str]]) -> engine.Bags:
        """The words of each candidate, each once, by number."""
        starts, found = [0], list[int]()
        for its in words:
            found += sorted({self._numbers.setdefault(word, len(self._numbers)) for word in its})
            starts.append(len(found))
        return engine.Bags(np.array(starts, np.int64), np.array(found, np.int32), np.ones(len(found), np.float32), 0)

    def known(self, documents: Iterable[Iterable[engine.Bags]]) -> tuple[list[str], NDArray[np.int32]]:
        """The words that stand in two documents at least, in order, and the place of each number among them, or -1."""
        counts = Counter(
            number for its in documents for number in {word for bags in its for word in bags.words.tolist()}
        )
        known = sorted(word for word, number in self._numbers.items() if counts[number] > 1)
        places = np.full(len(self._numbers), -1, np.int32)
        for place, word in enumerate(known):
            places[self._numbers[word]] = place
        return known, places


def placed(bags: engine.Bags, places: NDArray[np.int32]) -> engine.Bags:
    """The bags with the words that have a place, by their places, in order within a candidate."""
    rows = np.repeat(np.arange(len(bags.starts) - 1), np.diff(bags.starts))
    words = places[bags.words]
    rows, words = rows[words >= 0], words[words >= 0]
    order = np.lexsort((words, rows))
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(bags.starts) - 1))]).astype(np.int64)
    size = int((places >= 0).sum())
    return engine.Bags(ends, np.ascontiguousarray(words[order]), np.ones(len(words), np.float32), size)


FOLDS: Final = 5
PENALTY: Final = 1.0
WORD: Final = 0.5  # how much a word counts beside a vector of length 1
ROUNDS: Final = 3
EVENLY: Final = 40  # wrong candidates of a document that are learned from, wherever they lie,
HARD: Final = 40  # and those most like right ones
TEXTS: Final = ("text", "title", "organisation")  # types of which a value may be right in part
SURE: Final = 0.75  # from which on a candidate is learned as a right one, beside the best of its document
PLACES: Final = 3  # where a value stands that is learned from, if it is not said where it stands
LEAST: Final = 3  # candidates by which a word must stand to be learned
MOST_WORDS: Final = 6000  # of a field


@dataclass(frozen=True)
class Answer:
    """A right answer for a field: a text, and where it stands, if that is known."""

    text: str
    span: Span | None = None


@dataclass(frozen=True)
class Taught:
    """A document with its passages, their vectors float32 [passages, d], and for each field all right answers: none
    where the document does not have the field, and None where that is not known."""

    document: Parsed
    passages: Sequence[Span]
    vectors: Vectors
    answers: Sequence[Sequence[Answer] | None]


@dataclass(frozen=True)
class Learned:
    """A head, and what was found in each document by one that had not seen it."""

    head: FieldsHead
    unseen: Sequence[HeldOut]


def learn(taught: Sequence[Taught], fields: Sequence[Sought], meanings: Vectors) -> Learned:
    """Learn the fields from documents, two at least. `meanings`: the vectors of the fields' names and descriptions."""
    learning = _Learning(taught, fields, meanings)
    whole = learning.fit(range(len(taught)))
    found = list[tuple[HeldOut, Vectors]]()
    folds = min(FOLDS, len(taught))
    for fold in range(folds):
        held = [number for number in range(len(taught)) if number % folds == fold]
        rest = learning.fit([number for number in range(len(taught)) if number % folds != fold], whole)
        found += [one for number in held for one in learning.found(rest, number)]
    unseen = [one for one, _ in found]
    levels, slopes = calibrated(unseen, len(fields))
    head = learning.head(whole, levels, slopes, thresholds_of(unseen, len(fields)))
    scored = [learning.scored(head, *one) for one in found]
    return Learned(head, sorted(scored, key=lambda one: (one.document, one.field)))


@dataclass(frozen=True)
class _Sheet:
    """The candidates of one type in one document: their words by number, and for each field of the type how far they
    agree with its answers, and which of them are learned as right and which as wrong."""

    candidates: Sequence[Candidate]
    passages: NDArray[np.int64]
    bags: engine.Bags
    agreements: dict[int, NDArray[np.float64]]
    marks: dict[int, tuple[NDArray[np.bool_], NDArray[np.bool_]]]

    def of(self, index: int) -> NDArray[np.int32]:
        """The words of a candidate."""
        return self.bags.words[self.bags.starts[index] : self.bags.starts[index + 1]]


class _Learning:
    """Documents with their candidates."""

    def __init__(self, taught: Sequence[Taught], fields: Sequence[Sought], meanings: Vectors) -> None:
        self._fields = fields
        self._view = View(*middle_and_scale([one.vectors for one in taught]), meanings)
        self._vectors = [self._view.seen(one.vectors) for one in taught]
        self._types = list(dict.fromkeys((field.type, field.pattern) for field in fields))
        self._answers = [one.answers for one in taught]
        every = Words()
        sheets = [self._sheets_of(one, every) for one in taught]
        self._known, places = every.known([sheet.bags for sheet in its] for its in sheets)
        self._sheets = [[replace(sheet, bags=placed(sheet.bags, places)) for sheet in its] for its in sheets]

    def _sheets_of(self, taught: Taught, every: Words) -> list[_Sheet]:
        page, sheets = Page(taught.document, taught.passages), list[_Sheet]()
        for type_, pattern in self._types:
            candidates = page.candidates(type_, pattern)
            mine = [i for i, field in enumerate(self._fields) if (field.type, field.pattern) == (type_, pattern)]
            values = [candidate.value.value for candidate in candidates]
            agreements = {i: agreements_with(taught.answers[i] or (), type_, values) for i in mine}
            marks = {i: _marks(candidates, agreements[i], taught.answers[i] or ()) for i in mine}
            passages = np.array([candidate.passage for candidate in candidates], np.int64)
            bags = every.bags(page.words(candidates))
            sheets.append(_Sheet(candidates, passages, bags, agreements, marks))
        return sheets

    def fit(self, numbers: Sequence[int], start: engine.Logistic | None = None) -> engine.Logistic:
        """Learn all fields from some documents; the words are all that there are, most of them without weight. `start`:
        what was learned from all documents, by which wrong candidates are chosen, and where the walk begins."""
        head = start
        for _ in range(ROUNDS if start is None else 1):
            columns = [self._column(field, numbers, head) for field in range(len(self._fields))]
            head = engine.Logistic(*(np.stack([column[part] for column in columns], -1) for part in range(3)))
        assert head is not None
        return head

    def _column(
        self, field: int, numbers: Sequence[int], head: engine.Logistic | None
    ) -> tuple[Vectors, Vectors, NDArray[np.float32]]:
        """The weights of one field: of vectors [d], words [all words] and the bias []."""
        type_ = self._types.index((self._fields[field].type, self._fields[field].pattern))
        x, labels, bags = list[Vectors](), list[bool](), list[NDArray[np.int32]]()
        for number in numbers:
            if self._answers[number][field] is None:
                continue
            sheet = self._sheets[number][type_]
            logits = None if head is None else self.logits(head, number, type_)[:, field]
            right, wrong = map(np.flatnonzero, sheet.marks[field])
            some = wrong[:: max(1, len(wrong) // EVENLY)]
            if logits is not None:
                hard = wrong[np.argsort(-logits[wrong], kind="stable")[:HARD]]
                some = np.union1d(some, hard)
            rows = np.union1d(right, some)
            x.append(self._vectors[number][sheet.passages[rows]])
            labels += sheet.marks[field][0][rows].tolist()
            bags += [sheet.of(row) for row in rows]
        if not labels:  # no candidate in any of them: none is right
            width, known = self._vectors[0].shape[1], len(self._known)
            return np.zeros(width, np.float32), np.zeros(known, np.float32), np.array(-1.0, np.float32)
        start = None if head is None else (head.weights[:, field], head.words[:, field], head.bias[field])
        return _regression(np.concatenate(x), labels, bags, len(self._known), start)

    def logits(self, head: engine.Logistic, number: int, type_: int) -> Vectors:
        """float32 [candidates of a type in a document, fields]."""
        sheet = self._sheets[number][type_]
        return head.logits(self._vectors[number][sheet.passages], sheet.bags)

    def found(self, head: engine.Logistic, number: int) -> list[tuple[HeldOut, Vectors]]:
        """Find each field in a document with a head, but for those of which no answer is known; with the logits of all
        its candidates."""
        every = [self.logits(head, number, type_) for type_ in range(len(self._types))]
        out = list[tuple[HeldOut, Vectors]]()
        for field, sought in enumerate(self._fields):
            type_ = self._types.index((sought.type, sought.pattern))
            sheet, column = self._sheets[number][type_], every[type_][:, field]
            if (answers := self._answers[number][field]) is None:
                continue
            is_there = bool(answers)
            if not len(column):
                out.append((HeldOut(number, field, None, 0.0, 0.0, is_there), column))
                continue
            best = int(column.argmax())
            agreement = float(sheet.agreements[field][best])
            its = HeldOut(number, field, sheet.candidates[best], float(column[best]), agreement, is_there)
            out.append((its, column))
        return out

    def scored(self, head: FieldsHead, one: HeldOut, logits: Vectors) -> HeldOut:
        """A finding with its score, and the scores of its values, by the logits of all candidates."""
        if one.candidate is None:
            return one
        sought, values = self._fields[one.field], list[Scored]()
        sheet = self._sheets[one.document][self._types.index((sought.type, sought.pattern))]
        for row in islice(distinct(sheet.candidates, logits), MOST):
            score = round(head.probability(one.field, float(logits[row])), 6)
            if values and score < FLOOR:
                break
            values.append(Scored(score, bool(sheet.agreements[one.field][row] >= RIGHT)))
        return replace(one, score=head.probability(one.field, one.logit), values=tuple(values))

    def head(
        self, logistic: engine.Logistic, levels: Sequence[float], slopes: Sequence[float], thresholds: Sequence[float]
    ) -> FieldsHead:
        """The head as its file has it: with weights of 16 bits, and with no words but those that have any."""
        weights, words = (part.astype(np.float16).astype(np.float32) for part in (logistic.weights, logistic.words))
        names, rows = self._known, np.flatnonzero(words.any(1))
        order = sorted(rows.tolist(), key=names.__getitem__)
        rounded = engine.Logistic(weights, np.ascontiguousarray(words[order]), logistic.bias)
        known = tuple(names[row] for row in order)
        return FieldsHead(
            tuple(self._fields), self._view, known, rounded, tuple(levels), tuple(slopes), tuple(thresholds)
        )


def agreements_with(answers: Sequence[Answer], type_: str, values: Sequence[str]) -> NDArray[np.float64]:
    """How far each value agrees with the answer that it is most like: 0 or 1 unless it is a text."""
    if type_ not in TEXTS:
        texts = {answer.text for answer in answers}
        return np.array([float(value in texts) for value in values])
    bags = [Counter(tokens_of(answer.text)) for answer in answers]
    its = (Counter(tokens_of(value)) for value in values)
    return np.array([max((f1(one, bag) for bag in bags), default=0.0) for one in its])


def _marks(
    candidates: Sequence[Candidate], agreements: NDArray[np.float64], answers: Sequence[Answer]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which candidates are learned as right: those that lie where an answer does, or else the first with its text; and
    which may be learned as wrong: what neither lies there nor says the same."""
    right, apart = np.zeros(len(candidates), np.bool_), agreements < RIGHT
    placed = [answer.span for answer in answers if answer.span]
    for span in placed:
        overlaps = np.array([_overlap(Span(one.value.start, one.value.end), span) for one in candidates])
        best = float(overlaps.max(initial=0.0))
        right |= overlaps >= (SURE if best >= SURE else max(best, RIGHT))
        apart &= overlaps < RIGHT
    if not placed:
        best = float(agreements.max(initial=0.0))
        right[np.flatnonzero(agreements >= (SURE if best >= SURE else max(best, RIGHT)))[:PLACES]] = True
    return right, apart & ~right


def _overlap(a: Span, b: Span) -> float:
    return 2 * max(0, min(a.end, b.end) - max(a.start, b.start)) / max(1, a.end - a.start + b.end - b.start)


def _regression(
    x: Vectors,
    labels: Sequence[bool],
    bags: Sequence[NDArray[np.int32]],
    known: int,
    start: tuple[Vectors, Vectors, float] | None,
) -> tuple[Vectors, Vectors, NDArray[np.float32]]:
    """The weights of vectors [d] and of words [known], and the bias [], of being right; `start`: such, from which the
    walk to them begins."""
    sizes = np.array([len(bag) for bag in bags])
    words = np.concatenate(bags) if bags else np.zeros(0, np.int32)
    counts = np.bincount(words, minlength=known)
    often = np.argsort(-counts, kind="stable")[:MOST_WORDS]
    used = np.sort(often[counts[often] >= LEAST])
    place = np.full(known, -1, np.int64)
    place[used] = np.arange(len(used))
    kept = place[words] >= 0
    rows = np.repeat(np.arange(len(bags)), sizes)[kept]
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(bags)))]).astype(np.int64)
    of = engine.Bags(ends, place[words][kept].astype(np.int32), np.full(int(kept.sum()), WORD, np.float32), len(used))
    truth = np.array(labels, np.int32)
    if truth.min() == truth.max():
        return np.zeros(x.shape[1], np.float32), np.zeros(known, np.float32), np.array(truth[0] * 2.0 - 1.0, np.float32)
    begin = None
    if start is not None:
        halves = (start[0] / 2, start[1][used] / np.float32(2 * WORD), np.array(start[2] / 2))
        begin = engine.Logistic(*(np.stack([-half, half], -1).astype(np.float32) for half in halves))
    found = engine.fit_logistic(x, truth, 2, PENALTY, bags=of, start=begin)
    whole = np.zeros(known, np.float32)
    whole[used] = (found.words[:, 1] - found.words[:, 0]) * np.float32(WORD)
    return found.weights[:, 1] - found.weights[:, 0], whole, np.array(found.bias[1] - found.bias[0])
