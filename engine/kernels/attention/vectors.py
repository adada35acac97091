"""Attention of one sequence on vector registers: head after head, and of each one block of a few queries after another.

Queries get their scales, keys and values become operands. Then three things are done to each block:

    score   queries times keys, 32 keys at a time, and the greatest score of each query
    weigh   scores become weights, and take their place
    mix     weights times values, divided by the sum of the weights

A block has as many queries as there are registers for, so that the scores of 500 keys stay in the first cache. Numbers
of keys that do not exist hold anything: their scores are not looked at and their weights are 0, as are those of keys
outside the window. Most groups of 32 keys have none of these, and are done without looking.
"""

from typing import NamedTuple

import numpy as np

from engine.kernels.attention.heads import HeadRows, Heads, Work, greatest_of, peak_of_four, sight, tops
from engine.kernels.functions import whole_power
from engine.kernels.matmul import VECTORS_ISA, aligned
from engine.kernels.rows import TILE, inverse_of, place, scale_of
from engine.simd import (
    F32,
    I8,
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
    splat,
    splat_i32,
    store_f32,
    store_i32,
    store_pairs,
    to_f32,
    to_i32,
    totals_of_four,
    within,
)
from engine.simd.compiled import inlined, kernel
from engine.tiles.attention import KEYS, attention_tiles
from engine.tiles.operands import SMALL_TOP

OPERATIONS = attention_tiles(VECTORS_ISA)
ROWS, HALF, BYTES = OPERATIONS.rows, OPERATIONS.half, OPERATIONS.bytes
_TURN_KEYS, _STORE_ROW = OPERATIONS.turn_keys, OPERATIONS.store_row
_RUN = LANES * BYTES  # bytes of 16 numbers of a query or a key
_OFFSET = np.int32(OPERATIONS.offset)
_TOP, _TINY = np.float32(SMALL_TOP), np.float32(1e-30)


@kernel
def key_columns(keys: HeadRows, rows: I8, out: I8) -> Float:
    """Keys as a right operand [tokens / 16][head_dim / 16][16 numbers of 16 keys]; returns their scale, NaN if one is
    not finite. `rows`: room for 16 numbers of 16 keys."""
    greatest, last = greatest_of(keys), keys.first + keys.rows - 1
    buffer, to = np.int64(rows.ctypes.data), np.int64(out.ctypes.data)
    inverse, offset = splat(inverse_of(greatest, _TOP)), splat_i32(_OFFSET)
    for t in range(keys.first, keys.first + keys.rows, LANES):
        for i in range(keys.column, keys.column + keys.head_dim, LANES):
            for r in range(LANES):
                x = load_f32(keys.x, place(min(t + r, last), i, keys.n))
                _STORE_ROW(buffer + r * _RUN, to_i32(x * inverse) + offset)
            _TURN_KEYS(buffer, to)
            to += LANES * _RUN
    return scale_of(greatest, _TOP)


@kernel
def query_scales(queries: HeadRows, factor: Float, scales: F32, inverses: int) -> None:
    """The scale of each query times `factor`, NaN if it is not finite; and from scales[inverses] on what makes
    integers within 127 of it."""
    top, tiny = splat(_TOP), splat(_TINY)
    for t in range(queries.first, queries.first + queries.rows, 4):
        store_f32(scales, inverses + t - queries.first, floats(peak_of_four(queries, t)))
    for t in range(0, queries.rows, LANES):
        greatest = load_f32(scales, inverses + t)
        store_f32(scales, t, (greatest / top + (greatest - greatest)) * factor)
        store_f32(scales, inverses + t, if_larger(greatest, tiny, top / larger(greatest, tiny)))


