"""A head's queries, and its keys and values of a page, as whole numbers in the order in which they are multiplied.

Numbers of 16 bits are multiplied two at a time: i and i + 16 of each 32 lie side by side.
"""

import numpy as np
from numba import njit

from engine.kernels.compiled import kernel
from engine.kernels.places import place
from engine.simd import (
    F32,
    LANES,
    Lanes,
    div,
    fetch,
    if_larger,
    larger_i32,
    largest_i32,
    load_bytes,
    load_f32,
    load_half,
    magnitude_bits,
    mul,
    no_i32,
    of_bits,
    splat,
    store_f32,
    store_pairs,
    to_i32,
)  # fmt: skip

PAGE = 2 * LANES
"""Tokens of a page."""
_SUM, _WIDE, _BYTE = 2**31 - 1, 2**15 - 1, 127
_ZERO, _ONE, _TINY = np.float32(0), np.float32(1), np.float32(1e-30)


@njit(inline="always")
def key_top(part: int, whole: bool) -> int:
    """The greatest number that a key or a value of `part` places becomes: of int8, else what leaves the sum of a key's
    products with a query of the same numbers in int32."""
    return _BYTE if whole else int(np.sqrt(np.float64(_SUM // part)))


@njit(inline="always")
def top_beside(top: int, count: int) -> int:
    """The greatest number of what is multiplied with numbers within `top`, for sums of `count` products."""
    return min(_WIDE, _SUM // (count * top))


@kernel
def query_codes(x: F32, t: int, column: int, n: int, part: int, top: int, to: int, scales: F32, at: int) -> None:
    """`part` columns of row t of x [tokens, n] as whole numbers within `top`, at an address; their scale goes to
    scales[at], NaN if one is not finite."""
    peak = no_i32()
    for i in range(0, part, LANES):
        peak = larger_i32(magnitude_bits(load_f32(x, place(t, column + i, n))), peak)
    greatest, most = of_bits(largest_i32(peak)), np.float32(top)
    inverse = splat(most / greatest if greatest > _TINY else _ZERO)
    for i in range(0, part, PAGE):
        low, high = load_f32(x, place(t, column + i, n)), load_f32(x, place(t, column + i + LANES, n))
        store_pairs(to + 2 * i, to_i32(mul(low, inverse)), to_i32(mul(high, inverse)))
    scales[at] = greatest / most + (greatest - greatest)


@kernel
def key_columns(keys: int, ahead: int, scales: F32, at: int, part: int, whole: bool, to: int) -> None:
    """A page's keys, [part, PAGE] at an address, as right operands [PAGE / 16][part / 2][16][2], whose columns are
    tokens. The next page's, `ahead` bytes further, are asked for: they may be anywhere, and the CPU cannot know where.
    """
    row = PAGE if whole else 2 * PAGE
    for half in range(2):
        inverse = _inverse(load_f32(scales, at + half * LANES))
        for i in range(part // 2):
            low = keys + (i + i // LANES * LANES) * row + half * (row // 2)
            if half == 0:
                fetch(low + ahead)
                fetch(low + LANES * row + ahead)
            store_pairs(to, _codes(low, inverse, whole), _codes(low + LANES * row, inverse, whole))
            to += 4 * LANES


@kernel
def value_columns(
    values: int, ahead: int, scales: F32, at: int, part: int, whole: bool, to: int, inverses: F32, first: int
) -> None:
    """A page's values, [PAGE, part] at an address, as right operands [part / 16][PAGE / 2][16][2], whose columns are
    places of a head. inverses[first:]: room for PAGE numbers."""
    size = 1 if whole else 2
    for half in range(0, PAGE, LANES):
        store_f32(inverses, first + half, _inverse(load_f32(scales, at + half)))
    for i in range(LANES):
        left, right = splat(inverses[first + i]), splat(inverses[first + LANES + i])
        for c in range(0, part, LANES):
            low, high = values + (i * part + c) * size, values + ((i + LANES) * part + c) * size
            fetch(low + ahead)
            fetch(high + ahead)
            place_ = to + (c // LANES * LANES + i) * 4 * LANES
            store_pairs(place_, _codes(low, left, whole), _codes(high, right, whole))


@njit(inline="always")
def _inverse(scales: Lanes) -> Lanes:
    """Zeros for the scales of zeros."""
    return if_larger(scales, splat(_TINY), div(splat(_ONE), scales))


@njit(inline="always")
def _codes(at: int, inverse: Lanes, whole: bool) -> Lanes:
    """Sixteen whole numbers, of int8 or of float16 times the inverse of their scale."""
    if whole:
        return load_bytes(at)
    return to_i32(mul(load_half(at), inverse))
