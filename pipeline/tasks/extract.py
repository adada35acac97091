"""Extract: for each field, the value of its type that stands where the document speaks of the field.

On a model that embeds: values of the type are found in the whole text, each with its place. A value is scored by two
things of equal weight: how near in meaning its passage is to the field's name and description, and how fully the words
beside it name the field (`embedding/labels.py`). Of equal scores the earlier place holds. Evidence is the value itself.

On a model that tags tokens: its entities (`own/tagged.py`). On one that answers questions by a span of a text: the
description of each field is its question (`own/questions.py`).

With a head that was learned from examples (`cloister learn`): the candidate that the head likes best; its score is the
probability that it is right. Candidates of a text are also lines, names and dates (`pipeline/heads/candidates.py`).
`accept` sends documents to review with values, or nulls, of which too many could be wrong (pipeline/heads/findings.py).

On a model that writes: JSON that has every field, each a quote, under the rule that it is a passage of the document, or
null. For a type other than text what may be quoted are the values of that type that the text has; where it has none,
that is no question to the model. A quote is found in the document, and the value is read by the same code as on a model
that embeds. The score is the probability with which the model writes this quote. Of a document that is read in windows
each field has the value with the best score, the earliest of equals, or with `many` each that was named; a window that
says that there is none says nothing about the others.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import engine
from pipeline.document import Parsed, Span
from pipeline.heads.fields import Sought as Known
from pipeline.heads.file import HeadFile
from pipeline.heads.findings import FLOOR
from pipeline.tasks.base import (
    SPAN,
    TOKENS,
    Answer,
    Embedder,
    Headed,
    HeadedTask,
    Line,
    Slot,
    Task,
    TaskRefusedError,
    Writer,
    Writing,
)
from pipeline.tasks.elements import ELEMENT, Row, answer_of, empty, filled, too_low
from pipeline.tasks.embedding.accepted import Accept
from pipeline.tasks.embedding.accepted_fields import PromisedField, promises_of_fields, reasons
from pipeline.tasks.embedding.labels import Naming, Vocabulary
from pipeline.tasks.embedding.layout import written_labels
from pipeline.tasks.embedding.learned_fields import Asked, LearnedFields, fields_of, given, least_of
from pipeline.tasks.embedding.lexical import Lexical
from pipeline.tasks.embedding.meanings import Meanings, called
from pipeline.tasks.embedding.passages import OVERLAP, passages
from pipeline.tasks.embedding.scene import MEANING, Found, Scene, Sought
from pipeline.tasks.own.questions import Questions
from pipeline.tasks.own.tagged import Entities, check_entities
from pipeline.tasks.settings import FROM_MODEL, Key, Settings, SettingsError, Steps, Text, check_unique
from pipeline.tasks.writing.quoted_fields import QuotedFields
from pipeline.text.values import VALUES, Finder, check_pattern, pattern_finder

LEAST: Final = {  # a value that scores less is not given; chosen by measurement: DECISIONS.md
    "text": 0.35, "date": 0.3, "money": 0.2, "number": 0.4, "percent": 0.35,
    "email": 0.2, "phone": 0.35, "iban": 0.2, "reference": 0.4, "regex": 0.2, "title": 0.3, "organisation": 0.3,
}  # fmt: skip
TELLING: Final = {  # what the form alone is worth
    "email": 0.4, "iban": 0.4, "phone": 0.3, "regex": 0.4, "percent": 0.2, "title": 0.4,
}  # fmt: skip

MEANS: Final = {"title": 0.1, "organisation": 0.2}  # weight of what the passage means; of others scene.MEANING

ESCAPED: Final = {"\b": "b", "\x1b": "e", "\x85": "N", "\u2028": "L", "\u2029": "P"}
"""Characters that no pattern has, and the escapes that mean them in YAML (1.2.2, section 5.7), and not in a pattern."""

# keys of a field that came later, and what they are if left out
LATER: Final = {"entity": None, "many": False, "threshold": None, "accept": None}


@dataclass(frozen=True)
class Field(Settings):
    """A value to be found in each document."""

    name: Annotated[Text, Key("the field's name as it stands in the result")]
    type: Annotated[str, Key("what kind of value it is", choices=(*VALUES, "regex"))] = "text"
    description: Annotated[str, Key("what the value means, in a few words; it is compared by meaning")] = ""
    pattern: Annotated[Text | None, Key("the regular expression of a field of type regex")] = None
    entity: Annotated[
        Text | None,
        Key("of a model that tags tokens: the type of entity that is the field's value, such as PER"),
    ] = None
    many: Annotated[bool, Key("whether it may have several values, such as the parties of a contract")] = False
    threshold: Annotated[
        float | None,
        Key(
            "a value with a lower score is not given; if left out, as it is best for the type, or as was learned",
            least=0,
            most=1,
        ),
    ] = None
    accept: Annotated[
        Accept | None,
        Key("with a learned head: which answers for the field are accepted, instead of what the task says"),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pattern is not None:
            try:
                check_pattern(self.pattern)
            except ValueError as error:
                raise SettingsError(str(error), at=("pattern",)) from error

    @property
    def least(self) -> float:
        """The score below which a value is not given."""
        return LEAST[self.type] if self.threshold is None else self.threshold

    def check(self) -> None:
        if self.type == "regex" and self.pattern is None:
            raise SettingsError("a field of type regex without a pattern", "the key 'pattern'", at=("type",))
        if self.type != "regex" and self.pattern is not None:
            found = f"a pattern in a field of type {self.type}"
            raise SettingsError(found, "a pattern only with type: regex", at=("pattern",))
        for character, escape in ESCAPED.items():
            if character in (self.pattern or ""):
                found = f"a pattern with the character U+{ord(character):04X}, which \\{escape} means in double quotes"
                raise SettingsError(found, f"a regular expression with \\{escape}", "use single quotes", ("pattern",))


@dataclass(frozen=True)
class ExtractSettings(Task):
    """Named values from each document."""

    fields: Annotated[
        tuple[Field, ...],
        Key(
            f"the fields, at least 1; {FROM_MODEL}: every entity that a model that tags tokens finds",
            least=1,
            word=FROM_MODEL,
        ),
    ]
    accept: Annotated[
        Accept | None,
        Key("with a learned head: which answers for each field are accepted; a document with others is for review"),
    ] = None

    purpose: ClassVar[str] = "named values from each document"
    hints: ClassVar[Mapping[str, str]] = MappingProxyType(
        {TOKENS: f"write fields: {FROM_MODEL} into the task, or the entity of each field, such as entity: PER"}
    )
    columns: ClassVar[tuple[pa.Field, ...]] = (pa.field("fields", pa.list_(ELEMENT)),)

    def check(self) -> None:
        check_unique((field.name for field in self.fields), "fields", "field")
        named = [field.entity is not None for field in self.fields]
        if any(named) and not all(named):
            found = "a field without an entity beside fields with one"
            raise SettingsError(found, "the entity of every field, or of none", at=("fields", named.index(False)))
        for index, field in enumerate(self.fields):
            least = FLOOR if field.threshold is None else field.threshold
            if field.many and least < FLOOR and (field.accept or self.accept):
                found = f"the threshold {field.threshold:g} of a field with many and accept"
                raise SettingsError(found, f"{FLOOR:g} at least", at=("fields", index, "threshold"))

    def to_json(self) -> dict[str, Any]:
        """The settings; keys that came later are left out where they are not used, so that digests stay."""
        settings = super().to_json()
        for field in () if settings["fields"] == FROM_MODEL else settings["fields"]:
            for key, default in LATER.items():
                if field[key] is default:
                    del field[key]
        if self.accept is None:
            del settings["accept"]
        return settings

    def slots(self) -> Sequence[Slot] | None:
        return [Slot(field.name, field.type, field.many) for field in self.fields] or None

    def in_words(self) -> str:
        return f"extract {', '.join(map(_in_words, self.fields)) or 'the entities that the model finds'}"

    @property
    def kinds(self) -> tuple[str, ...]:
        return (TOKENS,) if self._by_entity else (*super().kinds, SPAN)

    @property
    def variant(self) -> str:
        if not self._by_entity:
            return ""
        return " with entities of its fields" if self.fields else f" with fields: {FROM_MODEL}"

    @property
    def _by_entity(self) -> bool:
        return not self.fields or self.fields[0].entity is not None

    def check_own_head(self, head: "engine.Head") -> None:
        for field in self.fields:
            if field.many or field.threshold is not None:
                key = "many" if field.many else "threshold"
                what = f"{key} of the field {field.name} is for models that give embeddings or write text: remove it"
                raise TaskRefusedError(what)
        if head.kind == TOKENS:
            check_entities(head, [field.entity for field in self.fields if field.entity])

    def on_own_head(self, model: Headed) -> HeadedTask:
        finders = [_finder(field) for field in self.fields]
        if model.head == SPAN:
            return Questions(model, self.fields, finders)
        pairs = zip(self.fields, finders, strict=True)
        return Entities(model, [(its.name, its.type, its.entity, find) for its, find in pairs if its.entity])

    def on_embedding(self, model: Embedder) -> "_ByMeaning":
        return _ByMeaning(self, model)

    def head_only(self) -> tuple[Steps, ...]:
        said = [("accept",)] if self.accept else []
        return (*said, *(("fields", index, "accept") for index, field in enumerate(self.fields) if field.accept))

    def check_head(self, head: HeadFile) -> None:
        self._promises(head)

    def promises(self, head: HeadFile) -> Iterator[str]:
        return (one.in_words() for one in self._promises(head).values())

    def on_head(self, model: Embedder, head: HeadFile) -> LearnedFields:
        promised, known = self._promises(head), fields_of(head, self._asked)
        least = least_of(known, self._asked)

        def answer(document: Parsed, found: Sequence[Sequence[Found]]) -> Answer:
            good = [given(its, enough) for its, enough in zip(found, least, strict=True)]
            each = zip(self.fields, found, good, strict=True)
            rows = [row for field, its, some in each for row in _rows(field, document, its, some)]
            why = "; ".join(reasons(promised, [field.name for field in self.fields], found, good))
            return replace(answer_of(document, rows), review=why or None)

        return LearnedFields(known, self._asked, model, answer)

    def _promises(self, head: HeadFile) -> Mapping[str, PromisedField]:
        """Return what is promised of each field. TaskRefusedError."""
        known, own = fields_of(head, self._asked), [field.accept for field in self.fields]
        return promises_of_fields(head, known, self._asked, own, self.accept)

    @property
    def _asked(self) -> list[Asked]:
        """The fields as a head knows them."""
        return [Asked(Known(one.name, one.type, one.pattern), one.many, one.threshold) for one in self.fields]

    def on_writing(self, model: Writer, writing: Writing) -> QuotedFields:
        return QuotedFields(self.fields, [_finder(field) for field in self.fields], model, writing)

    @classmethod
    def lines(cls, row: Mapping[str, Any]) -> Iterator[Line]:
        for field in row.get("fields") or ():
            if field["value"] is not None:
                yield Line(str(field["value"]), f"{field['name']} = ", field["score"])


class _ByMeaning:
    """The task on a model that embeds; the vectors of the fields' names and descriptions are made once."""

    def __init__(self, settings: ExtractSettings, model: Embedder) -> None:
        self._model = model
        self._fields = settings.fields
        self._namings = [Naming(field.name, field.description) for field in settings.fields]
        self._finders = [_finder(field) for field in settings.fields]
        self._meanings = Meanings([[called(field.name, field.description)] for field in settings.fields], model)

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
        whole = zip(self._fields, found, good, strict=True)
        rows = [row for field, its, some in whole for row in _rows(field, document, its, some)]
        return answer_of(document, rows)


def _in_words(field: Field) -> str:
    return f"{field.name} ({field.entity or field.type})"


def _finder(field: Field) -> Finder:
    """Make the finder of values of the field's type."""
    return VALUES[field.type] if field.pattern is None else pattern_finder(field.pattern)


def _rows(field: Field, document: Parsed, found: Sequence[Found], good: Sequence[Found]) -> Iterator[Row]:
    """The elements of the column `fields`: one for each value that scores enough, one without a value if none does."""
    for one in good:
        yield filled(field.name, field.type, document, one.value, one.score, _note(one))
    if not good and not found:
        yield empty(field.name, field.type, _no_candidate(field))
    elif not good:
        best = max(found, key=lambda one: one.score)
        nearest = document.text[best.value.start : best.value.end]
        yield empty(field.name, field.type, too_low(nearest, best.score), best.score)


def _no_candidate(field: Field) -> str:
    """The reason why there is no candidate."""
    if field.pattern is not None:
        return "the pattern matches nothing in the document"
    return f"nothing in the document has the type {field.type}"


def _note(found: Found) -> str | None:
    """A remark of the choice that a reader of the value should know."""
    if not found.passed_over:
        return None
    return f"{found.passed_over} values in passages of less likeness were too many to be looked at"
