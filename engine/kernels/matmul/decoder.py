"""Matrix products of a decoder: rows times a matrix of an arena (`arena.py`), by a team of threads.

All threads call `quantize`, and after a barrier `matmul`. Rows become integers of 16 bits, or of 8 bits in sub-blocks,
as the matrix needs them, then blocks of 32 columns are claimed until none is left. All ways give the same exact sums in
the same order: the same bits.
"""

from typing import Any

import numpy as np

from engine.kernels.matmul import ISA, VECTORS_ISA, Target, aligned
from engine.kernels.matmul.arena import BLOCK
from engine.kernels.matmul.decoder_amx import PANEL, SUMS, TOTALS, WIDEST, matmul_digits, matmul_panels
from engine.kernels.matmul.floats import matmul_floats
from engine.kernels.matmul.operands import Matrices, Matrix, Operand, Scratch, matrix_of, put, tile_rows
from engine.kernels.matmul.sub_blocks import matmul_sub_blocks, quantize_sub_blocks, quantized_bytes, which
from engine.kernels.matmul.team import Team, claim, share
from engine.kernels.rows import TILE, inverse_of, line_up, peak_of, place, scale_of
from engine.simd import F32, LANES, fma, load_f32, splat, store_f32, to_i32
from engine.simd.compiled import kernel
from engine.tiles.amx.sub_blocks import PANEL_BYTES, SUMS_BYTES
from engine.tiles.int8 import EIGHT, FLOAT, ROW_BYTES, int8_tile
from engine.tiles.operands import CHUNK, ROW_TOP, store_digits, store_pairs

LAYOUT = "digits" if ISA == "amx" else "pairs"
"""How packed weights lie: the same for all instruction sets that multiply int16."""
_SIZES = {"amx": (1, 2, 4, 6, 8), "avx512_vnni": (1, 2, 4, 6, 8, 10), "avx2": (1, 2, 4), "portable": (1, 2, 4)}
"""Rows that are multiplied together, as the registers just hold them; one or even."""
_AMX = ISA == "amx"
SIZES = _SIZES[ISA]
FEW = 8
"""Rows that AMX is not used for."""
_MOST = SIZES[-1]
_TOP, _NOTHING = np.float32(ROW_TOP), np.float32(-0.0)  # fma(x, y, -0) is x * y, also where that is -0
_CLAIMS, _PANEL_CLAIMS = 8, 4  # for each thread, or more; and where panels pay for their width
_NEAR = 1 << 21  # bytes of quants in sub-blocks that are near when the next rows pass them
_PASS = 128  # rows that pass one after another, as many as the second cache holds

_tile = int8_tile(SIZES, VECTORS_ISA)


