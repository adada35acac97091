"""Attention of one sequence on AMX tiles.

The blocks of all heads are one row of steps, and pass three stages:

    step       s      s + 1      s + 2
    block s    score  weigh      mix         queries times keys; softmax; weights times values
    block s+1         score      weigh  …
    block s+2                    score  …

In a step each stage works on another block: then nothing waits for what was written right before, and tiles and vectors
work side by side. What a stage leaves for the next one lies in rings, of two blocks for scores and weights, of four for
scales: block s has slot s % 2 or s % 4.
"""

from typing import NamedTuple

import numpy as np

from engine.kernels.attention.amx_operands import FOUR, SCORES, Block, key_columns, query_rows, value_columns, weigh
from engine.kernels.attention.heads import HeadRows, Heads, Work, tops
from engine.kernels.matmul import aligned
from engine.kernels.rows import place
from engine.simd import F32, I32, LANES, Float, Lanes, join_bytes, load_f32, load_i32, store_f32, to_f32
from engine.simd.compiled import kernel
from engine.tiles.amx import clear_tiles, keep_four, keep_six, multiply_small, multiply_wide
from engine.tiles.amx.attention import KEY_CHUNK, ROW_STEP, VALUE_CHUNK
from engine.tiles.operands import CHUNK

ROWS, COLUMNS = 16, 2
"""Rows of a tile, and vectors of 16 columns that are multiplied with it at once."""
WIDTH = COLUMNS * LANES
_SUMS = 3 * ROWS * WIDTH  # int32 that a tile's sums take, at most
_ZERO, _LOG2E = np.float32(0), np.float32(1.4426950408889634)
_APART = 512  # int32 between two blocks' scores, which else would lie at the same place of a page
_READY = 2  # the quarter of a step after which its block is scored
_SCORE_RING, _SCALE_RING = 2, 4  # blocks
_SMALL_COLUMNS = 4  # vectors of products of small numbers that are made together
_PLANE = ROWS * LANES  # of sums
_SCALES, _TOTALS = 64, 32  # float32 of a block in the ring of scales: of its queries, and from _TOTALS on of its rows


class Text(NamedTuple):
    """A sequence, `tokens` rows from `first` on of qkv [.., 3 * width], and what all of its blocks have in common."""

    qkv: F32
    first: int
    tokens: int
    heads: Heads
    blocks: int  # of a head
    chunks: int  # of keys
    deep: int  # chunks of a head
    block_scores: int  # int32 of a block in the ring of scores


