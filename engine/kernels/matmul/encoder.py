"""Matrix products of encoders: rows of activations and weights as integers, with scales for groups of 64 values.

`quantize` makes a left operand of rows: integers of one digit, within 127, or of two, within 32767, with a scale for
each row and group. `matmul` makes rows of them and of a matrix, and `matmul_gelu` the next left operand, through GELU:
64 columns are a group of it. What comes out of GELU is never far below zero: where one digit is enough, values are
raised by RAISE and take all of a byte, from 0 to 255. The definition is in `tiles/grouped.py`. Matrices that are
float32 in the file are multiplied so (`floats.py`).
"""

from typing import NamedTuple

import numpy as np

from engine.kernels.matmul import FIRST, ISA, VECTORS_ISA, Rows, Target
from engine.kernels.matmul.floats import SUMS, matmul_floats
from engine.kernels.rows import TILE, line_up, place
from engine.simd import F32, I8, I32, LANES, RAISE, Integer
from engine.simd.compiled import inlined, kernel
from engine.tiles.amx.grouped import SCRATCH, group_amx
from engine.tiles.grouped import (
    BYTES,
    FOUR,
    GELU,
    GELU_RAISED,
    GROUP,
    LINES,
    ONE,
    RAISED,
    TWO,
    FourRows,
    Tile,
    group_rows,
    group_tile,
)
from engine.tiles.operands import SMALL_TOP

