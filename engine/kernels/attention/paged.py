"""Causal attention over keys and values that lie in pages, each page's keys after those of the page before.

Products are of integers, and their sums exact. A page has the keys of PAGE positions of one sequence, always the
same ones, so whatever is computed together, what is rounded runs over them in the same order:

    for each page:  score  products of queries and keys
                    weigh  scores to weights, by the greatest score so far, which scales what was summed before
                    mix    the values are added by their weights
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from engine.kernels.attention.heads import Heads
from engine.kernels.attention.paged_operands import (
    PAGE,
    KvCache,
    PageOperand,
    key_top,
    pack_keys,
    pack_values,
    quantize_query,
    top_beside,
)
from engine.kernels.functions import tanh, two_to
from engine.kernels.matmul import ISA, VECTORS_ISA, aligned
from engine.kernels.rows import inverse_of, place
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
    larger,
    largest,
    load_f32,
    load_i32,
    splat,
    store_f32,
    store_pairs,
    to_f32,
    to_i32,
    total,
    within,
)
from engine.simd.compiled import inlined, kernel
from engine.tiles.dots import PairTile, pair_tiles

QUERIES = 64
"""Queries that are computed together, of all heads that share keys; more if so many heads do."""
_MOST, _COLUMNS = {"avx2": (4, 1), "portable": (2, 1)}.get(ISA, (8, 2))
_tile = pair_tiles(_MOST, _COLUMNS, VECTORS_ISA)
_WIDTH = LANES * _COLUMNS
_ZERO, _ONE, _NOTHING, _NAN = map(np.float32, (0, 1, -3e38, np.nan))
_NOTHING_BITS, _ZERO_BITS = np.int32(_NOTHING.view(np.int32)), np.int32(0)


class Tile(NamedTuple):
    """The rows that attention computes together: `rows` rows of one sequence from row `first` on, at most
    `rows_together`. qkv [tokens, n] has queries by log2 of Euler's number and the scale, a cache's stride each."""

    qkv: F32
    n: int
    first: int
    rows: int
    position: int  # of the first row in its sequence


class PageTable(NamedTuple):
    """The pages of a sequence: the keys and values of page p are those of head base + p * step of the cache."""

    pages: I32
    base: int
    step: int


class Work(NamedTuple):
    """Scratch of each thread, [threads, …], or of one: for each query sums, integers, scores of a page (then weights,
    of 16 bits), the lanes of the total of its weights; the scale of its integers, the greatest score so far, and by
    what `_mix` multiplies the sums of the pages before and those of the page; a page as right operands, sums of a tile.
    """

    sums: F32  # [queries][stride]
    quants: I8  # [queries][stride] of 16 bits
    scores: F32  # [queries][PAGE]
    totals: F32  # [queries][16]
    scales: F32  # [queries]
    tops: F32
    before: F32
    factors: F32
    keys: I8
    values: I8
    inverses: F32  # [PAGE]
    tile: I32


def new_work(heads: int, stride: int, threads: int) -> Work:
    """Scratch for threads, where up to `heads` heads share keys of `stride` places."""
    queries = max(QUERIES, -(-heads // LANES) * LANES)

    def part(size: int, dtype: Any = np.float32) -> Any:
        return aligned(threads * size, dtype).reshape(threads, -1)

    return Work(
        sums=part(queries * stride), quants=part(2 * queries * stride, np.int8), scores=part(queries * PAGE),
        totals=part(queries * LANES), scales=part(queries), tops=part(queries), before=part(queries),
        factors=part(queries), keys=part(2 * stride * PAGE, np.int8), values=part(2 * stride * PAGE, np.int8),
        inverses=part(PAGE), tile=part(_MOST * _WIDTH, np.int32),
    )  # fmt: skip


@kernel
def work_of(work: Work, i: int) -> Work:
    """The scratch of thread i."""
    return Work(
        work.sums[i], work.quants[i], work.scores[i], work.totals[i], scales=work.scales[i], tops=work.tops[i],
        before=work.before[i], factors=work.factors[i], keys=work.keys[i], values=work.values[i],
        inverses=work.inverses[i], tile=work.tile[i],
    )  # fmt: skip


def rows_together(heads: int) -> int:
    """How many rows' queries of so many heads `attend` takes at once."""
    return max(1, QUERIES // heads)


@inlined
def attend(tile: Tile, heads: Heads, cache: KvCache, table: PageTable, work: Work, out: F32) -> None:
    """out[tokens, heads.width] = softmax(q k.T) v of the rows of a tile and some heads, head_dim values each, one after
    another. A query sees its own position and those before it."""
    queries = tile.rows * heads.number
    for i in range(queries):
        _begin(tile, heads, cache, work, i)
    last = tile.position + tile.rows - 1
    lowest = max(0, tile.position + 1 - heads.window) if heads.window else 0
    for p in range(lowest // PAGE, last // PAGE + 1):
        _pack(cache, table, p, min(p + 1, last // PAGE), work)
        here = p * PAGE
        begin, end = max(0, here - tile.position), tile.rows
        if heads.window:
            end = min(tile.rows, here + PAGE + heads.window - 1 - tile.position)
        _score(work, begin * heads.number, end * heads.number, cache.stride)
        _weigh(work, begin, end, heads, tile.position - here, cache, _head(table, p))
        _mix(work, begin * heads.number, end * heads.number, cache.stride)
    for i in range(queries):
        _finish(tile, heads, work, i, cache.stride, out)


@njit(inline="always")
def _head(table: PageTable, p: int) -> int:
    """The head of the cache that has the keys and values of page p of the sequence."""
    return int(table.base + np.int64(table.pages[p]) * table.step)


@inlined
def _begin(tile: Tile, heads: Heads, cache: KvCache, work: Work, i: int) -> None:
    """Quantize query i; nothing is summed yet."""
    t, head, stride = tile.first + i // heads.number, heads.first + i % heads.number, cache.stride
    top = top_beside(key_top(stride, cache.is_int8), stride)
    to = work.quants.ctypes.data + 2 * stride * i
    work.scales[i] = quantize_query(tile.qkv, place(t, head * stride, tile.n), stride, top, to)
    for j in range(0, stride, LANES):
        store_f32(work.sums, i * stride + j, splat(_ZERO))
    store_f32(work.totals, i * LANES, splat(_ZERO))
    work.tops[i] = _NOTHING


@inlined
def _pack(cache: KvCache, table: PageTable, p: int, following: int, work: Work) -> None:
    """Page p's keys and values become right operands, while the following page is fetched."""
    head = _head(table, p)
    size = cache.stride * PAGE * (1 if cache.is_int8 else 2)
    ahead, scale = (_head(table, following) - head) * size, head * 2 * PAGE
    keys, values = cache.keys.ctypes.data + head * size, cache.values.ctypes.data + head * size
    operand = PageOperand(keys, ahead, cache.scales, scale, work.keys.ctypes.data)
    pack_keys(operand, cache.stride, cache.is_int8)
    operand = PageOperand(values, ahead, cache.scales, scale + PAGE, work.values.ctypes.data)
    pack_values(operand, cache.stride, cache.is_int8, work.inverses)


@inlined
def _score(work: Work, begin: int, end: int, stride: int) -> None:
    """Sums of products of the queries begin..end with all PAGE keys, as int32."""
    a, b, to = work.quants.ctypes.data, work.keys.ctypes.data, work.scores.ctypes.data
    i = begin
    while i < end:
        some = _some(end - i)
        for c in range(0, PAGE, _WIDTH):
            left, right, out = a + 2 * stride * i, b + 2 * stride * c, to + 4 * (PAGE * i + c)
            _tile(some, PairTile(left, 2 * stride, right, 2 * stride * LANES, stride // PAGE, out, 4 * PAGE, 4 * LANES))
        i += some


@inlined
def _mix(work: Work, begin: int, end: int, stride: int) -> None:
    """Add the values of a page, by their weights, to the sums of the queries begin..end."""
    a, b, to = work.scores.ctypes.data, work.values.ctypes.data, work.tile.ctypes.data
    i = begin
    while i < end:
        some = _some(end - i)
        for c in range(0, stride, _WIDTH):
            left, right = a + 4 * PAGE * i, b + 2 * PAGE * c
            _tile(some, PairTile(left, 4 * PAGE, right, 2 * PAGE * LANES, 1, to, 4 * _WIDTH, 4 * LANES))
            for r in range(some):
                before, factor = splat(work.before[i + r]), splat(work.factors[i + r])
                for j in range(0, _WIDTH, LANES):
                    at, more = (i + r) * stride + c + j, to_f32(load_i32(work.tile, r * _WIDTH + j))
                    store_f32(work.sums, at, fma(more, factor, load_f32(work.sums, at) * before))
        i += some


@kernel
def _some(left: int) -> int:
    """How many queries the next tile has, so that all have about as many."""
    tiles = (left + _MOST - 1) // _MOST
    return (left + tiles - 1) // tiles


@inlined
def _weigh(work: Work, begin: int, end: int, heads: Heads, position: int, cache: KvCache, head: int) -> None:
    """The sums of products of the queries of rows begin..end with a page's keys become weights times the scales of
    values, as integers. Row 0 is at `position`, counted from the page's first key."""
    most, scales = np.float32(top_beside(key_top(cache.stride, cache.is_int8), PAGE)), cache.scales[head * 2 * PAGE :]
    for r in range(begin, end):
        low, high = _seen(position + r, heads.window)
        for i in range(r * heads.number, (r + 1) * heads.number):
            _find_top(work, i, scales, low, high, heads.cap)
    for r in range(begin, end):
        low, high = _seen(position + r, heads.window)
        for i in range(r * heads.number, (r + 1) * heads.number):
            _take_weights(work, i, scales, low, high, most)


@njit(inline="always")
def _seen(position: int, window: int) -> tuple[int, int]:
    """The first of the page's keys that a row sees, and the one after the last."""
    return max(0, position + 1 - window) if window else 0, min(PAGE, position + 1)


@inlined
def _find_top(work: Work, i: int, scales: F32, low: int, high: int, cap: Float) -> None:
    """Query i's sums of products become scores, only those of the keys low..high; the sums of the pages before are to
    be scaled by the greatest score so far."""
    scores, at, scale = work.scores, i * PAGE, splat(work.scales[i])
    left = to_f32(bits(load_f32(scores, at))) * (scale * load_f32(scales, 0))
    right = to_f32(bits(load_f32(scores, at + LANES))) * (scale * load_f32(scales, LANES))
    if cap > _ZERO:
        left, right = tanh(left) * cap, tanh(right) * cap
    if low > 0 or high < PAGE:
        left, right = _only(left, right, low, high, _NOTHING_BITS)
    store_f32(scores, at, left)
    store_f32(scores, at + LANES, right)
    before, top, factor = work.tops[i], largest(larger(left, right)), _ONE
    if top > before:
        factor = largest(two_to(splat(before - top)))
        work.tops[i] = top
    work.before[i] = factor


@inlined
def _take_weights(work: Work, i: int, scales: F32, low: int, high: int, most: Float) -> None:
    """Query i's scores become weights, 0 but for the keys low..high, and these times the scales of values integers
    within `most`."""
    scores, at, top, totals = work.scores, i * PAGE, work.tops[i], i * LANES
    left, right = two_to(load_f32(scores, at) - top), two_to(load_f32(scores, at + LANES) - top)
    first, second = left * load_f32(scales, PAGE), right * load_f32(scales, PAGE + LANES)
    if low > 0 or high < PAGE:  # whatever the scales of other keys are
        left, right = _only(left, right, low, high, _ZERO_BITS)
        first, second = _only(first, second, low, high, _ZERO_BITS)
    store_f32(work.totals, totals, fma(load_f32(work.totals, totals), splat(work.before[i]), left + right))
    greatest = largest(larger(first, second))
    inverse = splat(inverse_of(greatest, most))
    store_pairs(scores.ctypes.data + 4 * at, to_i32(first * inverse), to_i32(second * inverse))
    work.factors[i] = greatest * (_ONE / most)


@njit(inline="always")
def _only(left: Lanes, right: Lanes, low: int, high: int, other: Any) -> tuple[Lanes, Lanes]:
    """PAGE values, with `other` in the places before low and from high on."""
    return (
        floats(within(bits(left), np.int32(low), np.int32(high), other)),
        floats(within(bits(right), np.int32(low - LANES), np.int32(high - LANES), other)),
    )


@inlined
def _finish(tile: Tile, heads: Heads, work: Work, i: int, stride: int, out: F32) -> None:
    """The columns of query i in out [tokens, heads.width] = its sums, divided by the total of its weights."""
    at, factor = i * stride, _ONE / total(load_f32(work.totals, i * LANES))
    if work.tops[i] == _NOTHING:  # all scores are below what float32 holds
        factor = _NAN
    t, column = tile.first + i // heads.number, (heads.first + i % heads.number) * heads.head_dim
    if heads.head_dim % LANES == 0:
        for j in range(0, heads.head_dim, LANES):
            store_f32(out, place(t, column + j, heads.width), load_f32(work.sums, at + j) * factor)
    else:
        for j in range(column, column + heads.head_dim):
            out[place(t, j // LANES * LANES, heads.width) + j % LANES] = work.sums[at + j - column] * factor
