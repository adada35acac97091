"""Extract by a model that was trained to tag tokens: entities as values of fields.

With `fields: from_model` every different entity of a document is a field, named by its type; one that stands at several
places has the evidence of its surest. A type of which the document has none is a field without a value. With fields of
the job, each of which names its `entity`, a field has the surest entity of that type of which its value can be read.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import engine
from pipeline.document import Parsed, Span
from pipeline.tasks.base import Answer, Headed, TaskRefusedError
from pipeline.tasks.elements import Row, answer_of, empty, filled
from pipeline.tasks.own.entities import OUTSIDE, Entity, Tagged, entities, merged, types_of
from pipeline.tasks.own.windows import windows_of
from pipeline.tasks.writing.quoted import Quoted
from pipeline.text.values import Finder, Value

TRAINED_TOKENS: Final = 256  # taggers are trained on sentences and short paragraphs
OVERLAP: Final = 64  # characters before a cut inside a sentence that are read on both sides
MOST: Final = 1000  # different entities of a document that are fields

Wanted = tuple[str, str, str, Finder]
"""Of a field of a job: its name, its type, the type of entity, and what finds values of the field's type."""


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
    """The task on a model that tags tokens; without `wanted` every entity is a field."""

    def __init__(self, model: Headed, wanted: Sequence[Wanted] = ()) -> None:
        self._model, self._wanted = model, wanted

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
        if self._wanted:
            reader = Quoted(document)
            return answer_of(document, [_field(wanted, reader, found) for wanted in self._wanted])
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


def _field(wanted: Wanted, reader: Quoted, found: Sequence[Entity]) -> Row:
    """The element of a field of the job."""
    name, kind, sought, finder = wanted
    its = sorted((one for one in found if one.type == sought), key=lambda one: (-one.score, one.start))
    for entity in its:
        if value := reader.value(finder, reader.document.evidence(entity.start, entity.end)):
            return filled(name, kind, reader.document, value, entity.score)
    if its:
        shown = _called(reader.document, its[0])
        note = f"the model finds {shown[:80]!r}, in which nothing is of the type {kind}"
        return empty(name, kind, note, its[0].score)
    return empty(name, kind, f"the model finds no {sought}")
