"""Summarize: sentences in the model's own words, each with the passages of the document on which it rests.

The document is given in numbered passages, and the answer is JSON that names for each sentence the numbers of its
passages; other numbers cannot be written. What does not fit is summarized in parts, and the sentences of the parts are
passages for a summary of them, as often as needed; a sentence then rests on all that its passages rest on. Sentences
beyond the length that was asked for are left out, from the end; the first one stays however long it is, as in the task
on a model that embeds. The score is how sure the model was of its words.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Final

import engine
from pipeline.document import Evidence, Parsed, Span
from pipeline.errors import DocumentError, Failure
from pipeline.tasks.base import Answer, Dialogue, Part, Writer, Writing
from pipeline.tasks.prose import count_words
from pipeline.tasks.summarize import SummarizeSettings
from pipeline.tasks.writing import prompts
from pipeline.tasks.writing.answers import Asker, parsed, whole
from pipeline.tasks.writing.leaves import leaves, sureness
from pipeline.tasks.writing.parts import grouped, passages, room

PASSAGE: Final = 96  # tokens: a few sentences
LONGEST: Final = 600  # characters of a sentence
RESTS: Final = 6  # passages of a sentence
WORDS: Final = 12  # of a short sentence: a summary of 120 words has at most so many sentences

Noted = Generator[Sequence[engine.Request], Sequence[engine.Completion], list["Sentence"]]


@dataclass(frozen=True)
class Sentence:
    """A sentence, how sure the model was of it, and the spans of the document on which it rests; a passage rests on
    itself. `tokens`: of its line."""

    text: str
    score: float
    rests: tuple[Span, ...]
    tokens: int = 0


class Summarize:
    """The task for one length."""

    def __init__(self, settings: SummarizeSettings, model: Writer, writing: Writing) -> None:
        self._settings = settings
        self._ask = Asker(model, writing)
        if settings.sentences is not None:
            self._most, length = settings.sentences, _counted(settings.sentences, "sentence")
        else:
            self._most = -(-(settings.words or 0) // WORDS)
            length = f"at most {_counted(settings.words or 0, 'word')}"
        self._asked = partial(prompts.summarize, length, self._most)
        self._room = room(model, writing, self._asked)

    def dialogue(self, document: Parsed) -> Dialogue:
        read = passages(document, self._ask.model, PASSAGE)
        if not read:
            return Answer({"summary": None, "sentences": []}, abstained=True, reason="no text")
        units = self._sized(
            [Sentence(document.text[part.span.start : part.span.end], 1.0, (part.span,)) for part in read]
        )
        said, parts = self._kept((yield from self._summary(units))), self._parts(read, units)
        if not said:
            why = "the model wrote no sentence"
            return Answer({"summary": None, "sentences": []}, abstained=True, reason=why, parts=parts)
        rows, evidence = [], list[Evidence]()
        for sentence in said:
            places = [document.evidence(span.start, span.end) for span in sentence.rests]
            evidence += [place for place in places if place not in evidence]
            nowhere = dict.fromkeys(("page", "start", "end"))  # it is not in the document itself
            rests = [asdict(place) for place in places]
            rows.append({"text": sentence.text, "score": sentence.score, **nowhere, "passages": rests})
        summary = " ".join(sentence.text for sentence in said)
        return Answer({"summary": summary, "sentences": rows}, evidence, parts=parts)

    def _parts(self, read: Sequence[Part], units: Sequence[Sentence]) -> list[Part]:
        """What was read at once, at first."""
        groups = grouped([unit.tokens for unit in units], self._room)
        return [
            Part(Span(read[group[0]].span.start, read[group[-1]].span.end), sum(read[i].tokens for i in group))
            for group in groups
        ]

    def _summary(self, units: list[Sentence]) -> Noted:
        """The sentences of a summary of passages, by way of summaries of parts of them where they do not fit."""
        while True:
            groups = grouped([unit.tokens for unit in units], self._room)
            given = [[units[i] for i in group] for group in groups]
            completions = yield [self._request(group) for group in given]
            said = [one for group, each in zip(given, completions, strict=True) for one in _sentences(group, each)]
            if len(groups) == 1 or not said:
                return said
            if len(said) >= len(units):
                raise DocumentError(Failure.UNANSWERED, f"{len(said)} sentences about {len(units)}: it gets no shorter")
            units = self._sized(said)

    def _sized(self, units: Sequence[Sentence]) -> list[Sentence]:
        """With the tokens of their lines, whatever their numbers will be."""
        tokens = self._ask.model.count_tokens([_line(9999, unit) + "\n" for unit in units])
        return [replace(unit, tokens=count) for unit, count in zip(units, tokens, strict=True)]

    def _request(self, units: Sequence[Sentence]) -> engine.Request:
        text = "\n".join(_line(number, unit) for number, unit in enumerate(units, 1))
        return self._ask.of_schema(self._asked(text), schema(self._most, len(units)))

    def _kept(self, said: Sequence[Sentence]) -> list[Sentence]:
        """As many as fit, at least the first."""
        kept, words = list[Sentence](), 0
        for sentence in said[: self._most]:
            words += count_words(sentence.text)
            if kept and self._settings.words is not None and words > self._settings.words:
                break
            kept.append(sentence)
        return kept


def schema(most: int, passages: int) -> Mapping[str, Any]:
    """What a summary of so many passages is."""
    number = {"type": "integer", "minimum": 1, "maximum": passages}
    sentence = {
        "passages": {"type": "array", "items": number, "minItems": 1, "maxItems": RESTS},
        "text": {"type": "string", "minLength": 1, "maxLength": LONGEST},
    }
    items = {"type": "object", "properties": sentence, "required": [*sentence], "additionalProperties": False}
    sentences = {"type": "array", "items": items, "minItems": 1, "maxItems": most}
    return {
        "type": "object",
        "properties": {"sentences": sentences},
        "required": ["sentences"],
        "additionalProperties": False,
    }


def _sentences(units: Sequence[Sentence], completion: engine.Completion) -> list[Sentence]:
    """What was said about the units, whose numbers begin at 1."""
    answer = parsed(completion)["sentences"]
    at = {leaf.pointer: leaf for leaf in leaves(completion.text)}
    found = []
    for index, one in enumerate(answer):
        text, leaf = " ".join(whole(one["text"], LONGEST).split()), at[f"/sentences/{index}/text"]
        rests = {span: None for number in sorted(set(one["passages"])) for span in units[number - 1].rests}
        if text:
            score = sureness(completion, leaf.start + 1, leaf.end)
            found.append(Sentence(text, score, tuple(sorted(rests, key=lambda span: span.start))))
    return found


def _line(number: int, unit: Sentence) -> str:
    return f"[{number}] {' '.join(unit.text.split())}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
