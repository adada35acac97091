"""Extract: for each field a passage of the document, copied under the rule that it is one, and read as its type.

The model writes JSON that has every field: a quote, or null. For a type other than text what may be quoted are the
values of that type that the text has; where it has none, that is no question to the model. A quote is found in the
document, and the value is read by the same code as in the task on a model that embeds. The score is the
probability with which the model writes this quote. Of a document that is read in windows each field has the value with
the best score, the earliest of equals; a window that says that there is none says nothing about the others.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import engine
from pipeline.document import Evidence, Parsed
from pipeline.tasks.base import Dialogue, Window, Writer, Writing
from pipeline.tasks.extract import ExtractSettings, Field, Row, answer_of, empty_row, filled, finder
from pipeline.tasks.writing import prompts
from pipeline.tasks.writing.answers import Asker, parsed, whole
from pipeline.tasks.writing.leaves import escaped, leaves, probability
from pipeline.tasks.writing.offers import offers
from pipeline.tasks.writing.places import place
from pipeline.tasks.writing.windows import cut, room
from pipeline.text.values import Finder, Value, read_habits

LONGEST: Final = {"text": 480}  # characters of a quote
_USUAL: Final = 160

Offers = list[str] | None
"""What may be quoted for a field; None: any passage."""


@dataclass(frozen=True)
class _Said:
    """What the model said of a field in one window: a quote or none, how probable it was, whether it had a choice."""

    quote: str | None
    score: float
    chosen: bool


class Extract:
    """The task for one list of fields."""

    def __init__(self, settings: ExtractSettings, model: Writer, writing: Writing) -> None:
        self._fields = settings.fields
        self._finders = [finder(field) for field in settings.fields]
        self._ask = Asker(model, writing)
        told = [(field.name, field.type, field.description, field.pattern) for field in settings.fields]
        self._asked = partial(prompts.extract, told)
        self._room = room(model, writing, self._asked)

    def dialogue(self, document: Parsed) -> Dialogue:
        read = cut(document, self._ask.model, self._room)
        texts = [document.text[window.span.start : window.span.end] for window in read]
        offered = [self._offers(text) for text in texts]
        completions = yield [self._request(*each) for each in zip(texts, offered, strict=True)]
        said = [list(self._said(*each)) for each in zip(completions, offered, strict=True)]
        reader = _Reader(document)
        rows = [self._row(index, reader, read, [one[index] for one in said]) for index in range(len(self._fields))]
        return answer_of(document, rows, read)

    def _offers(self, text: str) -> list[Offers]:
        """For each field."""
        pairs = zip(self._finders, self._fields, strict=True)
        return [None if field.type == "text" else offers(find, text, longest(field)) for find, field in pairs]

    def _request(self, text: str, offered: Sequence[Offers]) -> engine.Request:
        free = (field for field, values in zip(self._fields, offered, strict=True) if values is None)
        pointers = (f"/properties/{escaped(field.name)}/anyOf/0" for field in free)
        return self._ask.of_schema(self._asked(text), schema(self._fields, offered), dict.fromkeys(pointers, text))

    def _said(self, completion: engine.Completion, offered: Sequence[Offers]) -> Iterator[_Said]:
        answer = parsed(completion)
        at = {leaf.pointer: leaf for leaf in leaves(completion.text)}
        for field, values in zip(self._fields, offered, strict=True):
            quote, leaf = answer[field.name], at[f"/{escaped(field.name)}"]
            score = probability(completion, leaf.start, leaf.end)
            yield _Said(None if quote is None else whole(quote, longest(field)), score, values != [])

    def _row(self, index: int, reader: "_Reader", read: Sequence[Window], said: Sequence[_Said]) -> Row:
        """The element of the column `fields`."""
        field = self._fields[index]
        found = [
            (one, place(reader.document, its, one.quote)) for its, one in zip(read, said, strict=True) if one.quote
        ]
        choices = [(one, at, reader.value(self._finders[index], field, at)) for one, at in found if at]
        good = [choice for choice in choices if choice[2]]
        if not good:
            return empty_row(field) | _nothing(field, said, [at for _, at, _ in choices])
        one, _, value = max(good, key=lambda choice: choice[0].score)
        assert value is not None
        return empty_row(field) | filled(value, reader.document) | {"score": one.score}


def schema(fields: Sequence[Field], offered: Sequence[Offers]) -> Mapping[str, Any]:
    """What an answer is: every field, in order, each with a quote or null."""
    return {
        "type": "object",
        "properties": {field.name: _quote(field, values) for field, values in zip(fields, offered, strict=True)},
        "required": [field.name for field in fields],
        "additionalProperties": False,
    }


def longest(field: Field) -> int:
    """Characters of a quote for this field; one that has as many is not whole."""
    return LONGEST.get(field.type, _USUAL)


def _quote(field: Field, offered: Offers) -> Mapping[str, Any]:
    null = {"type": "null"}
    if offered == []:
        return null
    quote = {"type": "string", "minLength": 1, "maxLength": longest(field)} if offered is None else {"enum": offered}
    return {"anyOf": [quote, null]}


def _nothing(field: Field, said: Sequence[_Said], quoted: Sequence[Evidence]) -> Row:
    """Why there is no value, and how sure that is."""
    kind = "matches the pattern" if field.pattern is not None else f"has the type {field.type}"
    if quoted:
        return {"note": f"the model quoted {quoted[0].text[:80]!r}, in which nothing {kind}"}
    if not said:
        return {"note": "no text"}
    if not any(one.chosen for one in said):
        return {"note": f"nothing in the document {kind}"}
    least = min((one for one in said if one.chosen), key=lambda one: one.score)
    why = "the model finds none" if least.quote is None else "the model quoted nothing"
    return {"score": least.score, "note": why}


class _Reader:
    """The values of a document by type, each looked for once."""

    def __init__(self, document: Parsed) -> None:
        self.document = document
        self._habits = read_habits(document.text)
        self._values: dict[Finder, list[Value]] = {}

    def value(self, finder: Finder, field: Field, at: Evidence) -> Value | None:
        """Of the values that lie within the quote, or that it lies in, the one that shares most with it, the first of
        equals; where its form leaves doubts, what the quote says by itself. A text is the quote."""
        if field.type == "text":
            return Value(at.start, at.end, " ".join(at.text.split()))
        if finder not in self._values:
            self._values[finder] = list(finder(self.document.text, self._habits))
        shared = [(min(v.end, at.end) - max(v.start, at.start), v) for v in self._values[finder]]
        most = max((length for length, _ in shared), default=0)
        found = next((value for length, value in shared if length == most), None) if most > 0 else None
        return found if found and found.sure else self._alone(finder, at) or found

    def _alone(self, finder: Finder, at: Evidence) -> Value | None:
        """The longest value of a quote that is read by itself, without line ends, where its form is sure."""
        text = " ".join(at.text.split())
        sure = [value for value in finder(text, self._habits) if value.sure]
        if not sure:
            return None
        best = max(sure, key=lambda value: (value.end - value.start, -value.start))
        start, end = engine.locate(at.text, text[best.start : best.end])
        return replace(best, start=at.start + start, end=at.start + end)
