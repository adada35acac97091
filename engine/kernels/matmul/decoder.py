"""Matrix products of a decoder: rows times a matrix of an arena (`arena.py`), by a team of threads.

All threads call `take`, and after a barrier `product`. Rows become integers of 16 bits, or of 8 bits in sub-blocks, as
the matrix needs them, then blocks of 32 columns are claimed until none is left. All ways give the same exact sums in
the same order: the same bits.
"""

from typing import Any

import numpy as np

from engine.codegen import CHUNK, EIGHT, FLOAT, ROW_TOP, int8_tile, store_digits, store_pairs
from engine.codegen.sub_block_amx import PANEL_BYTES, SUMS_BYTES
from engine.kernels.compiled import kernel
from engine.kernels.matmul.arena import BIAS, BLOCK, FLOATS, GROUP, KIND, QUANTS_AT, STEP, K, N
from engine.kernels.matmul.arguments import Matrices, Scratch, Target, Team
from engine.kernels.matmul.blockwise import multiply_columns, quantize_sub_blocks, quantized_bytes, tile_rows, which
from engine.kernels.matmul.blockwise_amx import multiply_columns_amx
from engine.kernels.matmul.int8_amx import PANEL, TOTALS, WIDEST, columns
from engine.kernels.matmul.linear import ADD, ISA, PLAIN, SUMS, VECTORS_ISA
from engine.kernels.matmul.linear_float import FloatLayer, linear_float
from engine.kernels.matmul.team import barrier, claim, new_team, share
from engine.kernels.places import TILE, place
from engine.kernels.rows import line_up
from engine.simd import (
    F32,
    LANES,
    add,
    fma,
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
)

__all__ = ["ADD", "PLAIN", "barrier", "coded_scratch", "form", "new_team", "product", "take"]

_SIZES = {"amx": (1, 2, 4, 6, 8), "avx512_vnni": (1, 2, 4, 6, 8, 10), "avx2": (1, 2, 4), "portable": (1, 2, 4)}
"""Rows that are multiplied together, as the registers just hold them; one or even."""
_AMX = ISA == "amx"
SIZES = _SIZES[ISA]
FEW = 8
"""Rows that AMX is not used for."""
_MOST = SIZES[-1]
_ZERO, _TOP, _TINY = np.float32(0), np.float32(ROW_TOP), np.float32(1e-30)
_FIRST = np.int64(0)
_NOTHING = np.float32(-0.0)  # fma(x, y, -0) is x * y, also where that is -0
_ROW_BYTES = 2 * CHUNK  # of a chunk of a row
_CLAIMS, _PANEL_CLAIMS = 8, 4  # for each thread, or more; and where panels pay for their width
_NEAR = 1 << 21  # bytes of quants in sub-blocks that are near when the next rows pass them
_PASS = 128  # rows that pass one after another, as many as the second cache holds

_tile = int8_tile(SIZES, VECTORS_ISA)


