"""Learn a classifier from labelled documents, and tell from documents that it did not see how often it is right."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from math import fsum, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

import engine
from pipeline.heads.classifier import Classifier, Vectors, View
from pipeline.heads.words import vocabulary_of

PENALTY: Final = 0.1
FOLDS: Final = 5
GAIN: Final = 0.005  # of the documents that must be right more often for words to be looked at too
SAMPLE: Final = 2000  # documents on which it is tried whether words help
_HOTTEST: Final = 64.0


@dataclass(frozen=True)
class Examples:
    """Documents to learn from: the means of their vectors float32 [n, d], their texts, and their labels int32 [n].

    The first `names` of them are no documents but the texts that describe the labels: they are learned from, and
    nothing is measured on them.
    """

    means: Vectors
    texts: Sequence[str]
    labels: NDArray[np.int32]
    names: int


@dataclass(frozen=True)
class Learned:
    """A classifier, and what it said of each document while it did not know it: probabilities float32 [n, labels] of
    the documents after the names, and which label they have. `words`: how many are known, 0 where they did not help;
    `right`: the share of documents that were right by vectors alone, and with words."""

    classifier: Classifier
    unseen: Vectors
    labels: NDArray[np.int32]
    words: int
    right: tuple[float, float]


def learn(examples: Examples, labels: Sequence[str]) -> Learned:
    """Learn to tell the labels; documents must not be there twice, and each label must have two of them."""
    view, classes = _view(examples), len(labels)
    right, words = _words_tried(_first_of_each(examples, SAMPLE), classes, view)
    vocabulary = vocabulary_of(examples.texts) if words else None
    learning = _Learning(examples, classes, View(*view, vocabulary))
    logits, truth = learning.unseen(), examples.labels[examples.names :]
    temperature = temperature_of(logits, truth)
    classifier = Classifier(tuple(labels), learning.view, learning.whole(), temperature)
    known = len(vocabulary.words) if vocabulary else 0
    return Learned(classifier, engine.softmax(logits, 1.0 / temperature), truth, known, right)


def _words_tried(examples: Examples, classes: int, view: tuple[Vectors, float]) -> tuple[tuple[float, float], bool]:
    """The share of documents that are right by vectors alone, and with words; and whether words help enough."""
    views = View(*view, None), View(*view, vocabulary_of(examples.texts))
    truth = examples.labels[examples.names :]
    plain, wordy = (_share_right(_Learning(examples, classes, each).unseen(), truth) for each in views)
    return (plain, wordy), wordy >= plain + GAIN


def _first_of_each(examples: Examples, most: int) -> Examples:
    """At most so many documents, those of all labels in turn, and the names."""
    labels, names = examples.labels[examples.names :], examples.names
    if len(labels) <= most:
        return examples
    turns = folds_of(labels, len(labels))
    rows = np.sort(np.argsort(turns, kind="stable")[:most]) + names
    rows = np.concatenate([np.arange(names), rows])
    return Examples(examples.means[rows], [examples.texts[row] for row in rows], examples.labels[rows], names)


class _Learning:
    """One way to look at the examples."""

    def __init__(self, examples: Examples, classes: int, view: View) -> None:
        self.view = view
        self._examples, self._classes = examples, classes
        self._vectors, self._words = view.vectors(examples.means), view.words(examples.texts)
        self._whole: engine.Logistic | None = None

    def whole(self) -> engine.Logistic:
        """Learn from all examples."""
        if self._whole is None:
            self._whole = self._fit(np.arange(len(self._examples.labels)))
        return self._whole

    def unseen(self) -> Vectors:
        """float32 [documents, classes]: the logits of each document by what was learned from the other folds."""
        names, total = self._examples.names, len(self._examples.labels)
        folds = folds_of(self._examples.labels[names:], FOLDS)
        out = np.zeros((total - names, self._classes), np.float32)
        for fold in range(FOLDS):
            held = np.flatnonzero(folds == fold)
            if held.size:
                rest = np.concatenate([np.arange(names), names + np.flatnonzero(folds != fold)])
                head = self._fit(rest, self.whole())
                out[held] = head.logits(self._vectors[names + held], _some(self._words, names + held))
        return out

    def _fit(self, rows: NDArray[np.int64], start: engine.Logistic | None = None) -> engine.Logistic:
        labels = np.ascontiguousarray(self._examples.labels[rows])
        words = _some(self._words, rows)
        return engine.fit_logistic(self._vectors[rows], labels, self._classes, PENALTY, bags=words, start=start)


def folds_of(labels: NDArray[np.int32], folds: int) -> NDArray[np.int64]:
    """The fold of each document: those of one label go round all folds, so that each has as many as can be."""
    turns = [count(label) for label in range(int(labels.max(initial=-1)) + 1)]
    return np.array([next(turns[label]) % folds for label in labels], np.int64)


def temperature_of(logits: Vectors, labels: NDArray[np.int32]) -> float:
    """The temperature, within 1/64 and 64, at which the labels are most likely: where the mean logit by the
    probabilities is that of the labels, found by halving."""
    aim = fsum(logits[np.arange(len(labels)), labels].tolist())
    low, high = 1.0 / _HOTTEST, _HOTTEST  # of its inverse
    for _ in range(40):
        middle = sqrt(low * high)
        shares = engine.softmax(logits, middle).astype(np.float64) * logits
        mean = fsum(np.add.reduce(shares, axis=0).tolist())  # each column in order of the rows
        low, high = (middle, high) if mean < aim else (low, middle)
    return 1.0 / sqrt(low * high)


def _view(examples: Examples) -> tuple[Vectors, float]:
    """The middle of all examples, and what makes their mean distance from it 1."""
    total = np.zeros(examples.means.shape[1])
    for row in examples.means:
        total += row
    centre = (total / len(examples.means)).astype(np.float32)
    distances = [sqrt(fsum(value * value for value in row)) for row in (examples.means - centre).tolist()]
    return centre, len(distances) / (fsum(distances) or 1.0)


def _some(bags: engine.Bags | None, rows: NDArray[np.int64]) -> engine.Bags | None:
    """The words of these rows."""
    if bags is None:
        return None
    pieces = [slice(bags.starts[row], bags.starts[row + 1]) for row in rows]
    sizes = [piece.stop - piece.start for piece in pieces]
    picked = np.concatenate([np.arange(piece.start, piece.stop) for piece in pieces]).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return engine.Bags(starts, bags.words[picked], bags.counts[picked], bags.size)


def _share_right(logits: Vectors, labels: NDArray[np.int32]) -> float:
    return int((logits.argmax(1) == labels).sum()) / len(labels)
