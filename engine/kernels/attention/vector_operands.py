"""A head's queries, keys and values as operands of the products of vector registers: integers with scales."""

import numpy as np

from engine.codegen import SMALL_TOP
from engine.codegen.attention_tile import KEYS, attention_tiles
from engine.kernels.attention.head_rows import HeadRows, greatest_of, inverse_of, peak_of_four
from engine.kernels.compiled import kernel
from engine.kernels.matmul.linear import VECTORS_ISA
from engine.kernels.places import TILE, place
from engine.simd import (
    F32,
    I8,
    LANES,
    Float,
    add,
    add_i32,
    div,
    floats,
    if_larger,
    larger,
    load_f32,
    mul,
    splat,
    splat_i32,
    store_f32,
    store_pairs,
    sub,
    to_i32,
)

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
    inverse, offset = splat(inverse_of(_TOP, greatest)), splat_i32(_OFFSET)
    for t in range(keys.first, keys.first + keys.rows, LANES):
        for i in range(keys.column, keys.column + keys.head_dim, LANES):
            for r in range(LANES):
                x = load_f32(keys.x, place(min(t + r, last), i, keys.n))
                _STORE_ROW(buffer + r * _RUN, add_i32(to_i32(mul(x, inverse)), offset))
            _TURN_KEYS(buffer, to)
            to += LANES * _RUN
    return greatest / _TOP + (greatest - greatest)


@kernel
def query_scales(queries: HeadRows, factor: Float, scales: F32, inverses: int) -> None:
    """The scale of each query times `factor`, NaN if it is not finite; and from scales[inverses] on what makes
    integers within 127 of it."""
    top, tiny = splat(_TOP), splat(_TINY)
    for t in range(queries.first, queries.first + queries.rows, 4):
        store_f32(scales, inverses + t - queries.first, floats(peak_of_four(queries, t)))
    for t in range(0, queries.rows, LANES):
        greatest = load_f32(scales, inverses + t)
        store_f32(scales, t, mul(add(div(greatest, top), sub(greatest, greatest)), splat(factor)))
        store_f32(scales, inverses + t, if_larger(greatest, tiny, div(top, larger(greatest, tiny))))


@kernel
def query_rows(queries: HeadRows, inverses: F32, at: int, out: I8) -> None:
    """Up to ROWS queries as a left operand [head_dim / 16][ROWS][16], each times its inverse."""
    for r in range(queries.rows):
        inverse, x = splat(inverses[at + r]), place(queries.first + r, queries.column, queries.n)
        to = np.int64(out.ctypes.data) + r * _RUN
        for i in range(queries.head_dim // LANES):
            _STORE_ROW(to + i * (ROWS * _RUN), to_i32(mul(load_f32(queries.x, x + i * TILE), inverse)))


@kernel
def value_columns(values: HeadRows, top: Float, out: I8) -> Float:
    """Values as a right operand of integers within `top`, [head_dim / 16][tokens / KEYS][16][16][2]; returns their
    scale, NaN if one is not finite."""
    greatest, last, to = greatest_of(values), values.first + values.rows - 1, np.int64(out.ctypes.data)
    inverse = splat(inverse_of(top, greatest))
    for i in range(values.column, values.column + values.head_dim, LANES):
        for t in range(values.first, values.first + values.rows, KEYS):
            for r in range(LANES):
                low, high = place(min(t + r, last), i, values.n), place(min(t + r + LANES, last), i, values.n)
                store_pairs(
                    to, to_i32(mul(load_f32(values.x, low), inverse)), to_i32(mul(load_f32(values.x, high), inverse))
                )  # fmt: skip
                to += 4 * LANES
    return greatest / top + (greatest - greatest)
