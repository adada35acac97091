"""What is done to one row of activations: a token's vector, contiguous, its length a multiple of 16."""

import numpy as np
from numba import njit

from engine.kernels.functions import exp, gelu
from engine.simd import (
    F32,
    I16,
    LANES,
    Float,
    add,
    div,
    larger,
    largest,
    load_f32,
    magnitude,
    mul,
    nearest,
    splat,
    store_f32,
    store_i16,
    sub,
    to_i16,
    total,
)  # fmt: skip

_ZERO, _ONE, _TOP, _TINY = np.float32(0), np.float32(1), np.float32(32767), np.float32(1e-30)


@njit(nogil=True)
def quantize(x: F32, at: int, out: I16, to: int, n: int) -> Float:
    """out[to:to + n] = x[at:at + n] / scale, rounded; returns the scale, max|x| / 32767 (0 for a row of zeros).

    The scale of a row that is not finite is NaN: what is computed from the row is then NaN too, never an answer.
    """
    peak, wrong = splat(_ZERO), splat(_ZERO)
    for i in range(0, n, LANES):
        v = load_f32(x, at + i)
        peak = larger(magnitude(v), peak)
        wrong = add(wrong, sub(v, v))  # 0 for finite values, else NaN
    top = largest(peak)
    inverse = splat(_TOP / top if top > _TINY else _ZERO)
    for i in range(0, n, LANES):
        store_i16(out, to + i, to_i16(nearest(mul(load_f32(x, at + i), inverse))))
    return top / _TOP + total(wrong)


@njit(nogil=True)
def apply_gelu(x: F32, at: int, n: int) -> None:
    for i in range(0, n, LANES):
        store_f32(x, at + i, gelu(load_f32(x, at + i)))


@njit(nogil=True)
def layer_norm(
    x: F32, at: int, y: F32, from_: int, gain: F32, shift: F32, row: int, inside: F32, size: int, n: int, epsilon: Float
) -> None:
    """x = norm(x + y) * gain + shift over x[at:at + n]; gain and shift are those of `row`.

    Only `size` of the n values belong to the vector: `inside` is 1 there and 0 in the padding, where x, y, gain and
    shift are 0.
    """
    lanes = splat(_ZERO)
    for i in range(0, n, LANES):
        v = add(load_f32(x, at + i), load_f32(y, from_ + i))
        store_f32(x, at + i, v)
        lanes = add(lanes, v)
    mean = splat(total(lanes) / np.float32(size))
    lanes = splat(_ZERO)
    for i in range(0, n, LANES):
        v = mul(sub(load_f32(x, at + i), mean), load_f32(inside, i))
        lanes = add(lanes, mul(v, v))
    spread = np.sqrt(total(lanes) / np.float32(size) + epsilon)
    factor = splat(_ONE / spread + (spread - spread))  # an overflow is NaN, not 0
    for i in range(0, n, LANES):
        v = mul(sub(load_f32(x, at + i), mean), factor)
        store_f32(x, at + i, add(mul(v, load_f32(gain, row + i)), load_f32(shift, row + i)))


@njit(nogil=True)
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


@njit(nogil=True)
def mean_pool(x: F32, at: int, count: int, stride: int, out: F32, to: int, n: int) -> None:
    """out[to:to + n] = mean of `count` rows, summed in order."""
    share = splat(np.float32(count))
    for i in range(0, n, LANES):
        lanes = splat(_ZERO)
        for t in range(count):
            lanes = add(lanes, load_f32(x, at + t * stride + i))
        store_f32(out, to + i, div(lanes, share))


@njit(nogil=True)
def dot(a: F32, at: int, b: F32, from_: int, n: int) -> Float:
    """The dot product of a[at:at + n] and b[from_:from_ + n]."""
    lanes = splat(_ZERO)
    for i in range(0, n, LANES):
        lanes = add(lanes, mul(load_f32(a, at + i), load_f32(b, from_ + i)))
    return total(lanes)


@njit(nogil=True)
def normalize(x: F32, at: int, n: int) -> Float:
    """Divide by the Euclidean length; a row of zeros stays one. Returns the length."""
    length = np.sqrt(dot(x, at, x, at, n))
    if length > _ZERO:
        factor = splat(_ONE / length + (length - length))
        for i in range(0, n, LANES):
            store_f32(x, at + i, mul(load_f32(x, at + i), factor))
    return length
