"""Learn a classifier from labelled documents, and tell from documents that it did not see how often it is right.

Two heads are learned, one on vectors and one on words: together they would have one penalty, which is too much for
words or too little for vectors. How much each counts is where the labels of unseen documents are most likely: the
likelihood of softmax(a * x + b * y) is concave in (a, b), so that Newton's method walks to where it is greatest. A step
is as long as the slope along it says, so that no logarithm is needed. All sums are exact or in order, on any machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from math import fsum, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

import engine
from pipeline.tasks.classify.head import Classifier, View, Vocabulary, vocabulary_of
from pipeline.tasks.features import Vectors, middle_and_scale

Slope = tuple[float, float]
STEPS: Final = 30
MOST: Final = 64.0  # of a share
_NEAR: Final = 1e-6  # a step that moves nothing
_RIDGE: Final = 1e-6  # by document: logits that tell nothing have no curvature


def mixture_of(x: Vectors, y: Vectors, labels: NDArray[np.int32]) -> tuple[float, float]:
    """The shares of two heads, from 0 to MOST, by their logits float32 [n, classes] of documents with these labels."""
    here = (1.0, 0.0)
    slope, bend = _slope(x, y, labels, here)
    for _ in range(STEPS):
        # The step to the greatest likelihood, if it was a parabola.
        xx, xy, yy = bend
        of = xx * yy - xy * xy
        way = ((yy * slope[0] - xy * slope[1]) / of, (xx * slope[1] - xy * slope[0]) / of)
        length, up = 1.0, slope[0] * way[0] + slope[1] * way[1]
        while True:
            there = _inside(here[0] + length * way[0]), _inside(here[1] + length * way[1])
            after, curve = _slope(x, y, labels, there)
            if after[0] * way[0] + after[1] * way[1] >= -up / 2 or length < 1e-3:
                break
            length /= 2
        moved = max(abs(there[0] - here[0]), abs(there[1] - here[1]))
        here, slope, bend = there, after, curve
        if moved < _NEAR:
            break
    return here


def _inside(share: float) -> float:
    return min(max(share, 0.0), MOST)


def _slope(
    x: Vectors, y: Vectors, labels: NDArray[np.int32], shares: tuple[float, float]
) -> tuple[Slope, tuple[float, float, float]]:
    """The slope of the logarithm of the likelihood by both shares, and minus its curvature: xx, xy, yy."""
    mixed = np.float32(shares[0]) * x + np.float32(shares[1]) * y
    chances = np.ascontiguousarray(engine.softmax(mixed, 1.0).T).astype(np.float64)
    each = [np.ascontiguousarray(one.T).astype(np.float64) for one in (x, y)]
    means = [_down(chances * one) for one in each]
    rows = np.arange(labels.size)
    slope = [fsum((one[labels, rows] - mean).tolist()) for one, mean in zip(each, means, strict=True)]
    pairs = ((0, 0), (0, 1), (1, 1))
    bend = [fsum((_down(chances * each[i] * each[j]) - means[i] * means[j]).tolist()) for i, j in pairs]
    ridge = _RIDGE * labels.size
    return (slope[0], slope[1]), (bend[0] + ridge, bend[1], bend[2] + ridge)


def _down(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of each column, in order of the rows."""
    total: NDArray[np.float64] = np.add.reduce(values, axis=0)
    return total


