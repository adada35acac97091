"""Attention of one sequence, every head by itself, in whole numbers.

Queries and keys have 8 bits and a scale each, weights up to 14 bits, values 8 to 10 bits with one scale for a text and
head. Sums are exact. Queries go in blocks, so that scores stay in the cache and grow only with the length.
"""

import numpy as np

from engine.kernels.compiled import kernel
from engine.kernels.matmul import (
    GREATEST,
    ISA,
    OPERANDS,
    ROWS,
    SMALL_COLUMNS,
    WIDTH,
    mix_products,
    small_products,
    wide_sum,
)  # fmt: skip
from engine.kernels.places import TILE, place
from engine.kernels.weighing import weigh
from engine.simd import (
    CHUNK,
    F32,
    I8,
    I32,
    LANES,
    TOP,
    Float,
    Lanes,
    larger_i32,
    largest_i32,
    load_f32,
    magnitude_bits,
    mul,
    no_i32,
    of_bits,
    splat,
    store_f32,
    to_i32,
)  # fmt: skip

_SMALL_TOP, _VALUE_TOP, _VALUE_LEAST = np.float32(127), 511, 127
_ZERO, _ONE, _TINY, _LOWEST = np.float32(0), np.float32(1), np.float32(1e-30), np.float32(-3e38)
_LOG2E, _LOG2_TOP = np.float32(1.4426950408889634), np.float32(12.99964)  # of 8190: what is rounded up stays within TOP
_STORE_ROW, _STORE_COLUMNS, _STORE_SMALL = OPERANDS.store_row, OPERANDS.store_columns, OPERANDS.store_small_row
_WIDE, _SMALL = OPERANDS.wide, OPERANDS.small
_W_GROUP, _W_ROW, _W_STEP, _W_CHUNK = _WIDE
_S_GROUP, _S_ROW, _S_STEP, _S_CHUNK = _SMALL
_VALUE_CHUNK, _KEY_CHUNK, _DWORDS = OPERANDS.chunk, OPERANDS.small_chunk, OPERANDS.small_chunk // 64


@kernel
def padded_keys(count: int) -> int:
    """The room that `count` keys take: whole chunks."""
    return (count + CHUNK - 1) // CHUNK * CHUNK


