"""A head's queries, keys and values as operands of products: integers with scales."""

from typing import NamedTuple

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


class HeadRows(NamedTuple):
    """The columns of one head, from `column` on, in some rows of x [tokens, n]."""

    x: F32
    first: int
    rows: int
    column: int
    n: int
    head_dim: int


@kernel
def _row_step(deep: int) -> int:
    """How far apart rows of a left operand of small numbers lie, in bytes."""
    return _SMALL_STEP or SMALL_ROW * deep


@kernel
def peak(so_far: Lanes, head: HeadRows, t: int) -> Lanes:
    """The greater of `so_far` and the magnitudes in row t, as bits: NaN and infinity are greatest."""
    at = place(t, head.column, head.n)
    for i in range(0, head.head_dim, LANES):
        so_far = larger_i32(magnitude_bits(load_f32(head.x, at + i * LANES)), so_far)
    return so_far


@kernel
def peaks(head: HeadRows) -> Lanes:
    """The greatest magnitudes of 16 rows, each a lane; those of the last row in the lanes after it."""
    return quarters(_peak_of_four(head, 0), _peak_of_four(head, 4), _peak_of_four(head, 8), _peak_of_four(head, 12))


@kernel
def _peak_of_four(head: HeadRows, r: int) -> Lanes:
    t, last = head.first + r, head.first + head.rows - 1
    return largest_of_four(
        peak(no_i32(), head, min(t, last)), peak(no_i32(), head, min(t + 1, last)),
        peak(no_i32(), head, min(t + 2, last)), peak(no_i32(), head, min(t + 3, last)),
    )  # fmt: skip


@kernel
def greatest_of(head: HeadRows) -> Float:
    """The greatest magnitude of all rows; NaN or infinity if one is."""
    most = no_i32()
    for t in range(head.first, head.first + head.rows):
        most = peak(most, head, t)
    return of_bits(largest_i32(most))


@kernel
def inverse_of(top: Float, greatest: Float) -> Float:
    """The factor that takes `greatest` to `top`; 0 for zeros."""
    return top / greatest if greatest > _TINY else _ZERO


@kernel
def key_columns(keys: HeadRows, scales: F32, at: int, rows: I8, out: I8) -> Float:
    """Keys as a right operand of integers within 127; returns their scale, NaN if one is not finite. `rows`: room for
    16 of them as a left operand; scales[at:]: for 16 values."""
    greatest, deep = greatest_of(keys), (keys.head_dim + CHUNK - 1) // CHUNK
    store_f32(scales, at, splat(inverse_of(_TOP, greatest)))
    for t in range(0, keys.rows, LANES):
        some = HeadRows(
            keys.x, keys.first + t, min(LANES, keys.rows - t), keys.column, keys.n, keys.head_dim
        )  # fmt: skip
        _small_rows(some, scales, at, rows)
        for q in range(deep):
            to = out.ctypes.data + (t // LANES * deep + q) * KEY_CHUNK
            for half in range(0, KEY_CHUNK, 64 * LANES):
                transpose(rows.ctypes.data + q * _SMALL_CHUNK + half // LANES, _row_step(deep), to + half)
    return greatest / _TOP + (greatest - greatest)


@kernel
def query_rows(queries: HeadRows, factor: Float, out: I8, scales: F32, at: int) -> None:
    """Up to 16 queries as a left operand of integers within 127, each with a scale times `factor` at scales[at:]; NaN
    if it is not finite. 32 of `scales` are written."""
    greatest = floats(peaks(queries))
    top, tiny = splat(_TOP), splat(_TINY)
    store_f32(scales, at, mul(add(div(greatest, top), sub(greatest, greatest)), splat(factor)))
    store_f32(scales, at + LANES, if_larger(greatest, tiny, div(top, larger(greatest, tiny))))
    _small_rows(queries, scales, at + LANES, out)


@kernel
def _small_rows(head: HeadRows, inverses: F32, at: int, out: I8) -> None:
    """Up to 16 rows of a left operand of small numbers, each times its inverse."""
    step = _row_step((head.head_dim + CHUNK - 1) // CHUNK)
    for q in range((head.head_dim + CHUNK - 1) // CHUNK):
        left, column, to = head.head_dim - q * CHUNK, head.column + q * CHUNK, out.ctypes.data + q * _SMALL_CHUNK
        # how many vectors there are is a constant in each of these
        if left > 48:
            _chunk(head, column, inverses, at, 4, to, step)
        elif left > 32:
            _chunk(head, column, inverses, at, 3, to, step)
        elif left > 16:
            _chunk(head, column, inverses, at, 2, to, step)
        else:
            _chunk(head, column, inverses, at, 1, to, step)


@njit(inline="always")
def _chunk(head: HeadRows, column: int, inverses: F32, at: int, vectors: int, to: int, step: int) -> None:
    for r in range(head.rows):
        i, inverse = place(head.first + r, column, head.n), splat(inverses[at + r])
        _STORE_SMALL(
            to + r * step, _rounded(head.x, i, inverse, True), _rounded(head.x, i + TILE, inverse, vectors > 1),
            _rounded(head.x, i + 2 * TILE, inverse, vectors > 2), _rounded(head.x, i + 3 * TILE, inverse, vectors > 3),
        )  # fmt: skip


@kernel
def _rounded(x: F32, at: int, inverse: Lanes, there: bool) -> Lanes:
    """The nearest integers, or zeros."""
    if there:
        return to_i32(mul(load_f32(x, at), inverse))
    return no_i32()


@kernel
def value_columns(values: HeadRows, top: Float, out: I8) -> Float:
    """Values as a right operand of integers within `top`; returns their scale, NaN if one is not finite."""
    greatest, chunks = greatest_of(values), (values.rows + CHUNK - 1) // CHUNK
    inverse = splat(inverse_of(top, greatest))
    for i in range(0, values.head_dim, LANES):
        for chunk in range(chunks):
            to = out.ctypes.data + (i // LANES * chunks + chunk) * VALUE_CHUNK
            for r in range(LANES):
                t = chunk * CHUNK + r
                _STORE_COLUMNS(
                    to + 64 * r, _value(values, t, i, inverse), _value(values, t + 16, i, inverse),
                    _value(values, t + 32, i, inverse), _value(values, t + 48, i, inverse),
                )  # fmt: skip
    return greatest / top + (greatest - greatest)


@kernel
def _value(values: HeadRows, t: int, i: int, inverse: Lanes) -> Lanes:
    """Sixteen integers of row t, zeros where there is none."""
    return _rounded(values.x, place(values.first + t, values.column + i, values.n), inverse, t < values.rows)
