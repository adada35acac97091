"""Steps over rows of activations: tokens' vectors, their length a multiple of 16, in tiles (places.py)."""

from typing import NamedTuple

import numpy as np

from engine.kernels.compiled import kernel
from engine.kernels.functions import exp, gelu
from engine.kernels.places import TILE, place
from engine.simd import (
    F32,
    LANES,
    Float,
    Lanes,
    add,
    div,
    larger,
    largest,
    load_f32,
    mul,
    splat,
    store_f32,
    sub,
    total,
)

_ZERO, _ONE = np.float32(0), np.float32(1)


@kernel
def gelu_rows(x: F32, count: int, n: int) -> None:
    """GELU of x [count, n]."""
    for t in range(count):
        for i in range(0, n, LANES):
            at = place(t, i, n)
            store_f32(x, at, gelu(load_f32(x, at)))


class LayerNorm(NamedTuple):
    """Layer norms (Ba et al. 2016) of vectors of `values` values, padded with zeros."""

    weights: F32  # of one padded vector after another
    biases: F32
    inside: F32  # of one padded vector: 1 for values, 0 for padding
    values: int
    epsilon: Float


@kernel
def layer_norm(x: F32, out: F32, at: int, norm: LayerNorm, first: int) -> None:
    """out = norm(x) * weights[first:] + biases[first:] of the vectors of four tokens, the first of which, a multiple of
    four, begins at x[at]; x may be out. Four at a time, for a sum waits for each of its additions."""
    n, size = norm.inside.size, norm.values
    a = b = c = d = splat(_ZERO)
    for j in range(at, at + n * LANES, TILE):
        a, b = add(a, load_f32(x, j)), add(b, load_f32(x, j + LANES))
        c, d = add(c, load_f32(x, j + 2 * LANES)), add(d, load_f32(x, j + 3 * LANES))
    mean_a, mean_b, mean_c, mean_d = _mean(a, size), _mean(b, size), _mean(c, size), _mean(d, size)
    a = b = c = d = splat(_ZERO)
    for i in range(0, n, LANES):
        j, inside = at + i * LANES, load_f32(norm.inside, i)
        a = add(a, _square(mul(sub(load_f32(x, j), mean_a), inside)))
        b = add(b, _square(mul(sub(load_f32(x, j + LANES), mean_b), inside)))
        c = add(c, _square(mul(sub(load_f32(x, j + 2 * LANES), mean_c), inside)))
        d = add(d, _square(mul(sub(load_f32(x, j + 3 * LANES), mean_d), inside)))
    a, b, c, d = _factor(a, norm), _factor(b, norm), _factor(c, norm), _factor(d, norm)
    for i in range(0, n, LANES):
        j, weights, biases = at + i * LANES, load_f32(norm.weights, first + i), load_f32(norm.biases, first + i)
        store_f32(out, j, add(mul(mul(sub(load_f32(x, j), mean_a), a), weights), biases))
        store_f32(out, j + LANES, add(mul(mul(sub(load_f32(x, j + LANES), mean_b), b), weights), biases))
        store_f32(out, j + 2 * LANES, add(mul(mul(sub(load_f32(x, j + 2 * LANES), mean_c), c), weights), biases))
        store_f32(out, j + 3 * LANES, add(mul(mul(sub(load_f32(x, j + 3 * LANES), mean_d), d), weights), biases))


@kernel
def _mean(lanes: Lanes, size: int) -> Lanes:
    return splat(total(lanes) / np.float32(size))


@kernel
def _square(v: Lanes) -> Lanes:
    return mul(v, v)


@kernel
def _factor(lanes: Lanes, norm: LayerNorm) -> Lanes:
    """1 / the spread of a vector, of the squares in these lanes."""
    spread = np.sqrt(total(lanes) / np.float32(norm.values) + norm.epsilon)
    return splat(_ONE / spread + (spread - spread))  # an overflow is NaN, not 0


@kernel
def line_up(x: F32, first: int, count: int, n: int, out: F32) -> None:
    """Rows first.. of x [tokens, n] one after another, n values each."""
    for t in range(count):
        for i in range(0, n, LANES):
            store_f32(out, t * n + i, load_f32(x, place(first + t, i, n)))


@kernel
def softmax(x: F32, at: int, n: int, scale: Float) -> None:
    """x[at:at + n] = softmax(scale * x); the row has room up to a multiple of 16, which is overwritten."""
    padded = (n + LANES - 1) // LANES * LANES
    for i in range(n, padded):
        x[at + i] = np.float32(-3e38)
    peak = splat(np.float32(-3e38))
    for i in range(0, padded, LANES):
        peak = larger(load_f32(x, at + i), peak)
    top, factor, lanes = splat(largest(peak)), splat(scale), splat(_ZERO)
    for i in range(0, padded, LANES):
        store_f32(x, at + i, exp(mul(sub(load_f32(x, at + i), top), factor)))
    for i in range(n, padded):
        x[at + i] = _ZERO
    for i in range(0, padded, LANES):
        lanes = add(lanes, load_f32(x, at + i))
    inverse = splat(_ONE / total(lanes))
    for i in range(0, padded, LANES):
        store_f32(x, at + i, mul(load_f32(x, at + i), inverse))


@kernel
def mean_pool(x: F32, first: int, count: int, n: int, out: F32, to: int) -> None:
    """out[to:to + n] = mean of the rows first.. of x [tokens, n], summed in order."""
    share = splat(np.float32(count))
    for i in range(0, n, LANES):
        lanes = splat(_ZERO)
        for t in range(first, first + count):
            lanes = add(lanes, load_f32(x, place(t, i, n)))
        store_f32(out, to + i, div(lanes, share))


@kernel
def dot(a: F32, at: int, b: F32, from_: int, n: int) -> Float:
    """The dot product of a[at:at + n] and b[from_:from_ + n]."""
    lanes = splat(_ZERO)
    for i in range(0, n, LANES):
        lanes = add(lanes, mul(load_f32(a, at + i), load_f32(b, from_ + i)))
    return total(lanes)


@kernel
def normalize(x: F32, at: int, n: int) -> Float:
    """Divide by the Euclidean length; a row of zeros stays one. Returns the length."""
    length = np.sqrt(dot(x, at, x, at, n))
    if length > _ZERO:
        factor = splat(_ONE / length + (length - length))
        for i in range(0, n, LANES):
            store_f32(x, at + i, mul(load_f32(x, at + i), factor))
    return length
