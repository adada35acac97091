"""Products of a decoder's rows with matrices whose quants are those of the file (`engine.tiles.sub_blocks`).

Few values of a row share a scale, so that 8 bits hold them, and quants are multiplied as they are in the file: twice as
many products in an instruction as of 16 bits, and none of a weight's precision lost.
"""

from typing import Any

import numpy as np

from engine.kernels.matmul import VECTORS_ISA, Target
from engine.kernels.matmul.arena import BLOCK
from engine.kernels.matmul.operands import Matrix, Operand, put_block, tile_rows
from engine.kernels.rows import TILE, inverse_of, place, scale_of
from engine.simd import (
    F32,
    I8,
    LANES,
    Float,
    fetch_to_write,
    larger_i32,
    largest_i32,
    load_f32,
    magnitude_bits,
    of_bits,
    store_bytes,
    store_f32,
    to_i32,
    total,
    total_i32,
)
from engine.simd import floats as as_floats
from engine.simd.compiled import kernel
from engine.tiles.operands import CHUNK, SMALL_TOP
from engine.tiles.quantized_rows import GROUP, HALVES, OF_OFFSETS, PAIR, RECORD, SCALE, SIDE_TOP
from engine.tiles.sub_block_tile import sizes_of, sub_block_tile
from engine.tiles.sub_blocks import CENTRED4, LAYOUTS, NESTED4, OF_HALVES, OF_NESTED, SUB_BLOCK, in_halves, is_nested

