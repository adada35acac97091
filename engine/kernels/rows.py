"""Steps over rows of activations: tokens' vectors, their length a multiple of 16, in tiles (`place`)."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from engine.kernels.functions import exp, gelu, gelu_tanh, silu, tanh
from engine.simd import (
    F32,
    LANES,
    Float,
    Lanes,
    fma,
    gelu_near,
    larger,
    larger_i32,
    largest,
    largest_i32,
    load_f32,
    magnitude_bits,
    no_i32,
    of_bits,
    splat,
    store_f32,
    total,
)
from engine.simd.compiled import kernel

_ZERO, _ONE, _TINY = np.float32(0), np.float32(1), np.float32(1e-30)


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
        a, b = a + load_f32(x, j), b + load_f32(x, j + LANES)
        c, d = c + load_f32(x, j + 2 * LANES), d + load_f32(x, j + 3 * LANES)
    mean_a, mean_b, mean_c, mean_d = _mean(a, size), _mean(b, size), _mean(c, size), _mean(d, size)
    a = b = c = d = splat(_ZERO)
    for i in range(0, n, LANES):
        j, inside = at + i * LANES, load_f32(norm.inside, i)
        a = a + _square((load_f32(x, j) - mean_a) * inside)
        b = b + _square((load_f32(x, j + LANES) - mean_b) * inside)
        c = c + _square((load_f32(x, j + 2 * LANES) - mean_c) * inside)
        d = d + _square((load_f32(x, j + 3 * LANES) - mean_d) * inside)
    a, b, c, d = _factor(a, norm), _factor(b, norm), _factor(c, norm), _factor(d, norm)
    for i in range(0, n, LANES):
        j, weights, biases = at + i * LANES, load_f32(norm.weights, first + i), load_f32(norm.biases, first + i)
        store_f32(out, j, (load_f32(x, j) - mean_a) * a * weights + biases)
        store_f32(out, j + LANES, (load_f32(x, j + LANES) - mean_b) * b * weights + biases)
        store_f32(out, j + 2 * LANES, (load_f32(x, j + 2 * LANES) - mean_c) * c * weights + biases)
        store_f32(out, j + 3 * LANES, (load_f32(x, j + 3 * LANES) - mean_d) * d * weights + biases)


@kernel
def _mean(lanes: Lanes, size: int) -> Lanes:
    return splat(total(lanes) / np.float32(size))


@kernel
def _square(v: Lanes) -> Lanes:
    return v * v


@kernel
def _factor(lanes: Lanes, norm: LayerNorm) -> Lanes:
    """1 / the spread of a vector, of the squares in these lanes."""
    spread = np.sqrt(total(lanes) / np.float32(norm.values) + norm.epsilon)
    return splat(_ONE / spread + (spread - spread))  # an overflow is NaN, not 0


@kernel
def peak_of(x: F32, at: int, n: int) -> Float:
    """The greatest magnitude of the n places in tiles from x[at] on; NaN or infinity if one is."""
    peak = no_i32()
    for i in range(at, at + n * LANES, TILE):
        peak = larger_i32(magnitude_bits(load_f32(x, i)), peak)
    return of_bits(largest_i32(peak))


@kernel
def scale_of(greatest: Float, top: Float) -> Float:
    """The scale of integers within `top` for values up to `greatest`; NaN if that is not finite."""
    return greatest / top + (greatest - greatest)


@kernel
def inverse_of(greatest: Float, top: Float) -> Float:
    """The factor that takes `greatest` to `top`; 0 for zeros."""
    return top / greatest if greatest > _TINY else _ZERO


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
        store_f32(x, at + i, exp((load_f32(x, at + i) - top) * factor))
    for i in range(n, padded):
        x[at + i] = _ZERO
    for i in range(0, padded, LANES):
        lanes = lanes + load_f32(x, at + i)
    inverse = splat(_ONE / total(lanes))
    for i in range(0, padded, LANES):
        store_f32(x, at + i, load_f32(x, at + i) * inverse)


@kernel
def mean_pool(x: F32, first: int, count: int, n: int, out: F32, to: int) -> None:
    """out[to:to + n] = mean of the rows first.. of x [tokens, n], summed in order."""
    share = splat(np.float32(count))
    for i in range(0, n, LANES):
        lanes = splat(_ZERO)
        for t in range(first, first + count):
            lanes = lanes + load_f32(x, place(t, i, n))
        store_f32(out, to + i, lanes / share)


@kernel
def dot(a: F32, at: int, b: F32, from_: int, n: int) -> Float:
    """The dot product of a[at:at + n] and b[from_:from_ + n]."""
    lanes = splat(_ZERO)
    for i in range(0, n, LANES):
        lanes = lanes + load_f32(a, at + i) * load_f32(b, from_ + i)
    return total(lanes)


@kernel
def normalize(x: F32, at: int, n: int) -> Float:
    """Divide by the Euclidean length; a row of zeros stays one. Returns the length."""
    length = np.sqrt(dot(x, at, x, at, n))
    if length > _ZERO:
        factor = splat(_ONE / length + (length - length))
        for i in range(0, n, LANES):
            store_f32(x, at + i, load_f32(x, at + i) * factor)
    return length


# Activations lie in tiles of 16 tokens by 16 values. What a product writes together then lies together: rows far apart,
# at distances that are often multiples of a page, cost ten times as much as the arithmetic.


TILE = LANES * LANES


@njit(inline="always")
def place(t: int, i: int, n: int) -> int:
    """Where the 16 values from i, a multiple of 16, of token t lie among rows of n values."""
    return ((t >> 4) * (n >> 4) + (i >> 4)) * TILE + (t & 15) * LANES


@njit(inline="always")
def tile_end(t: int, end: int) -> int:
    """Where the rows from t on that lie in one tile end, and `end` at the most."""
    return min(end, (t | 15) + 1)


def gated(function: Callable[[Lanes], Lanes]) -> Any:
    """A kernel glu(gate, up, column, width, first, end, n, out): the rows first..end of out [tokens, n] =
    function(gate) * up, n a multiple of 16. gate and up are [tokens, width]; gate's columns are the first n, up's those
    from `column` on. gate may be out."""

    @kernel
    def glu(gate: F32, up: F32, column: int, width: int, first: int, end: int, n: int, out: F32) -> None:
        while first < end:
            last = tile_end(first, end)
            for i in range(0, n, LANES):
                for t in range(first, last):
                    v = function(load_f32(gate, place(t, i, width)))
                    store_f32(out, place(t, i, n), v * load_f32(up, place(t, column + i, width)))
            first = last

    return glu


swiglu, geglu, geglu_near, geglu_tanh = gated(silu), gated(gelu), gated(gelu_near), gated(gelu_tanh)


class RmsNorm(NamedTuple):
    """Root mean square norms (Zhang and Sennrich 2019) of vectors of `values` values in `places` places, a multiple of
    16, the others 0."""

    weights: F32  # of one vector after another
    values: int
    places: int
    epsilon: Float


class Logits(NamedTuple):
    """Logits are divided by `divisor`, and, unless the cap is 0, become tanh(logit / cap) * cap."""

    divisor: Float
    cap: Float


@kernel
def rms_norm(x: F32, at: int, norm: RmsNorm, first: int, out: F32) -> None:
    """out = x / sqrt(mean(x * x) + epsilon) * weights[first:] of the vector whose first values are at x[at]; x may be
    out."""
    lanes = splat(_ZERO)
    for i in range(0, norm.places, LANES):
        v = load_f32(x, at + i * LANES)
        lanes = fma(v, v, lanes)
    length = np.sqrt(total(lanes) / np.float32(norm.values) + norm.epsilon)
    factor = splat(_ONE / length + (length - length))  # an overflow is NaN, not 0
    for i in range(0, norm.places, LANES):
        to = at + i * LANES
        store_f32(out, to, load_f32(x, to) * factor * load_f32(norm.weights, first + i))


@kernel
def add_scaled(x: F32, t: int, n: int, more: F32, factor: Float) -> None:
    """Row t of x [tokens, n] += row t of `more` * factor."""
    for i in range(0, n, LANES):
        at = place(t, i, n)
        store_f32(x, at, load_f32(x, at) + load_f32(more, at) * factor)


@kernel
def copy_row(x: F32, t: int, n: int, out: F32, to: int) -> None:
    """Row `to` of out [tokens, n] = row t of x."""
    for i in range(0, n, LANES):
        store_f32(out, place(to, i, n), load_f32(x, place(t, i, n)))


@kernel
def write_logits(x: F32, n: int, count: int, first: int, last: int, logits: Logits, out: F32, vocab: int) -> None:
    """The columns first..last of out [count, vocab], rows one after another, = those of x [tokens, n] as `logits` says.
    first is a multiple of 16, and so is last, unless it is `vocab`."""
    for t in range(count):
        for i in range(first, last, LANES):
            v = load_f32(x, place(t, i, n))
            if logits.divisor != _ONE:
                v = v * (_ONE / logits.divisor)
            if logits.cap > _ZERO:
                v = tanh(v * (_ONE / logits.cap)) * logits.cap
            if i + LANES <= vocab:
                store_f32(out, t * vocab + i, v)
            else:
                store_f32(x, place(t, i, n), v)
                for j in range(vocab - i):
                    out[t * vocab + i + j] = x[place(t, i, n) + j]
