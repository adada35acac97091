"""The steps of a decoder between its products: norms, sums, writes to the KV cache, and logits."""

from typing import NamedTuple

import numpy as np

from engine.kernels.activations import tanh
from engine.kernels.attention.paged_operands import PAGE, KvCache, key_top
from engine.kernels.compiled import kernel
from engine.kernels.places import place
from engine.simd import (
    F32,
    I8,
    LANES,
    Float,
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
    to_i32,
    total,
)  # fmt: skip

_ZERO, _ONE, _TINY = np.float32(0), np.float32(1), np.float32(1e-30)


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
        store_f32(out, to, mul(mul(load_f32(x, to), factor), load_f32(norm.weights, first + i)))


@kernel
def add_scaled(x: F32, t: int, n: int, more: F32, factor: Float) -> None:
    """Row t of x [tokens, n] += row t of `more` * factor."""
    for i in range(0, n, LANES):
        at = place(t, i, n)
        store_f32(x, at, add(load_f32(x, at), mul(load_f32(more, at), splat(factor))))


@kernel
def write_kv(x: F32, key: int, value: int, cache: KvCache, head: int, slot: int, narrow: I8) -> None:
    """Write the key and the value of one head, whose first values are at x[key] and x[value], to a slot of a page of
    the KV cache; `head` counts the heads of all pages. `narrow` is scratch of 64 bytes."""
    step, scale_at = 1 if cache.is_int8 else 2, 2 * PAGE * head + slot
    at, width = head * cache.stride * PAGE * step, PAGE * step
    of_key = _write_scale(x, key, cache, scale_at, narrow)
    of_value = _write_scale(x, value, cache, scale_at + PAGE, narrow)
    cache.scales[scale_at] += cache.scales[scale_at + PAGE] - cache.scales[scale_at + PAGE]  # NaN reaches the scores
    for i in range(0, cache.stride, LANES):
        k, v = load_f32(x, key + i * LANES), load_f32(x, value + i * LANES)
        to = cache.values.ctypes.data + at + (slot * cache.stride + i) * step
        if cache.is_int8:
            store_bytes(narrow.ctypes.data, to_i32(mul(k, splat(of_key))))
            store_bytes(to, to_i32(mul(v, splat(of_value))))
        else:
            store_half(narrow.ctypes.data, k)
            store_half(to, v)
        for j in range(LANES):
            to_key = at + (i + j) * width + slot * step
            for b in range(step):
                cache.keys[to_key + b] = narrow[j * step + b]


@kernel
def _write_scale(x: F32, at: int, cache: KvCache, to: int, narrow: I8) -> Float:
    """Write the scale of a key or a value, as int8 or float16, to cache.scales[to], NaN if it is not finite; returns
    its inverse, or 0."""
    top, peak = np.float32(key_top(cache.stride, cache.is_int8)), no_i32()
    for i in range(0, cache.stride, LANES):
        v = load_f32(x, at + i * LANES)
        if not cache.is_int8:
            store_half(narrow.ctypes.data, v)
            v = load_half(narrow.ctypes.data)
        peak = larger_i32(magnitude_bits(v), peak)
    greatest = of_bits(largest_i32(peak))
    cache.scales[to] = greatest / top + (greatest - greatest)
    return top / greatest if greatest > _TINY else _ZERO


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
                v = mul(v, splat(_ONE / logits.divisor))
            if logits.cap > _ZERO:
                v = mul(tanh(mul(v, splat(_ONE / logits.cap))), splat(logits.cap))
            if i + LANES <= vocab:
                store_f32(out, t * vocab + i, v)
            else:
                store_f32(x, place(t, i, n), v)
                for j in range(vocab - i):
                    out[t * vocab + i + j] = x[place(t, i, n) + j]
