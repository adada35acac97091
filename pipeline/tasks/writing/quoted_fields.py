"""Extract on a model that writes: it quotes the document for each field, and the quotes are read as values."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Protocol

import engine
from pipeline.document import Parsed, Span
from pipeline.tasks.base import Dialogue, Window, Writer, Writing
from pipeline.tasks.elements import Row, answer_of, empty, filled, too_low
from pipeline.tasks.writing import prompts
from pipeline.tasks.writing.answers import Asker
from pipeline.tasks.writing.leaves import escaped
from pipeline.tasks.writing.offers import NAMED, named, offers
from pipeline.tasks.writing.places import place
from pipeline.tasks.writing.quoted import Quoted
from pipeline.tasks.writing.quoting import Offers, Said, Wanted, answer_schema, each_said, longest, not_quoted
from pipeline.tasks.writing.windows import cut, room
from pipeline.text.values import Finder


class Sought(Wanted, Protocol):
    """A field of a job, as far as quotes of it are asked for and chosen."""

    @property
    def description(self) -> str:
        """The meaning of its value in a few words."""

    @property
    def threshold(self) -> float | None:
        """The score below which no value is given; None: any score is enough."""


class QuotedFields:
    """The task on a model that writes; `finders` find values of the type of each field."""

    def __init__(self, fields: Sequence[Sought], finders: Sequence[Finder], model: Writer, writing: Writing) -> None:
        self._fields, self._finders = fields, finders
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
