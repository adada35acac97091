"""Summarize on a model that writes: sentences in its own words, each with the passages on which it rests."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Final

import engine
from pipeline.document import Evidence, Parsed, Span
from pipeline.errors import DocumentError, Failure
from pipeline.tasks import prompts
from pipeline.tasks.asking import Asker, check, parsed, sureness, whole
from pipeline.tasks.base import Answer, Dialogue, Window
from pipeline.tasks.kinds import Writer, Writing
from pipeline.tasks.passages import answer_limit, grouped, room, small_windows
from pipeline.tasks.summarize.answers import count_words
from pipeline.text.sentences import split_sentences

PASSAGE: Final = 96  # tokens: a few sentences
LONGEST: Final = 600  # characters of a sentence
MOST: Final = 6_000  # of all of them
RESTS: Final = 6  # passages of a sentence
REPEATS: Final = 3  # of a passage in a row: no summary says a sentence as often
_NUMBER: Final = 4  # tokens beside a sentence that is given
WORDS: Final = 12  # of a short sentence: a summary of 120 words has at most so many sentences

Noted = Generator[Sequence[engine.Request], Sequence[engine.Completion], list["Sentence"]]


@dataclass(frozen=True)
class Sentence:
    """A sentence, how sure the model was of it, and the spans of the document on which it rests; a passage rests on
    itself. `tokens`: of its line. `again`: the model said it until it was stopped."""

    text: str
    score: float
    rests: tuple[Span, ...]
    tokens: int = 0
    again: bool = False


class WrittenSummary:
    """The task on a model that writes, for a summary of so many sentences, or else of at most so many words."""

    def __init__(self, sentences: int | None, words: int | None, model: Writer, writing: Writing) -> None:
        self._words = words
        self._ask = Asker(model, writing)
        if sentences is not None:
            self._most, self._length = sentences, counted(sentences, "sentence")
        else:
            self._most = -(-(words or 0) // WORDS)
            self._length = f"at most {counted(words or 0, 'word')}"
        self._longest = min(LONGEST * self._most, MOST)
        # Beside the text the second question holds what was answered to the first.
        more = answer_limit(model, writing) + _NUMBER * self._most
        self._room = room(model, writing, partial(prompts.rests, self._length, []), more)

    def dialogue(self, document: Parsed) -> Dialogue:
        read = small_windows(document, self._ask.model, PASSAGE)
        if not read:
            return Answer({"summary": None, "sentences": []}, abstained=True, reason="no text")
        units = self._sized(
            [Sentence(document.text[window.span.start : window.span.end], 1.0, (window.span,)) for window in read]
        )
        said, windows = self._kept((yield from self._summary(units))), self._windows(read, units)
        if not said:
            why = "the model wrote no sentence"
            return Answer({"summary": None, "sentences": []}, abstained=True, reason=why, windows=windows)
        rows, evidence = [], list[Evidence]()
        for sentence in said:
            places = [document.evidence(span.start, span.end) for span in sentence.rests]
            evidence += [place for place in places if place not in evidence]
            nowhere = dict.fromkeys(("page", "start", "end"))  # it is not in the document itself
            rests = [asdict(place) for place in places]
            rows.append({"text": sentence.text, "score": sentence.score, **nowhere, "passages": rests})
        summary = " ".join(sentence.text for sentence in said)
        reason = "the model said the same again and again; it stands here once" if any(s.again for s in said) else None
        return Answer({"summary": summary, "sentences": rows}, evidence, reason=reason, windows=windows)

    def _windows(self, read: Sequence[Window], units: Sequence[Sentence]) -> list[Window]:
        groups = grouped([unit.tokens for unit in units], self._room)
        return [
            Window(Span(read[group[0]].span.start, read[group[-1]].span.end), sum(read[i].tokens for i in group))
            for group in groups
        ]

    def _summary(self, units: list[Sentence]) -> Noted:
        """The sentences of a summary of passages, by way of summaries of windows of them where they do not fit."""
        while True:
            groups = grouped([unit.tokens for unit in units], self._room)
            given = [[units[i] for i in group] for group in groups]
            texts = ["\n".join(_line(number, unit) for number, unit in enumerate(group, 1)) for group in given]
            completions = yield [self._request(text) for text in texts]
            found = [self._sentences(each) for each in completions]
            asked = [self._places(*each) for each in zip(texts, found, given, strict=True) if each[1]]
            answers = iter((yield asked) if asked else ())
            said = [
                one
                for group, each in zip(given, found, strict=True)
                if each
                for one in _resting(each, group, parsed(next(answers)))
            ]
            if len(groups) == 1 or not said:
                return said
            if len(said) >= len(units):
                raise DocumentError(Failure.UNANSWERED, f"{len(said)} sentences about {len(units)}: it gets no shorter")
            units = self._sized(said)

    def _sized(self, units: Sequence[Sentence]) -> list[Sentence]:
        """The sentences with the tokens of their lines, whatever their numbers will be."""
        tokens = self._ask.model.count_tokens([_line(9999, unit) + "\n" for unit in units])
        return [replace(unit, tokens=count) for unit, count in zip(units, tokens, strict=True)]

    def _request(self, text: str) -> engine.Request:
        messages = prompts.summarize(self._length, text)
        return self._ask.of_pattern(messages, f"[^\\n]{{1,{self._longest}}}", repeats=REPEATS)

    def _places(self, text: str, said: Sequence[Sentence], units: Sequence[Sentence]) -> engine.Request:
        messages = prompts.rests(self._length, [sentence.text for sentence in said], text)
        return self._ask.of_schema(messages, _schema(len(said), len(units)))

    def _sentences(self, completion: engine.Completion) -> list[Sentence]:
        """The first sentences of what was said, as many as may be kept."""
        text = completion.text
        spans, again = _once(text) if completion.finish == "repeated" else (split_sentences(text), [])
        if not again:
            check(completion)
            whole(text, self._longest)
        found = []
        for span in spans[: self._most]:
            said = " ".join(whole(text[span.start : span.end], LONGEST).split())
            found.append(Sentence(said, sureness(completion, span.start, span.end), (), again=said in again))
        return found

    def _kept(self, said: Sequence[Sentence]) -> list[Sentence]:
        kept, words = list[Sentence](), 0
        for sentence in said[: self._most]:
            words += count_words(sentence.text)
            if kept and self._words is not None and words > self._words:
                break
            kept.append(sentence)
        return kept


def _once(text: str) -> tuple[list[Span], list[str]]:
    """Split a text that was stopped because it repeats itself: the sentences until the first that was said before, and
    those that are repeated, none unless it repeats whole sentences alone: then nothing that it said is left out."""
    spans = split_sentences(text)
    said = [" ".join(text[span.start : span.end].split()) for span in spans]
    first = next((i for i, sentence in enumerate(said) if sentence in said[:i]), len(said))
    kept, again = said[:first], said[first:-1]
    known = all(sentence in kept for sentence in again) and any(each.startswith(said[-1]) for each in kept)
    return spans[:first], again if known else []


def _schema(sentences: int, passages: int) -> Mapping[str, Any]:
    """The JSON Schema of the answer on which of so many passages each of so many sentences rests."""
    number = {"type": "integer", "minimum": 1, "maximum": passages}
    numbers = {"type": "array", "items": number, "minItems": 1, "maxItems": RESTS}
    names = [str(number) for number in range(1, sentences + 1)]
    return {
        "type": "object",
        "properties": dict.fromkeys(names, numbers),
        "required": names,
        "additionalProperties": False,
    }


def _resting(said: Sequence[Sentence], units: Sequence[Sentence], answer: Mapping[str, Any]) -> Iterator[Sentence]:
    """The sentences with all that the units rest on, whose numbers begin at 1, that the answer has for each."""
    for name, sentence in enumerate(said, 1):
        rests = {span: None for number in sorted(set(answer[str(name)])) for span in units[number - 1].rests}
        yield replace(sentence, rests=tuple(sorted(rests, key=lambda span: span.start)))


def _line(number: int, unit: Sentence) -> str:
    return f"[{number}] {' '.join(unit.text.split())}"


def counted(number: int, what: str) -> str:
    """The number with its noun, such as 1 sentence or 5 sentences."""
    return f"{number} {what}{'s' * (number != 1)}"