def coded_scratch(rows: int, k: int, threads: int) -> Scratch:
    """Scratch for products of up to so many rows of up to k values by a team of so many threads."""
    rows, k = -(-rows // LANES) * LANES + _MOST, -(-k // CHUNK) * CHUNK
    return Scratch(
        _lines(rows * k * 2, np.int8), _lines(rows, np.float32), _lines(rows * k, np.float32),
        _lines(threads * max(rows * BLOCK, TOTALS if _AMX else 0), np.float32).reshape(threads, -1),
        _lines(threads * (max(PANEL, BLOCK * k, PANEL_BYTES) if _AMX else 0), np.int8).reshape(threads, -1),
        _lines(threads * max(2 * SUMS, SUMS_BYTES // 4), np.int32).reshape(threads, -1),
        _lines(2 * quantized_bytes(rows, k), np.int8).reshape(2, -1),
    )  # fmt: skip


def _lines(count: int, dtype: Any) -> Any:
    """Zeros that begin on a cache line."""
    size = count * np.dtype(dtype).itemsize
    memory = np.zeros(size + 64, np.uint8)
    first = -memory.ctypes.data % 64
    return memory[first : first + size].view(dtype)


@kernel
def form(kind: int) -> int:
    """Form of the left operand for a kind of matrix: 0 float32, 1 integers of 16 bits, 2 quantized activations with a
    scale for each half of a sub-block, 3 with one for each super-block."""
    if kind == FLOAT:
        return 0
    return 1 if kind == EIGHT else 2 + which(kind)


@kernel
def take(team: Team, x: F32, count: int, k: int, kind: int, scratch: Scratch) -> None:
    """This thread's share of x[count, k] as a left operand; a barrier makes it whole. It serves any number of products
    with matrices of this k and of kinds whose `form` is the same, one slot each."""
    first, end = share(team.thread, team.threads, count)
    if kind == FLOAT:
        line_up(x, first, end - first, k, scratch.lined[first * k :])
    elif kind != EIGHT:
        for r in range(first, end):
            quantize_sub_blocks(x, r, k, kind, scratch.quantized[which(kind)])
    else:
        for r in range(first, end):
            scratch.scales[r] = _take_row(x, r, count, k, np.int64(scratch.quants.ctypes.data))


@kernel
def _rows(count: int) -> int:
    """Number of rows of a left operand, including those that fill its last tile."""
    return count + count % 2 if count > 1 else count


@kernel
def _take_row(x: F32, r: int, count: int, k: int, to: int) -> Any:
    """Write a row as integers within ROW_TOP; its scale, NaN for one that is not finite."""
    at, peak = place(r, 0, k), no_i32()
    for i in range(0, k, LANES):
        peak = larger_i32(magnitude_bits(load_f32(x, at + i * LANES)), peak)
    top = of_bits(largest_i32(peak))
    inverse = splat(_TOP / top if top > _TINY else _ZERO)
    digits = _AMX and count > FEW
    step = LANES * _ROW_BYTES if digits else _rows(count) * _ROW_BYTES
    to += (r // LANES * (k // CHUNK) * LANES * _ROW_BYTES + r % LANES * CHUNK) if digits else r * _ROW_BYTES
    for q in range(k // CHUNK):
        i = at + q * CHUNK * LANES
        v0, v1 = to_i32(mul(load_f32(x, i), inverse)), to_i32(mul(load_f32(x, i + TILE), inverse))
        v2, v3 = to_i32(mul(load_f32(x, i + 2 * TILE), inverse)), to_i32(mul(load_f32(x, i + 3 * TILE), inverse))
        if digits:
            store_digits(to + q * step, v0, v1, v2, v3)
        else:
            store_pairs(to + q * step, v0, v1, v2, v3)
    return top / _TOP + (top - top)


@kernel
def product(
    team: Team, slot: int, count: int, matrices: Matrices, matrix: int, target: Target, scratch: Scratch
) -> None:
    """`count` rows of the target = the rows that were taken @ a matrix + its bias, or + what is there (mode ADD).
    Operands lie in tiles (places.py); n and k are the padded ones. The product is there after the next barrier, and
    between two barriers each product has a slot of its own (team.SLOTS)."""
    facts, thread, threads = matrices.table[matrix], team.thread, team.threads
    total = facts[N] // BLOCK
    in_runs = form(facts[KIND]) > 1
    tiles = _AMX and count > FEW and not in_runs
    step = total // (threads * (_PANEL_CLAIMS if tiles else _CLAIMS)) if threads > 1 else total
    if tiles:
        step = min(step, PANEL // (BLOCK * facts[K]), WIDEST)
    elif in_runs:
        step = min(step, _NEAR // (facts[K] // CHUNK * facts[STEP]))
    step = max(1, step)
    while True:
        first = claim(team.counters, slot, step)
        if first >= total:
            return
        end = min(first + step, total)
        if facts[KIND] == FLOAT:
            for j in range(first, end):
                _float_block(j, count, matrices, matrix, target, scratch, thread)
        elif _AMX and count > FEW and in_runs:  # compiled with AMX alone
            multiply_columns_amx(first, end, count, matrices, matrix, target, scratch, thread)
        elif in_runs:
            multiply_columns(first, end, count, matrices, matrix, target, scratch, thread)
        elif tiles:
            columns(first, end, count, matrices, matrix, target, scratch, thread)
        else:
            _columns(first, end, count, matrices, matrix, target, scratch, thread)


@kernel
def _float_block(
    j: int, count: int, matrices: Matrices, matrix: int, target: Target, scratch: Scratch, thread: int
) -> None:
    """Block j of columns of a float32 matrix."""
    facts, here = matrices.table[matrix], Target(target.out, target.width, target.column + j * BLOCK, target.mode)
    layer = FloatLayer(matrices.floats[facts[FLOATS] :], matrices.floats[facts[BIAS] :], j, BLOCK)
    linear_float(scratch.lined, count, facts[K], layer, here, _FIRST, scratch.totals[thread])


@kernel
def _columns(
    first: int, end: int, count: int, matrices: Matrices, matrix: int, target: Target, scratch: Scratch, thread: int
) -> None:
    """Blocks first..end of columns of a matrix of 8 bits."""
    rows, totals = _rows(count), scratch.totals[thread]
    for i in range(0, count, _PASS):
        some = min(_PASS, count - i)
        for j in range(first, end):
            for at in range(0, some * BLOCK, LANES):
                store_f32(totals, at, splat(_NOTHING))
            _block(j, i, some, rows, matrices, matrix, scratch, thread)
            _put(i, some, j, matrices, matrix, target, scratch, thread)


@kernel
def _block(
    j: int, row: int, count: int, rows: int, matrices: Matrices, matrix: int, scratch: Scratch, thread: int
) -> None:
    """The totals of `count` rows from `row` on, of `rows`, and block j of columns."""
    facts = matrices.table[matrix]
    steps, group = facts[K] // CHUNK, facts[GROUP] // CHUNK
    here = np.int64(matrices.quants.ctypes.data) + facts[QUANTS_AT] + j * steps * facts[STEP]
    factors = np.int64(matrices.floats.ctypes.data) + 4 * (facts[FLOATS] + j * ((steps + group - 1) // group) * BLOCK)
    left, totals = np.int64(scratch.quants.ctypes.data), np.int64(scratch.totals[thread].ctypes.data)
    i = 0
    while i < count:
        size = tile_rows(count - i, _MOST, SIZES)
        _tile(size, left + (row + i) * _ROW_BYTES, rows * _ROW_BYTES, steps, here, group, factors,
              totals + 4 * BLOCK * i)  # fmt: skip
        i += size


@kernel
def _put(
    row: int, count: int, j: int, matrices: Matrices, matrix: int, target: Target, scratch: Scratch, thread: int
) -> None:
    """The totals of `count` rows from `row` on and block j of columns, [count][32], become values of the target."""
    totals, out, bias = scratch.totals[thread], target.out, matrices.table[matrix][BIAS]
    for v in range(0, BLOCK, LANES):
        more = load_f32(matrices.floats, bias + BLOCK * j + v)
        for r in range(count):
            y = fma(load_f32(totals, BLOCK * r + v), splat(scratch.scales[row + r]), more)
            to = place(row + r, target.column + BLOCK * j + v, target.width)
            store_f32(out, to, add(load_f32(out, to), y) if target.mode == ADD else y)
