"""Extract by a head that was learned from examples: for each field its best candidate, with the probability of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from pipeline.document import Parsed, Span
from pipeline.heads.candidates import Candidate, Page
from pipeline.heads.fields import MOST, FieldsHead, Least, Sought, distinct
from pipeline.heads.file import HeadFile
from pipeline.tasks.base import Answer, Embedder, TaskRefusedError
from pipeline.tasks.embedding.passages import OVERLAP, passages
from pipeline.tasks.embedding.scene import Found


@dataclass(frozen=True)
class Asked:
    """A field of a job: what it is, whether it may have several values, and the score below which none is given, if the
    job says that."""

    sought: Sought
    many: bool
    threshold: float | None


def fields_of(head: HeadFile, asked: Sequence[Asked]) -> FieldsHead:
    """The head in a file. TaskRefusedError if it is none, or does not know one of the fields."""
    try:
        found = FieldsHead.from_file(head)
    except (ValueError, KeyError, TypeError) as error:
        raise TaskRefusedError(f"its head cannot be used: {error}; learn it again with `cloister learn`") from error
    known, again = {one.name: one for one in found.fields}, "learn it again with `cloister learn`"
    for one in (field.sought for field in asked):
        if one.name not in known:
            told = f"its head knows no field {one.name!r}, but {', '.join(known)}; {again}, or leave the field out"
            raise TaskRefusedError(told)
        if (its := known[one.name]) != one:
            told = f"its head was learned for the field {one.name!r} of type {its.pattern or its.type}"
            raise TaskRefusedError(f"{told}, not {one.pattern or one.type}; {again}, or give the field that type")
    return found


def least_of(head: FieldsHead, asked: Sequence[Asked]) -> list[Least]:
    """From which scores on the values of each field are given."""
    return [
        head.least(column, one.threshold, one.many) for column, one in zip(_columns(head, asked), asked, strict=True)
    ]


def given(found: Sequence[Found], least: Least) -> Sequence[Found]:
    """The values that are given of those that were found for a field: all, or none if the best scores too little."""
    return found if max((one.score for one in found), default=0.0) >= least.best else ()


def _columns(head: FieldsHead, asked: Sequence[Asked]) -> list[int]:
    names = [field.name for field in head.fields]
    return [names.index(one.sought.name) for one in asked]


class LearnedFields:
    """The task on a model that embeds, answered by what was learned; `answer` makes one of what was found."""

    def __init__(
        self,
        head: FieldsHead,
        asked: Sequence[Asked],
        model: Embedder,
        answer: Callable[[Parsed, Sequence[Sequence[Found]]], Answer],
    ) -> None:
        self._head, self._asked, self._model, self._answer = head, asked, model, answer
        self._columns, self._least = _columns(head, asked), least_of(head, asked)

    def spans(self, document: Parsed) -> list[Span]:
        return passages(document, self._model, OVERLAP)

    def answer(self, document: Parsed, spans: Sequence[Span], vectors: NDArray[np.float32]) -> Answer:
        return self._answer(document, self.found(document, spans, vectors))

    def found(self, document: Parsed, passages: Sequence[Span], vectors: NDArray[np.float32]) -> list[list[Found]]:
        """For each field its best value, and further ones that score enough; none where there is no candidate.
        `vectors`: float32 [passages, d]."""
        page = Page(document, passages)
        sheets = dict[tuple[str, str | None], tuple[list[Candidate], NDArray[np.float32]]]()
        for one in self._asked:
            key = (one.sought.type, one.sought.pattern)
            if key not in sheets:
                candidates = page.candidates(*key)
                sheets[key] = candidates, self._head.logits(vectors, candidates, page.words(candidates))
        return [
            self._values(least, column, *sheets[one.sought.type, one.sought.pattern])
            for one, least, column in zip(self._asked, self._least, self._columns, strict=True)
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
