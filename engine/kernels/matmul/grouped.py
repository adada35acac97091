"""Matrix products of encoders: rows of activations and weights as integers, with scales for groups of 64 values.

`quantize` makes a left operand of rows: integers of one digit, within 127, or of two, within 32767, with a scale for
each row and group. `multiply` makes rows of them and of a matrix, and `multiply_gelu` the next left operand, through
GELU: 64 columns are a group of it. What comes out of GELU is never far below zero: where one digit is enough, values
are raised by RAISE and take all of a byte, from 0 to 255. The definition is in `codegen/group_tile.py`; the instruction
set decides how a product is made, never what comes out.
"""

from typing import NamedTuple

import numpy as np

from engine.codegen.group_amx import SCRATCH, group_amx
from engine.codegen.group_rows import FOUR, group_rows
from engine.codegen.group_tile import BYTES, GELU, GELU_RAISED, GROUP, LINES, ONE, RAISED, TWO, group_tile
from engine.kernels.compiled import inlined, kernel
from engine.kernels.matmul.arguments import Target
from engine.kernels.matmul.linear import ISA, VECTORS_ISA
from engine.kernels.places import TILE, place
from engine.simd import F32, I8, LANES, Integer

LAYOUT = "bytes" if ISA in BYTES else "pairs"
"""How packed weights lie: the same for all instruction sets whose operands are alike."""
TILES = {"avx512_vnni": ((5, 4, 3, 2, 1), 2), "avx2": ((3, 2, 1), 1), "portable": ((3, 2, 1), 1)}
"""Rows that one tile may have, and its vectors of 16 columns, as the registers just hold them. (AMX has its own.)"""
SIZES, COLUMNS = TILES[VECTORS_ISA]
ROWS = LANES if ISA == "amx" else SIZES[0]
TOTALS = SCRATCH // 4 if ISA == "amx" else 0
"""float32 that tiles need for their sums."""
_TOGETHER = ROWS if ROWS % FOUR == 0 else ROWS * FOUR  # whose GELU is taken: whole tiles, and whole fours
BETWEEN = 2 * LANES
"""Rows between a product and the operand that is made of it: whole tiles, and whole fours."""
_BYTES = LAYOUT == "bytes"
_WIDTH = COLUMNS * LANES
_WEIGHT = 1 if _BYTES else 2  # bytes
_STARTS = 2 if _BYTES else 1  # arrays of 4 bytes for each group and column
_KINDS = (RAISED, ONE, TWO)

_raised, _one, _two = (group_amx(n) if ISA == "amx" else group_tile(SIZES, COLUMNS, n, VECTORS_ISA) for n in _KINDS)
_rows_of_raised, _rows_of_one, _rows_of_two = (group_rows(kind, ISA) for kind in _KINDS)


class Operand(NamedTuple):
    """A left operand: `rows` rows of k values, and a scale for each row and group; their kind is RAISED, ONE or TWO.
    Rows up to the next multiple of 16 are readable."""

    quants: I8
    scales: F32
    rows: Integer
    k: Integer
    kind: Integer


class Layer(NamedTuple):
    """One of the equal matrices of a stack: weights and scales as `packing.pack` gives them, the bias; which matrix,
    and its number of columns, a multiple of 64."""

    quants: I8
    scales: F32
    bias: F32
    number: Integer
    n: Integer


@kernel
def row_bytes(k: int, kind: int) -> int:
    """Bytes of a row of a left operand."""
    return k if _BYTES and kind != TWO else k * 2