LAYOUT = "bytes" if ISA in BYTES else "pairs"
"""How packed weights lie: the same for all instruction sets whose operands are alike."""
TILES = {"avx512_vnni": ((5, 4, 3, 2, 1), 2), "avx2": ((3, 2, 1), 1), "portable": ((3, 2, 1), 1)}
"""Rows that one tile may have, and its vectors of 16 columns, as the registers just hold them. (AMX has its own.)"""
SIZES, COLUMNS = TILES[VECTORS_ISA]
ROWS = LANES if ISA == "amx" else SIZES[0]
TOTALS = max(SUMS, SCRATCH // 4 if ISA == "amx" else 0)
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
    Rows up to the next multiple of 16 are readable. For a float32 matrix the rows are `floats`, one after another."""

    quants: I8
    scales: F32
    floats: F32
    rows: Integer
    k: Integer
    kind: Integer


class Matrix(NamedTuple):
    """One of the equal matrices of a stack: weights and scales as `pack` gives them, or float32 as `pack_floats` does;
    the bias; the factor of each place of a row; which matrix, and its number of columns, a multiple of 64."""

    quants: I8
    scales: F32
    floats: F32
    bias: F32
    factors: F32
    number: Integer
    n: Integer


@kernel
def row_bytes(k: int, kind: int) -> int:
    """Bytes of a row of a left operand."""
    return k if _BYTES and kind != TWO else k * 2


@kernel
def quantize(x: Rows, matrix: Matrix, to: Operand) -> None:
    """Rows as a left operand of the matrix, each value times the factor of its place."""
    if matrix.floats.size:
        line_up(x.x, x.first, to.rows, to.k, to.floats)
        return
    for r in range(0, to.rows, FOUR):
        for g in range(to.k // GROUP):
            _take(x.x, place(x.first + r, g * GROUP, to.k), matrix.factors, g * GROUP, r, g, to)


@inlined
def _take(x: F32, at: int, factors: F32, factors_at: int, r: int, g: int, to: Operand) -> None:
    """Group g of the rows r..r + 3 of a left operand, from the values from x[at] on."""
    step, groups = row_bytes(to.k, to.kind), to.k // GROUP
    rows = FourRows(
        x=np.int64(x.ctypes.data) + 4 * at,
        factors=np.int64(factors.ctypes.data) + 4 * factors_at,
        out=np.int64(to.quants.ctypes.data) + r * step + g * (GROUP if _BYTES else 2 * GROUP),
        row=step,
        low=to.k,
        scale=np.int64(to.scales.ctypes.data) + 4 * (r * groups + g),
        scales=4 * groups,
    )
    if to.kind == RAISED:
        _rows_of_raised(rows)
    elif to.kind == ONE:
        _rows_of_one(rows)
    else:
        _rows_of_two(rows)


@kernel
def matmul(left: Operand, matrix: Matrix, target: Target, totals: F32) -> None:
    """The target = left @ matrix + bias, stored or added, as its mode says."""
    n, k = matrix.n, left.k
    if matrix.floats.size:
        weights, bias = matrix.floats[matrix.number * n * k :], matrix.bias[matrix.number * n :]
        matmul_floats(left.floats, left.rows, k, weights, bias, n, target, totals)
        return
    for j in range(0, n, _WIDTH):
        for i in range(0, left.rows, ROWS):
            here = Target(target.out, target.width, target.first + i, target.column + j, target.mode)
            _tile(left, matrix, i, j, here, totals, _WIDTH)


@kernel
def matmul_gelu(left: Operand, matrix: Matrix, out: Operand, factors: F32, between: F32, totals: F32) -> None:
    """out = gelu(left @ matrix + bias), as a left operand: raised, or times the factor of each place. `between` has
    room for BETWEEN rows of 64 values."""
    mode = np.int64(GELU_RAISED) if out.kind == RAISED else np.int64(GELU)
    for j in range(0, matrix.n, GROUP):
        for i in range(0, left.rows, _TOGETHER):
            some = min(_TOGETHER, left.rows - i)
            for c in range(0, GROUP, _WIDTH):
                for r in range(0, some, ROWS):
                    here = Target(between, np.int64(GROUP), FIRST + r, FIRST + c, mode)
                    _tile(left, matrix, i + r, j + c, here, totals, GROUP)
            for r in range(0, some, FOUR):
                _take(between, place(r, 0, GROUP), factors, j, i + r, j // GROUP, out)


@inlined
def _tile(left: Operand, matrix: Matrix, i: int, j: int, target: Target, totals: F32, next_: int) -> None:
    """The rows from i on and the columns from j on. Weights of columns `next_` further are fetched meanwhile."""
    groups, panel = left.k // GROUP, LANES * left.k * _WEIGHT
    step, number = row_bytes(left.k, left.kind), matrix.number * (matrix.n // LANES) + j // LANES
    weights = np.int64(matrix.quants.ctypes.data) + number * panel
    tile = Tile(
        a=np.int64(left.quants.ctypes.data) + i * step,
        row=step,
        low=left.k,
        s=np.int64(left.scales.ctypes.data) + 4 * i * groups,
        scales=4 * groups,
        w=weights,
        panel=panel,
        d=np.int64(matrix.scales.ctypes.data) + number * (4 * LANES * groups * _STARTS),
        bias=np.int64(matrix.bias.ctypes.data) + 4 * LANES * number,
        groups=groups,
        out=np.int64(target.out.ctypes.data) + 4 * place(target.first, target.column, target.width),
        columns=4 * TILE,
        cross=LANES - target.first % LANES,
        jump=4 * LANES * (target.width - LANES),
        mode=target.mode,
        scratch=np.int64(totals.ctypes.data),
        ahead=weights + next_ // LANES * panel + 4 * LANES * groups * LINES * (i // ROWS),
    )
    rows = min(ROWS, left.rows - i)
    if left.kind == RAISED:
        _raised(rows, tile)
    elif left.kind == ONE:
        _one(rows, tile)
    else:
        _two(rows, tile)


def pack(numbers: I32, scales: F32) -> tuple[I8, F32]:
    """The execution layout (`tiles/grouped.py`) of what `to_integers` gives of weights (n, k), n and k multiples
    of 64: operand bytes, and for each 16 columns their scales, float32 [k / 64][16]. Where operands are bytes, the
    int32 that sums begin with lie behind these, as they are."""
    n, k = numbers.shape

    def by_columns(x: F32 | I32) -> F32:
        return np.ascontiguousarray(x.reshape(n // LANES, LANES, -1).transpose(0, 2, 1)).view(np.float32)

    if LAYOUT == "bytes":
        starts = -128 * _sums(numbers)
        factors = np.concatenate([by_columns(scales), by_columns(starts)], axis=1)
        together, kind = 4, "i1"
    else:
        factors, together, kind = by_columns(scales), 2, "i2"
    order = numbers.reshape(n // LANES, LANES, k // together, together).transpose(0, 2, 1, 3)
    return np.ascontiguousarray(order.astype(kind)).reshape(-1).view(np.int8), factors.reshape(-1)


_LEAST = np.float32(1e-37)  # scales hardly have digits any more below it, and integers would leave their bounds


def to_integers(values: F32) -> tuple[I32, F32]:
    """Weights (n, k) as integers within SMALL_TOP, and a scale for each of the n and each GROUP of k."""
    parts = values.reshape(values.shape[0], -1, GROUP)
    scales = (np.abs(parts).max(2) / np.float32(SMALL_TOP)).astype(np.float32)
    scales = np.where(scales > _LEAST, scales, np.float32(0))
    unit = np.where(scales > 0, scales, np.float32(1))[:, :, None]
    return np.rint(parts / unit).astype(np.int32).reshape(values.shape), scales


def for_raised(bias: F32, numbers: I32, scales: F32) -> F32:
    """The bias (n) for rows whose values are raised by RAISE: without what the product gains by that."""
    gained = np.zeros_like(bias)
    with np.errstate(all="ignore"):  # a file may hold any numbers
        for products in (_sums(numbers).astype(np.float32) * scales).T:
            gained += products
        return bias - RAISE * gained


def _sums(numbers: I32) -> I32:
    """The sum of each group, [n, k / 64]."""
    sums: I32 = numbers.reshape(numbers.shape[0], -1, GROUP).sum(2, dtype=np.int32)
    return sums
