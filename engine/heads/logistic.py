"""Multinomial logistic regression: which of several classes, with a probability for each, from a vector.

Its weights are those at which

    sum over i of -log softmax(x[i] @ weights + bias)[label[i]]  +  penalty / 2 * |weights|^2

is least (the bias is held by a hundredth of the penalty). The sum is convex, so there is one such place, and L-BFGS
(Nocedal and Wright 2006, algorithm 7.4) walks there. A step is as long as the slope along it says, so that no logarithm
is needed, which has not the same bits everywhere. Products are float32 in a fixed order (`products.py`), all else is
float64 and sums in order: the same examples give the same weights, whatever the machine and its threads.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from engine.cpu import threads
from engine.heads.products import (
    BLOCK,
    CHUNK,
    ROWS,
    Bags,
    add_words,
    dot,
    features,
    gradient,
    logits,
    pack,
    residuals,
    unpack,
    word_gradient,
)
from engine.simd import F32, F64, I32

MOST_STEPS: Final = 300
MEMORY: Final = 12  # steps of which L-BFGS knows the curvature
FLAT: Final = 2e-6  # a greatest slope, by the sum of importance, at which the walk has come to its end
_STEEP: Final = 0.5  # of the slope before a step: what may be left, upwards, after it
_BIAS: Final = 0.01


@dataclass(frozen=True)
class Logistic:
    """A learned classifier: weights float32 [d, classes], those of words [words, classes], and bias [classes]."""

    weights: F32
    words: F32
    bias: F32

    def logits(self, x: F32, bags: Bags | None = None) -> F32:
        """float32 [n, classes] of vectors [n, d] and their words; each row by itself. Its softmax is the probability of
        each class."""
        given, (d, classes) = features(x), self.weights.shape
        columns = -(-classes // BLOCK) * BLOCK
        full = np.zeros((given.width, columns), np.float32)
        full[:d, :classes], full[d, :classes] = self.weights, self.bias
        out = np.zeros((given.rows.size // given.width, columns), np.float32)
        logits(given, pack(full), 0, out.shape[0], out.reshape(-1))
        if bags is not None and bags.size:
            words = np.zeros((bags.size, columns), np.float32)
            words[:, :classes] = self.words
            add_words(bags, words.reshape(-1), columns, 0, x.shape[0], out.reshape(-1))
        return np.ascontiguousarray(out[: x.shape[0], :classes])


def fit_logistic(
    x: F32,
    labels: I32,
    classes: int,
    penalty: float,
    *,
    bags: Bags | None = None,
    start: Logistic | None = None,
    flat: float = FLAT,
) -> Logistic:
    """Learn from vectors x [n, d] and, if there are any, their `bags` of words, with their labels from 0 to
    classes - 1. `start`: where the walk begins, which saves time; `flat`: the greatest slope, by example, at
    which it ends. ValueError for shapes that do not fit, labels out of range, and a penalty that is not positive."""
    if x.ndim != 2 or labels.shape != (x.shape[0],) or not x.size or penalty <= 0:
        raise ValueError(f"found {x.shape} vectors, {labels.shape} labels and the penalty {penalty}")
    if labels.min() < 0 or labels.max() >= classes:
        raise ValueError(f"found labels from {labels.min()} to {labels.max()}, expected 0 to {classes - 1}")
    with ThreadPoolExecutor(threads()) as pool:
        slope = _Slope(x, labels, bags or _NO_WORDS, classes, penalty, pool)
        here = np.zeros(slope.size) if start is None else slope.packed(start)
        return slope.unpacked(_walk(slope, here, flat * x.shape[0]))


_NO_WORDS = Bags(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32), 0)


class _Slope:
    """The gradient of the sum above by the weights, which are one float64 vector [size]: those of the vectors and the
    bias, packed, then those of the words."""

    def __init__(self, x: F32, labels: I32, bags: Bags, classes: int, penalty: float, pool: ThreadPoolExecutor) -> None:
        self._x, self._bags, self._shape, self._pool = features(x), bags, (x.shape[1], classes), pool
        self._n, self._width = self._x.rows.size // self._x.width, self._x.width
        more = self._n - x.shape[0]  # rows that only fill a tile count for nothing
        self._labels = np.concatenate([labels, np.zeros(more, np.int32)])
        self._importance = np.concatenate([np.ones(x.shape[0], np.float32), np.zeros(more, np.float32)])
        self._columns = -(-classes // BLOCK) * BLOCK
        self._dense = self._width * self._columns
        self.size = self._dense + bags.size * self._columns
        held = np.full((self._width, self._columns), float(penalty))
        held[x.shape[1]] *= _BIAS
        self._held = np.concatenate([pack(held), np.full(self.size - self._dense, penalty)])
        self._z = np.zeros(self._n * self._columns, np.float32)
        self._residual = np.zeros(self._n * self._columns, np.float32)

    def packed(self, head: Logistic) -> F64:
        """A head as the vector."""
        d, classes = self._shape
        full = np.zeros((self._width, self._columns))
        full[:d, :classes], full[d, :classes] = head.weights, head.bias
        words = np.zeros((self._bags.size, self._columns))
        words[:, :classes] = head.words
        return np.concatenate([pack(full), words.reshape(-1)])

    def unpacked(self, here: F64) -> Logistic:
        """The vector as a head."""
        d, classes = self._shape
        found = unpack(here[: self._dense].astype(np.float32), self._width)
        words = here[self._dense :].astype(np.float32).reshape(self._bags.size, self._columns)
        return Logistic(
            *(np.ascontiguousarray(part) for part in (found[:d, :classes], words[:, :classes], found[d, :classes]))
        )

    def __call__(self, here: F64) -> F64:
        weights = here.astype(np.float32)
        self._each(self._n, partial(self._forward, weights))
        out, part = np.zeros(self.size), np.zeros(self._dense, np.float32)
        for begin in range(0, self._n, CHUNK):
            work = partial(gradient, self._x, self._residual, begin, min(begin + CHUNK, self._n))
            self._each(self._width, partial(work, out=part))
            out[: self._dense] += part
        if self._bags.size:
            words = np.zeros(self.size - self._dense, np.float32)
            word_gradient(self._bags, self._residual, self._columns, words)
            out[self._dense :] = words
        return out + self._held * here

    def _forward(self, weights: F32, first: int, last: int) -> None:
        logits(self._x, weights[: self._dense], first, last, self._z)
        if self._bags.size:
            rows = min(last, self._bags.starts.size - 1)
            add_words(self._bags, weights[self._dense :], self._columns, first, rows, self._z)
        residuals(self._z, self._labels, self._importance, self._shape[1], first, last, self._residual)

    def _each(self, rows: int, work: Callable[[int, int], Any]) -> None:
        """Do the work for all rows, a multiple of ROWS, in as many pieces as there are threads."""
        step = max(-(-rows // (threads() * ROWS)) * ROWS, 16 * ROWS)
        pieces = [(first, min(first + step, rows)) for first in range(0, rows, step)]
        if len(pieces) == 1:
            work(*pieces[0])
        else:
            list(self._pool.map(lambda piece: work(*piece), pieces))


def _walk(slope: Callable[[F64], F64], here: F64, flat: float) -> F64:
    """The place where the slope is at most `flat` in every direction, or after MOST_STEPS steps."""
    steps: list[tuple[F64, F64, float]] = []  # each step, how the slope changed by it, and 1 / their product
    steep = slope(here)
    for _ in range(MOST_STEPS):
        if float(np.abs(steep).max()) <= flat:
            break
        way = _direction(steep, steps)
        down = dot(way, steep)
        length = 1.0 if steps else 1.0 / max(float(np.abs(steep).max()), 1.0)
        new, after = _step(slope, here, way, length, -_STEEP * down)
        change = after - steep
        if (curve := dot(new - here, change)) <= 0:
            break
        steps = [*steps[-MEMORY + 1 :], (new - here, change, 1.0 / curve)]
        here, steep = new, after
    return here


def _step(slope: Callable[[F64], F64], here: F64, way: F64, length: float, most: float) -> tuple[F64, F64]:
    """The place after a step, and the slope there; a step half as long while it leads up again by more than `most`."""
    while True:
        new = here + length * way
        after = slope(new)
        if dot(way, after) <= most or length < 1e-9:
            return new, after
        length /= 2


def _direction(steep: F64, steps: Sequence[tuple[F64, F64, float]]) -> F64:
    """Minus the inverse of the curvature, as far as the steps tell it, times the slope: the two loops of L-BFGS."""
    way, shares = -steep, []
    for step, change, inverse in reversed(steps):
        share = inverse * dot(step, way)
        way = way - share * change
        shares.append(share)
    if steps:
        step, change, inverse = steps[-1]
        way = way * (1.0 / (inverse * dot(change, change)))
    for (step, change, inverse), share in zip(steps, reversed(shares), strict=True):
        way = way + (share - inverse * dot(change, way)) * step
    return way
