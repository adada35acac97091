"""A head's queries, keys and values as operands of AMX: integers with scales."""

from typing import NamedTuple

import numpy as np
from numba import njit

from engine.kernels.attention.heads import HeadRows, greatest_of, peak_of_four, sight
from engine.kernels.functions import whole_power
from engine.kernels.rows import TILE, inverse_of, place, scale_of
from engine.simd import (
    F32,
    I8,
    I32,
    LANES,
    Float,
    Lanes,
    bits,
    floats,
    fma,
    if_larger,
    larger,
    larger_i32,
    largest_of_four,
    load_f32,
    load_i32,
    no_i32,
    quarters,
    splat,
    splat_i32,
    store_f32,
    store_i32,
    to_f32,
    to_i32,
    totals_of_four,
    transpose,
    within,
)
from engine.simd.compiled import kernel
from engine.tiles.amx.attention import (
    KEY_CHUNK,
    ROW_CHUNK,
    ROW_STEP,
    VALUE_CHUNK,
    store_columns,
    store_row,
    store_weights,
)
from engine.tiles.operands import CHUNK, SMALL_TOP

_TOP, _TINY, _ZERO = np.float32(SMALL_TOP), np.float32(1e-30), np.float32(0)


@kernel
def _peaks(head: HeadRows) -> Lanes:
    """The greatest magnitudes of 16 rows, each a lane; those of the last row in the lanes after it."""
    t = head.first
    return quarters(
        peak_of_four(head, t), peak_of_four(head, t + 4), peak_of_four(head, t + 8), peak_of_four(head, t + 12)
    )


