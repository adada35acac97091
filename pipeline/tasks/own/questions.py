"""Extract by a model that was trained to answer questions by a span of a text.

The question of a field is its description, or its name. A document is read in windows beside each question. The answer
is the span with the highest probability in any window, of which a value of the field's type can be read; it is null
where "no answer" is more probable in every window. That is the rule of SQuAD 2; models that were trained on questions
with answers only (SQuAD 1) always answer. The score is the probability of what is answered, within its window: of the
span, or of "no answer".
"""

from collections.abc import Sequence
from typing import Final, Protocol

import engine
from pipeline.document import Parsed, Span
from pipeline.tasks.base import Answer, Headed, TaskRefusedError
from pipeline.tasks.elements import Row, answer_of, empty, filled
from pipeline.tasks.own.windows import windows_of
from pipeline.tasks.writing.quoted import Quoted
from pipeline.text.fitting import TokenCounter
from pipeline.text.values import Finder

TRAINED_TOKENS: Final = 384  # of a question with a window: what such models are trained on
LEAST: Final = 64  # tokens of a window
OVERLAP: Final = 64  # characters before a cut inside a sentence that are read on both sides


class Asked(Protocol):
    """A field as far as it is a question."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def description(self) -> str: ...


def question_of(field: Asked) -> str:
    """The question that a field is: its description, else its name in words."""
    return field.description or field.name.replace("_", " ").replace("-", " ")


class Questions:
    """The task on a model that answers questions. TaskRefusedError where a question leaves no room for a document."""

    def __init__(self, model: Headed, fields: Sequence[Asked], finders: Sequence[Finder]) -> None:
        self._model, self._fields, self._finders = model, fields, finders
        self._questions = [question_of(field) for field in fields]
        most, around = min(model.context, TRAINED_TOKENS), model.count_tokens([""])[0]
        asked = model.count_tokens([(question, "") for question in self._questions])
        self._limit = most - max(asked) + around
        if self._limit - around < min(LEAST, most // 4):
            longest = fields[asked.index(max(asked))].name
            found = f"the question of the field {longest} has {max(asked)} tokens: of {most} that are read together"
            raise TaskRefusedError(f"{found} that leaves no room for a document; shorten its description")

    def spans(self, document: Parsed) -> list[Span]:
        counter: TokenCounter = self._model
        return windows_of(document, counter, self._limit, OVERLAP)

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
        """The element of a field."""
        field, finder, document = self._fields[index], self._finders[index], reader.document
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
