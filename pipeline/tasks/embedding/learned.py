"""Classify by a head that was learned from examples."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pipeline.document import Parsed, Span
from pipeline.heads.classifier import Classifier, mean
from pipeline.heads.file import HeadFile
from pipeline.tasks.base import Answer, Embedder, TaskRefusedError
from pipeline.tasks.embedding.accepted import Bar
from pipeline.tasks.embedding.passages import paragraphs
from pipeline.tasks.ranked import EVIDENCE, ranked, surest


def classifier_of(head: HeadFile, labels: Sequence[str]) -> Classifier:
    """The classifier in a head's file. TaskRefusedError if it is none, or knows other labels than these."""
    try:
        found = Classifier.from_file(head)
    except (ValueError, KeyError, TypeError) as error:
        raise TaskRefusedError(f"its head cannot be used: {error}; learn it again with `cloister learn`") from error
    check_labels(found.labels, labels)
    return found


def check_labels(found: Sequence[str], labels: Sequence[str]) -> None:
    """TaskRefusedError unless a head knows these labels in this order."""
    if tuple(found) != tuple(labels):
        others = [*(set(found) ^ set(labels)), "their order"][0]
        raise TaskRefusedError(
            f"its head was learned for other labels ({others}); learn it again with `cloister learn`"
        )


class Learned:
    """The task on a model that embeds, answered by a classifier; an answer whose score is below the bar of its label
    is for review."""

    def __init__(self, classifier: Classifier, model: Embedder, threshold: float, bars: Mapping[str, Bar]) -> None:
        self._classifier, self._model, self._threshold, self._bars = classifier, model, threshold, bars

    def spans(self, document: Parsed) -> list[Span]:
        return paragraphs(document, self._model)

    def answer(self, document: Parsed, spans: Sequence[Span], vectors: NDArray[np.float32]) -> Answer:
        if not spans:
            return Answer({"label": None, "score": None, "scores": []}, abstained=True, reason="no text")
        labels = self._classifier.labels
        shares = self._classifier.probabilities(mean(vectors)[None], [document.text])[0].tolist()
        found = ranked(labels, shares, self._threshold)
        return Answer(
            columns=found.columns,
            evidence=[document.evidence(spans[i].start, spans[i].end) for i in self._telling(vectors, found.best)],
            abstained=found.reason is not None,
            reason=found.reason,
            review=None if found.reason else self._review(labels[found.best], found.score),
        )

    def _review(self, label: str, score: float) -> str | None:
        """Why a person should look at an answer; None if it is accepted."""
        bar = self._bars.get(label)
        if bar is None or score >= bar.score:
            return None
        return f"{label} scored {score:.3f}; at most {bar.risk:.2%} are wrong from {bar.score:.3f} on"

    def _telling(self, vectors: NDArray[np.float32], label: int) -> list[int]:
        """The passages that speak most for a label, in the order of the text."""
        view, logistic = self._classifier.view, self._classifier.logistic
        said = logistic.logits(view.vectors(vectors))[:, label].tolist()
        return sorted(surest(said)[:EVIDENCE])