@kernel
def key_columns(keys: HeadRows, scales: F32, at: int, rows: I8, out: I8) -> Float:
    """Keys as a right operand of integers within 127; returns their scale, NaN if one is not finite. `rows`: room for
    16 of them as a left operand; scales[at:]: for 16 values."""
    greatest, deep = greatest_of(keys), (keys.head_dim + CHUNK - 1) // CHUNK
    store_f32(scales, at, splat(inverse_of(greatest, _TOP)))
    for t in range(0, keys.rows, LANES):
        some = HeadRows(
            keys.x, keys.first + t, min(LANES, keys.rows - t), keys.column, keys.n, keys.head_dim
        )  # fmt: skip
        _small_rows(some, scales, at, rows)
        for q in range(deep):
            to = out.ctypes.data + (t // LANES * deep + q) * KEY_CHUNK
            for half in range(0, KEY_CHUNK, 64 * LANES):
                transpose(rows.ctypes.data + q * ROW_CHUNK + half // LANES, ROW_STEP, to + half)
    return scale_of(greatest, _TOP)


@kernel
def query_rows(queries: HeadRows, factor: Float, out: I8, scales: F32, at: int) -> None:
    """Up to 16 queries as a left operand of integers within 127, each with a scale times `factor` at scales[at:]; NaN
    if it is not finite. 32 of `scales` are written."""
    greatest = floats(_peaks(queries))
    top, tiny = splat(_TOP), splat(_TINY)
    store_f32(scales, at, (greatest / top + (greatest - greatest)) * factor)
    store_f32(scales, at + LANES, if_larger(greatest, tiny, top / larger(greatest, tiny)))
    _small_rows(queries, scales, at + LANES, out)


@kernel
def _small_rows(head: HeadRows, inverses: F32, at: int, out: I8) -> None:
    """Up to 16 rows of a left operand of small numbers, each times its inverse."""
    for q in range((head.head_dim + CHUNK - 1) // CHUNK):
        left, column, to = head.head_dim - q * CHUNK, head.column + q * CHUNK, out.ctypes.data + q * ROW_CHUNK
        # how many vectors there are is a constant in each of these
        if left > 48:
            _chunk(head, column, inverses, at, 4, to)
        elif left > 32:
            _chunk(head, column, inverses, at, 3, to)
        elif left > 16:
            _chunk(head, column, inverses, at, 2, to)
        else:
            _chunk(head, column, inverses, at, 1, to)


@njit(inline="always")
def _chunk(head: HeadRows, column: int, inverses: F32, at: int, vectors: int, to: int) -> None:
    for r in range(head.rows):
        i, inverse = place(head.first + r, column, head.n), splat(inverses[at + r])
        store_row(
            to + r * ROW_STEP, _rounded(head.x, i, inverse, True), _rounded(head.x, i + TILE, inverse, vectors > 1),
            _rounded(head.x, i + 2 * TILE, inverse, vectors > 2), _rounded(head.x, i + 3 * TILE, inverse, vectors > 3),
        )  # fmt: skip


@kernel
def _rounded(x: F32, at: int, inverse: Lanes, there: bool) -> Lanes:
    """The nearest integers, or zeros."""
    if there:
        return to_i32(load_f32(x, at) * inverse)
    return no_i32()


@kernel
def value_columns(values: HeadRows, top: Float, out: I8) -> Float:
    """Values as a right operand of integers within `top`; returns their scale, NaN if one is not finite."""
    greatest, chunks = greatest_of(values), (values.rows + CHUNK - 1) // CHUNK
    inverse = splat(inverse_of(greatest, top))
    for i in range(0, values.head_dim, LANES):
        for chunk in range(chunks):
            to = out.ctypes.data + (i // LANES * chunks + chunk) * VALUE_CHUNK
            for r in range(LANES):
                t = chunk * CHUNK + r
                store_columns(
                    to + 64 * r, _value(values, t, i, inverse), _value(values, t + 16, i, inverse),
                    _value(values, t + 32, i, inverse), _value(values, t + 48, i, inverse),
                )  # fmt: skip
    return scale_of(greatest, top)


@kernel
def _value(values: HeadRows, t: int, i: int, inverse: Lanes) -> Lanes:
    """Sixteen integers of row t, zeros where there is none."""
    return _rounded(values.x, place(values.first + t, values.column + i, values.n), inverse, t < values.rows)


FOUR = 4
SCORES = 4096
"""Bytes of the scores of 16 queries and a chunk of keys. A row of weights takes the place of its scores: 64 bytes of
two planes, where the tiles of scores are four. What is read from the first cache must fit there, and rows a kilobyte
apart share few of its sets."""
_LEAST = np.int32(-(2**31) + 1)


class Block(NamedTuple):
    """A block of queries.

    Scores [keys / 16][16][16], and weights in their place, begin at scores[scores_at]; scales and sums of its rows
    begin at scales_at and totals_at. `rows` is room for 5 vectors. The block looks at the chunks begin..end of keys.
    """

    scores: I32
    scores_at: int
    scales: F32
    scales_at: int
    totals_at: int
    rows: I32
    begin: int
    end: int


@kernel
def weigh(block: Block, r: int, t: int, count: int, window: int, power: Float) -> None:
    """Rows r..r + 3 of a block's weights, those of the tokens t..t + 3: 2**(power + (score - greatest) * scale),
    rounded, for the keys a token looks at, else 0. The sums of the rows, NaN if the scale is not finite, go to the
    scales from totals_at on; 16 are written."""
    scores, scales, rows, begin, end = block.scores, block.scales, block.rows, block.begin, block.end
    first, last, at_row = begin * CHUNK, count - 1, block.scores_at + LANES * r
    _greatest(scores, at_row, first, t, count, window, rows)
    start = splat(power)
    for i in range(FOUR):
        low, high = sight(min(t + i, last), count, window)
        top, spread = splat_i32(rows[FOUR * LANES + i]), splat(-scales[block.scales_at + i])
        share, to = no_i32(), scores.ctypes.data + 4 * block.scores_at + (r + i) * 64
        for q in range(end - begin):
            j, s = first + q * CHUNK, at_row + LANES * (i + q * CHUNK)
            if low <= j and j + CHUNK <= high:
                a, b = _powers(scores, s, top, spread, start), _powers(scores, s + LANES * 16, top, spread, start)
                c = _powers(scores, s + LANES * 32, top, spread, start)
                d = _powers(scores, s + LANES * 48, top, spread, start)
            else:
                a = _some(scores, s, low - j, high - j, top, spread, start)
                b = _some(scores, s + LANES * 16, low - j - 16, high - j - 16, top, spread, start)
                c = _some(scores, s + LANES * 32, low - j - 32, high - j - 32, top, spread, start)
                d = _some(scores, s + LANES * 48, low - j - 48, high - j - 48, top, spread, start)
            share = store_weights(to + q * SCORES, share, a, b, c, d)
        store_i32(rows, LANES * i, share)
    total = totals_of_four(
        load_i32(rows, 0), load_i32(rows, LANES), load_i32(rows, 2 * LANES), load_i32(rows, 3 * LANES)
    )
    scale = load_f32(scales, block.scales_at)
    store_f32(scales, block.totals_at, to_f32(total) + (scale - scale))


@kernel
def _greatest(scores: I32, at: int, first: int, t: int, count: int, window: int, rows: I32) -> None:
    """rows[64:68] = the greatest score of each of four rows, among the keys its token looks at."""
    last = count - 1
    (low_0, high_0), (low_1, high_1) = sight(t, count, window), sight(min(t + 1, last), count, window)
    (low_2, high_2), (low_3, high_3) = sight(min(t + 2, last), count, window), sight(min(t + 3, last), count, window)
    a = b = c = d = splat_i32(_LEAST)
    for j in range(low_0 // LANES * LANES, high_3, LANES):
        s = at + LANES * (j - first)
        v, w = load_i32(scores, s), load_i32(scores, s + LANES)
        x, y = load_i32(scores, s + 2 * LANES), load_i32(scores, s + 3 * LANES)
        if j < low_3 or j + LANES > high_0:
            v, w = _seen(v, j, low_0, high_0), _seen(w, j, low_1, high_1)
            x, y = _seen(x, j, low_2, high_2), _seen(y, j, low_3, high_3)
        a, b, c, d = larger_i32(v, a), larger_i32(w, b), larger_i32(x, c), larger_i32(y, d)
    store_i32(rows, FOUR * LANES, largest_of_four(a, b, c, d))


@kernel
def _seen(v: Lanes, j: int, low: int, high: int) -> Lanes:
    return within(v, np.int32(low - j), np.int32(high - j), _LEAST)


@kernel
def _powers(scores: I32, at: int, top: Lanes, spread: Lanes, start: Lanes) -> Lanes:
    """Sixteen weights, in the low halves of the lanes."""
    return bits(whole_power(fma(to_f32(top - load_i32(scores, at)), spread, start)))


@kernel
def _some(scores: I32, at: int, low: int, high: int, top: Lanes, spread: Lanes, start: Lanes) -> Lanes:
    """Sixteen weights as `_powers`, 0 in lanes before low and from high on."""
    if low >= LANES or high <= 0:
        return no_i32()
    return within(_powers(scores, at, top, spread, start), np.int32(low), np.int32(high), np.int32(0))
