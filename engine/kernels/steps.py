"""What a decoder does with rows between its products: norms, turning, gates, and keys and values put into pages."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from engine.kernels.activations import silu, tanh
from engine.kernels.attention.paged_operands import PAGE, key_top
from engine.kernels.compiled import kernel
from engine.kernels.places import place, tile_end
from engine.simd import (
    F32,
    I8,
    LANES,
    Float,
    Lanes,
    add,
    fma,
    larger_i32,
    largest_i32,
    load_f32,
    load_half,
    magnitude_bits,
    mul,
    no_i32,
    of_bits,
    splat,
    store_bytes,
    store_f32,
    store_half,
    sub,
    to_i32,
    total,
)  # fmt: skip

_ZERO, _HALF, _ONE = np.float32(0), np.float32(0.5), np.float32(1)
_TINY, _CUBE, _ROOT = np.float32(1e-30), np.float32(0.044715), np.float32(0.7978845608028654)


@kernel
def rms_norm(
    x: F32, t: int, column: int, n: int, size: int, places: int, gains: F32, gain: int, epsilon: Float, out: F32
) -> None:
    """`places` columns of row t of out [tokens, n] = those of x / sqrt(mean of their squares + epsilon) * gains; `size`
    of them have values, the others are 0. x may be out."""
    lanes = splat(_ZERO)
    for i in range(0, places, LANES):
        v = load_f32(x, place(t, column + i, n))
        lanes = fma(v, v, lanes)
    length = np.sqrt(total(lanes) / np.float32(size) + epsilon)
    factor = splat(_ONE / length + (length - length))  # an overflow is NaN, not 0
    for i in range(0, places, LANES):
        at = place(t, column + i, n)
        store_f32(out, at, mul(mul(load_f32(x, at), factor), load_f32(gains, gain + i)))


@kernel
def add_scaled(x: F32, t: int, n: int, more: F32, factor: Float) -> None:
    """Row t of x [tokens, n] += that of `more` * factor."""
    for i in range(0, n, LANES):
        at = place(t, i, n)
        store_f32(x, at, add(load_f32(x, at), mul(load_f32(more, at), splat(factor))))


@kernel
def turn_row(x: F32, t: int, n: int, column: int, heads: int, half: int, angles: F32, row: int, factor: Float) -> None:
    """Turn heads of row t of x [tokens, n] in place, 2 * half places each from `column` on, by the cosines and sines
    from angles[row:] on; and multiply them by `factor`."""
    for head in range(heads):
        for i in range(0, half, LANES):
            a, b = place(t, column + 2 * half * head + i, n), place(t, column + 2 * half * head + half + i, n)
            left, right = load_f32(x, a), load_f32(x, b)
            cosine, sine = load_f32(angles, row + i), load_f32(angles, row + half + i)
            store_f32(x, a, mul(sub(mul(left, cosine), mul(right, sine)), splat(factor)))
            store_f32(x, b, mul(add(mul(right, cosine), mul(left, sine)), splat(factor)))


@kernel
def keep(
    x: F32, t: int, n: int, key: int, value: int, part: int, pages: tuple[I8, I8, F32, bool], index: int, slot: int,
    narrow: I8,
) -> None:  # fmt: skip
    """The key and the value of a head, `part` columns of row t of x [tokens, n] each, go to a slot of part `index` of
    the pages; `narrow` is scratch of 64 bytes."""
    keys, values, scales, whole = pages
    step, top, scale_at = 1 if whole else 2, np.float32(key_top(part, whole)), 2 * PAGE * index + slot
    at, width = index * part * PAGE * step, PAGE * step
    of_keys = _scale(x, t, n, key, part, top, whole, scales, scale_at, narrow)
    of_values = _scale(x, t, n, value, part, top, whole, scales, scale_at + PAGE, narrow)
    scales[scale_at] += scales[scale_at + PAGE] - scales[scale_at + PAGE]  # scores tell what is not finite
    for i in range(0, part, LANES):
        k, v = load_f32(x, place(t, key + i, n)), load_f32(x, place(t, value + i, n))
        to = values.ctypes.data + at + (slot * part + i) * step
        if whole:
            store_bytes(narrow.ctypes.data, to_i32(mul(k, splat(of_keys))))
            store_bytes(to, to_i32(mul(v, splat(of_values))))
        else:
            store_half(narrow.ctypes.data, k)
            store_half(to, v)
        for j in range(LANES):
            to_key = at + (i + j) * width + slot * step
            for b in range(step):
                keys[to_key + b] = narrow[j * step + b]


@kernel
def _scale(
    x: F32, t: int, n: int, column: int, part: int, top: Float, whole: bool, scales: F32, at: int, narrow: I8
) -> Float:
    """scales[at] becomes that of whole numbers within `top` for the columns, as float16 if they are not `whole`, NaN of
    what is not finite; the result is its inverse, or 0."""
    peak = no_i32()
    for i in range(0, part, LANES):
        v = load_f32(x, place(t, column + i, n))
        if not whole:
            store_half(narrow.ctypes.data, v)
            v = load_half(narrow.ctypes.data)
        peak = larger_i32(magnitude_bits(v), peak)
    greatest = of_bits(largest_i32(peak))
    scales[at] = greatest / top + (greatest - greatest)
    return top / greatest if greatest > _TINY else _ZERO


@njit(inline="always")
def gelu_tanh(x: Lanes) -> Lanes:
    """x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))."""
    inner = mul(splat(_ROOT), fma(mul(mul(x, x), splat(_CUBE)), x, x))
    return mul(mul(splat(_HALF), x), add(splat(_ONE), tanh(inner)))


def _gate(function: Callable[[Lanes], Lanes]) -> Any:
    @kernel
    def gate(x: F32, first: int, end: int, n: int, factors: F32) -> None:
        while first < end:
            last = tile_end(first, end)
            for i in range(0, n, LANES):
                for t in range(first, last):
                    at = place(t, i, n)
                    store_f32(x, at, mul(function(load_f32(x, at)), load_f32(factors, at)))
            first = last

    return gate


silu_gate, gelu_gate = _gate(silu), _gate(gelu_tanh)
"""gate(x, first, end, n, factors): rows first..end of x [tokens, n] = function(them) * those of `factors`."""


@kernel
def copy_row(x: F32, t: int, n: int, out: F32, to: int) -> None:
    """Row `to` of out [tokens, n] = row t of x."""
    for i in range(0, n, LANES):
        store_f32(out, place(to, i, n), load_f32(x, place(t, i, n)))


@kernel
def spell_out(
    x: F32, first: int, last: int, count: int, n: int, divisor: Float, cap: Float, out: F32, width: int
) -> None:
    """The columns first..last, a multiple of 16 but for the end, of out [count, width], rows one after another = those
    of x [tokens, n] / divisor, with a cap tanh(them / cap) * cap."""
    for t in range(count):
        for i in range(first, last, LANES):
            v = load_f32(x, place(t, i, n))
            if divisor != _ONE:
                v = mul(v, splat(_ONE / divisor))
            if cap > _ZERO:
                v = mul(tanh(mul(v, splat(_ONE / cap))), splat(cap))
            if i + LANES <= width:
                store_f32(out, t * width + i, v)
            else:
                store_f32(x, place(t, i, n), v)
                for j in range(width - i):
                    out[t * width + i + j] = x[place(t, i, n) + j]
