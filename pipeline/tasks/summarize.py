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

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from typing import Annotated, Any, ClassVar, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import engine
from pipeline.document import Parsed, Span
from pipeline.heads.file import HeadFile
from pipeline.tasks.base import EVIDENCE, Answer, Embedder, Line, Task, Writer, Writing
from pipeline.tasks.embedding.learned_sentences import sentences_of
from pipeline.tasks.embedding.passages import passages
from pipeline.tasks.embedding.prose import Candidate, candidates, everything
from pipeline.tasks.embedding.telling import announces
from pipeline.tasks.settings import Key, SettingsError
from pipeline.tasks.writing.written_summary import WrittenSummary, counted

EARLY: Final = 0.2  # what the first sentence gains, and the last does not
ANNOUNCED: Final = 0.2  # what a sentence gains that says that it tells what the text is about
_MOST: Final = 1.0 + EARLY + ANNOUNCED  # by which all is divided, so that scores are at most 1
REDUNDANCY: Final = 0.3 / _MOST  # the weight of likeness to what is chosen already
LEARNED_REDUNDANCY: Final = 0.1  # the same beside learned scores, of which few are above 0.5

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
        said = counted(self.sentences, "sentence") if self.sentences else counted(self.words or 0, "word")
        return f"summarize in {said}"

    def on_embedding(self, model: Embedder) -> "_ByChoosing":
        return _ByChoosing(self, model, REDUNDANCY, _scores)

    def check_head(self, head: HeadFile) -> None:
        sentences_of(head)

    def on_head(self, model: Embedder, head: HeadFile) -> "_ByChoosing":
        return _ByChoosing(self, model, LEARNED_REDUNDANCY, sentences_of(head).scores)

    def on_writing(self, model: Writer, writing: Writing) -> WrittenSummary:
        return WrittenSummary(self.sentences, self.words, model, writing)

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