@kernel
def query_rows(queries: HeadRows, inverses: F32, at: int, out: I8) -> None:
    """Up to ROWS queries as a left operand [head_dim / 16][ROWS][16], each times its inverse."""
    for r in range(queries.rows):
        inverse, x = splat(inverses[at + r]), place(queries.first + r, queries.column, queries.n)
        to = np.int64(out.ctypes.data) + r * _RUN
        for i in range(queries.head_dim // LANES):
            _STORE_ROW(to + i * (ROWS * _RUN), to_i32(load_f32(queries.x, x + i * TILE) * inverse))


@kernel
def value_columns(values: HeadRows, top: Float, out: I8) -> Float:
    """Values as a right operand of integers within `top`, [head_dim / 16][tokens / KEYS][16][16][2]; returns their
    scale, NaN if one is not finite."""
    greatest, last, to = greatest_of(values), values.first + values.rows - 1, np.int64(out.ctypes.data)
    inverse = splat(inverse_of(greatest, top))
    for i in range(values.column, values.column + values.head_dim, LANES):
        for t in range(values.first, values.first + values.rows, KEYS):
            for r in range(LANES):
                low, high = place(min(t + r, last), i, values.n), place(min(t + r + LANES, last), i, values.n)
                store_pairs(
                    to, to_i32(load_f32(values.x, low) * inverse), to_i32(load_f32(values.x, high) * inverse)
                )  # fmt: skip
                to += 4 * LANES
    return scale_of(greatest, top)


_SCORE, _MIX, _STORE = OPERATIONS.score, OPERATIONS.mix, OPERATIONS.store_weights
_ONE, _LOG2E = np.float32(1), np.float32(1.4426950408889634)
_LEAST = np.int32(-(2**31) + 1)
_VECTORS = KEYS // LANES
_GROUP = _VECTORS * ROWS * LANES  # scores of a block and KEYS keys
_FOURS = (ROWS + 3) // 4 * 4


class Block(NamedTuple):
    """A block of queries of one head: the first one's token in the sequence, how many there are, and the groups of keys
    that they look at. All of them see each key of the groups inner_begin..inner_end."""

    t: int
    rows: int
    begin: int
    end: int
    inner_begin: int
    inner_end: int


def new_work(tokens: int, head_dim: int) -> Work:
    """Scratch for sequences of up to `tokens` tokens."""
    groups = -(-tokens // KEYS)
    return Work(
        queries=aligned(max(ROWS * head_dim, LANES * LANES) * BYTES, np.int8),
        keys=aligned(groups * KEYS * head_dim * BYTES, np.int8),
        values=aligned(groups * KEYS * 2 * -(-head_dim // KEYS) * KEYS, np.int8),
        scores=aligned(groups * _GROUP, np.int32),
        scales=aligned(2 * groups * KEYS + _FOURS + LANES, np.float32),
        sums=aligned(_GROUP, np.int32),
        rows=aligned(2 * _FOURS * LANES, np.int32),
    )


def head_products(tokens: int, head_dim: int) -> int:
    """Integer multiply-adds for one head that sees every token, with padding."""
    rest, keys = tokens % ROWS, -(-tokens // KEYS) * KEYS
    rows = tokens - rest + (ROWS if rest > HALF else HALF if rest else 0)
    return rows * keys * (head_dim + -(-head_dim // KEYS) * KEYS)


@kernel
def attend(qkv: F32, first: int, count: int, heads: Heads, work: Work, out: F32) -> None:
    """out[first:first + count, width] = softmax(q k.T * scale) v for each head.

    qkv float32 [tokens, 3 * width]: queries, keys, values side by side.
    """
    n, head_dim = 3 * heads.width, heads.head_dim
    value_top, power = tops(count)
    inverses = (count + KEYS - 1) // KEYS * KEYS
    for column in range(0, heads.number * head_dim, head_dim):
        keys = HeadRows(qkv, first, count, heads.width + column, n, head_dim)
        factor = key_columns(keys, work.queries, work.keys) * (heads.scale * _LOG2E)
        values = HeadRows(qkv, first, count, 2 * heads.width + column, n, head_dim)
        value_scale = value_columns(values, np.float32(value_top), work.values)
        query_scales(HeadRows(qkv, first, count, column, n, head_dim), factor, work.scales, inverses)
        for t in range(0, count, ROWS):
            block = _block(t, count, heads.window)
            queries = HeadRows(qkv, first + t, block.rows, column, n, head_dim)
            query_rows(queries, work.scales, inverses + t, work.queries)
            _score(block, count, heads, work)
            _weigh(block, count, heads.window, power, work)
            _mix(block, count, value_scale, HeadRows(out, first + t, block.rows, column, heads.width, head_dim), work)


@kernel
def _block(t: int, count: int, window: int) -> Block:
    """The block that begins with token t."""
    rows = min(ROWS, count - t)
    low, inner_low = sight(t, count, window)[0], sight(t + rows - 1, count, window)[0]
    inner_high, high = sight(t, count, window)[1], sight(t + rows - 1, count, window)[1]
    begin, end = low // KEYS, (high + KEYS - 1) // KEYS
    inner_begin = min(end, (inner_low + KEYS - 1) // KEYS)
    return Block(t, rows, begin, end, inner_begin, max(inner_begin, inner_high // KEYS))


@kernel
def _rows_together(block: Block) -> int:
    """How many rows of the block are multiplied: those that it lacks hold anything."""
    return ROWS if block.rows > HALF else HALF


@inlined
def _score(block: Block, count: int, heads: Heads, work: Work) -> None:
    """Scores of the groups of keys that the block looks at, and the greatest one of each row, in each lane of it."""
    greatest = np.int64(work.rows.ctypes.data)
    if block.inner_begin < block.inner_end:
        _score_groups(block, block.inner_begin, block.inner_end, heads.head_dim, greatest, work)
    else:
        for r in range(ROWS):
            store_i32(work.rows, LANES * r, splat_i32(_LEAST))
    _score_edge(block, block.begin, block.inner_begin, count, heads, work)
    _score_edge(block, block.inner_end, block.end, count, heads, work)
    for r in range(0, block.rows, 4):
        at = LANES * r
        store_i32(work.rows, at, largest_of_four(
            load_i32(work.rows, at), load_i32(work.rows, at + LANES), load_i32(work.rows, at + 2 * LANES),
            load_i32(work.rows, at + 3 * LANES),
        ))  # fmt: skip


@inlined
def _score_groups(block: Block, begin: int, end: int, head_dim: int, greatest: int, work: Work) -> None:
    """Scores of some groups of keys."""
    keys = np.int64(work.keys.ctypes.data) + begin * (KEYS * BYTES) * head_dim
    scores = np.int64(work.scores.ctypes.data) + (begin - block.begin) * (4 * _GROUP)
    _score_rows(_rows_together(block), work.queries.ctypes.data, keys, head_dim, end - begin, greatest, scores)


@kernel
def _score_rows(rows: int, queries: int, keys: int, head_dim: int, groups: int, greatest: int, scores: int) -> None:
    """The operation, in one place, since it is long."""
    _SCORE(rows, queries, keys, head_dim, groups, greatest, scores)


@inlined
def _score_edge(block: Block, begin: int, end: int, count: int, heads: Heads, work: Work) -> None:
    """Scores of groups of keys that not every row sees all of: only what it sees may be its greatest score."""
    if begin < end:
        _score_groups(block, begin, end, heads.head_dim, np.int64(work.rows.ctypes.data) + 4 * LANES * _FOURS, work)
        for r in range(block.rows):
            low, high = sight(block.t + r, count, heads.window)
            greatest = load_i32(work.rows, LANES * r)
            for j in range(begin * KEYS, end * KEYS, LANES):
                v = load_i32(work.scores, ((j - block.begin * KEYS) // LANES * ROWS + r) * LANES)
                greatest = larger_i32(within(v, np.int32(low - j), np.int32(high - j), _LEAST), greatest)
            store_i32(work.rows, LANES * r, greatest)


@inlined
def _weigh(block: Block, count: int, window: int, power: Float, work: Work) -> None:
    """Scores become weights: 2**(power + (score - greatest) * scale), rounded, for the keys a token looks at, else 0.
    work.rows: the lanes of the sum of each row."""
    start, scores, weights = splat(power), work.scores, np.int64(work.scores.ctypes.data)
    for r in range(block.rows):
        low, high = sight(block.t + r, count, window)
        top, spread = splat_i32(work.rows[r // 4 * 4 * LANES + r % 4]), splat(-work.scales[block.t + r])
        share = no_i32()
        for g in range(block.begin, block.end):
            at = (g - block.begin) * _GROUP + r * LANES
            a = _powers(load_i32(scores, at), top, spread, start)
            b = _powers(load_i32(scores, at + ROWS * LANES), top, spread, start)
            if g < block.inner_begin or g >= block.inner_end:
                j = g * KEYS
                a = within(a, np.int32(low - j), np.int32(high - j), np.int32(0))
                b = within(b, np.int32(low - j - LANES), np.int32(high - j - LANES), np.int32(0))
            share = _STORE(weights + 4 * at, share, a, b)
        store_i32(work.rows, LANES * (_FOURS + r), share)


@kernel
def _powers(score: Lanes, top: Lanes, spread: Lanes, start: Lanes) -> Lanes:
    """Sixteen weights, in the low halves of the lanes."""
    return bits(whole_power(fma(to_f32(top - score), spread, start)))


@inlined
def _mix(block: Block, count: int, value_scale: Float, out: HeadRows, work: Work) -> None:
    """Rows of out = weights times values, each row divided by the sum of its weights: NaN if its scale is not
    finite."""
    scales, at = work.scales, 2 * ((count + KEYS - 1) // KEYS * KEYS)
    for r in range(0, block.rows, 4):
        t = LANES * (_FOURS + r)
        total = totals_of_four(
            load_i32(work.rows, t), load_i32(work.rows, t + LANES), load_i32(work.rows, t + 2 * LANES),
            load_i32(work.rows, t + 3 * LANES),
        )  # fmt: skip
        scale = load_f32(scales, block.t + r)
        some = larger(to_f32(total), splat(_ONE))  # of rows that are none the sums may be 0
        store_f32(scales, at + r, value_scale / (some + (scale - scale)))
    every = (count + KEYS - 1) // KEYS * (2 * KEYS * LANES)
    weights, sums = np.int64(work.scores.ctypes.data), np.int64(work.sums.ctypes.data)
    for i in range(0, out.head_dim, KEYS):
        values = np.int64(work.values.ctypes.data) + i // LANES * every + block.begin * (2 * KEYS * LANES)
        _MIX(_rows_together(block), weights, values, every, block.end - block.begin, sums)
        for r in range(block.rows):
            to, factor = place(out.first + r, out.column + i, out.n), splat(scales[at + r])
            store_f32(out.x, to, to_f32(load_i32(work.sums, r * LANES)) * factor)
            if i + LANES < out.head_dim:
                store_f32(out.x, to + TILE, to_f32(load_i32(work.sums, (ROWS + r) * LANES)) * factor)
