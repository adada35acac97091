"""The KV cache; and queries, and a page's keys and values, as integers in the order in which they are multiplied.

Numbers of 16 bits are multiplied two at a time: i and i + 16 of each 32 lie side by side.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from engine.kernels.rows import inverse_of, peak_of, scale_of
from engine.simd import (
    F32,
    I8,
    LANES,
    Float,
    Lanes,
    fetch,
    if_larger,
    larger_i32,
    largest_i32,
    load_bytes,
    load_f32,
    load_half,
    magnitude_bits,
    no_i32,
    of_bits,
    splat,
    store_bytes,
    store_f32,
    store_half,
    store_pairs,
    to_i32,
)
from engine.simd.compiled import kernel

PAGE = 2 * LANES
"""Tokens of a page."""
_SUM, _WIDE, _BYTE = 2**31 - 1, 2**15 - 1, 127
_ONE, _TINY = np.float32(1), np.float32(1e-30)


class KvCache(NamedTuple):
    """Keys and values in pages of PAGE tokens, flat: keys [heads][stride][PAGE], values [heads][PAGE][stride] as int8
    or float16, and scales [heads][keys, values][PAGE]. `heads` are those of all pages of all layers."""

    keys: I8
    values: I8
    scales: F32
    is_int8: bool
    stride: int  # places of a head, a multiple of 32


class PageOperand(NamedTuple):
    """The keys or the values of one page and head, and where they go as a right operand."""

    data: int  # address of the numbers
    ahead: int  # bytes from there to the next page's numbers, which are fetched meanwhile
    scales: F32
    scale: int  # scales[scale:]: the scale of each token
    to: int  # address of the operand


@njit(inline="always")
def key_top(stride: int, is_int8: bool) -> int:
    """The greatest number that a key or a value of `stride` places becomes: of int8, else what leaves the sum of a
    key's products with a query of the same numbers in int32."""
    return _BYTE if is_int8 else int(np.sqrt(np.float64(_SUM // stride)))


@njit(inline="always")
def top_beside(top: int, count: int) -> int:
    """The greatest number that may be multiplied with numbers within `top`, for sums of `count` products."""
    return min(_WIDE, _SUM // (count * top))


@kernel
def quantize_query(x: F32, at: int, stride: int, top: int, to: int) -> Float:
    """The query whose first values are at x[at] as integers within `top`, at an address; their scale, NaN if a value is
    not finite."""
    greatest, most = peak_of(x, at, stride), np.float32(top)
    inverse = splat(inverse_of(greatest, most))
    for i in range(0, stride, PAGE):
        low, high = load_f32(x, at + i * LANES), load_f32(x, at + (i + LANES) * LANES)
        store_pairs(to + 2 * i, to_i32(low * inverse), to_i32(high * inverse))
    return scale_of(greatest, most)


@kernel
def pack_keys(keys: PageOperand, stride: int, is_int8: bool) -> None:
    """A page's keys [stride, PAGE] as right operands [PAGE / 16][stride / 2][16][2], whose columns are tokens. Pages
    may be anywhere, and the CPU cannot know where: the next one is asked for."""
    row, to = PAGE if is_int8 else 2 * PAGE, keys.to
    for half in range(2):
        inverse = _inverse(load_f32(keys.scales, keys.scale + half * LANES))
        for i in range(stride // 2):
            low = keys.data + (i + i // LANES * LANES) * row + half * (row // 2)
            if half == 0:
                fetch(low + keys.ahead)
                fetch(low + LANES * row + keys.ahead)
            store_pairs(to, _quants(low, inverse, is_int8), _quants(low + LANES * row, inverse, is_int8))
            to += 4 * LANES


@kernel
def pack_values(values: PageOperand, stride: int, is_int8: bool, inverses: F32) -> None:
    """A page's values [PAGE, stride] as right operands [stride / 16][PAGE / 2][16][2], whose columns are places of a
    head. inverses: room for PAGE numbers."""
    size = 1 if is_int8 else 2
    for half in range(0, PAGE, LANES):
        store_f32(inverses, half, _inverse(load_f32(values.scales, values.scale + half)))
    for i in range(LANES):
        left, right = splat(inverses[i]), splat(inverses[LANES + i])
        for c in range(0, stride, LANES):
            low, high = values.data + (i * stride + c) * size, values.data + ((i + LANES) * stride + c) * size
            fetch(low + values.ahead)
            fetch(high + values.ahead)
            to = values.to + (c // LANES * LANES + i) * 4 * LANES
            store_pairs(to, _quants(low, left, is_int8), _quants(high, right, is_int8))


@njit(inline="always")
def _inverse(scales: Lanes) -> Lanes:
    """1 / scales, and 0 for scales of 0."""
    return if_larger(scales, splat(_TINY), _ONE / scales)


@njit(inline="always")
def _quants(at: int, inverse: Lanes, is_int8: bool) -> Lanes:
    """Sixteen integers: those of int8, or float16 times the inverse of their scale, rounded."""
    if is_int8:
        return load_bytes(at)
    return to_i32(load_half(at) * inverse)


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
            store_bytes(narrow.ctypes.data, to_i32(k * of_key))
            store_bytes(to, to_i32(v * of_value))
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
    cache.scales[to] = scale_of(greatest, top)
    return inverse_of(greatest, top)
