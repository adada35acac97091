"""Classify by a model that was trained to classify texts: its own labels.

A document is read in windows of whole sentences, of as many tokens as such models are trained on. Its logits are the
mean of those of its windows, each weighted by its tokens, and its scores are what the model makes of logits: a softmax,
or a sigmoid for each label where the model's labels do not exclude one another. A document that fits one window has the
scores that the model gives its text. The evidence is the windows whose own score for the label is highest.
"""

from collections.abc import Sequence
from math import fsum
from typing import Final

import numpy as np
from numpy.typing import NDArray

import engine
from pipeline.document import Parsed, Span
from pipeline.tasks.base import Answer, Headed, TaskRefusedError
from pipeline.tasks.own.windows import windows_of
from pipeline.tasks.ranked import EVIDENCE, ranked, surest

TRAINED_TOKENS: Final = 512  # what classifiers are trained on, however large their context is

Said = tuple[int, NDArray[np.float32]]
"""The tokens of a window, and its logits, float32 [labels]."""


def check_own_labels(head: "engine.Head") -> None:
    """TaskRefusedError unless a head chooses among labels."""
    if head.scores == "none":
        raise TaskRefusedError("its head computes numbers (cloister.head.scores: none), not scores of labels")
    if len(head.labels) < 2:
        raise TaskRefusedError(f"its head has {len(head.labels)} label, expected at least 2: it ranks texts")
    twice = [label for index, label in enumerate(head.labels) if label in head.labels[:index]]
    if twice:
        raise TaskRefusedError(f"its head has the label {twice[0]!r:.80} twice")


class OwnLabels:
    """The task on a model that classifies texts."""

    def __init__(self, model: Headed, threshold: float) -> None:
        self._model, self._threshold = model, threshold

    def spans(self, document: Parsed) -> list[Span]:
        return windows_of(document, self._model, min(self._model.context, TRAINED_TOKENS))

    def read(self, texts: Sequence[str]) -> list[Said]:
        return list(zip(self._model.count_tokens(texts), self._model.logits(texts), strict=True))

    def answer(self, document: Parsed, spans: Sequence[Span], said: Sequence[Said]) -> Answer:
        if not spans:
            return Answer({"label": None, "score": None, "scores": []}, abstained=True, reason="no text")
        labels = self._model.labels
        found = ranked(labels, self._model.scores(together(said))[0].tolist(), self._threshold)
        return Answer(
            columns=found.columns,
            evidence=[document.evidence(spans[i].start, spans[i].end) for i in self._telling(said, found.best)],
            abstained=found.reason is not None,
            reason=found.reason,
        )

    def _telling(self, said: Sequence[Said], label: int) -> list[int]:
        """The windows that speak most for a label, in the order of the text."""
        each = self._model.scores(np.stack([logits for _, logits in said]))[:, label].tolist()
        return sorted(surest(each)[:EVIDENCE])


def together(said: Sequence[Said]) -> NDArray[np.float32]:
    """float32 [1, labels]: the mean of the logits, by tokens. Products of a float32 and a count are exact in Python's
    floats, so the mean of one window is its logits."""
    total = sum(tokens for tokens, _ in said)
    weighted = ([tokens * logit for logit in logits.tolist()] for tokens, logits in said)
    return np.array([[fsum(column) / total for column in zip(*weighted, strict=True)]], np.float32)