@kernel
def quantize(x: F32, first: int, factors: F32, to: Operand) -> None:
    """Rows first.. of x [tokens, k], each value times the factor of its place, as a left operand; first is a multiple
    of 16."""
    for r in range(0, to.rows, FOUR):
        for g in range(to.k // GROUP):
            _take(x, place(first + r, g * GROUP, to.k), factors, g * GROUP, r, g, to)


@inlined
def _take(x: F32, at: int, factors: F32, factors_at: int, r: int, g: int, to: Operand) -> None:
    """Group g of the rows r..r + 3 of a left operand, from the values from x[at] on."""
    step = row_bytes(to.k, to.kind)
    values, multiplied = np.int64(x.ctypes.data) + 4 * at, np.int64(factors.ctypes.data) + 4 * factors_at
    out = np.int64(to.quants.ctypes.data) + r * step + g * (GROUP if _BYTES else 2 * GROUP)
    groups = to.k // GROUP
    scale = np.int64(to.scales.ctypes.data) + 4 * (r * groups + g)
    if to.kind == RAISED:
        _rows_of_raised(values, multiplied, out, step, to.k, scale, 4 * groups)
    elif to.kind == ONE:
        _rows_of_one(values, multiplied, out, step, to.k, scale, 4 * groups)
    else:
        _rows_of_two(values, multiplied, out, step, to.k, scale, 4 * groups)


@kernel
def multiply(left: Operand, layer: Layer, target: Target, first: int, totals: F32) -> None:
    """Rows first.. of the target = left @ weights + bias, stored or added, as its mode says."""
    for j in range(0, layer.n, _WIDTH):
        for i in range(0, left.rows, ROWS):
            _tile(left, layer, i, j, target, first + i, target.column + j, totals, _WIDTH)


@kernel
def multiply_gelu(left: Operand, layer: Layer, out: Operand, between: F32, factors: F32, totals: F32) -> None:
    """out = gelu(left @ weights + bias), as a left operand: raised, or times the factor of each place. `between` has
    room for BETWEEN rows of 64 values."""
    mode = np.int64(GELU_RAISED) if out.kind == RAISED else np.int64(GELU)
    target = Target(between, np.int64(GROUP), np.int64(0), mode)
    for j in range(0, layer.n, GROUP):
        for i in range(0, left.rows, _TOGETHER):
            some = min(_TOGETHER, left.rows - i)
            for c in range(0, GROUP, _WIDTH):
                for r in range(0, some, ROWS):
                    _tile(left, layer, i + r, j + c, target, r, c, totals, GROUP)
            for r in range(0, some, FOUR):
                _take(between, place(r, 0, GROUP), factors, j, i + r, j // GROUP, out)


@inlined
def _tile(
    left: Operand, layer: Layer, i: int, j: int, target: Target, row: int, column: int, totals: F32, next_: int
) -> None:
    """The rows from i on and the columns from j on, as the rows from `row` on and the columns from `column` on of the
    target. Weights of columns `next_` further are fetched meanwhile."""
    k, groups, rows = left.k, left.k // GROUP, min(ROWS, left.rows - i)
    step, panel = row_bytes(k, left.kind), LANES * k * _WEIGHT
    of_columns = 4 * LANES * groups * _STARTS  # bytes of the scales of 16 columns
    number = layer.number * (layer.n // LANES) + j // LANES
    a, s = np.int64(left.quants.ctypes.data) + i * step, np.int64(left.scales.ctypes.data) + 4 * i * groups
    w, d = np.int64(layer.quants.ctypes.data) + number * panel, np.int64(layer.scales.ctypes.data) + number * of_columns
    bias = np.int64(layer.bias.ctypes.data) + 4 * LANES * number
    out = np.int64(target.out.ctypes.data) + 4 * place(row, column, target.width)
    scratch = np.int64(totals.ctypes.data)
    cross, jump = LANES - row % LANES, 4 * LANES * (target.width - LANES)
    mode, ahead = target.mode, w + next_ // LANES * panel + 4 * LANES * groups * LINES * (i // ROWS)
    if left.kind == RAISED:
        _raised(
            rows, a, step, k, s, 4 * groups, w, panel, d, bias, groups, out, 4 * TILE, cross, jump, mode, scratch, ahead
        )
    elif left.kind == ONE:
        _one(
            rows, a, step, k, s, 4 * groups, w, panel, d, bias, groups, out, 4 * TILE, cross, jump, mode, scratch, ahead
        )
    else:
        _two(
            rows, a, step, k, s, 4 * groups, w, panel, d, bias, groups, out, 4 * TILE, cross, jump, mode, scratch, ahead
        )
