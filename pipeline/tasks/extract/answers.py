"""The answers of the task on a model that embeds: by meaning, and by a head that was learned."""

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

import engine
from pipeline.document import Parsed, Span
from pipeline.tasks.base import Answer
from pipeline.tasks.extract.candidates import Candidate, Page
from pipeline.tasks.extract.fields import Field, Found, Row, answer_of, rows_of
from pipeline.tasks.extract.head import MOST, FieldsHead, Least, columns_of, distinct, given, least_of
from pipeline.tasks.extract.naming import (
    HEADING,
    Layout,
    Lexical,
    Naming,
    Surroundings,
    Vocabulary,
    words,
    written_labels,
)
from pipeline.tasks.extract.promises import PromisedField, reasons
from pipeline.tasks.kinds import Embedder
from pipeline.tasks.meanings import Meanings, called, reading_documents
from pipeline.tasks.passages import OVERLAP, passages
from pipeline.text.values import VALUES, Finder, Value, read_habits

TELLING: Final = {  # what the form alone is worth
    "email": 0.4, "iban": 0.4, "phone": 0.3, "regex": 0.4, "percent": 0.2, "title": 0.4,
}  # fmt: skip

MEANS: Final = {"title": 0.1, "organisation": 0.2}  # weight of what the passage means; of others scene.MEANING


class ByMeaning:
    """The task on a model that embeds; the vectors of the fields' names and descriptions are made once."""

    def __init__(self, fields: Sequence[Field], model: Embedder) -> None:
        self._fields, self._model = fields, model
        self._namings = [Naming(field.name, field.description) for field in fields]
        self._finders = [field.known.finder for field in fields]
        self._meanings = Meanings([[called(field.name, field.description)] for field in fields], model)

    def spans(self, document: Parsed) -> list[Span]:
        return passages(document, self._model, OVERLAP)

    def answer(self, document: Parsed, spans: Sequence[Span], vectors: NDArray[np.float32]) -> Answer:
        scene = Scene(document.text, spans, Vocabulary(self._namings), written_labels(document))
        lexical = Lexical(document.text[span.start : span.end] for span in spans)
        sought = [
            Sought(
                finder,
                naming,
                likenesses,
                TELLING.get(field.type, 0.0),
                MEANS.get(field.type, MEANING),
                many=field.many,
                told=lexical.likenesses(f"{field.name} {field.description}") if field.type == "text" else (),
            )
            for field, finder, naming, likenesses in zip(
                self._fields, self._finders, self._namings, self._meanings.likenesses(vectors), strict=True
            )
        ]
        found = scene.share_out(sought)
        each = zip(self._fields, found, strict=True)
        good = [[one for one in its if one.score >= field.least] for field, its in each]
        return answer_of(document, rows_of_all(self._fields, document, found, good))


def rows_of_all(
    fields: Sequence[Field], document: Parsed, found: Sequence[Sequence[Found]], good: Sequence[Sequence[Found]]
) -> list[Row]:
    """The elements of all fields, by what was found for each, and is good enough."""
    each = zip(fields, found, good, strict=True)
    return [row for field, its, some in each for row in rows_of(field, document, its, some)]


class LearnedFields:
    """The task on a model that embeds, answered by what was learned."""

    def __init__(
        self, head: FieldsHead, fields: Sequence[Field], promised: Mapping[str, PromisedField], model: Embedder
    ) -> None:
        self._head, self._fields, self._promised, self._model = head, fields, promised, model
        self._columns, self._least = columns_of(head, fields), least_of(head, fields)

    def spans(self, document: Parsed) -> list[Span]:
        return passages(document, self._model, OVERLAP)

    def answer(self, document: Parsed, spans: Sequence[Span], vectors: NDArray[np.float32]) -> Answer:
        found = self.found(document, spans, vectors)
        good = [given(its, enough) for its, enough in zip(found, self._least, strict=True)]
        why = "; ".join(reasons(self._promised, [field.name for field in self._fields], found, good))
        return replace(answer_of(document, rows_of_all(self._fields, document, found, good)), review=why or None)

    def found(self, document: Parsed, passages: Sequence[Span], vectors: NDArray[np.float32]) -> list[list[Found]]:
        """For each field its best value, and further ones that score enough; none where there is no candidate.
        `vectors`: float32 [passages, d]."""
        page = Page(document, passages)
        sheets = dict[tuple[str, str | None], tuple[list[Candidate], NDArray[np.float32]]]()
        for one in self._fields:
            key = (one.type, one.pattern)
            if key not in sheets:
                candidates = page.candidates(*key)
                sheets[key] = candidates, self._head.logits(vectors, candidates, page.words(candidates))
        return [
            self._values(least, column, *sheets[one.type, one.pattern])
            for one, least, column in zip(self._fields, self._least, self._columns, strict=True)
        ]

    def _values(
        self, least: Least, column: int, candidates: Sequence[Candidate], logits: NDArray[np.float32]
    ) -> list[Found]:
        chosen = list[Found]()
        for row in islice(distinct(candidates, logits[:, column]), MOST if least.many else 1):
            score = round(self._head.probability(column, float(logits[row, column])), 6)
            if chosen and score < least.further:
                break
            chosen.append(Found(candidates[row].value, score))
        return sorted(chosen, key=lambda one: one.value.start)


