"""A head's queries, keys and values as operands of products: whole numbers with scales."""

import numpy as np
from numba import njit

from engine.codegen import CHUNK, SMALL_TOP
from engine.kernels.compiled import kernel
from engine.kernels.matmul.linear import OPERANDS
from engine.kernels.places import TILE, place
from engine.simd import (
    F32,
    I8,
    LANES,
    Float,
    Lanes,
    add,
    div,
    floats,
    if_larger,
    larger,
    larger_i32,
    largest_i32,
    largest_of_four,
    load_f32,
    magnitude_bits,
    mul,
    no_i32,
    of_bits,
    quarters,
    splat,
    store_f32,
    sub,
    to_i32,
    transpose,
)

VALUE_CHUNK, KEY_CHUNK = OPERANDS.chunk, OPERANDS.small_chunk
WIDE_ROW, SMALL_ROW = OPERANDS.wide.row, OPERANDS.small.row
_TOP, _TINY, _ZERO = np.float32(SMALL_TOP), np.float32(1e-30), np.float32(0)
_STORE_COLUMNS, _STORE_SMALL = OPERANDS.store_columns, OPERANDS.store_small_row
_SMALL_STEP, _SMALL_CHUNK = OPERANDS.small.step, OPERANDS.small.chunk


@kernel
def _row_step(deep: int) -> int:
    """How far apart rows of a left operand of small numbers lie."""
    return _SMALL_STEP or SMALL_ROW * deep


@kernel
def _peak(peak: Lanes, x: F32, t: int, column: int, n: int, depth: int) -> Lanes:
    """The greater of `peak` and the magnitudes in these columns of row t, as bits: NaN and infinity are greatest."""
    at = place(t, column, n)
    for i in range(0, depth, LANES):
        peak = larger_i32(magnitude_bits(load_f32(x, at + i * LANES)), peak)
    return peak


@kernel
def _peaks(x: F32, t: int, last: int, column: int, n: int, depth: int) -> Lanes:
    """Of the rows t..t + 15, each a lane; of the last row for those after it."""
    return quarters(
        _peak_of_four(x, t, last, column, n, depth), _peak_of_four(x, t + 4, last, column, n, depth),
        _peak_of_four(x, t + 8, last, column, n, depth), _peak_of_four(x, t + 12, last, column, n, depth),
    )  # fmt: skip


@kernel
def _peak_of_four(x: F32, t: int, last: int, column: int, n: int, depth: int) -> Lanes:
    return largest_of_four(
        _peak(no_i32(), x, min(t, last), column, n, depth), _peak(no_i32(), x, min(t + 1, last), column, n, depth),
        _peak(no_i32(), x, min(t + 2, last), column, n, depth), _peak(no_i32(), x, min(t + 3, last), column, n, depth),
    )  # fmt: skip


@kernel
def _greatest(x: F32, first: int, count: int, column: int, n: int, depth: int) -> Float:
    """The greatest magnitude in these columns of rows first..; NaN or infinity if one is."""
    peak = no_i32()
    for t in range(first, first + count):
        peak = _peak(peak, x, t, column, n, depth)
    return of_bits(largest_i32(peak))


@kernel
def _inverse(top: Float, greatest: Float) -> Float:
    """What brings `greatest` to `top`; 0 for zeros."""
    return top / greatest if greatest > _TINY else _ZERO


