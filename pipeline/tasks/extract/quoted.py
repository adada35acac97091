"""Extract on a model that writes: it quotes the document for each field, and the quotes are read as values."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import engine
from pipeline.document import Evidence, Parsed, Span
from pipeline.tasks import prompts
from pipeline.tasks.asking import Asker, escaped, leaves, parsed, place, probability, whole
from pipeline.tasks.base import Dialogue, Window
from pipeline.tasks.extract.fields import Field, Row, answer_of, empty, filled, too_low
from pipeline.tasks.kinds import Writer, Writing
from pipeline.tasks.passages import cut, room
from pipeline.text.values import VALUES, Finder, Value, read_habits

NAMED: Final = ("title", "organisation")
"""Types of value that are found by what stands elsewhere in a document, too."""

MOST: Final = 300
"""Values that are offered, at most; of a text with more any passage may be quoted."""


def offers(find: Finder, text: str, longest: int) -> list[str] | None:
    """The values in a text, in order, with one space for each run of white space; also those that go over the end of a
    line. None where there are too many, or one has `longest` characters."""
    joined = " ".join(text.split())
    found = [one[value.start : value.end] for one in (text, joined) for value in find(one, read_habits(one))]
    kept = list(dict.fromkeys(" ".join(value.split()) for value in found))
    return kept if len(kept) <= MOST and all(len(value) < longest for value in kept) else None


def named(document: Parsed, span: Span, find: Finder) -> list[str] | None:
    """The values of a whole document that stand in a part of it, as in `offers`."""
    found = (value for value in find(document.text, read_habits(document.text)) if value.start >= span.start)
    kept = list(dict.fromkeys(" ".join(document.text[v.start : v.end].split()) for v in found if v.end <= span.end))
    return kept if len(kept) <= MOST else None


class Quoted:
    """The values of a document by type, each looked for once, of which a quote may be one."""

    def __init__(self, document: Parsed) -> None:
        self.document = document
        self._habits = read_habits(document.text)
        self._values: dict[Finder, list[Value]] = {}

    def value(self, finder: Finder, at: Evidence) -> Value | None:
        """Choose the value that shares most with a quote, the first of equals; where its form leaves doubts, the value
        that the quote has by itself. A text is the quote; None: there is no such value."""
        if finder is VALUES["text"]:
            return Value(at.start, at.end, " ".join(at.text.split()))
        if finder not in self._values:
            self._values[finder] = list(finder(self.document.text, self._habits))
        shared = [(min(v.end, at.end) - max(v.start, at.start), v) for v in self._values[finder]]
        most = max((length for length, _ in shared), default=0)
        found = next((value for length, value in shared if length == most), None) if most > 0 else None
        if found and found.sure:
            return found
        alone = self._alone(finder, at)
        return (
            found
            if alone and found and (found.start < alone.start < found.end or found.start < alone.end < found.end)
            else alone or found
        )

    def _alone(self, finder: Finder, at: Evidence) -> Value | None:
        """The longest value of a quote that is read by itself, without line ends, where its form is sure."""
        text = " ".join(at.text.split())
        sure = [value for value in finder(text, self._habits) if value.sure]
        if not sure:
            return None
        best = max(sure, key=lambda value: (value.end - value.start, -value.start))
        start, end = engine.locate(at.text, text[best.start : best.end])
        return replace(best, start=at.start + start, end=at.start + end)


LONGEST: Final = {"text": 480}  # characters of a quote
MANY: Final = 16  # values of a field that may have several
_USUAL: Final = 160

Offers = list[str] | None
"""What may be quoted for a field; None: any passage."""


@dataclass(frozen=True)
class Said:
    """A model's word on a field in one window: a quote or none, how probable it was, whether there was a choice."""

    quote: str | None
    score: float
    chosen: bool


