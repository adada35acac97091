"""Extract by a head that was learned from examples: for each field its best candidate, with the probability of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pipeline.document import Parsed, Span
from pipeline.heads.candidates import Candidate, Page
from pipeline.heads.fields import THRESHOLD, FieldsHead, Sought
from pipeline.heads.file import HeadFile
from pipeline.tasks.base import Answer, Embedder, TaskRefusedError
from pipeline.tasks.embedding.passages import OVERLAP, passages
from pipeline.tasks.embedding.scene import Found

MOST: Final = 50  # values of a field that may have several


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


class LearnedFields:
    """The task on a model that embeds, answered by what was learned; `answer` makes one of what was found and of the
    scores below which no value is given."""

    def __init__(
        self,
        head: FieldsHead,
        asked: Sequence[Asked],
        model: Embedder,
        answer: Callable[[Parsed, Sequence[Sequence[Found]], Sequence[float]], Answer],
    ) -> None:
        self._head, self._asked, self._model, self._answer = head, asked, model, answer
        names = [field.name for field in head.fields]
        self._columns = [names.index(one.sought.name) for one in asked]
        self._least = [
            head.thresholds[column] if one.threshold is None else one.threshold
            for one, column in zip(asked, self._columns, strict=True)
        ]

    def spans(self, document: Parsed) -> list[Span]:
        return passages(document, self._model, OVERLAP)

    def answer(self, document: Parsed, spans: Sequence[Span], vectors: NDArray[np.float32]) -> Answer:
        return self._answer(document, self.found(document, spans, vectors), self._least)

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
            self._values(one, column, *sheets[one.sought.type, one.sought.pattern])
            for one, column in zip(self._asked, self._columns, strict=True)
        ]

    def _values(
        self, asked: Asked, column: int, candidates: Sequence[Candidate], logits: NDArray[np.float32]
    ) -> list[Found]:
        further = THRESHOLD if asked.threshold is None else asked.threshold
        order = np.argsort(-logits[:, column], kind="stable")[: 20 * MOST if asked.many else 1].tolist()
        chosen, known = list[Found](), set[str]()
        for row in order:
            value = candidates[row].value
            score = round(self._head.probability(column, float(logits[row, column])), 6)
            if chosen and (score < further or len(chosen) == MOST):
                break
            said = "".join(char for char in value.value.lower() if char.isalnum())
            apart = all(value.end <= one.value.start or one.value.end <= value.start for one in chosen)
            if apart and said not in known:
                chosen.append(Found(value, score))
                known.add(said)
        return sorted(chosen, key=lambda one: one.value.start)
