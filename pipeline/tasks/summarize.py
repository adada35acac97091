"""Summarize: the sentences nearest to what the whole document says, in its order, without saying a thing twice.

Sentences are chosen one by one: the next is the one with the best score less 0.3 of its likeness to the most similar
sentence chosen already (maximal marginal relevance, Carbonell and Goldstein 1998). The score is the cosine to the mean
of all sentences, plus up to 0.1 for standing early. Headings, rows, addresses and page furniture are not chosen while
there are sentences. pipeline/DECISIONS.md has the measurements.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import engine
from pipeline.document import Parsed, Span
from pipeline.tasks.base import Answer, Embedder
from pipeline.tasks.columns import EVIDENCE
from pipeline.tasks.embedding.passages import passages
from pipeline.tasks.embedding.prose import Candidate, candidates, everything

EARLY: Final = 0.1  # what the first sentence gains, and the last does not
REDUNDANCY: Final = 0.3  # the weight of likeness to what is chosen already

Scored = tuple[Candidate, float]


@dataclass(frozen=True)
class SummarizeSettings:
    """The length of a summary: in sentences or in words, and not in both."""

    sentences: int | None = None
    words: int | None = None

    def __post_init__(self) -> None:
        if (self.sentences is None) == (self.words is None):
            raise ValueError("summarize needs either sentences or words")
        length = self.words if self.sentences is None else self.sentences
        if length is None or length < 1:
            raise ValueError(f"the length of a summary is {length}; it is at least 1")


COLUMNS: Final = (
    pa.field("summary", pa.string()),
    pa.field(
        "sentences",
        pa.list_(
            pa.struct(
                [
                    ("text", pa.string()),
                    ("score", pa.float64()),
                    ("page", pa.int32()),
                    ("start", pa.int64()),
                    ("end", pa.int64()),
                    ("passages", pa.list_(EVIDENCE)),
                ]
            )
        ),
    ),
)


class Summarize:
    """The task for one length."""

    def __init__(self, settings: SummarizeSettings, model: Embedder) -> None:
        self._settings = settings
        self._model = model

    def spans(self, document: Parsed) -> list[Span]:
        return passages(document, self._model)

    def answer(self, document: Parsed, spans: Sequence[Span], vectors: NDArray[np.float32]) -> Answer:
        if not spans:
            return Answer({"summary": None, "sentences": []}, abstained=True, reason="no text")
        offered = everything(document.text, spans)
        if not self._fits(len(offered), sum(candidate.words for candidate in offered)):
            offered = candidates(document.text, spans)
        rows = vectors[[candidate.vector for candidate in offered]]
        scored = list(zip(offered, _scores(rows), strict=True))
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
        """As many as fit, at least one however long it is, the best first; `rows` are all vectors, float32 [n, dim]."""
        chosen: list[Scored] = []
        likest = [0.0] * len(scored)  # of each to those chosen
        words, left = 0, set(range(len(scored)))
        while left:
            best = max(left, key=lambda i: (scored[i][1] - REDUNDANCY * likest[i], -i))
            left.remove(best)
            if chosen and not self._fits(len(chosen) + 1, words + scored[best][0].words):
                continue
            chosen.append(scored[best])
            words += scored[best][0].words
            left = {i for i in left if self._fits(len(chosen) + 1, words + scored[i][0].words)}
            likest = list(map(max, likest, engine.similarity(rows, rows[best : best + 1])[:, 0].tolist()))
        return chosen


def _scores(rows: NDArray[np.float32]) -> list[float]:
    """Of each row, float32 [n, dim]: the cosine to the mean of all of them, and what it gains for standing early."""
    total = rows[0].astype(np.float64)
    for row in rows[1:]:  # in their order, element by element: the same bits everywhere
        total += row
    centre = (total / len(rows)).astype(np.float32)[np.newaxis]
    length = sqrt(engine.similarity(centre, centre).item()) or 1.0
    central = engine.similarity(rows, centre)[:, 0].tolist()
    early = [EARLY * (1 - index / len(rows)) for index in range(len(rows))]
    return [round(max(0.0, min(1.0, c / length + e)), 6) for c, e in zip(central, early, strict=True)]
