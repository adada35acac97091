"""The sentences of a document that say most: what is a sentence, how much each says, and which are chosen."""

# ruff: noqa: RUF001  other scripts' punctuation is meant
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

import engine
from pipeline.document import Parsed, Span
from pipeline.tasks.base import Answer
from pipeline.tasks.kinds import Embedder
from pipeline.tasks.passages import passages
from pipeline.text.sentences import split_sentences

EARLY: Final = 0.2  # what the first sentence gains, and the last does not
ANNOUNCED: Final = 0.2  # what a sentence gains that says that it tells what the text is about
_MOST: Final = 1.0 + EARLY + ANNOUNCED  # by which all is divided, so that scores are at most 1
Scored = tuple["Candidate", float]
Scorer = Callable[[Parsed, Sequence[Span], NDArray[np.float32]], list[float]]
"""The score of each sentence of a document, by the sentences and their vectors, float32 [n, dim]."""
Fits = Callable[[int, int], bool]
"""Whether so many sentences, of so many words, are no more than was asked for."""
FEWEST: Final = 4  # words of a sentence that says something
MOST: Final = 80  # words of a sentence that can be read
OFTEN: Final = 3  # times that a line comes, but for its numbers, to be page furniture
_END = re.compile(r"[.!?…。！？｡؟।][\"'”’»«)\]」』]*$")
_ROW = re.compile(r"\t|[ \t]\|[ \t]|\.{4}|_{4}| {8}")
_EAST_ASIAN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_FIGURES = re.compile(r"[\W\d_]+")


@dataclass(frozen=True)
class Candidate:
    """A span that a summary may choose, the index of the vector that stands for it, and its number of words."""

    span: Span
    vector: int
    words: int


def candidates(text: str, passages: Sequence[Span]) -> list[Candidate]:
    """The passages that are sentences; all where none is. A passage of many sentences gives its first good one."""
    small = text.islower()
    often = Counter(_signature(text, span) for span in passages)
    found = []
    for index, passage in enumerate(passages):
        if often[_signature(text, passage)] >= OFTEN:
            continue
        for span in _within(text, passage):
            if is_sentence(text[span.start : span.end], small=small):
                found.append(Candidate(span, index, count_words(text[span.start : span.end])))
                break
    return found or everything(text, passages)


def everything(text: str, passages: Sequence[Span]) -> list[Candidate]:
    """Every passage, whatever it is."""
    return [Candidate(span, i, count_words(text[span.start : span.end])) for i, span in enumerate(passages)]


def is_sentence(text: str, *, small: bool = False) -> bool:
    """4 to 80 words that begin as a sentence does, end with its mark, are mostly letters and no row of a table.

    `small`: in a text without capitals, where sentences begin as anything does."""
    letters = sum(map(str.isalpha, text))
    return (
        FEWEST <= count_words(text) <= MOST
        and (small or not text[0].islower())
        and _END.search(text) is not None
        and _ROW.search(text) is None
        and letters >= 0.6 * sum(not char.isspace() for char in text)
    )


def count_words(text: str) -> int:
    """Words between white space; in Chinese and Japanese, which have none, two characters count as a word."""
    return len(text.split()) + len(_EAST_ASIAN.findall(text)) // 2


def _within(text: str, passage: Span) -> list[Span]:
    """The sentences of a passage that is a window of many, else the passage."""
    if count_words(text[passage.start : passage.end]) <= MOST:
        return [passage]
    return split_sentences(text, passage.start, passage.end)


def _signature(text: str, span: Span) -> str:
    """The letters of a passage: what is the same on every page though page numbers differ."""
    return _FIGURES.sub(" ", text[span.start : span.end])


_WORK = r"(?:paper|work|article|report|study|letter|document|note|thesis|memo|survey|agreement|policy|notice)"
_TELLS = re.compile(
    rf"\b(?:(?:in|with) this {_WORK}|(?:this|the present) {_WORK} (?:\w+ )?(?:\w+s|aims|is about)\b"
    r"|we (?:\w+ly |also |here |then |therefore |first )?(?:propose|present|introduce|show|describe|develop|study|find"
    r"|demonstrate|investigate|report|explore|provide|analy[sz]e|establish|suggest|recommend|conclude)"
    r"|(?:is|are) (?:hereby )?(?:proposed|presented|introduced)|in (?:summary|conclusion|short|brief)"
    r"|to sum(?:marise|marize)? up"
    r"|in diese[mr] (?:arbeit|bericht|artikel|beitrag|studie|schreiben)|diese[rs]? (?:arbeit|bericht|artikel|beitrag"
    r"|studie)"
    r"|wir (?:zeigen|stellen|schlagen|untersuchen|empfehlen)|zusammenfassend|zusammengefasst|insgesamt|kurz gesagt"
    r"|dans (?:cet article|ce rapport|ce document|cette étude)|(?:cet article|ce rapport|cette étude)"
    r"|nous (?:proposons|présentons|montrons|étudions|recommandons)|en résumé|en conclusion|en bref"
    r"|in dit (?:artikel|rapport|onderzoek)|dit (?:artikel|rapport|onderzoek)|samenvattend|kortom"
    r"|en este (?:artículo|informe|trabajo)|en resumen|in questo (?:articolo|rapporto|lavoro)|in sintesi"
    r"|in conclusione)\b",
    re.IGNORECASE,
)


def announces(text: str) -> bool:
    """Whether a sentence says that it tells what the text is about or comes to."""
    return _TELLS.search(text) is not None


class ByChoosing:
    """The task on a model that embeds."""

    def __init__(self, fits: Fits, model: Embedder, redundancy: float, score: Scorer) -> None:
        self._fits, self._model, self._redundancy, self._score = fits, model, redundancy, score

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


def scores(document: Parsed, spans: Sequence[Span], rows: NDArray[np.float32]) -> list[float]:
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
