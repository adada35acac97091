"""Summarize: the sentences that say most of a document, each with the passages on which it rests.

On a model that embeds: the sentences nearest to what the whole document says, in its order, without saying a thing
twice. They are chosen one by one: the next is the one with the best score less 0.3 of its likeness to the most similar
sentence chosen already (maximal marginal relevance, Carbonell and Goldstein 1998). The score is the cosine to the mean
of all sentences, plus up to 0.2 for standing early, plus 0.2 for words such as "in this paper" or "in summary", all
divided by 1.4. Headings, rows, addresses and page furniture are not chosen while there are sentences.
pipeline/DECISIONS.md has the measurements.

With a head that was learned from examples (`cloister learn`), the score is the ROUGE-L that the sentence is expected to
have with a summary that a person would write.

On a model that writes: sentences in its own words. The document is given in numbered passages, and the model writes as
it would to a person: JSON around prose makes small models write nothing, or without end. It is then asked on which
passages each of its sentences rests; other numbers cannot be written. What does not fit is summarized in windows, and
the sentences of these are passages for a summary of them, as often as needed; a sentence then rests on all that its
passages rest on. A model that says the same sentences again and again is stopped, and each of them stands once.
Sentences beyond the length that was asked for are left out, from the end; the first one stays however long it is. The
score is how sure the model was of its words.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from math import sqrt
from typing import Annotated, Any, ClassVar, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import engine
from pipeline.document import Evidence, Parsed, Span
from pipeline.errors import DocumentError, Failure
from pipeline.heads.file import HeadFile
from pipeline.tasks.base import EVIDENCE, Answer, Dialogue, Embedder, Line, Task, Window, Writer, Writing
from pipeline.tasks.embedding.learned_sentences import sentences_of
from pipeline.tasks.embedding.passages import passages
from pipeline.tasks.embedding.prose import Candidate, candidates, count_words, everything
from pipeline.tasks.embedding.telling import announces
from pipeline.tasks.settings import Key, SettingsError
from pipeline.tasks.writing import prompts
from pipeline.tasks.writing.answers import Asker, check, parsed, whole
from pipeline.tasks.writing.leaves import sureness
from pipeline.tasks.writing.windows import answer_limit, grouped, room, small_windows
from pipeline.text.sentences import split_sentences

EARLY: Final = 0.2  # what the first sentence gains, and the last does not
ANNOUNCED: Final = 0.2  # what a sentence gains that says that it tells what the text is about
_MOST: Final = 1.0 + EARLY + ANNOUNCED  # by which all is divided, so that scores are at most 1
REDUNDANCY: Final = 0.3 / _MOST  # the weight of likeness to what is chosen already
LEARNED_REDUNDANCY: Final = 0.1  # the same beside learned scores, of which few are above 0.5

PASSAGE: Final = 96  # tokens: a few sentences
LONGEST: Final = 600  # characters of a sentence
MOST: Final = 6_000  # of all of them
RESTS: Final = 6  # passages of a sentence
REPEATS: Final = 3  # of a passage in a row: no summary says a sentence as often
_NUMBER: Final = 4  # tokens beside a sentence that is given
WORDS: Final = 12  # of a short sentence: a summary of 120 words has at most so many sentences

Noted = Generator[Sequence[engine.Request], Sequence[engine.Completion], list["Sentence"]]

Scored = tuple[Candidate, float]
Scorer = Callable[[Parsed, Sequence[Span], NDArray[np.float32]], list[float]]
"""The score of each sentence of a document, by the sentences and their vectors, float32 [n, dim]."""

SENTENCE: Final = pa.struct(
    [
        ("text", pa.string()),
        ("score", pa.float64()),
        ("page", pa.int32()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("passages", pa.list_(EVIDENCE)),
    ]
)


@dataclass(frozen=True)
class SummarizeSettings(Task):
    """The sentences of each document that say most; either `sentences` or `words`."""

    sentences: Annotated[int | None, Key("how many sentences, instead of words", least=1, most=1000)] = None
    words: Annotated[int | None, Key("at most so many words, instead of sentences", least=1, most=100_000)] = None

    purpose: ClassVar[str] = "the sentences that say most, in their order"
    columns: ClassVar[tuple[pa.Field, ...]] = (
        pa.field("summary", pa.string()),
        pa.field("sentences", pa.list_(SENTENCE)),
    )

    def check(self) -> None:
        if (self.sentences is None) == (self.words is None):
            found = "neither 'sentences' nor 'words'" if self.words is None else "both 'sentences' and 'words'"
            at = () if self.words is None else ("words",)
            raise SettingsError(found, "one of the two", "such as sentences: 5", at)

    def in_words(self) -> str:
        said = _counted(self.sentences, "sentence") if self.sentences else _counted(self.words or 0, "word")
        return f"summarize in {said}"

    def on_embedding(self, model: Embedder) -> "_ByChoosing":
        return _ByChoosing(self, model, REDUNDANCY, _scores)

    def check_head(self, head: HeadFile) -> None:
        sentences_of(head)

    def on_head(self, model: Embedder, head: HeadFile) -> "_ByChoosing":
        return _ByChoosing(self, model, LEARNED_REDUNDANCY, sentences_of(head).scores)

    def on_writing(self, model: Writer, writing: Writing) -> "_ByWriting":
        return _ByWriting(self, model, writing)

    @classmethod
    def lines(cls, row: Mapping[str, Any]) -> Iterator[Line]:
        if row.get("summary"):
            yield Line(row["summary"])


class _ByChoosing:
    """The task on a model that embeds."""

    def __init__(self, settings: SummarizeSettings, model: Embedder, redundancy: float, score: Scorer) -> None:
        self._settings, self._model = settings, model
        self._redundancy, self._score = redundancy, score

    def spans(self, document: Parsed) -> list[Span]:
        return passages(document, self._model)

    def answer(self, document: Parsed, spans: Sequence[Span], vectors: NDArray[np.float32]) -> Answer:
        if not spans:
            return Answer({"summary": None, "sentences": []}, abstained=True, reason="no text")
        offered = everything(document.text, spans)
        if not self._fits(len(offered), sum(candidate.words for candidate in offered)):
            offered = candidates(document.text, spans)
        rows = vectors[[candidate.vector for candidate in offered]]
        scores = self._score(document, [candidate.span for candidate in offered], rows)
        scored = list(zip(offered, scores, strict=True))
        chosen = sorted(self._chosen(scored, rows), key=lambda pair: pair[0].span.start)
        places = [document.evidence(candidate.span.start, candidate.span.end) for candidate, _ in chosen]
        sentences = [
            {
                "text": place.text,
                "score": score,
                "page": place.page,
                "start": place.start,
                "end": place.end,
                "passages": [asdict(place)],
            }
            for place, (_, score) in zip(places, chosen, strict=True)
        ]
        summary = " ".join(" ".join(place.text.split()) for place in places)
        return Answer({"summary": summary, "sentences": sentences}, places)

    def _fits(self, sentences: int, words: int) -> bool:
        if self._settings.sentences is not None:
            return sentences <= self._settings.sentences
        return words <= (self._settings.words or 0)

    def _chosen(self, scored: Sequence[Scored], rows: NDArray[np.float32]) -> list[Scored]:
        """Choose as many as fit, the best first, at least one however long; `rows`: all vectors, float32 [n, dim]."""
        chosen: list[Scored] = []
        likest = [0.0] * len(scored)  # of each to those chosen
        words, left = 0, set(range(len(scored)))
        while left:
            best = max(left, key=lambda i: (scored[i][1] - self._redundancy * likest[i], -i))
            left.remove(best)
            if chosen and not self._fits(len(chosen) + 1, words + scored[best][0].words):
                continue
            chosen.append(scored[best])
            words += scored[best][0].words
            left = {i for i in left if self._fits(len(chosen) + 1, words + scored[i][0].words)}
            likest = list(map(max, likest, engine.similarity(rows, rows[best : best + 1])[:, 0].tolist()))
        return chosen


def _scores(document: Parsed, spans: Sequence[Span], rows: NDArray[np.float32]) -> list[float]:
    """The score of each sentence, by the rows, float32 [n, dim]: the cosine to the mean of all, and the gains for
    standing early and for what it announces."""
    texts = [document.text[span.start : span.end] for span in spans]
    total = rows[0].astype(np.float64)
    for row in rows[1:]:  # in their order, element by element: the same bits everywhere
        total += row
    centre = (total / len(rows)).astype(np.float32)[np.newaxis]
    length = sqrt(engine.similarity(centre, centre).item()) or 1.0
    central = engine.similarity(rows, centre)[:, 0].tolist()
    gains = [EARLY * (1 - i / len(rows)) + ANNOUNCED * announces(text) for i, text in enumerate(texts)]
    worth = [(c / length + gain) / _MOST for c, gain in zip(central, gains, strict=True)]
    return [round(max(0.0, min(1.0, one)), 6) for one in worth]


@dataclass(frozen=True)
class Sentence:
    """A sentence, how sure the model was of it, and the spans of the document on which it rests; a passage rests on
    itself. `tokens`: of its line. `again`: the model said it until it was stopped."""

    text: str
    score: float
    rests: tuple[Span, ...]
    tokens: int = 0
    again: bool = False


class _ByWriting:
    """The task on a model that writes."""

    def __init__(self, settings: SummarizeSettings, model: Writer, writing: Writing) -> None:
        self._settings = settings
        self._ask = Asker(model, writing)
        if settings.sentences is not None:
            self._most, self._length = settings.sentences, _counted(settings.sentences, "sentence")
        else:
            self._most = -(-(settings.words or 0) // WORDS)
            self._length = f"at most {_counted(settings.words or 0, 'word')}"
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
        """The windows in which the document was read at first."""
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
            texts = [_numbered(group) for group in given]
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
        """Ask for prose: one line of at most so many characters."""
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
        """Keep as many sentences as fit, at least the first."""
        kept, words = list[Sentence](), 0
        for sentence in said[: self._most]:
            words += count_words(sentence.text)
            if kept and self._settings.words is not None and words > self._settings.words:
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


def _numbered(units: Sequence[Sentence]) -> str:
    return "\n".join(_line(number, unit) for number, unit in enumerate(units, 1))


def _line(number: int, unit: Sentence) -> str:
    return f"[{number}] {' '.join(unit.text.split())}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
