"""Attention of one sequence, every head by itself, in whole numbers.

Queries and keys have 8 bits and a scale each, weights up to 14 bits, values 8 to 10 bits with one scale for a text and
head. Sums are exact. Queries go in blocks, so that scores stay in the cache and grow only with the length.

The blocks of all heads are one row of steps. In a step one block is scored, the one before it is weighed, and the one
before that is mixed: then nothing waits for what was written right before, and tiles and vectors work side by side.
"""

import numpy as np

from engine.codegen import CHUNK, TOP
from engine.kernels.attention.attention_operands import (
    KEY_CHUNK,
    SMALL_ROW,
    VALUE_CHUNK,
    WIDE_ROW,
    key_columns,
    query_rows,
    value_columns,
)
from engine.kernels.attention.weighing import FOUR, weigh
from engine.kernels.compiled import kernel
from engine.kernels.functions import whole_power_of
from engine.kernels.matmul.linear import (
    COLUMNS,
    GREATEST,
    ISA,
    ROWS,
    SMALL_COLUMNS,
    SUMS,
    WIDTH,
    mix_products,
    small_products,
    wide_sum,
)  # fmt: skip
from engine.kernels.places import place
from engine.simd import F32, I8, I32, LANES, Float, div, load_f32, mul, splat, store_f32

_VALUE_TOP, _VALUE_LEAST = 511, 127
_ZERO, _LOG2E = np.float32(0), np.float32(1.4426950408889634)
_POWER_OF_TOP = whole_power_of(12.99964)  # of 8190: what is rounded up stays within TOP
_POWERS = np.array([whole_power_of(power) for power in range(TOP.bit_length())])
_APART = 512  # int32 between two blocks' scores, which else would lie at the same place of a page
_READY = 2  # the part of a step after which its block is scored
_RING, _TOTALS = 64, 32  # float32 for each of four blocks: scales of its queries, and from _TOTALS on of its rows


