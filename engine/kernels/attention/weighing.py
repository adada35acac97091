"""The weights of a softmax from scores, as integers for AMX; four rows at a time."""

from typing import NamedTuple

import numpy as np

from engine.codegen import CHUNK
from engine.codegen.amx_operands import store_weights
from engine.kernels.attention.heads import sight
from engine.kernels.compiled import kernel
from engine.kernels.functions import whole_power
from engine.simd import (
    F32,
    I32,
    LANES,
    Float,
    Lanes,
    add,
    bits,
    fma,
    larger_i32,
    largest_of_four,
    load_f32,
    load_i32,
    no_i32,
    splat,
    splat_i32,
    store_f32,
    store_i32,
    sub,
    sub_i32,
    to_f32,
    totals_of_four,
    within,
)

FOUR = 4
SCORES = 4096
"""Bytes of the scores of 16 queries and a chunk of keys. A row of weights takes the place of its scores: 64 bytes of
two planes, where the tiles of scores are four. What is read from the first cache must fit there, and rows a kilobyte
apart share few of its sets."""
_LEAST = np.int32(-(2**31) + 1)


class Block(NamedTuple):
    """A block of queries.

    Scores [keys / 16][16][16] begin at scores[scores_at]; `weights` is the address of the same
    memory; scales and sums of its rows begin at scales_at and totals_at. `rows` is room for 5 vectors. The block looks
    at the chunks begin..end of keys.
    """

    scores: I32
    scores_at: int
    weights: int
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
        share, to = no_i32(), block.weights + (r + i) * 64
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
            share = store_weights(to + q * SCORES, share, a, b, c, d)  # type: ignore[call-arg]
        store_i32(rows, LANES * i, share)
    total = totals_of_four(
        load_i32(rows, 0), load_i32(rows, LANES), load_i32(rows, 2 * LANES), load_i32(rows, 3 * LANES)
    )
    scale = load_f32(scales, block.scales_at)
    store_f32(scales, block.totals_at, add(to_f32(total), sub(scale, scale)))


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
    return bits(whole_power(fma(to_f32(sub_i32(top, load_i32(scores, at))), spread, start)))


@kernel
def _some(scores: I32, at: int, low: int, high: int, top: Lanes, spread: Lanes, start: Lanes) -> Lanes:
    """Sixteen weights as `_powers`, 0 in lanes before low and from high on."""
    if low >= LANES or high <= 0:
        return no_i32()
    return within(_powers(scores, at, top, spread, start), np.int32(low), np.int32(high), np.int32(0))