def new_work(tokens: int, head_dim: int) -> Work:
    """Scratch for sequences of up to `tokens` tokens."""
    chunks, groups, deep = -(-tokens // CHUNK), -(-head_dim // WIDTH), -(-head_dim // CHUNK)
    return Work(
        queries=aligned(LANES * deep * ROW_STEP, np.int8),
        keys=aligned(chunks * (CHUNK // LANES) * deep * KEY_CHUNK, np.int8),
        values=aligned(groups * COLUMNS * chunks * VALUE_CHUNK, np.int8),
        scores=aligned(_SCORE_RING * (LANES * CHUNK * chunks + _APART), np.int32),
        scales=aligned(_SCALE_RING * _SCALES, np.float32),
        sums=aligned(groups * _SUMS, np.int32),
        rows=aligned((FOUR + 1) * LANES, np.int32),
    )


def head_products(tokens: int, head_dim: int) -> int:
    """Integer multiply-adds for one head that sees every token, with padding: scores of one digit, and weights times
    values, both of two."""
    rows, keys = -(-tokens // ROWS) * ROWS, -(-tokens // CHUNK) * CHUNK
    return rows * keys * (-(-head_dim // CHUNK) * CHUNK + 4 * -(-head_dim // WIDTH) * WIDTH)


@kernel
def attend(qkv: F32, first: int, count: int, heads: Heads, work: Work, out: F32) -> None:
    """out[first:first + count, width] = softmax(q k.T * scale) v for each head.

    qkv float32 [tokens, 3 * width]: queries, keys, values side by side.
    """
    text = _text(qkv, first, count, heads)
    steps = heads.number * text.blocks
    value_top, power = tops(count)
    factor = value_scale = _ZERO
    for s in range(-1, steps + 2):
        scored, weighed, mixed = s, s - 1, s - 2
        for quarter in range(LANES // FOUR):
            if 0 <= weighed < steps:
                _weigh(text, weighed, quarter, power, work)
            if mixed >= 0:
                _mix(text, mixed, quarter, work)
            if 0 <= scored < steps:
                _score(text, scored, quarter, work)
            if quarter == _READY and s + 1 < steps:
                factor = _take_queries(text, s + 1, factor, work)
        if mixed >= 0:
            _finish(text, mixed, value_scale, work, out)
        if 0 <= weighed < steps and weighed % text.blocks == 0:
            values = _head_rows(text, 2 * heads.width + weighed // text.blocks * heads.head_dim)
            value_scale = value_columns(values, np.float32(value_top), work.values)


@kernel
def _text(qkv: F32, first: int, count: int, heads: Heads) -> Text:
    """The sizes of a sequence's blocks."""
    chunks, deep = (count + CHUNK - 1) // CHUNK, (heads.head_dim + CHUNK - 1) // CHUNK
    block_scores = LANES * CHUNK * chunks + _APART
    return Text(
        qkv, first, count, heads, (count + ROWS - 1) // ROWS, chunks, deep, block_scores
    )  # fmt: skip


@kernel
def _head_rows(text: Text, column: int) -> HeadRows:
    """The columns of one head from `column` on, in all rows of the sequence."""
    return HeadRows(text.qkv, text.first, text.tokens, column, 3 * text.heads.width, text.heads.head_dim)


@kernel
def _sight(text: Text, block: int) -> tuple[int, int]:
    """The first chunk of keys that a block of queries looks at, and the one after the last."""
    t, count, window = block % text.blocks * ROWS, text.tokens, text.heads.window
    if window:
        return max(0, t - window) // CHUNK, (min(count, t + ROWS + window) + CHUNK - 1) // CHUNK
    return 0, (count + CHUNK - 1) // CHUNK


@kernel
def _half(which: int, count: int) -> tuple[int, int]:
    """The first of half 0 or 1 of `count`, and the one after the last; nothing for another half."""
    if which == 0:
        return 0, (count + 1) // 2
    if which == 1:
        return (count + 1) // 2, count
    return 0, 0


@kernel
def _take_queries(text: Text, block: int, factor: Float, work: Work) -> Float:
    """Quantize a block's queries, and, where a head begins, its keys; returns what makes scores of products."""
    heads, at = text.heads, block % _SCALE_RING * _SCALES
    t, column = block % text.blocks * ROWS, block // text.blocks * heads.head_dim
    if t == 0:
        keys = _head_rows(text, heads.width + column)
        factor = key_columns(keys, work.scales, at, work.queries, work.keys) * (heads.scale * _LOG2E)
    rows = min(ROWS, text.tokens - t)
    queries = HeadRows(text.qkv, text.first + t, rows, column, 3 * heads.width, heads.head_dim)
    query_rows(queries, factor, work.queries, work.scales, at)
    return factor


@kernel
def _score(text: Text, block: int, quarter: int, work: Work) -> None:
    """scores int32 [keys / 16][16][16] = a block's queries times the keys it looks at; in the quarters 1 and 2."""
    begin, end = _sight(text, block)
    deep, scores = text.deep, work.scores.ctypes.data + 4 * (block % _SCORE_RING) * text.block_scores
    from_, to = _half(quarter - 1, CHUNK // (_SMALL_COLUMNS * LANES) * (end - begin))
    w = work.keys.ctypes.data + begin * (CHUNK // LANES) * deep * KEY_CHUNK
    for j in range(from_ * _SMALL_COLUMNS, to * _SMALL_COLUMNS, _SMALL_COLUMNS):
        _small_products(work.queries.ctypes.data, deep, w + j * deep * KEY_CHUNK, scores + j * (4 * LANES * LANES))


@kernel
def _weigh(text: Text, block: int, quarter: int, power: Float, work: Work) -> None:
    """Four rows of a block's scores become weights."""
    t, r = block % text.blocks * ROWS, quarter * FOUR
    if r < min(ROWS, text.tokens - t):
        begin, end = _sight(text, block)
        at, slot = block % _SCALE_RING * _SCALES + r, block % _SCORE_RING
        here = Block(work.scores, slot * text.block_scores, work.scales, at, at + _TOTALS, work.rows, begin, end)
        weigh(here, r, t + r, text.tokens, text.heads.window, power)


@kernel
def _mix(text: Text, block: int, quarter: int, work: Work) -> None:
    """sums = a block's weights times the values it looks at; in the quarters 0 and 1, before any score."""
    begin, end = _sight(text, block)
    weights = work.scores.ctypes.data + block % _SCORE_RING * 4 * text.block_scores
    from_, to = _half(quarter, 2 * ((text.heads.head_dim + WIDTH - 1) // WIDTH))
    for i in range(from_, to):
        w = work.values.ctypes.data + (i // 2 * COLUMNS * text.chunks + begin) * VALUE_CHUNK
        sums = work.sums.ctypes.data + i // 2 * (4 * _SUMS)
        _mix_products(weights, end - begin, w, text.chunks * VALUE_CHUNK, sums, i % 2)


@kernel
def _mix_products(a: int, steps: int, w: int, w_step: int, sums: int, half: int) -> None:
    """Products of ROWS rows and WIDTH columns of wide numbers: called for one half of k and then for the other, with no
    other products between."""
    if half == 0:
        clear_tiles()
    for k in range(half * ((steps + 1) // 2), steps if half else (steps + 1) // 2):
        multiply_wide(a + SCORES * k, w + 2048 * k, w + w_step + 2048 * k)
    if half == 1:
        keep_six(sums)


@kernel
def _wide_sum(sums: I32, from_: int, r: int, c: int) -> Lanes:
    """One vector of these products as float32."""
    at = from_ + _PLANE * c + LANES * r
    high = join_bytes(load_i32(sums, at), load_i32(sums, 2 * _PLANE + at))
    return to_f32(join_bytes(high, load_i32(sums, 4 * _PLANE + at)))


@kernel
def _small_products(a: int, steps: int, w: int, out: int) -> None:
    """Products of ROWS rows of small numbers and _SMALL_COLUMNS vectors, each vector's rows 64 bytes apart, the vectors
    1024."""
    clear_tiles()
    for k in range(steps):
        multiply_small(a + 1024 * k, w + 1024 * k, 1024 * steps)
    keep_four(out)


@kernel
def _finish(text: Text, block: int, value_scale: Float, work: Work, out: F32) -> None:
    """A block's columns of out [tokens, width] = the sums, each row divided by its total."""
    heads, scales, at = text.heads, work.scales, block % _SCALE_RING * _SCALES + _TOTALS
    t, column = block % text.blocks * ROWS, block // text.blocks * heads.head_dim
    store_f32(scales, at, value_scale / load_f32(scales, at))
    for i in range(0, heads.head_dim, LANES):
        for r in range(min(ROWS, text.tokens - t)):
            v = _wide_sum(work.sums, i // WIDTH * _SUMS, r, i % WIDTH // LANES) * scales[at + r]
            store_f32(out, place(text.first + t + r, column + i, heads.width), v)