def new_scratch(rows: int, k: int, threads: int) -> Scratch:
    """Scratch for products of up to so many rows of up to k values by a team of so many threads."""
    rows, k = -(-rows // LANES) * LANES + _MOST, -(-k // CHUNK) * CHUNK
    return Scratch(
        quants=aligned(rows * k * 2, np.int8), scales=aligned(rows, np.float32), floats=aligned(rows * k, np.float32),
        quantized=aligned(2 * quantized_bytes(rows, k), np.int8).reshape(2, -1),
        totals=aligned(threads * max(rows * BLOCK, TOTALS if _AMX else 0), np.float32).reshape(threads, -1),
        panel=aligned(threads * (max(PANEL, BLOCK * k, PANEL_BYTES) if _AMX else 0), np.int8).reshape(threads, -1),
        sums=aligned(threads * max(SUMS, SUMS_BYTES // 4), np.int32).reshape(threads, -1),
    )  # fmt: skip


@kernel
def operand(scratch: Scratch, team: Team, rows: int) -> Operand:
    """This thread's view of the scratch: a left operand of so many rows."""
    return Operand(
        scratch.quants, scratch.scales, scratch.floats, scratch.quantized, rows,
        scratch.totals[team.thread], scratch.panel[team.thread], scratch.sums[team.thread],
    )  # fmt: skip


@kernel
def quantize(team: Team, x: F32, matrices: Matrices, first: int, end: int, to: Operand) -> None:
    """This thread's share of x[rows, k] as the left operand of the matrices first..end; a barrier makes it whole. Each
    form that they need is made once."""
    done = 0
    for number in range(first, end):
        matrix = matrix_of(matrices, number)
        form = 1 << _form(matrix.kind)
        if not done & form:
            _quantize(team, x, matrix, to)
        done |= form


@kernel
def _form(kind: int) -> int:
    """Form of the left operand for a kind of matrix: 0 float32, 1 integers of 16 bits, 2 quantized activations with a
    scale for each half of a sub-block, 3 with one for each super-block."""
    if kind == FLOAT:
        return 0
    return 1 if kind == EIGHT else 2 + which(kind)


@kernel
def _quantize(team: Team, x: F32, matrix: Matrix, to: Operand) -> None:
    (first, end), k = share(team, to.rows), matrix.k
    if matrix.kind == FLOAT:
        line_up(x, first, end - first, k, to.floats[first * k :])
    elif matrix.kind != EIGHT:
        for r in range(first, end):
            quantize_sub_blocks(x, r, k, matrix.kind, to.quantized[which(matrix.kind)])
    else:
        for r in range(first, end):
            to.scales[r] = _quantize_row(x, r, k, to)


@kernel
def _padded(count: int) -> int:
    """Number of rows of a left operand, including those that fill its last tile."""
    return count + count % 2 if count > 1 else count


@kernel
def _quantize_row(x: F32, r: int, k: int, out: Operand) -> Any:
    """Write a row as integers within ROW_TOP; its scale, NaN for one that is not finite."""
    at, digits, to = place(r, 0, k), _AMX and out.rows > FEW, np.int64(out.quants.ctypes.data)
    top = peak_of(x, at, k)
    inverse = splat(inverse_of(top, _TOP))
    step = LANES * ROW_BYTES if digits else _padded(out.rows) * ROW_BYTES
    to += (r // LANES * (k // CHUNK) * LANES * ROW_BYTES + r % LANES * CHUNK) if digits else r * ROW_BYTES
    for q in range(k // CHUNK):
        i = at + q * CHUNK * LANES
        v0, v1 = to_i32(load_f32(x, i) * inverse), to_i32(load_f32(x, i + TILE) * inverse)
        v2, v3 = to_i32(load_f32(x, i + 2 * TILE) * inverse), to_i32(load_f32(x, i + 3 * TILE) * inverse)
        if digits:
            store_digits(to + q * step, v0, v1, v2, v3)
        else:
            store_pairs(to + q * step, v0, v1, v2, v3)
    return scale_of(top, _TOP)


@kernel
def matmul(team: Team, slot: int, left: Operand, matrix: Matrix, target: Target) -> None:
    """The target = the rows that were quantized @ the matrix + its bias, or + what is there (mode ADD). Operands lie in
    tiles; n and k are the padded ones. The product is there after the next barrier, and between two barriers each
    product has a slot of its own (team.SLOTS)."""
    total, many = matrix.n // BLOCK, _AMX and left.rows > FEW
    in_sub_blocks = _form(matrix.kind) > 1
    digits = many and not in_sub_blocks
    step = total // (team.threads * (_PANEL_CLAIMS if digits else _CLAIMS)) if team.threads > 1 else total
    if digits:
        step = min(step, PANEL // (BLOCK * matrix.k), WIDEST)
    elif in_sub_blocks:
        step = min(step, _NEAR // (matrix.k // CHUNK * matrix.step))
    step = max(1, step)
    while True:
        first = claim(team, slot, step)
        if first >= total:
            return
        end = min(first + step, total)
        if matrix.kind == FLOAT:
            _matmul_floats(first, end, left, matrix, target)
        elif many and in_sub_blocks:  # compiled with AMX alone
            matmul_panels(first, end, left, matrix, target)
        elif in_sub_blocks:
            matmul_sub_blocks(first, end, left, matrix, target)
        elif digits:
            matmul_digits(first, end, left, matrix, target)
        else:
            _matmul_pairs(first, end, left, matrix, target)


@kernel
def _matmul_floats(first: int, end: int, left: Operand, matrix: Matrix, target: Target) -> None:
    """Blocks first..end of columns of a float32 matrix."""
    column, k = first * BLOCK, matrix.k
    here = Target(target.out, target.width, target.first, target.column + column, target.mode)
    weights, bias, n = matrix.floats[column * k :], matrix.bias[column:], (end - first) * BLOCK
    matmul_floats(left.floats, left.rows, k, weights, bias, n, here, left.totals)


@kernel
def _matmul_pairs(first: int, end: int, left: Operand, matrix: Matrix, target: Target) -> None:
    """Blocks first..end of columns of a matrix of 8 bits."""
    for row in range(0, left.rows, _PASS):
        count = min(_PASS, left.rows - row)
        for j in range(first, end):
            for at in range(0, count * BLOCK, LANES):
                store_f32(left.totals, at, splat(_NOTHING))
            _sum_up(j, row, count, left, matrix)
            for v in range(0, BLOCK, LANES):
                more = load_f32(matrix.bias, BLOCK * j + v)
                for r in range(count):
                    y = fma(load_f32(left.totals, BLOCK * r + v), splat(left.scales[row + r]), more)
                    put(y, target, row + r, BLOCK * j + v)


@kernel
def _sum_up(j: int, row: int, count: int, left: Operand, matrix: Matrix) -> None:
    """The totals of `count` rows from `row` on and block j of columns, before the scales of rows."""
    rows, steps, group = _padded(left.rows), matrix.k // CHUNK, matrix.group // CHUNK
    here = np.int64(matrix.quants.ctypes.data) + j * steps * matrix.step
    factors = np.int64(matrix.floats.ctypes.data) + 4 * (j * ((steps + group - 1) // group) * BLOCK)
    quants, totals = np.int64(left.quants.ctypes.data), np.int64(left.totals.ctypes.data)
    i = 0
    while i < count:
        size, a = tile_rows(count - i, _MOST, SIZES), quants + (row + i) * ROW_BYTES
        _tile(size, a, rows * ROW_BYTES, steps, here, group, factors, totals + 4 * BLOCK * i)
        i += size
