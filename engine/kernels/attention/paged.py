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

from engine.codegen import pair_tiles
from engine.cpu import compiled_isa
from engine.kernels.activations import tanh
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
from engine.kernels.compiled import kernel
from engine.kernels.functions import two_to
from engine.kernels.places import place
from engine.simd import (
    F32,
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
_SCALE, _TOP, _BEFORE, _FACTOR, _STATE = 0, 1, 2, 3, 4
"""The state of a query: the scale of its numbers, the greatest score so far, and by what `_mix` multiplies the sums of
the pages before and those of the page."""


class Tile(NamedTuple):
    """The rows that attention computes together: `rows` rows of one sequence from row `first` on, at most
    `rows_together`. qkv [tokens, n] has queries by log2 of Euler's number and the scale, a cache's stride each."""

    qkv: F32
    n: int
    first: int
    rows: int
    position: int  # of the first row in its sequence


class Heads(NamedTuple):
    """The heads that share keys and values, `number` from head `first` on."""

    first: int
    number: int
    head_dim: int  # values of a head
    window: int  # how many positions a query sees, its own the last; 0: all before it
    cap: Float  # scores become tanh(score) * cap; 0: they do not


class PageTable(NamedTuple):
    """The pages of a sequence: the keys and values of page p are those of head base + p * step of the cache."""

    pages: I32
    base: int
    step: int


class Work(NamedTuple):
    """Scratch of a thread, and where its parts lie: [queries][stride] sums from 0 on, then as named."""

    memory: F32
    stride: int  # places of a head
    queries: int  # quantized, [queries][stride] of 16 bits
    scores: int  # [queries][PAGE]; then weights, of 16 bits
    totals: int  # [queries][16], of weights
    states: int  # [queries][_STATE]
    keys: int  # a page of them as a right operand
    values: int
    inverses: int  # [PAGE]
    tile: int  # sums of products of the queries of a tile


def work_size(heads: int, stride: int) -> int:
    """float32 values of scratch for a thread, where up to `heads` heads share keys of `stride` places."""
    queries = _places(heads)
    return queries * (stride + stride // 2 + PAGE + LANES + _STATE) + stride * PAGE + PAGE + _MOST * _WIDTH


def rows_together(heads: int) -> int:
    """How many rows' queries of so many heads `attend` takes at once."""
    return max(1, QUERIES // heads)


def _places(heads: int) -> int:
    """How many queries there is room for."""
    return max(QUERIES, (heads + LANES - 1) // LANES * LANES)


_room = njit(inline="always")(_places)  # Python itself calls the other: this one would be compiled at each start


@kernel
def _lay_out(memory: F32, heads: int, stride: int) -> Work:
    """The parts of a thread's scratch, as `work_size` counts them."""
    queries = _room(heads)
    quants = queries * stride
    scores = quants + queries * (stride // 2)
    totals = scores + queries * PAGE
    states = totals + queries * LANES
    keys = states + queries * _STATE
    values, inverses = keys + stride * PAGE // 2, keys + stride * PAGE
    return Work(memory, stride, quants, scores, totals, states, keys, values, inverses, inverses + PAGE)


@kernel
def attend(tile: Tile, heads: Heads, cache: KvCache, table: PageTable, memory: F32, out: F32, width: int) -> None:
    """out[tokens, width] = softmax(q k.T) v of the rows of a tile and some heads, head_dim values each, one after
    another. A query sees its own position and those before it."""
    work = _lay_out(memory, heads.number, cache.stride)
    queries = tile.rows * heads.number
    for i in range(queries):
        _begin(tile, heads, key_top(cache.stride, cache.is_int8), work, i)
    last = tile.position + tile.rows - 1
    lowest = max(0, tile.position + 1 - heads.window) if heads.window else 0
    for p in range(lowest // PAGE, last // PAGE + 1):
        _pack(cache, table, p, min(p + 1, last // PAGE), work)
        here = p * PAGE
        begin, end = max(0, here - tile.position), tile.rows
        if heads.window:
            end = min(tile.rows, here + PAGE + heads.window - 1 - tile.position)
        _score(work, begin * heads.number, end * heads.number)
        _weigh(work, begin, end, heads, tile.position - here, cache, _head(table, p))
        _mix(work, begin * heads.number, end * heads.number)
    for i in range(queries):
        _finish(tile, heads, work, i, out, width)


@njit(inline="always")
def _head(table: PageTable, p: int) -> int:
    """The head of the cache that has the keys and values of page p of the sequence."""
    return int(table.base + np.int64(table.pages[p]) * table.step)


@kernel
def _begin(tile: Tile, heads: Heads, top: int, work: Work, i: int) -> None:
    """Quantize query i; nothing is summed yet."""
    t, head, state = tile.first + i // heads.number, heads.first + i % heads.number, work.states + _STATE * i
    to = work.memory.ctypes.data + 4 * work.queries + 2 * work.stride * i
    at = place(t, head * work.stride, tile.n)
    quantize_query(tile.qkv, at, work.stride, top_beside(top, work.stride), to, work.memory, state)
    for j in range(0, work.stride, LANES):
        store_f32(work.memory, i * work.stride + j, splat(_ZERO))
    store_f32(work.memory, work.totals + i * LANES, splat(_ZERO))
    work.memory[state + _TOP] = _NOTHING


@kernel
def _pack(cache: KvCache, table: PageTable, p: int, following: int, work: Work) -> None:
    """Page p's keys and values become right operands, while the following page is fetched."""
    head = _head(table, p)
    size = cache.stride * PAGE * (1 if cache.is_int8 else 2)
    ahead, scale = (_head(table, following) - head) * size, head * 2 * PAGE
    keys, values = cache.keys.ctypes.data + head * size, cache.values.ctypes.data + head * size
    to = work.memory.ctypes.data
    pack_keys(PageOperand(keys, ahead, cache.scales, scale, to + 4 * work.keys), cache.stride, cache.is_int8)
    pack_values(PageOperand(values, ahead, cache.scales, scale + PAGE, to + 4 * work.values), cache.stride,
                cache.is_int8, work.memory[work.inverses :])  # fmt: skip


@kernel
def _score(work: Work, begin: int, end: int) -> None:
    """Sums of products of the queries begin..end with all PAGE keys, as int32."""
    memory, stride = work.memory.ctypes.data, work.stride
    a, b, to = memory + 4 * work.queries, memory + 4 * work.keys, memory + 4 * work.scores
    i = begin
    while i < end:
        some = _some(end - i)
        for c in range(0, PAGE, _WIDTH):
            _tile(some, a + 2 * stride * i, 2 * stride, b + 2 * stride * c, 2 * stride * LANES, stride // PAGE,
                  to + 4 * (PAGE * i + c), 4 * PAGE, 4 * LANES)  # fmt: skip
        i += some


@kernel
def _mix(work: Work, begin: int, end: int) -> None:
    """Add the values of a page, by their weights, to the sums of the queries begin..end."""
    memory = work.memory
    a, b = memory.ctypes.data + 4 * work.scores, memory.ctypes.data + 4 * work.values
    to = memory.ctypes.data + 4 * work.tile
    i = begin
    while i < end:
        some = _some(end - i)
        for c in range(0, work.stride, _WIDTH):
            _tile(some, a + 4 * PAGE * i, 4 * PAGE, b + 2 * PAGE * c, 2 * PAGE * LANES, 1, to, 4 * _WIDTH, 4 * LANES)
            for r in range(some):
                state = work.states + _STATE * (i + r)
                before, factor = splat(memory[state + _BEFORE]), splat(memory[state + _FACTOR])
                for j in range(0, _WIDTH, LANES):
                    at = (i + r) * work.stride + c + j
                    more = to_f32(bits(load_f32(memory, work.tile + r * _WIDTH + j)))
                    store_f32(memory, at, fma(more, factor, mul(load_f32(memory, at), before)))
        i += some


@kernel
def _some(left: int) -> int:
    """How many queries the next tile has, so that all have about as many."""
    tiles = (left + _MOST - 1) // _MOST
    return (left + tiles - 1) // tiles


@kernel
def _weigh(work: Work, begin: int, end: int, heads: Heads, position: int, cache: KvCache, head: int) -> None:
    """The sums of products of the queries of rows begin..end with a page's keys become weights times the scales of
    values, as integers. Row 0 is at `position`, counted from the page's first key."""
    most, scale = np.float32(top_beside(key_top(cache.stride, cache.is_int8), PAGE)), head * 2 * PAGE
    for r in range(begin, end):
        low, high = _seen(position + r, heads.window)
        for i in range(r * heads.number, (r + 1) * heads.number):
            _find_top(work, i, cache.scales, scale, low, high, heads.cap)
    for r in range(begin, end):
        low, high = _seen(position + r, heads.window)
        for i in range(r * heads.number, (r + 1) * heads.number):
            _take_weights(work, i, cache.scales, scale + PAGE, low, high, most)


@njit(inline="always")
def _seen(position: int, window: int) -> tuple[int, int]:
    """The first of the page's keys that a row sees, and the one after the last."""
    return max(0, position + 1 - window) if window else 0, min(PAGE, position + 1)


@kernel
def _find_top(work: Work, i: int, scales: F32, key_scale: int, low: int, high: int, cap: Float) -> None:
    """Query i's sums of products become scores, only those of the keys low..high; the sums of the pages before are to
    be scaled by the greatest score so far."""
    memory, at, state = work.memory, work.scores + i * PAGE, work.states + _STATE * i
    scale = splat(memory[state + _SCALE])
    left = mul(to_f32(bits(load_f32(memory, at))), mul(scale, load_f32(scales, key_scale)))
    right = mul(to_f32(bits(load_f32(memory, at + LANES))), mul(scale, load_f32(scales, key_scale + LANES)))
    if cap > _ZERO:
        left, right = mul(tanh(left), splat(cap)), mul(tanh(right), splat(cap))
    if low > 0 or high < PAGE:
        left, right = _only(left, right, low, high, _NOTHING_BITS)
    store_f32(memory, at, left)
    store_f32(memory, at + LANES, right)
    before, top, factor = memory[state + _TOP], largest(larger(left, right)), _ONE
    if top > before:
        factor = largest(two_to(splat(before - top)))
        memory[state + _TOP] = top
    memory[state + _BEFORE] = factor


@kernel
def _take_weights(work: Work, i: int, scales: F32, value_scale: int, low: int, high: int, most: Float) -> None:
    """Query i's scores become weights, 0 but for the keys low..high, and these times the scales of values integers
    within `most`."""
    memory, at, state = work.memory, work.scores + i * PAGE, work.states + _STATE * i
    top, totals = splat(memory[state + _TOP]), work.totals + i * LANES
    left, right = two_to(sub(load_f32(memory, at), top)), two_to(sub(load_f32(memory, at + LANES), top))
    first, second = mul(left, load_f32(scales, value_scale)), mul(right, load_f32(scales, value_scale + LANES))
    if low > 0 or high < PAGE:  # whatever the scales of other keys are
        left, right = _only(left, right, low, high, _ZERO_BITS)
        first, second = _only(first, second, low, high, _ZERO_BITS)
    store_f32(memory, totals, fma(load_f32(memory, totals), splat(memory[state + _BEFORE]), add(left, right)))
    greatest = largest(larger(first, second))
    inverse = splat(most / greatest if greatest > _TINY else _ZERO)
    store_pairs(memory.ctypes.data + 4 * at, to_i32(mul(first, inverse)), to_i32(mul(second, inverse)))
    memory[state + _FACTOR] = greatest * (_ONE / most)


@njit(inline="always")
def _only(left: Lanes, right: Lanes, low: int, high: int, other: Any) -> tuple[Lanes, Lanes]:
    """PAGE values, with `other` in the places before low and from high on."""
    return (
        floats(within(bits(left), np.int32(low), np.int32(high), other)),
        floats(within(bits(right), np.int32(low - LANES), np.int32(high - LANES), other)),
    )


@kernel
def _finish(tile: Tile, heads: Heads, work: Work, i: int, out: F32, width: int) -> None:
    """The columns of query i in out [tokens, width] = its sums, divided by the total of its weights."""
    memory, at = work.memory, i * work.stride
    factor = _ONE / total(load_f32(memory, work.totals + i * LANES))
    if memory[work.states + _STATE * i + _TOP] == _NOTHING:  # all scores are below what float32 holds
        factor = _NAN
    t, column = tile.first + i // heads.number, (heads.first + i % heads.number) * heads.head_dim
    if heads.head_dim % LANES == 0:
        for j in range(0, heads.head_dim, LANES):
            store_f32(out, place(t, column + j, width), mul(load_f32(memory, at + j), splat(factor)))
    else:
        for j in range(column, column + heads.head_dim):
            out[place(t, j // LANES * LANES, width) + j % LANES] = memory[at + j - column] * factor