def work_sizes(tokens: int, depth: int) -> dict[str, int]:
    """Scratch for sequences of up to `tokens` tokens: bytes, float32 or int32 of each part."""
    padded, deep = -(-tokens // CHUNK) * CHUNK, -(-depth // CHUNK)
    rows = padded + 2 * ROWS + LANES
    return {
        "queries": rows * deep * _S_ROW,
        "keys": (padded + 64) // LANES * deep * _KEY_CHUNK,
        "values": (depth // LANES + 2) * (padded // CHUNK) * _VALUE_CHUNK,
        "weights": 0 if ISA == "amx" else LANES * (padded // CHUNK) * _W_ROW,  # there they take the scores' place
        "scores": LANES * padded,
        "scales": padded,
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
    work: tuple[I8, I8, I8, I8, I32, F32, I32],
    out: F32,
) -> None:
    """out[first:first + count, width] = softmax(q k.T * scale) v for each head.

    qkv float32 [tokens, 3 * width]: queries, keys, values side by side, `depth` for each head, a multiple of 16. With a
    window, a token attends to those at most `window` places away; 0 is no window.
    """
    queries, keys, values, weights, scores, scales, sums = work
    padded, row = padded_keys(count), 3 * width
    deep, steps = (depth + CHUNK - 1) // CHUNK, padded // CHUNK
    value_top = max(_VALUE_LEAST, min(_VALUE_TOP, GREATEST // count))
    power = _log2_below((2**31 - 1) // (value_top * count))
    for head in range(heads):
        at = head * depth
        factor = _key_rows(qkv, first, count, at + width, row, depth, queries) * (scale * _LOG2E)
        _transpose_keys(queries, count, deep, keys)
        _query_rows(qkv, first, count, at, row, depth, factor, queries, scales)
        value_scale = _value_columns(qkv, first, count, at + 2 * width, row, depth, np.float32(value_top), values)
        for block in range(0, count, ROWS):
            rows = min(ROWS, count - block)
            _score(queries, keys, block, padded, deep, scores)
            for r in range(rows):
                t = block + r
                low, high = (max(0, t - window), min(count, t + window + 1)) if window else (0, count)
                scales[t] = value_scale / weigh(scores, r, padded, low, high, scales[t], power, weights)
            _mix(weights, rows, steps, values, depth, scales, block, out, first + block, at, width, sums)


@kernel
def _log2_below(bound: int) -> Float:
    """log2 of TOP, or of the greatest power of two within `bound` where that is less."""
    if bound >= TOP:
        return _LOG2_TOP
    power = 0
    while 2 << power <= bound:
        power += 1
    return np.float32(power)


@kernel
def _greatest(x: F32, first: int, count: int, column: int, n: int, depth: int) -> Float:
    """The greatest magnitude in these columns of rows first..; NaN or infinity if one is."""
    peak = no_i32()
    for t in range(first, first + count):
        at = place(t, column, n)
        for i in range(0, depth, LANES):
            peak = larger_i32(magnitude_bits(load_f32(x, at + i * LANES)), peak)
    return of_bits(largest_i32(peak))


@kernel
def _inverse(top: Float, greatest: Float) -> Float:
    """What brings `greatest` to `top`; 0 for zeros."""
    return top / greatest if greatest > _TINY else _ZERO


@kernel
def _key_rows(x: F32, first: int, count: int, column: int, n: int, depth: int, out: I8) -> Float:
    """Keys as a left operand of whole numbers within 127; returns their scale, NaN if one is not finite."""
    greatest = _greatest(x, first, count, column, n, depth)
    inverse = splat(_inverse(_SMALL_TOP, greatest))
    for t in range(count):
        _small_row(x, place(first + t, column, n), t, depth, inverse, out)
    return greatest / _SMALL_TOP + (greatest - greatest)


@kernel
def _query_rows(
    x: F32, first: int, count: int, column: int, n: int, depth: int, factor: Float, out: I8, scales: F32
) -> None:
    """Queries as a left operand of whole numbers within 127, each with a scale, times `factor`; NaN if it is not
    finite."""
    for t in range(count):
        greatest = _greatest(x, first + t, 1, column, n, depth)
        scales[t] = (greatest / _SMALL_TOP + (greatest - greatest)) * factor
        _small_row(x, place(first + t, column, n), t, depth, splat(_inverse(_SMALL_TOP, greatest)), out)


@kernel
def _small_row(x: F32, at: int, t: int, depth: int, inverse: Lanes, out: I8) -> None:
    """Row t of a left operand of small numbers."""
    deep = (depth + CHUNK - 1) // CHUNK
    row = out.ctypes.data + (t // _S_GROUP) * (_S_GROUP * _S_ROW * deep) + (t % _S_GROUP) * _S_STEP
    for q in range(deep):
        i, left = at + q * CHUNK * LANES, depth - q * CHUNK
        _STORE_SMALL(
            row + q * _S_CHUNK, _rounded(x, i, inverse, left > 0), _rounded(x, i + TILE, inverse, left > 16),
            _rounded(x, i + 2 * TILE, inverse, left > 32), _rounded(x, i + 3 * TILE, inverse, left > 48),
        )  # fmt: skip


@kernel
def _rounded(x: F32, at: int, inverse: Lanes, there: bool) -> Lanes:
    """The nearest whole numbers, or zeros."""
    if there:
        return to_i32(mul(load_f32(x, at), inverse))
    return no_i32()


@kernel
def _transpose_keys(rows: I8, count: int, deep: int, keys: I8) -> None:
    """A left operand's rows as the columns of a right one: 16 by 16 dwords, which hold what is multiplied together."""
    source, target = rows.view(np.int32), keys.view(np.int32)
    group, row, step, chunk = _S_GROUP * _S_ROW * deep // 4, 0, _S_STEP // 4, _S_CHUNK // 4
    for tile in range((count + LANES - 1) // LANES):
        for key in range(LANES):
            t = tile * LANES + key
            row = (t // _S_GROUP) * group + (t % _S_GROUP) * step
            for q in range(deep):
                to = (tile * deep + q) * (LANES * _DWORDS) + key
                for j in range(_DWORDS):
                    target[to + LANES * j] = source[row + q * chunk + j]


@kernel
def _value_columns(x: F32, first: int, count: int, column: int, n: int, depth: int, top: Float, out: I8) -> Float:
    """Values as a right operand of whole numbers within `top`; returns their scale, NaN if one is not finite."""
    greatest, steps, base = _greatest(x, first, count, column, n, depth), padded_keys(count) // CHUNK, out.ctypes.data
    inverse = splat(_inverse(top, greatest))
    for i in range(0, depth, LANES):
        for chunk in range(steps):
            to = base + (i // LANES * steps + chunk) * _VALUE_CHUNK
            for r in range(LANES):
                t = chunk * CHUNK + r
                _STORE_COLUMNS(
                    to + 64 * r, _rounded(x, place(first + t, column + i, n), inverse, t < count),
                    _rounded(x, place(first + t + 16, column + i, n), inverse, t + 16 < count),
                    _rounded(x, place(first + t + 32, column + i, n), inverse, t + 32 < count),
                    _rounded(x, place(first + t + 48, column + i, n), inverse, t + 48 < count),
                )  # fmt: skip
    return greatest / top + (greatest - greatest)


@kernel
def _score(queries: I8, keys: I8, block: int, padded: int, deep: int, scores: I32) -> None:
    """scores int32 [padded / 16][16][16] = ROWS queries times the keys."""
    a = queries.ctypes.data + block * deep * _S_ROW
    for j in range(0, padded, SMALL_COLUMNS * LANES):
        w = keys.ctypes.data + (j // LANES) * deep * _KEY_CHUNK
        small_products(a, deep, w, scores.ctypes.data + 4 * LANES * j)


@kernel
def _mix(
    weights: I8, rows: int, steps: int, values: I8, depth: int, scales: F32, block: int, out: F32, t: int, column: int,
    n: int, sums: I32,
) -> None:  # fmt: skip
    """Columns of the rows t.. of out [tokens, n] = weights times values, each row with its scale."""
    for j in range(0, depth, WIDTH):
        w = values.ctypes.data + (j // LANES) * steps * _VALUE_CHUNK
        mix_products(weights.ctypes.data, steps, w, sums.ctypes.data)
        for c in range(min(WIDTH, depth - j) // LANES):
            for r in range(rows):
                v = mul(wide_sum(sums, r, c), splat(scales[block + r]))
                store_f32(out, place(t + r, column + j + LANES * c, n), v)
