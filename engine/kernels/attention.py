"""Attention of one sequence, every head by itself, in whole numbers.

Queries and keys have 8 bits and a scale each, weights up to 14 bits, values 8 to 10 bits with one scale for a text and
head. Sums are exact. Queries go in blocks, so that scores stay in the cache and grow only with the length.

The blocks of all heads are one row of steps. In a step one block is scored, the one before is weighed and the one before
that is mixed: then nothing waits for what was written right before, and tiles and vectors work side by side.
"""

import numpy as np

from engine.kernels.compiled import kernel
from engine.kernels.matmul import (
    GREATEST,
    ISA,
    OPERANDS,
    COLUMNS,
    ROWS,
    SUMS,
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
    transpose,
)  # fmt: skip

_SMALL_TOP, _VALUE_TOP, _VALUE_LEAST = np.float32(127), 511, 127
_ZERO, _ONE, _TINY, _LOWEST = np.float32(0), np.float32(1), np.float32(1e-30), np.float32(-3e38)
_LOG2E, _LOG2_TOP = np.float32(1.4426950408889634), np.float32(12.99964)  # of 8190: what is rounded up stays within TOP
_STORE_ROW, _STORE_COLUMNS, _STORE_SMALL = OPERANDS.store_row, OPERANDS.store_columns, OPERANDS.store_small_row
_WIDE, _SMALL = OPERANDS.wide, OPERANDS.small
_W_GROUP, _W_ROW, _W_STEP, _W_CHUNK = _WIDE
_S_GROUP, _S_ROW, _S_STEP, _S_CHUNK = _SMALL
_VALUE_CHUNK, _KEY_CHUNK = OPERANDS.chunk, OPERANDS.small_chunk
_ROW_STEP = 0 if _S_GROUP > 1 else _S_ROW
_PARTS = 4  # of a step
_APART = 512  # int32 between two blocks' scores, which else would lie at the same place of a page


@kernel
def padded_keys(count: int) -> int:
    """The room that `count` keys take: whole chunks."""
    return (count + CHUNK - 1) // CHUNK * CHUNK


