"""A head's queries, keys and values as operands of AMX: integers with scales."""

import numpy as np
from numba import njit

from engine.codegen import CHUNK, SMALL_TOP
from engine.codegen.amx_operands import KEY_CHUNK, SMALL, VALUE_CHUNK, store_columns, store_small_row
from engine.kernels.attention.head_rows import HeadRows, greatest_of, inverse_of, peak_of_four
from engine.kernels.compiled import kernel
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
    load_f32,
    mul,
    no_i32,
    quarters,
    splat,
    store_f32,
    sub,
    to_i32,
    transpose,
)

_TOP, _TINY, _ZERO = np.float32(SMALL_TOP), np.float32(1e-30), np.float32(0)


@kernel
def _peaks(head: HeadRows) -> Lanes:
    """The greatest magnitudes of 16 rows, each a lane; those of the last row in the lanes after it."""
    t = head.first
    return quarters(
        peak_of_four(head, t), peak_of_four(head, t + 4), peak_of_four(head, t + 8), peak_of_four(head, t + 12)
    )


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
                transpose(rows.ctypes.data + q * SMALL.chunk + half // LANES, SMALL.step, to + half)
    return greatest / _TOP + (greatest - greatest)


@kernel
def query_rows(queries: HeadRows, factor: Float, out: I8, scales: F32, at: int) -> None:
    """Up to 16 queries as a left operand of integers within 127, each with a scale times `factor` at scales[at:]; NaN
    if it is not finite. 32 of `scales` are written."""
    greatest = floats(_peaks(queries))
    top, tiny = splat(_TOP), splat(_TINY)
    store_f32(scales, at, mul(add(div(greatest, top), sub(greatest, greatest)), splat(factor)))
    store_f32(scales, at + LANES, if_larger(greatest, tiny, div(top, larger(greatest, tiny))))
    _small_rows(queries, scales, at + LANES, out)


@kernel
def _small_rows(head: HeadRows, inverses: F32, at: int, out: I8) -> None:
    """Up to 16 rows of a left operand of small numbers, each times its inverse."""
    for q in range((head.head_dim + CHUNK - 1) // CHUNK):
        left, column, to = head.head_dim - q * CHUNK, head.column + q * CHUNK, out.ctypes.data + q * SMALL.chunk
        # how many vectors there are is a constant in each of these
        if left > 48:
            _chunk(head, column, inverses, at, 4, to)
        elif left > 32:
            _chunk(head, column, inverses, at, 3, to)
        elif left > 16:
            _chunk(head, column, inverses, at, 2, to)
        else:
            _chunk(head, column, inverses, at, 1, to)


@njit(inline="always")
def _chunk(head: HeadRows, column: int, inverses: F32, at: int, vectors: int, to: int) -> None:
    for r in range(head.rows):
        i, inverse = place(head.first + r, column, head.n), splat(inverses[at + r])
        store_small_row(
            to + r * SMALL.step, _rounded(head.x, i, inverse, True), _rounded(head.x, i + TILE, inverse, vectors > 1),
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
                store_columns(
                    to + 64 * r, _value(values, t, i, inverse), _value(values, t + 16, i, inverse),
                    _value(values, t + 32, i, inverse), _value(values, t + 48, i, inverse),
                )  # fmt: skip
    return greatest / top + (greatest - greatest)


@kernel
def _value(values: HeadRows, t: int, i: int, inverse: Lanes) -> Lanes:
    """Sixteen integers of row t, zeros where there is none."""
    return _rounded(values.x, place(values.first + t, values.column + i, values.n), inverse, t < values.rows)
