"""Extract by a model's own head: one that tags tokens, or one that answers questions by a span of a text.

The labels of tokens are those of the schemes IO, BIO (IOB2), BILOU and BIOES: a mark, "-" and a type. B begins an
entity, I is inside one, L or E ends it, U or S is one by itself; O is outside of all. Labels of which some have no mark
are types (IO). A word has the label of its first token, which is the only one that such models are trained on. An I, L
or E without a beginning begins an entity too. The score of an entity is the mean of its words' probabilities. Without
fields of the job, every different entity of a document is a field, named by its type.

The question of a field is its description, or its name. The answer is the span with the highest probability in any
window, of which a value of the field's type can be read; it is null where "no answer" is more probable in every window.
That is the rule of SQuAD 2; models that were trained on questions with answers only (SQuAD 1) always answer.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Final

import numpy as np
from numpy.typing import NDArray

import engine
from pipeline.document import Parsed, Span
from pipeline.tasks.base import Answer, TaskRefusedError
from pipeline.tasks.extract.fields import Field, Row, answer_of, empty, filled
from pipeline.tasks.extract.quoted import Quoted
from pipeline.tasks.kinds import Headed
from pipeline.tasks.passages import windows_of
from pipeline.text.values import Value

OUTSIDE: Final = "O"
_MARKED: Final = re.compile(r"([BILEUS])-(.+)", re.DOTALL)
_BEGINS, _ENDS = "BUS", "LEUS"
_UNSPACED: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]"
)
"""Characters of scripts that write words without spaces: each token of them is a word."""

Tagged = tuple[NDArray[np.int32], NDArray[np.float32]]
"""Of each token of a text: where it begins and ends, int32 [tokens, 2], and the probabilities of the labels, float32
[tokens, labels]."""


@dataclass(frozen=True)
class Entity:
    """text[start:end] is a `type`; `score` is a probability."""

    type: str
    start: int
    end: int
    score: float


@dataclass(frozen=True)
class Word:
    """text[start:end], with the place of the first of its tokens."""

    start: int
    end: int
    token: int


def marks_of(labels: Sequence[str]) -> list[tuple[str, str] | None]:
    """The mark and the type of each label, in order; None for what is outside."""
    inside = [label for label in labels if label != OUTSIDE]
    found = {label: match for label in inside if (match := _MARKED.fullmatch(label))}
    marked = len(found) == len(inside)
    return [
        None if label == OUTSIDE else (found[label][1], found[label][2]) if marked else ("I", label) for label in labels
    ]


def types_of(labels: Sequence[str]) -> list[str]:
    """The types of entity that the labels know, in the order of the labels."""
    return list(dict.fromkeys(mark[1] for mark in marks_of(labels) if mark))


def entities(text: str, tagged: Tagged, labels: Sequence[str]) -> list[Entity]:
    """The entities of a text, in order."""
    offsets, shares = tagged
    marks = marks_of(labels)
    found: list[tuple[str, list[Word]]] = []
    going = False  # whether the last of them may go on
    for word in words(text, offsets.tolist()):
        mark = marks[int(shares[word.token].argmax())]
        if mark is None:
            going = False
            continue
        if going and mark[0] not in _BEGINS and found[-1][0] == mark[1]:
            found[-1][1].append(word)
        else:
            found.append((mark[1], [word]))
        going = mark[0] not in _ENDS
    return [
        Entity(kind, its[0].start, its[-1].end, _mean([float(shares[word.token].max()) for word in its]))
        for kind, its in found
    ]


def words(text: str, offsets: Sequence[tuple[int, int]]) -> Iterator[Word]:
    """Tokens that the text does not part are one word: both characters where they meet are letters or digits."""
    word: Word | None = None
    for token, (start, end) in enumerate(offsets):
        if start >= end:
            continue
        if word and (start < word.end or (start == word.end and _joined(text[start - 1], text[start]))):
            word = replace(word, end=max(word.end, end))
            continue
        if word:
            yield word
        word = Word(start, end, token)
    if word:
        yield word


def _joined(before: str, after: str) -> bool:
    """Whether two neighbouring characters are of one word."""
    return before.isalnum() and after.isalnum() and not _UNSPACED.match(before) and not _UNSPACED.match(after)


def _mean(scores: Sequence[float]) -> float:
    return round(fsum(scores) / len(scores), 6)


def merged(found: Sequence[Entity]) -> list[Entity]:
    """Entities from windows that overlap, in the order of the text: of those of one type that share characters the
    longest holds, then the surest."""
    kept: list[Entity] = []
    for one in sorted(found, key=lambda entity: (entity.type, entity.start, entity.end)):
        last = kept[-1] if kept else None
        if last and last.type == one.type and one.start < last.end:
            kept[-1] = max(last, one, key=lambda entity: (entity.end - entity.start, entity.score, -entity.start))
        else:
            kept.append(one)
    return sorted(kept, key=lambda entity: (entity.start, entity.end, entity.type))


TRAINED_TOKENS: Final = 256  # taggers are trained on sentences and short paragraphs
OVERLAP: Final = 64  # characters before a cut inside a sentence that are read on both sides
MOST: Final = 1000  # different entities of a document that are fields


def check_entities(head: "engine.Head", wanted: Sequence[str]) -> None:
    """TaskRefusedError unless a head knows these types of entity, or any, and what is none."""
    if OUTSIDE not in head.labels:
        found = ", ".join(head.labels[:8])
        raise TaskRefusedError(
            f"its head has the labels {found:.200}, none of which is {OUTSIDE}: it finds no entities"
        )
    known = types_of(head.labels)
    for entity in wanted:
        if entity not in known:
            expected = ", ".join(known) or "nothing but O"
            raise TaskRefusedError(f"its head finds no entity {entity!r:.80}, only {expected:.400}")


class Entities:
    """The task on a model that tags tokens; without fields every entity is one."""

    def __init__(self, model: Headed, fields: Sequence[Field] = ()) -> None:
        self._model, self._fields = model, fields

    def spans(self, document: Parsed) -> list[Span]:
        return windows_of(document, self._model, min(self._model.context, TRAINED_TOKENS), OVERLAP)

    def read(self, texts: Sequence[str]) -> list[Tagged]:
        return self._model.tag(texts)

    def answer(self, document: Parsed, spans: Sequence[Span], said: Sequence[Tagged]) -> Answer:
        found = merged(
            [
                replace(entity, start=span.start + entity.start, end=span.start + entity.end)
                for span, tagged in zip(spans, said, strict=True)
                for entity in entities(document.text[span.start : span.end], tagged, self._model.labels)
            ]
        )
        if self._fields:
            reader = Quoted(document)
            return answer_of(document, [_field(field, reader, found) for field in self._fields])
        return self._all(document, found)

    def _all(self, document: Parsed, found: Sequence[Entity]) -> Answer:
        """Every different entity, in the order of their surest places; then the types without one."""
        places: dict[tuple[str, str], list[Entity]] = {}
        for entity in found:
            places.setdefault((entity.type, _called(document, entity).casefold()), []).append(entity)
        surest = [(max(its, key=lambda one: (one.score, -one.start)), len(its)) for its in places.values()]
        given = sorted(surest, key=lambda pair: (-pair[0].score, pair[0].start))[:MOST]
        rows = [_row(document, *pair) for pair in sorted(given, key=lambda pair: (pair[0].start, pair[0].type))]
        none = [kind for kind in types_of(self._model.labels) if kind not in {entity.type for entity in found}]
        left = f"{len(surest):,} different entities, of which the {MOST:,} surest are given"
        rows += [empty(kind, "text", "the model finds none") for kind in none]
        return answer_of(document, rows, left if len(surest) > MOST else None)


def _called(document: Parsed, entity: Entity) -> str:
    return " ".join(document.text[entity.start : entity.end].split())


def _row(document: Parsed, entity: Entity, places: int) -> Row:
    note = f"at {places:,} places, of which this is the surest" if places > 1 else None
    value = Value(entity.start, entity.end, _called(document, entity))
    return filled(entity.type, "text", document, value, entity.score, note)


def _field(field: Field, reader: Quoted, found: Sequence[Entity]) -> Row:
    """The element of a field of the job: its surest entity of which a value can be read."""
    name, kind, document, finder = field.name, field.type, reader.document, field.known.finder
    its = sorted((one for one in found if one.type == field.entity), key=lambda one: (-one.score, one.start))
    for entity in its:
        if value := reader.value(finder, document.evidence(entity.start, entity.end)):
            return filled(name, kind, document, value, entity.score)
    if its:
        note = f"the model finds {_called(document, its[0])[:80]!r}, in which nothing is of the type {kind}"
        return empty(name, kind, note, its[0].score)
    return empty(name, kind, f"the model finds no {field.entity}")


QUESTION_TOKENS: Final = 384  # of a question with a window: what such models are trained on
LEAST: Final = 64  # tokens of a window


def question_of(field: Field) -> str:
    """The question that a field is: its description, else its name in words."""
    return field.description or field.name.replace("_", " ").replace("-", " ")


class Questions:
    """The task on a model that answers questions. TaskRefusedError where a question leaves no room for a document."""

    def __init__(self, model: Headed, fields: Sequence[Field]) -> None:
        self._model, self._fields = model, fields
        self._questions = [question_of(field) for field in fields]
        most, around = min(model.context, QUESTION_TOKENS), model.count_tokens([""])[0]
        asked = model.count_tokens([(question, "") for question in self._questions])
        self._limit = most - max(asked) + around
        if self._limit - around < min(LEAST, most // 4):
            longest = fields[asked.index(max(asked))].name
            found = f"the question of the field {longest} has {max(asked)} tokens: of {most} that are read together"
            raise TaskRefusedError(f"{found} that leaves no room for a document; shorten its description")

    def spans(self, document: Parsed) -> list[Span]:
        return windows_of(document, self._model, self._limit, OVERLAP)

    def read(self, texts: Sequence[str]) -> "list[list[engine.Answer]]":
        """For each window the answers to all questions."""
        each = [self._model.answer(question, texts) for question in self._questions]
        return [list(answers) for answers in zip(*each, strict=True)]

    def answer(self, document: Parsed, spans: Sequence[Span], said: "Sequence[Sequence[engine.Answer]]") -> Answer:
        reader = Quoted(document)
        rows = [
            self._row(index, reader, spans, [answers[index] for answers in said]) for index in range(len(self._fields))
        ]
        return answer_of(document, rows)

    def _row(self, index: int, reader: Quoted, spans: Sequence[Span], said: "Sequence[engine.Answer]") -> Row:
        field, document = self._fields[index], reader.document
        finder = field.known.finder
        if not said:
            return empty(field.name, field.type, "no text")
        none = min(answer.no_answer for answer in said)
        order = sorted(range(len(said)), key=lambda at: (-said[at].score, at))
        likely = [at for at in order if said[at].score > none and said[at].end > said[at].start]
        for at in likely:
            start, end = (spans[at].start + edge for edge in (said[at].start, said[at].end))
            if value := reader.value(finder, document.evidence(start, end)):
                return filled(field.name, field.type, document, value, round(said[at].score, 6))
        if not likely:
            return empty(field.name, field.type, "the model finds no answer", round(none, 6))
        shown = document.text[spans[likely[0]].start :][said[likely[0]].start : said[likely[0]].end]
        note = f"the model answers {shown[:80]!r}, in which nothing is of the type {field.type}"
        return empty(field.name, field.type, note, round(said[likely[0]].score, 6))
