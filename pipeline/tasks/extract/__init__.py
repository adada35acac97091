"""Extract: for each field, the value of its type that stands where the document speaks of the field.

On a model that embeds: values of the type are found in the whole text, each with its place. A value is scored by two
things of equal weight: how near in meaning its passage is to the field's name and description, and how fully the words
beside it name the field (`naming.py`). Of equal scores the earlier place holds. Evidence is the value itself.

On a model that tags tokens: its entities (`own.py`). On one that answers questions by a span of a text: the
description of each field is its question (`own.py`).

With a head that was learned from examples (`cloister learn`): the candidate that the head likes best; its score is the
probability that it is right. Candidates of a text are also lines, names and dates (`candidates.py`).
`accept` sends documents to review with values, or nulls, of which too many could be wrong (`promises.py`).

On a model that writes: JSON that has every field, each a quote, under the rule that it is a passage of the document, or
null. For a type other than text what may be quoted are the values of that type that the text has; where it has none,
that is no question to the model. A quote is found in the document, and the value is read by the same code as on a model
that embeds. The score is the probability with which the model writes this quote. Of a document that is read in windows
each field has the value with the best score, the earliest of equals, or with `many` each that was named; a window that
says that there is none says nothing about the others.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final

import pyarrow as pa

import engine
from pipeline.document import Row
from pipeline.heads import HeadFile
from pipeline.tasks.base import HeadAnswers, HeadedTask, Line, Slot, Task, TaskRefusedError, Value, place_of
from pipeline.tasks.correcting import only
from pipeline.tasks.examples import Example, ExamplesRefusedError, Lesson, Mistake, Reads, refused
from pipeline.tasks.extract.answers import ByMeaning, LearnedFields, logits_of
from pipeline.tasks.extract.decided import correct, taught
from pipeline.tasks.extract.fields import ELEMENT, Field
from pipeline.tasks.extract.head import FieldsHead, fields_of
from pipeline.tasks.extract.judge import judge
from pipeline.tasks.extract.learn import FieldLesson, as_texts, read_examples
from pipeline.tasks.extract.own import Entities, Questions, check_entities
from pipeline.tasks.extract.promises import FLOOR, PromisedField, promises_of_fields
from pipeline.tasks.extract.quoted import QuotedFields
from pipeline.tasks.judging import Judge
from pipeline.tasks.kinds import EMBEDDING, SPAN, TOKENS, Embedder, Headed, Writer, Writing
from pipeline.tasks.risk import Accept
from pipeline.tasks.settings import FROM_MODEL, Key, SettingsError, Steps, check_unique

# keys of a field that came later, and what they are if left out
LATER: Final = {"entity": None, "many": False, "threshold": None, "accept": None}


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

    unreviewed: ClassVar[str | None] = None
    purpose: ClassVar[str] = "named values from each document"
    hints: ClassVar[Mapping[str, str]] = MappingProxyType(
        {TOKENS: f"write fields: {FROM_MODEL} into the task, or the entity of each field, such as entity: PER"}
    )
    learned_on: ClassVar[tuple[str, ...]] = (EMBEDDING,)
    figures: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "exact": "values exactly right, mean of the fields",
            "normalised": "values right but for case, punctuation and form, mean of the fields",
            "token_f1": "F1 of the words of values, mean of the fields",
            "absent_empty": "absent fields that got no value",
        }
    )
    measures: ClassVar[tuple[str, ...]] = ("token_f1", "exact", "normalised", "absent_empty")
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
        said = ", ".join(f"{field.name} ({field.entity or field.type})" for field in self.fields)
        return f"extract {said or 'the entities that the model finds'}"

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
        return Questions(model, self.fields) if model.head == SPAN else Entities(model, self.fields)

    def on_embedding(self, model: Embedder) -> ByMeaning:
        return ByMeaning(self.fields, model)

    def head_only(self) -> tuple[Steps, ...]:
        said = [("accept",)] if self.accept else []
        return (*said, *(("fields", index, "accept") for index, field in enumerate(self.fields) if field.accept))

    def check_head(self, head: HeadFile) -> None:
        self._promises(head)

    def promises(self, head: HeadFile) -> Iterator[str]:
        return (one.in_words() for one in self._promises(head).values())

    def on_head(self, model: Embedder, head: HeadFile) -> LearnedFields:
        return LearnedFields(fields_of(head, self.fields), self.fields, self._promises(head), model)

    def _promises(self, head: HeadFile) -> Mapping[str, PromisedField]:
        """Return what is promised of each field. TaskRefusedError."""
        return promises_of_fields(head, fields_of(head, self.fields), self.fields, self.accept)

    def on_writing(self, model: Writer, writing: Writing) -> QuotedFields:
        return QuotedFields(self.fields, model, writing)

    def lesson(self, source: Path, read: Reads, writing: Writing | None, *, skip: bool) -> Lesson[Any]:
        return FieldLesson.of(self.fields, source, read, skip=skip)

    @classmethod
    def head_answers(cls, head: HeadFile) -> HeadAnswers:
        return partial(logits_of, FieldsHead.from_file(head))

    def truths(self, source: Path) -> Sequence[Example[Any]]:
        if not self.fields:
            raise refused(str(source), f"a job whose answers are {FROM_MODEL}", "one that names its labels or fields")
        found = read_examples(source, [field.name for field in self.fields])
        if empty := [one.place for one in found if not one.taught]:
            raise ExamplesRefusedError([Mistake(place, "no fields", "values of fields") for place in empty])
        return found

    def unmeasured(self, truths: Sequence[Example[Any]]) -> list[str]:
        there = {name for truth in truths for name in truth.taught}
        missing = [field.name for field in self.fields if field.name not in there]
        if len(missing) == len(self.fields):
            raise refused("the examples", "no value of any field of the job")
        return [f"the field {name} is not measured: no example says it" for name in missing]

    def judge(self, truths: Sequence[Example[Any]], texts: Sequence[str]) -> Judge:
        known = [as_texts(truth.taught, text) for truth, text in zip(truths, texts, strict=True)]
        return partial(judge, self.fields, known)

    def correct(self, row: Row, text: str | None, answer: Mapping[str, Any]) -> Mapping[str, Any]:
        return correct(self.fields, row, text, only(answer, "fields"))

    def taught(self, row: Row, *, placed: bool) -> Mapping[str, Any] | None:
        fields = dict(taught(self.fields, row, placed))
        return {"fields": fields} if fields else None

    @classmethod
    def values(cls, row: Row) -> Iterator[Value]:
        for each in row.get("fields") or ():
            yield Value(**{**each, "evidence": place_of(each.get("evidence"))})

    @classmethod
    def lines(cls, row: Row) -> Iterator[Line]:
        for field in row.get("fields") or ():
            if field["value"] is not None:
                yield Line(str(field["value"]), f"{field['name']} = ", field["score"])