def work_sizes(tokens: int, depth: int) -> dict[str, int]:
    """Scratch for sequences of up to `tokens` tokens: bytes, float32 or int32 of each part."""
    padded, deep = -(-tokens // CHUNK) * CHUNK, -(-depth // CHUNK)
    return {
        "queries": LANES * deep * _S_ROW,
        "keys": padded // LANES * deep * _KEY_CHUNK,
        "values": -(-depth // WIDTH) * COLUMNS * (padded // CHUNK) * _VALUE_CHUNK,
        "weights": 0 if ISA == "amx" else 2 * LANES * (padded // CHUNK) * _W_ROW,  # there they take the scores' place
        "scores": 2 * (LANES * padded + _APART),
        "scales": 3 * LANES,
        "sums": -(-depth // WIDTH) * SUMS,
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
    row, padded = 3 * width, padded_keys(count)
    deep, steps = (depth + CHUNK - 1) // CHUNK, padded // CHUNK
    blocks = (count + ROWS - 1) // ROWS
    value_top = max(_VALUE_LEAST, min(_VALUE_TOP, GREATEST // count))
    power = _log2_below((2**31 - 1) // (value_top * count))
    factor = value_scale = _ZERO
    for s in range(-1, heads * blocks + 2):
        scored, weighed, mixed = s, s - 1, s - 2
        scoring, weighing, mixing = 0 <= s < heads * blocks, 0 <= weighed < heads * blocks, mixed >= 0
        for part in range(_PARTS):
            if weighing:
                t = weighed % blocks * ROWS
                for r in range(LANES // _PARTS * part, min(LANES // _PARTS * (part + 1), ROWS, count - t)):
                    begin, end = _reach(t, count, window)
                    low, high = (max(0, t + r - window), min(count, t + r + window + 1)) if window else (0, count)
                    at = weighed % 3 * LANES + r
                    place_ = weighed % 2
                    scales[at] = weigh(
                        scores, place_ * (LANES * padded + _APART), r, end - begin, low - begin * CHUNK, high - begin * CHUNK,
                        scales[at], power, _weights(weights, place_, padded),
                    )  # fmt: skip
            if mixing:
                begin, end = _reach(mixed % blocks * ROWS, count, window)
                _mix(_weights(weights, mixed % 2, padded), begin, end, values, steps, depth, part, sums)
            if scoring:
                begin, end = _reach(scored % blocks * ROWS, count, window)
                _score(
                    queries,
                    keys,
                    begin,
                    end,
                    deep,
                    part,
                    scores.ctypes.data + 4 * (scored % 2) * (LANES * padded + _APART),
                )
        if mixing:
            t = mixed % blocks * ROWS
            _finish(
                sums,
                min(ROWS, count - t),
                depth,
                scales,
                mixed % 3 * LANES,
                value_scale,
                out,
                first + t,
                mixed // blocks * depth,
                width,
            )
        if weighing and weighed % blocks == 0:
            at = 2 * width + weighed // blocks * depth
            value_scale = _value_columns(qkv, first, count, at, row, depth, np.float32(value_top), values)
        following = s + 1
        if following < heads * blocks:
            head, block = following // blocks, following % blocks
            if block == 0:
                factor = _key_columns(qkv, first, count, width + head * depth, row, depth, queries, keys) * (
                    scale * _LOG2E
                )
            t = block * ROWS
            _query_rows(
                qkv,
                first + t,
                min(ROWS, count - t),
                head * depth,
                row,
                depth,
                factor,
                queries,
                scales,
                following % 3 * LANES,
            )


@kernel
def _reach(t: int, count: int, window: int) -> tuple[int, int]:
    """The first chunk of keys that the block of queries from t on looks at, and the one after the last."""
    if window:
        return max(0, t - window) // CHUNK, (min(count, t + ROWS + window) + CHUNK - 1) // CHUNK
    return 0, (count + CHUNK - 1) // CHUNK


@kernel
def _weights(weights: I8, which: int, padded: int) -> int:
    """The address of one of the two blocks of weights."""
    size = 4 * (LANES * padded + _APART) if ISA == "amx" else padded // CHUNK * LANES * _W_ROW
    address: int = weights.ctypes.data + which * size
    return address


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
def _key_columns(x: F32, first: int, count: int, column: int, n: int, depth: int, rows: I8, out: I8) -> Float:
    """Keys as a right operand of whole numbers within 127; returns their scale, NaN if one is not finite. `rows`: room
    for 16 of them as a left operand."""
    greatest, deep = _greatest(x, first, count, column, n, depth), (depth + CHUNK - 1) // CHUNK
    inverse = splat(_inverse(_SMALL_TOP, greatest))
    for t in range(0, count, LANES):
        for r in range(min(LANES, count - t)):
            _small_row(x, place(first + t + r, column, n), r, depth, inverse, rows)
        for q in range(deep):
            to = out.ctypes.data + (t // LANES * deep + q) * _KEY_CHUNK
            for half in range(_KEY_CHUNK // 1024):
                transpose(rows.ctypes.data + q * _S_CHUNK + 64 * half, _ROW_STEP * deep + _S_STEP, to + 1024 * half)
    return greatest / _SMALL_TOP + (greatest - greatest)


@kernel
def _query_rows(
    x: F32, first: int, count: int, column: int, n: int, depth: int, factor: Float, out: I8, scales: F32,
    at: int,
) -> None:  # fmt: skip
    """Queries as a left operand of whole numbers within 127, each with a scale from scales[at] on, times
    `factor`; NaN if it is not finite."""
    for t in range(count):
        greatest = _greatest(x, first + t, 1, column, n, depth)
        scales[at + t] = (greatest / _SMALL_TOP + (greatest - greatest)) * factor
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
def _score(queries: I8, keys: I8, begin: int, end: int, deep: int, part: int, scores: int) -> None:
    """scores int32 [keys / 16][16][16] = ROWS queries times the keys of the chunks begin..end; a part of them."""
    calls = CHUNK // (SMALL_COLUMNS * LANES) * (end - begin)
    from_, to = _share(part - _PARTS // 2 + 1, calls)
    w = keys.ctypes.data + begin * (CHUNK // LANES) * deep * _KEY_CHUNK
    for j in range(from_, to):
        small_products(
            queries.ctypes.data,
            deep,
            w + j * SMALL_COLUMNS * deep * _KEY_CHUNK,
            scores + j * SMALL_COLUMNS * 4 * LANES * LANES,
        )


@kernel
def _share(part: int, count: int) -> tuple[int, int]:
    """From where to where part 0 or 1 of `count` goes; nothing for other parts."""
    if part == 0:
        return 0, count // 2
    if part == 1:
        return count // 2, count
    return 0, 0


@kernel
def _mix(weights: int, begin: int, end: int, values: I8, steps: int, depth: int, part: int, sums: I32) -> None:
    """sums = weights times the values of the chunks begin..end; a part of them."""
    from_, to = _share(part, 2 * ((depth + WIDTH - 1) // WIDTH))
    for unit in range(from_, to):
        group = unit // 2
        w = values.ctypes.data + (group * COLUMNS * steps + begin) * _VALUE_CHUNK
        mix_products(weights, end - begin, w, steps * _VALUE_CHUNK, sums.ctypes.data + 4 * SUMS * group, unit % 2)


@kernel
def _finish(
    sums: I32, rows: int, depth: int, scales: F32, from_: int, value_scale: Float, out: F32, t: int, column: int, n: int
) -> None:
    """Columns of the rows t.. of out [tokens, n] = the sums, each row with its scale."""
    for r in range(rows):
        scale = splat(value_scale / scales[from_ + r])
        for j in range(depth // LANES):
            at = SUMS * (j // COLUMNS)
            v = mul(wide_sum(sums[at:], r, j % COLUMNS), scale)
            store_f32(out, place(t + r, column + LANES * j, n), v)
