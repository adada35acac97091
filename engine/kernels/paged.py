"""Causal attention over keys and values that lie in pages, in float32, each page's keys after those of the page before.

A query's score with a key is a chain of `fma` over the head's values. A page has the keys of PAGE positions of one
sequence, always the same ones, so whatever is computed together, sums run over them in the same order: for each page
the greatest score so far is found, what was summed before is scaled by it, and the page is added.
"""

import numpy as np
from numba import njit

from engine.cpu import compiled_isa
from engine.kernels.activations import tanh
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
    add,
    bits,
    chain_tile,
    fetch,
    floats,
    larger,
    largest,
    load_bytes,
    load_f32,
    load_half,
    mul,
    splat,
    store_f32,
    sub,
    total,
    within,
)  # fmt: skip

PAGE = 2 * LANES
"""Tokens of a page."""
QUERIES = 64
"""Queries that are computed together, of all heads that share keys; more if so many heads do."""
_ISA = compiled_isa() if JIT else "portable"
_MOST, _COLUMNS, _UNROLL = {"avx512_vnni": (8, 2, 4), "amx": (8, 2, 4), "avx2": (4, 1, 4), "portable": (2, 1, 1)}[_ISA]
_score_tile = chain_tile(_MOST, _COLUMNS, begins=True, unroll=_UNROLL)
_mix_tile = chain_tile(_MOST, _COLUMNS, begins=False)
_WIDTH = LANES * _COLUMNS
_ZERO, _ONE, _NOTHING = np.float32(0), np.float32(1), np.float32(-3e38)
_NOTHING_BITS, _ZERO_BITS = np.int32(_NOTHING.view(np.int32)), np.int32(0)