@kernel
def key_columns(
    x: F32, first: int, count: int, column: int, n: int, depth: int, scales: F32, at: int, rows: I8, out: I8
) -> Float:
    """Keys as a right operand of whole numbers within 127; returns their scale, NaN if one is not finite. `rows`: room
    for 16 of them as a left operand; scales[at:]: for 16 values."""
    greatest, deep = _greatest(x, first, count, column, n, depth), (depth + CHUNK - 1) // CHUNK
    store_f32(scales, at, splat(_inverse(_TOP, greatest)))
    for t in range(0, count, LANES):
        _small_rows(x, first + t, min(LANES, count - t), column, n, depth, scales, at, rows)
        for q in range(deep):
            to = out.ctypes.data + (t // LANES * deep + q) * KEY_CHUNK
            for part in range(0, KEY_CHUNK, 64 * LANES):
                transpose(rows.ctypes.data + q * _SMALL_CHUNK + part // LANES, _row_step(deep), to + part)
    return greatest / _TOP + (greatest - greatest)


@kernel
def query_rows(
    x: F32, first: int, count: int, column: int, n: int, depth: int, factor: Float, out: I8, scales: F32, at: int
) -> None:
    """Up to 16 queries as a left operand of whole numbers within 127, each with a scale times `factor` at scales[at:];
    NaN if it is not finite. 32 of `scales` are written."""
    greatest = floats(_peaks(x, first, first + count - 1, column, n, depth))
    top, tiny = splat(_TOP), splat(_TINY)
    store_f32(scales, at, mul(add(div(greatest, top), sub(greatest, greatest)), splat(factor)))
    store_f32(scales, at + LANES, if_larger(greatest, tiny, div(top, larger(greatest, tiny))))
    _small_rows(x, first, count, column, n, depth, scales, at + LANES, out)


@kernel
def _small_rows(
    x: F32, t: int, count: int, column: int, n: int, depth: int, inverses: F32, at: int, out: I8
) -> None:  # fmt: skip
    """Up to 16 rows of a left operand of small numbers: the rows t.. of x, each times its inverse."""
    deep = (depth + CHUNK - 1) // CHUNK
    for q in range(deep):
        left, from_, to = depth - q * CHUNK, column + q * CHUNK, out.ctypes.data + q * _SMALL_CHUNK
        # what is there is a constant in each of these
        if left > 48:
            _chunk(x, t, count, from_, n, _row_step(deep), inverses, at, True, True, True, to)
        elif left > 32:
            _chunk(x, t, count, from_, n, _row_step(deep), inverses, at, True, True, False, to)
        elif left > 16:
            _chunk(x, t, count, from_, n, _row_step(deep), inverses, at, True, False, False, to)
        else:
            _chunk(x, t, count, from_, n, _row_step(deep), inverses, at, False, False, False, to)


@njit(inline="always")
def _chunk(
    x: F32, t: int, count: int, column: int, n: int, step: int, inverses: F32, at: int, second: bool, third: bool,
    fourth: bool, to: int,
) -> None:  # fmt: skip
    for r in range(count):
        i, inverse = place(t + r, column, n), splat(inverses[at + r])
        _STORE_SMALL(
            to + r * step, _rounded(x, i, inverse, True), _rounded(x, i + TILE, inverse, second),
            _rounded(x, i + 2 * TILE, inverse, third), _rounded(x, i + 3 * TILE, inverse, fourth),
        )  # fmt: skip


@kernel
def _rounded(x: F32, at: int, inverse: Lanes, there: bool) -> Lanes:
    """The nearest whole numbers, or zeros."""
    if there:
        return to_i32(mul(load_f32(x, at), inverse))
    return no_i32()


@kernel
def value_columns(x: F32, first: int, count: int, column: int, n: int, depth: int, top: Float, out: I8) -> Float:
    """Values as a right operand of whole numbers within `top`; returns their scale, NaN if one is not finite."""
    greatest, chunks = _greatest(x, first, count, column, n, depth), (count + CHUNK - 1) // CHUNK
    inverse = splat(_inverse(top, greatest))
    for i in range(0, depth, LANES):
        for chunk in range(chunks):
            to = out.ctypes.data + (i // LANES * chunks + chunk) * VALUE_CHUNK
            for r in range(LANES):
                t = chunk * CHUNK + r
                _STORE_COLUMNS(
                    to + 64 * r, _rounded(x, place(first + t, column + i, n), inverse, t < count),
                    _rounded(x, place(first + t + 16, column + i, n), inverse, t + 16 < count),
                    _rounded(x, place(first + t + 32, column + i, n), inverse, t + 32 < count),
                    _rounded(x, place(first + t + 48, column + i, n), inverse, t + 48 < count),
                )  # fmt: skip
    return greatest / top + (greatest - greatest)
