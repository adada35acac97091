"""Causal attention over keys and values that lie in pages, each page's keys after those of the page before.

Products are of whole numbers, and their sums exact. A page has the keys of PAGE positions of one sequence, always the
same ones, so whatever is computed together, what is rounded runs over them in the same order: for each page the
greatest score so far is found, what was summed before is scaled by it, and the page is added.
"""

from typing import Any

import numpy as np
from numba import njit

from engine.codegen import pair_tiles
from engine.cpu import compiled_isa
from engine.kernels.activations import tanh
from engine.kernels.attention.paged_operands import PAGE, key_columns, key_top, query_codes, top_beside, value_columns
from engine.kernels.compiled import kernel
from engine.kernels.functions import two_to
from engine.kernels.places import place
from engine.simd import (
    F32,
    I8,
    I32,
    JIT,
    LANES,
    Float,
    Lanes,
    add,
    bits,
    floats,
    fma,
    larger,
    largest,
    load_f32,
    mul,
    splat,
    store_f32,
    store_pairs,
    sub,
    to_f32,
    to_i32,
    total,
    within,
)

QUERIES = 64
"""Queries that are computed together, of all heads that share keys; more if so many heads do."""
_ISA = compiled_isa() if JIT else "portable"
_MOST, _COLUMNS = {"avx2": (4, 1), "portable": (2, 1)}.get(_ISA, (8, 2))
_tile = pair_tiles(_MOST, _COLUMNS, "avx512_vnni" if _ISA == "amx" else _ISA)
_WIDTH = LANES * _COLUMNS
_ZERO, _ONE, _NOTHING, _TINY, _NAN = map(np.float32, (0, 1, -3e38, 1e-30, np.nan))
_NOTHING_BITS, _ZERO_BITS = np.int32(_NOTHING.view(np.int32)), np.int32(0)
_SCALE, _TOP, _BEFORE, _FACTOR, _KEPT = 0, 1, 2, 3, 4
"""What is kept of a query: the scale of its numbers, the greatest score so far, and by what `_mix` multiplies the sums
before and those of the page."""