def logits_of(head: FieldsHead, model: "engine.Model", texts: Sequence[str]) -> Iterator[NDArray[np.float32]]:
    """The logits of all candidates of each type that a head knows, in texts that are documents of their own."""
    types, reader = dict.fromkeys((field.type, field.pattern) for field in head.fields), reading_documents(model)
    for document in (Parsed(text, "text/plain", "golden") for text in texts):
        spans = passages(document, reader, OVERLAP)
        page, vectors = Page(document, spans), reader.embed([document.text[one.start : one.end] for one in spans])
        for type_, pattern in types:
            candidates = page.candidates(type_, pattern)
            yield head.logits(vectors, candidates, page.words(candidates))


MEANING: Final = 0.5  # the weight of what the passage means, against how the words beside the value name the field
PROSE: Final = (0.3, 0.3, 0.6)  # of a sentence: the weights of meaning, of its heading, and of the field's words in it
LINE: Final = (0.5, 0.65)  # of a text that follows a label or stands below one: of meaning and of the label
SPREAD: Final = 0.1  # how much less than the best value the others of a field of many may fit
UNSURE: Final = 0.2  # what a value loses whose type the text alone does not show
EARLY: Final = 0.1  # what a value at the very beginning gains, and none after so many characters
EARLY_REACH: Final = 3000
CUED: Final = 0.1  # what a value gains whose cues name the field by at least NAMED
NAMED: Final = 0.6
EQUAL: Final = 0.02  # values whose scores differ by no more than this fit equally
TAKEN: Final = 0.15  # what a value loses that another field fits better
MOST_VALUES: Final = (
    20_000  # of one type; of more, those in the passages nearest in meaning to some field are looked at
)


@dataclass(frozen=True)
class Sought:
    """A field in one document: how values of its type are found, and how the document speaks of it.

    `likenesses` are the cosines of its meaning to each passage, `told` is the share of its words there, and `telling`
    what a value of the type alone is worth; `meaning` is the weight of what the passage means. `many`: it may have
    several values.
    """

    finder: Finder
    naming: Naming
    likenesses: Sequence[float]
    telling: float
    meaning: float = MEANING
    many: bool = False
    told: Sequence[float] = ()


@dataclass(frozen=True)
class _Scored:
    """A value and how well it fits a field before others choose; `cued`: whether its own cues name the field."""

    score: float
    value: Value
    cued: bool


@dataclass(frozen=True)
class _Candidate:
    """A value, the index of its passage, and the words of fields around it with their weights, and those
    of its cues."""

    value: Value
    passage: int
    present: Mapping[str, float]
    cued: Mapping[str, float]


