"""Matrix products of learning, in float32: each sum in a fixed order, whatever the machine and its threads."""

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.codegen import float_tile
from engine.kernels import rows
from engine.kernels.compiled import entry
from engine.simd import F32, F64, I32, I64, LANES, Integer, fma, load_f32, splat, store_f32

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
            _tile(x.rows.ctypes.data + 4 * i * width, 4 * width, at, 4 * BLOCK, width,
                  out.ctypes.data + 4 * (i * k + j), 4 * k)  # fmt: skip


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
            _tile(x.columns.ctypes.data + 4 * (i * n + begin), 4 * n, at, 4 * BLOCK, end - begin,
                  out.ctypes.data + 4 * BLOCK * (block * width + i), 4 * BLOCK)  # fmt: skip


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