PENALTY: Final = 2.0  # of the weights of vectors, by the root of how many examples there are
WORDS_PENALTY: Final = 0.3
FOLDS: Final = 5
FLAT: Final = 2e-5  # a slope, by example, that is none: at 3e-5 folds that begin at the whole still know what it saw
LEAST: Final = 0.02  # of the weight of vectors: words that count for less are left out
_HOTTEST: Final = 64.0
MOST_WEIGHTS: Final = 1_000_000  # of words, for all labels together: beyond, words of the fewest texts are left out


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
    classes, truth = len(labels), examples.labels[examples.names :]
    view = View(*middle_and_scale([examples.means]), None)
    vectors = view.vectors(examples.means)
    vocabulary = vocabulary_of(examples.texts, MOST_WEIGHTS // classes)
    with ThreadPoolExecutor(1) as beside:  # what one does alone, the other fills
        learning = beside.submit(_Learning, examples, classes, vectors, None, PENALTY / sqrt(len(vectors)))
        by_words = _by_words(examples, classes, vocabulary)
        by_vectors = learning.result()
    shares = mixture_of(by_vectors.unseen, by_words.unseen, truth) if by_words else (1.0, 0.0)
    if by_words is None or shares[1] < LEAST * shares[0]:
        alone = 1.0 / temperature_of(by_vectors.unseen, truth)
        classifier = Classifier(tuple(labels), view, by_vectors.whole, 1.0 / alone)
        known = _share_right(by_vectors.unseen, truth)
        return Learned(classifier, engine.softmax(by_vectors.unseen, alone), truth, 0, (known, known))
    mixed = mix(by_vectors.unseen, by_words.unseen, shares)
    head = _mixed(by_vectors.whole, by_words.whole, shares)
    classifier = Classifier(tuple(labels), View(view.centre, view.scale, vocabulary), head, 1.0)
    right = _share_right(by_vectors.unseen, truth), _share_right(mixed, truth)
    return Learned(classifier, engine.softmax(mixed, 1.0), truth, len(vocabulary.words), right)


def _by_words(examples: Examples, classes: int, vocabulary: Vocabulary) -> _Learning | None:
    """Set up learning from words alone; None where the texts share no words."""
    if not vocabulary.words:
        return None
    nothing = np.zeros((len(examples.texts), 1), np.float32)
    return _Learning(examples, classes, nothing, vocabulary.bags(examples.texts), WORDS_PENALTY)


def mix(vectors: Vectors, words: Vectors, shares: tuple[float, float]) -> Vectors:
    """Vectors float32 [n, classes], of vectors and of words, by their shares."""
    return np.float32(shares[0]) * vectors + np.float32(shares[1]) * words


def _mixed(vectors: engine.Logistic, words: engine.Logistic, shares: tuple[float, float]) -> engine.Logistic:
    bias = mix(vectors.bias, words.bias, shares)
    return engine.Logistic(np.float32(shares[0]) * vectors.weights, np.float32(shares[1]) * words.words, bias)


class _Learning:
    """One way to look at the examples: what is learned from them all, and the logits of each document, float32
    [documents, classes], by what was learned from the other folds."""

    def __init__(
        self, examples: Examples, classes: int, vectors: Vectors, words: engine.Bags | None, penalty: float
    ) -> None:
        self._labels, self._classes, self._names = examples.labels, classes, examples.names
        self._vectors, self._words, self._penalty = vectors, words, penalty
        self.whole = self._fit(np.arange(len(self._labels)))
        names, total = self._names, len(self._labels)
        folds = folds_of(self._labels[names:], FOLDS)
        out = np.zeros((total - names, self._classes), np.float32)
        for fold in range(FOLDS):
            held = np.flatnonzero(folds == fold)
            if held.size:
                rest = np.concatenate([np.arange(names), names + np.flatnonzero(folds != fold)])
                head = self._fit(rest, self.whole)
                out[held] = head.logits(self._vectors[names + held], _some(self._words, names + held))
        self.unseen = out

    def _fit(self, rows: NDArray[np.int64], start: engine.Logistic | None = None) -> engine.Logistic:
        labels = np.ascontiguousarray(self._labels[rows])
        words, vectors = _some(self._words, rows), self._vectors[rows]
        return engine.fit_logistic(vectors, labels, self._classes, self._penalty, bags=words, start=start, flat=FLAT)


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


def _some(bags: engine.Bags | None, rows: NDArray[np.int64]) -> engine.Bags | None:
    if bags is None:
        return None
    pieces = [slice(bags.starts[row], bags.starts[row + 1]) for row in rows]
    sizes = [piece.stop - piece.start for piece in pieces]
    picked = np.concatenate([np.arange(piece.start, piece.stop) for piece in pieces]).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return engine.Bags(starts, bags.words[picked], bags.counts[picked], bags.size)


def _share_right(logits: Vectors, labels: NDArray[np.int32]) -> float:
    return int((logits.argmax(1) == labels).sum()) / len(labels)