class Scene:
    """A text, its passages, and the values of each type in it, found once however many fields ask for them."""

    def __init__(
        self, text: str, passages: Sequence[Span], vocabulary: Vocabulary, labels: Sequence[Span] = ()
    ) -> None:
        """`labels`, ascending, were written by the parser: what begins in them is no value."""
        self._text = text
        self._labels = labels
        self._label_starts = [label.start for label in labels]
        self._passages = passages
        self._vocabulary = vocabulary
        self._starts = [span.start for span in passages]
        self._layout = Layout(text)
        self._habits = read_habits(text)
        self._candidates: dict[Finder, list[_Candidate]] = {}
        self._passed_over: dict[Finder, int] = {}

    def share_out(self, fields: Sequence[Sought]) -> list[list[Found]]:
        """Find for each field the value that fits it best, the earliest of equals; of a field of many also those that
        fit nearly as well, in the order of the text, each once.

        The field with the best fit chooses first; a value that is chosen already loses some of its score for the
        others, so that two fields of one type share a value only where nothing else fits, or its cues name them both.
        """
        nearest = list(map(max, zip(*(field.likenesses for field in fields), strict=True)))
        scores = [self._scores(field, nearest) for field in fields]
        order = sorted(range(len(fields)), key=lambda i: (-max((one.score for one in scores[i]), default=0.0), i))
        found: list[list[Found]] = [[] for _ in fields]
        taken: set[str] = set()
        for index in order:
            field = fields[index]
            passed_over = self._passed_over[field.finder]
            choices = _best(scores[index], taken, many=field.many)
            found[index] = [replace(choice, passed_over=passed_over) for choice in choices]
            taken.update(choice.value.value for choice in choices)
        return found

    def _scores(self, field: Sought, nearest: Sequence[float]) -> list["_Scored"]:
        scored = []
        finder = field.finder
        if finder not in self._candidates:
            values = [value for value in finder(self._text, self._habits) if not self._in_label(value.start)]
            kept = self._nearest(values, nearest) if len(values) > MOST_VALUES else values
            self._passed_over[finder] = len(values) - len(kept)
            self._candidates[finder] = [self._placed(value, finder) for value in kept]
        for candidate in self._candidates[finder]:
            value, name = candidate.value, field.naming.share(candidate.present)
            if field.finder is VALUES["text"] and field.naming.is_name(value.value):
                continue
            if field.finder is VALUES["text"] and (label := field.naming.label(self._text, value.start, value.end)):
                rest = self._text[value.start + label : value.end]
                value, name = replace(value, start=value.start + label, value=" ".join(rest.split())), 1.0
            meaning = max(0.0, field.likenesses[candidate.passage])
            if field.told and self._is_prose(value, candidate.passage):
                fit = PROSE[0] * meaning + PROSE[1] * name + PROSE[2] * field.told[candidate.passage]
            elif field.told:
                fit = LINE[0] * meaning + LINE[1] * name
            else:
                fit = field.meaning * meaning + (1 - field.meaning) * name
            fit += EARLY * max(0.0, 1.0 - value.start / EARLY_REACH) - (0.0 if value.sure else UNSURE)
            cued = field.naming.share(candidate.cued) >= NAMED
            fit += CUED * cued
            scored.append(_Scored(field.telling + (1 - field.telling) * max(0.0, min(1.0, fit)), value, cued))
        return scored

    def _is_prose(self, value: Value, passage: int) -> bool:
        """Whether a text is a sentence, and neither what follows a label nor a line below one."""
        ends = value.end - value.start > HEADING or self._text[value.end - 1] in ".!?;"
        return ends and value.start == self._starts[passage]

    def _in_label(self, at: int) -> bool:
        index = bisect_right(self._label_starts, at) - 1
        return index >= 0 and at < self._labels[index].end

    def _nearest(self, values: Sequence[Value], nearest: Sequence[float]) -> list[Value]:
        """The first MOST_VALUES of the values by the likeness of their passages, in their order in the text."""
        likeness = [nearest[bisect_right(self._starts, value.start) - 1] for value in values]
        order = sorted(range(len(values)), key=lambda index: (-likeness[index], index))
        return [values[index] for index in sorted(order[:MOST_VALUES])]

    def _placed(self, value: Value, finder: Finder) -> _Candidate:
        """The value with the words around it; a short passage before a text is its heading."""
        index = bisect_right(self._starts, value.start) - 1
        passage = self._passages[index]
        around = self._layout.around(value.start, value.end, passage)
        if finder is VALUES["text"] and not around.above and index and value.start == passage.start:
            heading = self._passages[index - 1]
            if heading.end - heading.start <= HEADING:
                around = replace(around, above=words(self._text[heading.start : heading.end]))
        cued = self._vocabulary.present(Surroundings((), (), (), value.cues)) if value.cues else {}
        return _Candidate(value, index, self._vocabulary.present(replace(around, cues=value.cues)), cued)


def _best(scores: Sequence[_Scored], taken: Collection[str], *, many: bool) -> list[Found]:
    """The earliest of the values that fit best, with its score, which is less for one that another field has; with
    `many` also the others that fit nearly as well, each once, where a name with or without its end is one."""
    left = [
        Found(one.value, round(max(0.0, one.score - TAKEN * (one.value.value in taken and not one.cued)), 6))
        for one in scores
    ]
    best = max((found.score for found in left), default=0.0)
    first = next((found for found in left if found.score >= best - EQUAL), None)
    if first is None or not many:
        return [] if first is None else [first]
    chosen, known = list[Found](), set[str]()
    for found in left:
        if (
            found.score >= best - SPREAD
            and (said := "".join(char for char in found.value.value.lower() if char.isalnum())) not in known
        ):
            known.add(said)
            chosen.append(found)
    return chosen