def work_size(heads: int, part: int) -> int:
    """float32 values of scratch for a thread, where up to `heads` heads share keys of `part` places."""
    queries = _places(heads)
    return queries * (2 * part + PAGE + 2) + 2 * PAGE * part


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
    queries = _room(heads)
    sums, weights = queries * part, 2 * queries * part
    tops = weights + queries * PAGE
    totals, spread = tops + queries, tops + 2 * queries
    size = part * PAGE if whole else 2 * part * PAGE
    _begin(qkv, n, first, count, head, heads, part, queries, work)
    last = position + count - 1
    lowest = max(0, position + 1 - window) if window else 0
    for p in range(lowest // PAGE, last // PAGE + 1):
        here, begin, index = p * PAGE, 0, base + np.int64(table[p]) * step
        some, next_ = min(PAGE, last + 1 - here), base + np.int64(table[min(p + 1, last // PAGE)]) * step
        k, v = keys.ctypes.data + index * size, values.ctypes.data + index * size
        _spread(k, v, (next_ - index) * size, scales, index * 2 * PAGE, part, some, whole, work, spread)
        begin, end = max(0, here - position), count
        if window:
            end = min(count, here + PAGE + window - 1 - position)
        _score(work, begin * heads, end * heads, part, weights, spread)
        for r in range(begin, end):
            low = max(0, position + r + 1 - window - here) if window else 0
            high = min(PAGE, position + r + 1 - here)
            for i in range(r * heads, (r + 1) * heads):
                _weigh(work, weights + i * PAGE, tops + i, totals + i, sums + i * part, part, low, high, cap)
        _mix(work, begin * heads, end * heads, part, some, sums, weights, spread + part * PAGE)
    for r in range(count):
        for h in range(heads):
            i = r * heads + h
            _finish(work, sums + i * part, _ONE / work[totals + i], depth, out, first + r, (head + h) * depth, width)


@kernel
def _begin(qkv: F32, n: int, first: int, count: int, head: int, heads: int, part: int, queries: int, work: F32) -> None:
    """Queries one after another, and nothing summed yet."""
    for r in range(count):
        for h in range(heads):
            at = (r * heads + h) * part
            for i in range(0, part, LANES):
                store_f32(work, at + i, load_f32(qkv, place(first + r, (head + h) * part + i, n)))
                store_f32(work, queries * part + at + i, splat(_ZERO))
    for i in range(count * heads):
        work[queries * (2 * part + PAGE) + i] = _NOTHING
        work[queries * (2 * part + PAGE + 1) + i] = _ZERO


@kernel
def _score(work: F32, begin: int, end: int, part: int, weights: int, keys: int) -> None:
    """Scores of the queries begin..end with all PAGE keys."""
    a, b, to = work.ctypes.data, work.ctypes.data + 4 * keys, work.ctypes.data + 4 * weights
    turns, i = part // _UNROLL, begin
    while i < end:
        some = _some(end - i)
        for c in range(0, 4 * PAGE, 4 * _WIDTH):
            _score_tile(some, a + 4 * part * i, 4 * part, b + c, 4 * PAGE, turns, to + 4 * PAGE * i + c, 4 * PAGE)
        i += some


@kernel
def _mix(work: F32, begin: int, end: int, part: int, count: int, sums: int, weights: int, values: int) -> None:
    """Add the `count` values of a page, by their weights, to the sums of the queries begin..end."""
    a, b, to = work.ctypes.data + 4 * weights, work.ctypes.data + 4 * values, work.ctypes.data + 4 * sums
    i = begin
    while i < end:
        some = _some(end - i)
        for c in range(0, 4 * part, 4 * _WIDTH):
            _mix_tile(some, a + 4 * PAGE * i, 4 * PAGE, b + c, 4 * part, count, to + 4 * part * i + c, 4 * part)
        i += some


@kernel
def _some(left: int) -> int:
    """Queries of the next tile, so that all have about as many."""
    tiles = (left + _MOST - 1) // _MOST
    return (left + tiles - 1) // tiles


@kernel
def _weigh(
    work: F32, at: int, top_at: int, total_at: int, sums: int, part: int, low: int, high: int, cap: Float
) -> None:
    """Scores of a query with a page's keys become weights, 0 but for the keys low..high; what was summed of the pages
    before is scaled to the greatest score so far."""
    left, right = load_f32(work, at), load_f32(work, at + LANES)
    if cap > _ZERO:
        left, right = mul(tanh(left), splat(cap)), mul(tanh(right), splat(cap))
    masked = low > 0 or high < PAGE
    if masked:
        left = floats(within(bits(left), np.int32(low), np.int32(high), _NOTHING_BITS))
        right = floats(within(bits(right), np.int32(low - LANES), np.int32(high - LANES), _NOTHING_BITS))
    before, top = work[top_at], largest(larger(left, right))
    if top > before:
        factor = largest(two_to(splat(before - top)))
        for i in range(0, part, LANES):
            store_f32(work, sums + i, mul(load_f32(work, sums + i), splat(factor)))
        work[total_at] = work[total_at] * factor
        work[top_at] = top
    else:
        top = before
    left, right = two_to(sub(left, splat(top))), two_to(sub(right, splat(top)))
    if masked:
        left = floats(within(bits(left), np.int32(low), np.int32(high), _ZERO_BITS))
        right = floats(within(bits(right), np.int32(low - LANES), np.int32(high - LANES), _ZERO_BITS))
    store_f32(work, at, left)
    store_f32(work, at + LANES, right)
    work[total_at] = work[total_at] + total(add(left, right))


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


@kernel
def _spread(
    keys: int, values: int, ahead: int, scales: F32, scale_at: int, part: int, count: int, whole: bool, work: F32,
    at: int,
) -> None:  # fmt: skip
    """A page of a head as float32, work[at:]: its keys [part, PAGE], then the values of `count` keys [PAGE, part]. The
    next page, `ahead` bytes further, is asked for: it may be anywhere, and the CPU cannot know where."""
    step = LANES if whole else 2 * LANES
    for i in range(0, part * PAGE, LANES):
        fetch(keys + i // LANES * step + ahead)
        k = load_bytes(keys + i) if whole else load_half(keys + 2 * i)
        store_f32(work, at + i, mul(k, load_f32(scales, scale_at + i % PAGE)) if whole else k)
    for j in range(count):
        scale = splat(scales[scale_at + PAGE + j] if whole else _ONE)
        for i in range(j * part, (j + 1) * part, LANES):
            fetch(values + i // LANES * step + ahead)
            v = load_bytes(values + i) if whole else load_half(values + 2 * i)
            store_f32(work, at + part * PAGE + i, mul(v, scale) if whole else v)
