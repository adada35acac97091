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
from math import sqrt
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.cpu import threads
from engine.kernels import rows
from engine.simd import F32, F64, I32, I64, LANES, Integer, fma, load_f32, splat, store_f32
from engine.simd.compiled import entry
from engine.tiles.dots import FloatTile, float_tile

ROWS, BLOCK = 4, 2 * LANES  # rows and columns of a tile
CHUNK = 1024  # rows of X whose products are summed in float32, before they are added in float64
_tile = float_tile(ROWS, 2)
_ONE = np.float32(1)

F = TypeVar("F", np.float32, np.float64)


class Features(NamedTuple):
    """Examples: X float32 [n, width] and X transposed [width, n], flat, and whether a row is there at all: n is a
    multiple of 4, width too, and what is beyond the examples is 0. `count`: the examples."""

    rows: F32
    columns: F32
    count: Integer
    width: Integer


def features(x: F32) -> Features:
    """Examples [n, d] with a constant 1 behind their values, for the bias."""
    count, d = x.shape
    full = np.zeros((-(-count // ROWS) * ROWS, -(-(d + 1) // ROWS) * ROWS), np.float32)
    full[:count, :d] = x
    full[:count, d] = 1
    return Features(full.reshape(-1), np.ascontiguousarray(full.T).reshape(-1), count, full.shape[1])


def pack(weights: NDArray[F]) -> NDArray[F]:
    """Weights [width, k], k a multiple of BLOCK, as the products read them: [k / BLOCK][width][BLOCK]."""
    width, k = weights.shape
    return np.ascontiguousarray(weights.reshape(width, k // BLOCK, BLOCK).transpose(1, 0, 2)).reshape(-1)


def unpack(packed: NDArray[F], width: int) -> NDArray[F]:
    """The inverse of `pack`."""
    blocks = packed.reshape(-1, width, BLOCK).transpose(1, 0, 2)
    return np.ascontiguousarray(blocks).reshape(width, -1)


@entry
def logits(x: Features, packed: F32, first: int, last: int, out: F32) -> None:
    """Rows first.. to last.., both multiples of 4, of out [n, k] = X @ weights."""
    width = x.width
    k = packed.size // width
    for j in range(0, k, BLOCK):
        at = packed.ctypes.data + 4 * j * width
        for i in range(first, last, ROWS):
            _tile(FloatTile(x.rows.ctypes.data + 4 * i * width, 4 * width, at, 4 * BLOCK, width,
                  out.ctypes.data + 4 * (i * k + j), 4 * k))  # fmt: skip


@entry
def residuals(z: F32, labels: I32, importance: F32, classes: int, first: int, last: int, out: F32) -> None:
    """Rows first.. to last.. of out [k / BLOCK][n][BLOCK] = importance * (softmax(z) - 1 at the label): the gradient of
    the cross-entropy by the logits z [n, k], which become the probabilities; 0 beyond the classes."""
    n = labels.size
    k = z.size // n
    for i in range(first, last):
        rows.softmax(z, i * k, classes, _ONE)
        z[i * k + labels[i]] -= _ONE
        for j in range(classes):
            out[(j // BLOCK) * n * BLOCK + i * BLOCK + j % BLOCK] = importance[i] * z[i * k + j]
        z[i * k + labels[i]] += _ONE


@entry
def gradient(x: Features, residual: F32, begin: int, end: int, first: int, last: int, out: F32) -> None:
    """Rows first.. to last.., multiples of 4, of the packed out [width, k] = X[begin:end]^T @ residual[begin:end]."""
    n, width = x.rows.size // x.width, x.width
    for block in range(residual.size // (n * BLOCK)):
        at = residual.ctypes.data + 4 * BLOCK * (block * n + begin)
        for i in range(first, last, ROWS):
            _tile(FloatTile(x.columns.ctypes.data + 4 * (i * n + begin), 4 * n, at, 4 * BLOCK, end - begin,
                  out.ctypes.data + 4 * BLOCK * (block * width + i), 4 * BLOCK))  # fmt: skip


class Bags(NamedTuple):
    """Examples as bags of words: example i has the words starts[i]:starts[i + 1] of `words`, each the number of a word,
    and how much each of them counts. `size`: how many words there are."""

    starts: I64
    words: I32
    counts: F32
    size: Integer


@entry
def add_words(bags: Bags, weights: F32, k: int, first: int, last: int, out: F32) -> None:
    """Rows first.. to last.. of out [n, k] += the weights [size, k] of an example's words, times their counts, in
    order; k a multiple of 16."""
    for i in range(first, last):
        for at in range(bags.starts[i], bags.starts[i + 1]):
            count, row = splat(bags.counts[at]), bags.words[at] * k
            for j in range(0, k, LANES):
                store_f32(out, i * k + j, fma(count, load_f32(weights, row + j), load_f32(out, i * k + j)))


@entry
def word_gradient(bags: Bags, residual: F32, k: int, out: F32) -> None:
    """out [size, k] = the sum over the examples, in order, of a word's count times the residual, whose layout is that
    of `residuals`."""
    out[:] = 0
    n = residual.size // k
    for i in range(bags.starts.size - 1):
        for at in range(bags.starts[i], bags.starts[i + 1]):
            count, row = splat(bags.counts[at]), bags.words[at] * k
            for j in range(0, k, LANES):
                of = load_f32(residual, (j // BLOCK) * n * BLOCK + i * BLOCK + j % BLOCK)
                store_f32(out, row + j, fma(count, of, load_f32(out, row + j)))


@entry
def dot(a: F64, b: F64) -> float:
    """The dot product, summed in order."""
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


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


def fit_ridge(x: F32, y: F64, penalty: float) -> tuple[F64, float]:
    """The weights [d] and the bias that give y [n] from the vectors x [n, d]. ValueError for shapes that do not fit and
    a penalty that is not positive."""
    if x.ndim != 2 or y.shape != (x.shape[0],) or not x.size or penalty <= 0:
        raise ValueError(f"found {x.shape} vectors, {y.shape} values and the penalty {penalty}")
    n, d = x.shape
    full = np.ones((n, d + 1))
    full[:, :d] = x
    products, aims = np.zeros((d + 1, d + 1)), np.zeros(d + 1)
    _gram(full.reshape(-1), np.ascontiguousarray(y, dtype=np.float64), d + 1, products.reshape(-1), aims)
    for row in range(d + 1):
        products[row, row] += penalty * (_BIAS if row == d else 1.0)
    _solve(products.reshape(-1), aims)
    return aims[:d].copy(), float(aims[d])


@entry
def _gram(x: F64, y: F64, d: Integer, products: F64, aims: F64) -> None:
    """The lower half of products [d, d] += X^T @ X, and aims [d] += X^T @ y, in the order of the examples."""
    for i in range(y.size):
        for a in range(d):
            value = x[i * d + a]
            aims[a] += value * y[i]
            if value != 0.0:
                for b in range(a + 1):
                    products[a * d + b] += value * x[i * d + b]


@entry
def _solve(products: F64, aims: F64) -> None:
    """Solve products @ w = aims, of whose symmetric positive matrix the lower half is there, which becomes its Cholesky
    factor; aims becomes w."""
    d = aims.size
    for i in range(d):
        for j in range(i + 1):
            rest = products[i * d + j]
            for k in range(j):
                rest -= products[i * d + k] * products[j * d + k]
            products[i * d + j] = sqrt(rest) if i == j else rest / products[j * d + j]
    for i in range(d):
        for k in range(i):
            aims[i] -= products[i * d + k] * aims[k]
        aims[i] /= products[i * d + i]
    for i in range(d - 1, -1, -1):
        for k in range(i + 1, d):
            aims[i] -= products[k * d + i] * aims[k]
        aims[i] /= products[i * d + i]
