"""Steps over rows of activations: tokens' vectors, their length a multiple of 16, in tiles (places.py)."""

from typing import NamedTuple

import numpy as np

from engine.codegen import CHUNK, ROW_TOP
from engine.kernels.compiled import kernel
from engine.kernels.functions import exp, gelu
from engine.kernels.matmul.linear import OPERANDS
from engine.kernels.places import TILE, place
from engine.simd import (
    F32,
    I8,
    LANES,
    Float,
    add,
    div,
    fma,
    larger,
    larger_i32,
    largest,
    largest_i32,
    load_f32,
    magnitude_bits,
    mul,
    no_i32,
    of_bits,
    splat,
    store_f32,
    sub,
    to_i32,
    total,
)

_ZERO, _ONE, _TOP, _TINY = np.float32(0), np.float32(1), np.float32(ROW_TOP), np.float32(1e-30)
_STORE_ROW = OPERANDS.store_row
_GROUP, _ROW, _STEP, _CHUNK = OPERANDS.wide


@kernel
def quantize(x: F32, first: int, count: int, n: int, out: I8, scales: F32) -> None:
    """Rows first.. of x [tokens, n], first a multiple of 16 and n of CHUNK, as a left operand.

    Integers within ROW_TOP, and their scales, both from 0.

    The scale of a row is max|x| / ROW_TOP, 0 for a row of zeros. That of a row that is not finite is NaN: what is
    computed from the row is then NaN too, never an answer.
    """
    steps = n // CHUNK
    for r in range(count):
        at = place(first + r, 0, n)
        peak = no_i32()
        for i in range(0, n, LANES):
            peak = larger_i32(magnitude_bits(load_f32(x, at + i * LANES)), peak)
        top = of_bits(largest_i32(peak))
        scales[r] = top / _TOP + (top - top)
        inverse = splat(_TOP / top if top > _TINY else _ZERO)
        to = out.ctypes.data + (r // _GROUP) * (_GROUP * _ROW * steps) + (r % _GROUP) * _STEP
        for q in range(steps):
            i = at + q * CHUNK * LANES
            _STORE_ROW(
                to + q * _CHUNK,
                to_i32(mul(load_f32(x, i), inverse)), to_i32(mul(load_f32(x, i + TILE), inverse)),
                to_i32(mul(load_f32(x, i + 2 * TILE), inverse)), to_i32(mul(load_f32(x, i + 3 * TILE), inverse)),
            )  # fmt: skip


@kernel
def bound(x: F32, first: int, count: int, n: int, norm: Float, most: Float, scales: F32, inverses: F32) -> None:
    """Scales, and their inverses, for what a matrix will make of rows first.. of x [tokens, n], before it does: none is
    greater than the row's Euclidean length times `norm`, that of the matrix's longest row, + `most` (Cauchy-Schwarz).
    NaN for a row that is not finite."""
    for r in range(count):
        at, lanes = place(first + r, 0, n), splat(_ZERO)
        for i in range(0, n, LANES):
            v = load_f32(x, at + i * LANES)
            lanes = fma(v, v, lanes)
        top = np.sqrt(total(lanes)) * norm + most
        scales[r] = top / _TOP + (top - top)
        inverses[r] = _TOP / top if top > _TINY else _ZERO


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
    """out = norm(x) * weights[first:] + biases[first:] of the vector whose first values are at x[at]; x may be out."""
    n, size = norm.inside.size, norm.values
    lanes = splat(_ZERO)
    for i in range(0, n, LANES):
        lanes = add(lanes, load_f32(x, at + i * LANES))
    mean = splat(total(lanes) / np.float32(size))
    lanes = splat(_ZERO)
    for i in range(0, n, LANES):
        v = mul(sub(load_f32(x, at + i * LANES), mean), load_f32(norm.inside, i))
        lanes = add(lanes, mul(v, v))
    spread = np.sqrt(total(lanes) / np.float32(size) + norm.epsilon)
    factor = splat(_ONE / spread + (spread - spread))  # an overflow is NaN, not 0
    for i in range(0, n, LANES):
        v = mul(sub(load_f32(x, at + i * LANES), mean), factor)
        store_f32(out, at + i * LANES, add(mul(v, load_f32(norm.weights, first + i)), load_f32(norm.biases, first + i)))


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
