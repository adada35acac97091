"""The answers of the task on a model that embeds: by meaning, and by a head that was learned."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
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
from pipeline.tasks.extract.naming import Lexical, Naming, Vocabulary, written_labels
from pipeline.tasks.extract.promises import PromisedField, reasons
from pipeline.tasks.extract.scene import MEANING, Scene, Sought
from pipeline.tasks.kinds import Embedder
from pipeline.tasks.meanings import Meanings, called, reading_documents
from pipeline.tasks.passages import OVERLAP, passages

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