def work_size(heads: int, part: int) -> int:
    """float32 values of scratch for a thread, where up to `heads` heads share keys of `part` places."""
    queries = _places(heads)
    return queries * (part + part // 2 + PAGE + LANES + _KEPT) + part * PAGE + PAGE + _MOST * _WIDTH


def rows_together(heads: int) -> int:
    """How many rows' queries of so many heads `attend` takes at once."""
    return max(1, QUERIES // heads)


def _places(heads: int) -> int:
    """Queries that there is room for."""
    return max(QUERIES, (heads + LANES - 1) // LANES * LANES)


_room = njit(inline="always")(_places)  # Python itself calls the other: this one would be compiled at each start


@kernel
def attend(
    qkv: F32, n: int, first: int, count: int, position: int, head: int, heads: int, part: int, depth: int, window: int,
    cap: Float, pages: tuple[I8, I8, F32, bool], table: I32, base: int, step: int, work: F32, out: F32, width: int,
) -> None:  # fmt: skip
    """out[tokens, width] = softmax(q k.T) v of `count` rows from `first` on and `heads` heads from `head` on, depth
    values each, one after another; at most `rows_together` rows.

    qkv [tokens, n]: queries by log2 of Euler's number and the scale, `part` places each, a multiple of 32. The rows are
    one sequence's from `position` on, `table` names its pages; head h's keys and values of page p are the part
    base + p * step of what is in `pages`. A query sees its own position and those before it, in a window the last
    `window` of them. With a cap its scores are tanh(score) * cap.
    """
    keys, values, scales, whole = pages
    queries, top = _room(heads), key_top(part, whole)
    codes = queries * part
    scores = codes + queries * (part // 2)
    totals = scores + queries * PAGE
    kept, right = totals + queries * LANES, totals + queries * (LANES + _KEPT)
    size = part * PAGE if whole else 2 * part * PAGE
    for r in range(count):
        for h in range(heads):
            i = r * heads + h
            query_codes(qkv, first + r, (head + h) * part, n, part, top_beside(top, part),
                        work.ctypes.data + 4 * codes + 2 * part * i, work, kept + _KEPT * i)  # fmt: skip
            _begin(work, i * part, part, totals + i * LANES, kept + _KEPT * i)
    last = position + count - 1
    lowest = max(0, position + 1 - window) if window else 0
    for p in range(lowest // PAGE, last // PAGE + 1):
        here, index = p * PAGE, base + np.int64(table[p]) * step
        ahead = (base + np.int64(table[min(p + 1, last // PAGE)]) * step - index) * size
        right_at, scale_at = work.ctypes.data + 4 * right, index * 2 * PAGE
        key_columns(keys.ctypes.data + index * size, ahead, scales, scale_at, part, whole, right_at)
        value_columns(values.ctypes.data + index * size, ahead, scales, scale_at + PAGE, part, whole,
                      right_at + 2 * PAGE * part, work, right + PAGE * part)  # fmt: skip
        begin, end = max(0, here - position), count
        if window:
            end = min(count, here + PAGE + window - 1 - position)
        _score(work, begin * heads, end * heads, part, codes, scores, right)
        _weigh(work, begin, end, heads, position - here, window, scores, totals, kept, scales, scale_at, cap,
               np.float32(top_beside(top, PAGE)))  # fmt: skip
        _mix(work, begin * heads, end * heads, part, scores, kept, right + part * PAGE // 2,
             right + part * PAGE + PAGE)  # fmt: skip
    for r in range(count):
        for h in range(heads):
            i = r * heads + h
            factor = _ONE / total(load_f32(work, totals + i * LANES))
            if work[kept + _KEPT * i + _TOP] == _NOTHING:  # all scores are below what float32 holds
                factor = _NAN
            _finish(work, i * part, factor, depth, out, first + r, (head + h) * depth, width)


@kernel
def _begin(work: F32, sums: int, part: int, totals: int, kept: int) -> None:
    """Nothing summed yet."""
    for i in range(0, part, LANES):
        store_f32(work, sums + i, splat(_ZERO))
    store_f32(work, totals, splat(_ZERO))
    work[kept + _TOP] = _NOTHING


@kernel
def _score(work: F32, begin: int, end: int, part: int, codes: int, scores: int, keys: int) -> None:
    """Sums of products of the queries begin..end with all PAGE keys, as int32."""
    a, b, to = work.ctypes.data + 4 * codes, work.ctypes.data + 4 * keys, work.ctypes.data + 4 * scores
    i = begin
    while i < end:
        some = _some(end - i)
        for c in range(0, PAGE, _WIDTH):
            _tile(some, a + 2 * part * i, 2 * part, b + 2 * part * c, 2 * part * LANES, part // PAGE,
                  to + 4 * (PAGE * i + c), 4 * PAGE, 4 * LANES)  # fmt: skip
        i += some


@kernel
def _mix(
    work: F32, begin: int, end: int, part: int, weights: int, kept: int, values: int, sums: int
) -> None:  # fmt: skip
    """Add the values of a page, by their weights, to what is summed for the queries begin..end; `sums`: room for those
    of a tile."""
    a, b, to = work.ctypes.data + 4 * weights, work.ctypes.data + 4 * values, work.ctypes.data + 4 * sums
    i = begin
    while i < end:
        some = _some(end - i)
        for c in range(0, part, _WIDTH):
            _tile(some, a + 4 * PAGE * i, 4 * PAGE, b + 2 * PAGE * c, 2 * PAGE * LANES, 1, to, 4 * _WIDTH, 4 * LANES)
            for r in range(some):
                before = splat(work[kept + _KEPT * (i + r) + _BEFORE])
                factor = splat(work[kept + _KEPT * (i + r) + _FACTOR])
                for j in range(0, _WIDTH, LANES):
                    at, more = (i + r) * part + c + j, to_f32(bits(load_f32(work, sums + r * _WIDTH + j)))
                    store_f32(work, at, fma(more, factor, mul(load_f32(work, at), before)))
        i += some


@kernel
def _some(left: int) -> int:
    """Queries of the next tile, so that all have about as many."""
    tiles = (left + _MOST - 1) // _MOST
    return (left + tiles - 1) // tiles


@kernel
def _weigh(
    work: F32, begin: int, end: int, heads: int, position: int, window: int, scores: int, totals: int, kept: int,
    scales: F32, scale_at: int, cap: Float, most: Float,
) -> None:  # fmt: skip
    """Sums of products of the queries of rows begin..end with a page's keys become whole numbers within `most`: weights
    times the scales of values. Row 0 is at `position`, counted from the page's first key."""
    for r in range(begin, end):
        low, high = _seen(position + r, window)
        for i in range(r * heads, (r + 1) * heads):
            _find_top(work, scores + i * PAGE, kept + _KEPT * i, scales, scale_at, low, high, cap)
    for r in range(begin, end):
        low, high = _seen(position + r, window)
        for i in range(r * heads, (r + 1) * heads):
            _take_weights(work, scores + i * PAGE, totals + i * LANES, kept + _KEPT * i, scales, scale_at + PAGE, low,
                          high, most)  # fmt: skip


@njit(inline="always")
def _seen(position: int, window: int) -> tuple[int, int]:
    """The page's keys that a row sees."""
    return max(0, position + 1 - window) if window else 0, min(PAGE, position + 1)


@kernel
def _find_top(work: F32, at: int, kept: int, scales: F32, scale_at: int, low: int, high: int, cap: Float) -> None:
    """Sums of a query's products become scores, none but of the keys low..high; what was summed of the pages before
    counts by the greatest score so far."""
    scale = splat(work[kept + _SCALE])
    left = mul(to_f32(bits(load_f32(work, at))), mul(scale, load_f32(scales, scale_at)))
    right = mul(to_f32(bits(load_f32(work, at + LANES))), mul(scale, load_f32(scales, scale_at + LANES)))
    if cap > _ZERO:
        left, right = mul(tanh(left), splat(cap)), mul(tanh(right), splat(cap))
    if low > 0 or high < PAGE:
        left, right = _only(left, right, low, high, _NOTHING_BITS)
    store_f32(work, at, left)
    store_f32(work, at + LANES, right)
    before, top, factor = work[kept + _TOP], largest(larger(left, right)), _ONE
    if top > before:
        factor = largest(two_to(splat(before - top)))
        work[kept + _TOP] = top
    work[kept + _BEFORE] = factor


@kernel
def _take_weights(
    work: F32, at: int, totals: int, kept: int, scales: F32, scale_at: int, low: int, high: int, most: Float
) -> None:
    """Scores of a query become weights, and these times the scales of values whole numbers; 0 but for low..high."""
    top = splat(work[kept + _TOP])
    left, right = two_to(sub(load_f32(work, at), top)), two_to(sub(load_f32(work, at + LANES), top))
    first, second = mul(left, load_f32(scales, scale_at)), mul(right, load_f32(scales, scale_at + LANES))
    if low > 0 or high < PAGE:  # whatever the scales of other keys are
        left, right = _only(left, right, low, high, _ZERO_BITS)
        first, second = _only(first, second, low, high, _ZERO_BITS)
    store_f32(work, totals, fma(load_f32(work, totals), splat(work[kept + _BEFORE]), add(left, right)))
    greatest = largest(larger(first, second))
    inverse = splat(most / greatest if greatest > _TINY else _ZERO)
    store_pairs(work.ctypes.data + 4 * at, to_i32(mul(first, inverse)), to_i32(mul(second, inverse)))
    work[kept + _FACTOR] = greatest * (_ONE / most)


@njit(inline="always")
def _only(left: Lanes, right: Lanes, low: int, high: int, other: Any) -> tuple[Lanes, Lanes]:
    """Of PAGE values those from low to high, and `other` in the others' places."""
    return (
        floats(within(bits(left), np.int32(low), np.int32(high), other)),
        floats(within(bits(right), np.int32(low - LANES), np.int32(high - LANES), other)),
    )


@kernel
def _finish(work: F32, at: int, factor: Float, depth: int, out: F32, t: int, column: int, width: int) -> None:
    """Columns of row t of out [tokens, width] = the sums by `factor`."""
    if depth % LANES == 0:
        for i in range(0, depth, LANES):
            store_f32(out, place(t, column + i, width), mul(load_f32(work, at + i), splat(factor)))
    else:
        for i in range(depth):
            j = column + i
            out[place(t, j // LANES * LANES, width) + j % LANES] = work[at + i] * factor