_SIZES = {"avx512_vnni": (1, 2, 4, 6, 8)}
SIZES = _SIZES.get(VECTORS_ISA, (1, 2, 4))
"""Rows that are multiplied together."""
_MOST, _MOST_HALVES = (sizes_of(kind, SIZES, VECTORS_ISA)[-1] for kind in (NESTED4, CENTRED4))
GROUP_SUB_BLOCKS = LAYOUTS[NESTED4].sub_blocks
"""Sub-blocks that share a scale where quants are NESTED."""
_TOP, _ZERO, _HALF, _ONE = map(np.float32, (SMALL_TOP, 0, 0.5, 1))
_OF_SIDE = np.float32(SMALL_TOP / (SIDE_TOP - SUB_BLOCK // 2 - 1))  # what rounding adds to 32 numbers, and to their sum
_ROWS_BYTES = 1 << 19
"""Bytes of rows that pass one block of columns after another: half of a second cache."""

by_halves, nested = kernel(in_halves), kernel(is_nested)


@kernel
def which(kind: int) -> int:
    """Index in `Operand.quantized` of the rows that a kind of matrix is multiplied with."""
    return 1 if nested(kind) else 0


_tile = sub_block_tile(SIZES, VECTORS_ISA)


def quantized_bytes(rows: int, k: int) -> int:
    """Bytes of quantized rows that `quantize_sub_blocks` writes and `matmul_sub_blocks` may read."""
    return (rows + _MOST) * k // SUB_BLOCK * RECORD


@kernel
def quantize_sub_blocks(x: F32, r: int, k: int, kind: int, quantized: I8) -> None:
    """Row r of x [tokens, k] as quantized activations (`tiles/quantized_rows.py`); a scale of values that are not
    finite is NaN."""
    first, base = place(r, 0, k), r * (k // SUB_BLOCK) * RECORD
    if nested(kind):
        for group in range(k // (SUB_BLOCK * GROUP_SUB_BLOCKS)):
            _quantize_super_block(
                x, first + 2 * group * GROUP_SUB_BLOCKS * TILE, quantized, base + group * GROUP_SUB_BLOCKS * RECORD
            )
        return
    floats, ints = quantized.view(np.float32), quantized.view(np.int32)
    for sub_block in range(k // SUB_BLOCK):
        i, to = first + 2 * sub_block * TILE, base + sub_block * RECORD
        for half in range(2):
            v = load_f32(x, i + half * TILE)
            top = of_bits(largest_i32(magnitude_bits(v)))
            sum_ = _numbers(v, inverse_of(top, _TOP), quantized, to + half * LANES)
            ints[(to + HALVES) // 4 + half] = -OF_HALVES * sum_
            floats[(to + SCALE) // 4 + half] = scale_of(top, _TOP)


@kernel
def _quantize_super_block(x: F32, first: int, quantized: I8, base: int) -> None:
    """Eight sub-blocks of a row, whose scales are integer multiples of one."""
    floats, ints, shorts = quantized.view(np.float32), quantized.view(np.int32), quantized.view(np.int16)
    top, not_finite = _ZERO, _ZERO  # 0, else NaN
    for sub_block in range(GROUP_SUB_BLOCKS):
        least = _least(load_f32(x, first + 2 * sub_block * TILE), load_f32(x, first + (2 * sub_block + 1) * TILE))
        top, not_finite = max(top, least), not_finite + (least - least)
        floats[(base + sub_block * RECORD + SCALE) // 4] = least  # until its scale is known
    inverse, scale = inverse_of(top, _TOP) if not_finite == _ZERO else _ZERO, top / _TOP / _TOP + not_finite
    for sub_block in range(GROUP_SUB_BLOCKS):
        i, to, pair = first + 2 * sub_block * TILE, base + sub_block * RECORD, base + sub_block // 2 * 2 * RECORD + PAIR
        steps = _steps(floats[(to + SCALE) // 4] * inverse) if inverse > _ZERO else 0
        own = scale * np.float32(steps)
        unit = _ONE / own if steps else _ZERO
        low = _numbers(load_f32(x, i), unit, quantized, to)
        high = _numbers(load_f32(x, i + TILE), unit, quantized, to + LANES)
        shorts[pair // 2 + 1 - sub_block % 2] = steps
        shorts[(pair + RECORD) // 2 + 1 - sub_block % 2] = (steps * (low + high) + OF_OFFSETS // 2) // OF_OFFSETS
        ints[(to + HALVES) // 4], ints[(to + HALVES) // 4 + 1] = -OF_NESTED * low, -OF_NESTED * high
        floats[(to + SCALE) // 4], floats[(to + GROUP) // 4] = own, scale


@kernel
def _least(low: Float, high: Float) -> Any:
    """127 times the least scale of a sub-block's values."""
    top = of_bits(largest_i32(larger_i32(magnitude_bits(low), magnitude_bits(high))))
    both = total(as_floats(magnitude_bits(low)) + as_floats(magnitude_bits(high)))
    of_side = _HALF * (both + abs(total(low + high))) * _OF_SIDE  # values of one sign, or of the other
    return top if top > of_side else of_side  # which is NaN where sums overflow


@kernel
def _steps(wanted: float) -> int:
    """`wanted` rounded up, at most 127."""
    steps = int(wanted)
    return min(steps + 1 if steps < wanted else steps, SMALL_TOP)


@kernel
def _numbers(v: Float, inverse: float, quantized: I8, to: int) -> Any:
    """Sixteen values become numbers at a place of the quantized activations; their sum."""
    n = to_i32(v * inverse)
    store_bytes(np.int64(quantized.ctypes.data) + to, n)
    return total_i32(n)


@kernel
def matmul_sub_blocks(first: int, end: int, left: Operand, matrix: Matrix, target: Target) -> None:
    """Blocks first..end of columns, as `decoder.matmul` says."""
    k, count, totals = matrix.k, left.rows, left.totals
    stride, most = k // SUB_BLOCK * RECORD, _MOST_HALVES if by_halves(matrix.kind) else _MOST
    size, some = k // CHUNK * matrix.step, max(most, _ROWS_BYTES // stride // most * most)
    quantized = np.int64(left.quantized[which(matrix.kind)].ctypes.data)
    base, to = np.int64(matrix.quants.ctypes.data), np.int64(totals.ctypes.data)
    for at in range(0, count, some):
        last = min(at + some, count)
        for j in range(first, end):
            column, row = j * BLOCK, at
            b0, b1 = load_f32(matrix.bias, column), load_f32(matrix.bias, column + LANES)
            while row < last:
                rows = tile_rows(last - row, most, SIZES)
                for r in range(rows):
                    store_f32(totals, BLOCK * r, b0)
                    store_f32(totals, BLOCK * r + LANES, b1)
                    _expect(target, row + r, column)
                    _expect(target, row + r, column + LANES)
                _tile(matrix.kind, rows, quantized + row * stride, stride, k // SUB_BLOCK, base + j * size, to)
                for r in range(min(rows, count - row)):
                    put_block(totals, r, target, row + r, column)
                row += rows


@kernel
def _expect(target: Target, row: int, column: int) -> None:
    """The line will be written: it comes while sums are made, else the stores that wait for it hold up what follows."""
    at = place(row, target.column + column, target.width)
    fetch_to_write(np.int64(target.out.ctypes.data) + 4 * at)