def work_sizes(tokens: int, depth: int) -> dict[str, int]:
    """Scratch for sequences of up to `tokens` tokens: bytes, float32 or int32 of each part."""
    chunks, groups = -(-tokens // CHUNK), -(-depth // WIDTH)
    deep = -(-depth // CHUNK)
    return {
        "queries": LANES * deep * SMALL_ROW,
        "keys": chunks * (CHUNK // LANES) * deep * KEY_CHUNK,
        "values": groups * COLUMNS * chunks * VALUE_CHUNK,
        "weights": 0 if ISA == "amx" else 2 * LANES * chunks * WIDE_ROW,  # there they take the scores' place
        "scores": 2 * (LANES * CHUNK * chunks + _APART),
        "scales": 4 * _RING,
        "sums": groups * SUMS,
        "rows": (FOUR + 1) * LANES,
    }


@kernel
def attend(
    qkv: F32,
    first: int,
    count: int,
    width: int,
    heads: int,
    depth: int,
    scale: Float,
    window: int,
    work: tuple[I8, I8, I8, I8, I32, F32, I32, I32],
    out: F32,
) -> None:
    """out[first:first + count, width] = softmax(q k.T * scale) v for each head.

    qkv float32 [tokens, 3 * width]: queries, keys, values side by side, `depth` for each head, a multiple of 16. With a
    window, a token attends to those at most `window` places away; 0 is no window.
    """
    queries, keys, values, weights, scores, scales, sums, rows = work
    chunks, deep = (count + CHUNK - 1) // CHUNK, (depth + CHUNK - 1) // CHUNK
    block_scores = LANES * CHUNK * chunks + _APART
    block_weights = 4 * block_scores if ISA == "amx" else LANES * chunks * WIDE_ROW
    blocks = (count + ROWS - 1) // ROWS
    steps = heads * blocks
    value_top = max(_VALUE_LEAST, min(_VALUE_TOP, GREATEST // count))
    power = _power((2**31 - 1) // (value_top * count))
    factor = value_scale = _ZERO
    for s in range(-1, steps + 2):
        scored, weighed, mixed = s, s - 1, s - 2
        for part in range(LANES // FOUR):
            if 0 <= weighed < steps:
                t, r = weighed % blocks * ROWS, part * FOUR
                if r < min(ROWS, count - t):
                    begin, end = _reach(t, count, window)
                    weigh(
                        scores, weighed % 2 * block_scores, r, begin, end, t + r, count, window, scales,
                        weighed % 4 * _RING + r, _TOTALS, power, weights.ctypes.data + weighed % 2 * block_weights,
                        rows,
                    )  # fmt: skip
            if mixed >= 0:
                begin, end = _reach(mixed % blocks * ROWS, count, window)
                _mix(
                    weights.ctypes.data + mixed % 2 * block_weights, begin, end, values, chunks, depth, part, sums
                )  # fmt: skip
            if 0 <= scored < steps:
                begin, end = _reach(scored % blocks * ROWS, count, window)
                _score(
                    queries, keys, begin, end, deep, part, scores.ctypes.data + 4 * (scored % 2) * block_scores
                )  # fmt: skip
            if part == _READY and s + 1 < steps:
                t, column = (s + 1) % blocks * ROWS, (s + 1) // blocks * depth
                if t == 0:
                    key_scale = key_columns(
                        qkv, first, count, width + column, 3 * width, depth, scales, (s + 1) % 4 * _RING, queries, keys
                    )  # fmt: skip
                    factor = key_scale * (scale * _LOG2E)
                query_rows(
                    qkv, first + t, min(ROWS, count - t), column, 3 * width, depth, factor, queries, scales,
                    (s + 1) % 4 * _RING,
                )  # fmt: skip
        if mixed >= 0:
            t = mixed % blocks * ROWS
            _finish(
                sums, min(ROWS, count - t), depth, scales, mixed % 4 * _RING + _TOTALS, value_scale, out, first + t,
                mixed // blocks * depth, width,
            )  # fmt: skip
        if 0 <= weighed < steps and weighed % blocks == 0:
            column = 2 * width + weighed // blocks * depth
            value_scale = value_columns(qkv, first, count, column, 3 * width, depth, np.float32(value_top), values)


@kernel
def _power(bound: int) -> Float:
    """Of the greatest weight, as `whole_power` takes it: 8190, or the greatest power of two within `bound` where that
    is less than TOP."""
    if bound >= TOP:
        return _POWER_OF_TOP
    power = 0
    while 2 << power <= bound:
        power += 1
    return _POWERS[power]


@kernel
def _reach(t: int, count: int, window: int) -> tuple[int, int]:
    """The first chunk of keys that the block of queries from t on looks at, and the one after the last."""
    if window:
        return max(0, t - window) // CHUNK, (min(count, t + ROWS + window) + CHUNK - 1) // CHUNK
    return 0, (count + CHUNK - 1) // CHUNK


@kernel
def _half(which: int, count: int) -> tuple[int, int]:
    """From where to where half 0 or 1 of `count` goes; nothing for another."""
    if which == 0:
        return 0, (count + 1) // 2
    if which == 1:
        return (count + 1) // 2, count
    return 0, 0


@kernel
def _score(queries: I8, keys: I8, begin: int, end: int, deep: int, part: int, scores: int) -> None:
    """scores int32 [keys / 16][16][16] = ROWS queries times the keys of the chunks begin..end; in the parts 1 and 2."""
    from_, to = _half(part - 1, CHUNK // (SMALL_COLUMNS * LANES) * (end - begin))
    w = keys.ctypes.data + begin * (CHUNK // LANES) * deep * KEY_CHUNK
    for j in range(from_ * SMALL_COLUMNS, to * SMALL_COLUMNS, SMALL_COLUMNS):
        small_products(queries.ctypes.data, deep, w + j * deep * KEY_CHUNK, scores + j * (4 * LANES * LANES))


@kernel
def _mix(weights: int, begin: int, end: int, values: I8, chunks: int, depth: int, part: int, sums: I32) -> None:
    """sums = weights times the values of the chunks begin..end; in the parts 0 and 1, before any score."""
    from_, to = _half(part, 2 * ((depth + WIDTH - 1) // WIDTH))
    for i in range(from_, to):
        w = values.ctypes.data + (i // 2 * COLUMNS * chunks + begin) * VALUE_CHUNK
        mix_products(weights, end - begin, w, chunks * VALUE_CHUNK, sums.ctypes.data + i // 2 * (4 * SUMS), i % 2)


@kernel
def _finish(
    sums: I32, rows: int, depth: int, scales: F32, at: int, value_scale: Float, out: F32, t: int, column: int, n: int
) -> None:
    """Columns of the rows t.. of out [tokens, n] = the sums, each row divided by its total at scales[at:]."""
    store_f32(scales, at, div(splat(value_scale), load_f32(scales, at)))
    for i in range(0, depth, LANES):
        for r in range(rows):
            v = mul(wide_sum(sums, i // WIDTH * SUMS, r, i % WIDTH // LANES), splat(scales[at + r]))
            store_f32(out, place(t + r, column + i, n), v)