def each_said(
    fields: Sequence[Field], completion: engine.Completion, offered: Sequence[Offers]
) -> Iterator[list[Said]]:
    """The model's words on each field; of one that may have several values, one for each."""
    answer = parsed(completion)
    at = {leaf.pointer: leaf for leaf in leaves(completion.text)}
    for field, values in zip(fields, offered, strict=True):
        quotes, pointer = answer[field.name], f"/{escaped(field.name)}"
        several = isinstance(quotes, list)
        said = [(quote, at[f"{pointer}/{n}"]) for n, quote in enumerate(quotes)] if several else []
        yield [
            Said(
                None if quote is None else whole(quote, longest(field)),
                probability(completion, leaf.start, leaf.end),
                values != [],
            )
            for quote, leaf in (said if several else [(quotes, at[pointer])])
        ]


def answer_schema(fields: Sequence[Field], offered: Sequence[Offers]) -> Mapping[str, Any]:
    """The JSON Schema of an answer: every field, in order, each with a quote or null."""
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
    several = {"type": "array", "items": quote, "minItems": 1, "maxItems": MANY}
    return {"anyOf": [several if field.many else quote, null]}


def not_quoted(field: Field, said: Sequence[Said], quoted: Sequence[Evidence]) -> dict[str, Any]:
    """The members of the element of a field without a value: why, and how sure that is."""
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


class QuotedFields:
    """The task on a model that writes."""

    def __init__(self, fields: Sequence[Field], model: Writer, writing: Writing) -> None:
        self._fields, self._finders = fields, [field.known.finder for field in fields]
        self._ask = Asker(model, writing)
        told = [(field.name, field.type, field.description, field.pattern, field.many) for field in fields]
        self._asked = partial(prompts.extract, told)
        self._room = room(model, writing, self._asked)

    def dialogue(self, document: Parsed) -> Dialogue:
        read = cut(document, self._ask.model, self._room)
        texts = [document.text[window.span.start : window.span.end] for window in read]
        offered = [self._offers(document, window.span) for window in read]
        completions = yield [self._request(*each) for each in zip(texts, offered, strict=True)]
        said = [list(each_said(self._fields, *each)) for each in zip(completions, offered, strict=True)]
        reader = Quoted(document)
        every = range(len(self._fields))
        rows = [row for index in every for row in self._rows(index, reader, read, [one[index] for one in said])]
        return answer_of(document, rows, windows=read)

    def _offers(self, document: Parsed, span: Span) -> list[Offers]:
        """The values that may be quoted for each field in a window."""
        text = document.text[span.start : span.end]
        return [
            None
            if field.type == "text"
            else named(document, span, find)
            if field.type in NAMED
            else offers(find, text, longest(field))
            for find, field in zip(self._finders, self._fields, strict=True)
        ]

    def _request(self, text: str, offered: Sequence[Offers]) -> engine.Request:
        free = (field for field, values in zip(self._fields, offered, strict=True) if values is None)
        pointers = (f"/properties/{escaped(field.name)}/anyOf/0{'/items' if field.many else ''}" for field in free)
        return self._ask.of_schema(
            self._asked(text), answer_schema(self._fields, offered), dict.fromkeys(pointers, text)
        )

    def _rows(
        self, index: int, reader: Quoted, read: Sequence[Window], said: Sequence[Sequence[Said]]
    ) -> Iterator[Row]:
        """The elements of the column `fields`: the value with the best score, or each where several may be."""
        field, document = self._fields[index], reader.document
        every = [(one, window) for window, its in zip(read, said, strict=True) for one in its]
        quoted = [(one, at) for one, window in every if one.quote and (at := place(document, window, one.quote))]
        good = [(one, at, value) for one, at in quoted if (value := reader.value(self._finders[index], at))]
        good.sort(key=lambda choice: -choice[0].score)  # of equal scores the first stays first
        best = list({choice[2].value: choice for choice in reversed(good)}.values()) if field.many else good[:1]
        enough = [choice for choice in best if choice[0].score >= (field.threshold or 0.0)]
        for one, _, value in sorted(enough, key=lambda choice: choice[2].start):
            yield filled(field.name, field.type, document, value, one.score)
        if best and not enough:
            one, at, _ = good[0]
            yield empty(field.name, field.type, too_low(at.text, one.score), one.score)
        elif not enough:
            why = not_quoted(field, [one for one, _ in every], [at for _, at in quoted])
            yield empty(field.name, field.type, **why)
