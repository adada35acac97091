"""Classify: the label whose description and examples are nearest in meaning to what a document says.

A passage is as like a label as it is to the nearest of the label's texts: its name with description, and each example.
A document is as like a label as the mean of two: the most similar of its first four passages, where titles stand, and
the mean of the three most similar anywhere. Scores are a softmax over the labels and a likeness of 0.25 that stands for
"none of them"; pipeline/DECISIONS.md has the measurements behind these numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import engine
from pipeline.document import Parsed, Span
from pipeline.tasks.base import Answer, Embedder
from pipeline.tasks.embedding.meanings import Meanings, called
from pipeline.tasks.embedding.passages import passages

FIRST: Final = 4  # passages among which a title is looked for
BEST: Final = 3  # passages that speak for a label
SCALE: Final = 20.0  # of likenesses in the softmax: what sentence encoders are trained with
NONE_OF_THEM: Final = 0.25  # the likeness to no label


@dataclass(frozen=True)
class Label:
    """A class of documents: its name, what it is, and texts that are examples of it."""

    name: str
    description: str = ""
    examples: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """What the label means, each text to be embedded by itself."""
        return (called(self.name, self.description), *self.examples)


@dataclass(frozen=True)
class ClassifySettings:
    """At least two labels, no name twice; a document whose best score is below `threshold` gets no label. `calibrate`,
    for models that write: each label's probability is divided by its share for an empty document."""

    labels: tuple[Label, ...]
    threshold: float = 0.3
    calibrate: bool = False

    def __post_init__(self) -> None:
        names = [label.name for label in self.labels]
        if len(names) < 2 or len(set(names)) < len(names):
            raise ValueError("labels: at least two, and no name twice")
        if not 0 <= self.threshold <= 1:
            raise ValueError(f"threshold is {self.threshold}; it lies between 0 and 1")


COLUMNS: Final = (
    pa.field("label", pa.string()),
    pa.field("score", pa.float64()),
    pa.field("scores", pa.list_(pa.struct([("label", pa.string()), ("score", pa.float64())]))),
)


class Classify:
    """The task for one list of labels; the vectors of their texts are made once."""

    def __init__(self, settings: ClassifySettings, model: Embedder) -> None:
        self._settings = settings
        self._model = model
        self._meanings = Meanings([label.texts for label in settings.labels], model)

    def spans(self, document: Parsed) -> list[Span]:
        return passages(document, self._model)

    def answer(self, document: Parsed, spans: Sequence[Span], vectors: NDArray[np.float32]) -> Answer:
        if not spans:
            return Answer({"label": None, "score": None, "scores": []}, abstained=True, reason="no text")
        likenesses = self._meanings.likenesses(vectors)
        scores = _scores([_likeness(passages) for passages in likenesses])
        ranked = sorted(range(len(scores)), key=lambda index: (-scores[index], index))
        best, score = ranked[0], scores[ranked[0]]
        name, threshold = self._settings.labels[best].name, self._settings.threshold
        abstained = score < threshold
        return Answer(
            columns={
                "label": None if abstained else name,
                "score": score,
                "scores": [{"label": self._settings.labels[i].name, "score": scores[i]} for i in ranked],
            },
            evidence=[document.evidence(spans[i].start, spans[i].end) for i in _speakers(likenesses[best])],
            abstained=abstained,
            reason=f"the best label, {name}, scored {score:.3f}, less than {threshold:g}" if abstained else None,
        )


def _likeness(passages: Sequence[float]) -> float:
    """A document's likeness to a label from those of its passages, in their order."""
    top = sorted(passages, reverse=True)[:BEST]
    return (max(passages[:FIRST]) + fsum(top) / len(top)) / 2  # sum() rounds differently since Python 3.12


def _speakers(passages: Sequence[float]) -> list[int]:
    """The passages from which the likeness came, the most similar first."""
    order = sorted(range(len(passages)), key=lambda index: (-passages[index], index))
    title = min(range(min(FIRST, len(passages))), key=lambda index: (-passages[index], index))
    return [index for index in order if index in {*order[:BEST], title}]


def _scores(likenesses: Sequence[float]) -> list[float]:
    """One score a label, from 0 to 1; with the one of "none of them" they sum to 1."""
    row = np.array([[*likenesses, NONE_OF_THEM]], dtype=np.float32)
    return [round(score, 6) for score in engine.softmax(row, SCALE)[0].tolist()[:-1]]
