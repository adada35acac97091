"""Products of a decoder's rows with matrices whose quants are those of the file (`engine.codegen.sub_blocks`).

Few values of a row share a scale, so that 8 bits hold them, and quants are multiplied as they are in the file: twice as
many products in an instruction as of 16 bits, and none of a weight's precision lost.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.codegen import CHUNK, SMALL_TOP, sub_block_tile
from engine.codegen.quantized_rows import GROUP, HALVES, OF_OFFSETS, PAIR, RECORD, SCALE, SIDE_TOP
from engine.codegen.sub_block_tile import sizes_of
from engine.codegen.sub_blocks import CENTRED4, LAYOUTS, NESTED4, OF_HALVES, OF_NESTED, SUB_BLOCK, in_halves, is_nested
from engine.kernels.compiled import kernel
from engine.kernels.matmul.arena import BIAS, BLOCK, KIND, QUANTS_AT, STEP, K
from engine.kernels.matmul.arguments import Matrices, Scratch, Target
from engine.kernels.matmul.linear import ADD, VECTORS_ISA
from engine.kernels.places import TILE, place
from engine.simd import (
    F32,
    I8,
    LANES,
    Float,
    add,
    fetch_to_write,
    larger_i32,
    largest_i32,
    load_f32,
    magnitude_bits,
    mul,
    of_bits,
    splat,
    store_bytes,
    store_f32,
    to_i32,
    total,
    total_i32,
)
from engine.simd import floats as as_floats

_SIZES = {"avx512_vnni": (1, 2, 4, 6, 8)}
SIZES = _SIZES.get(VECTORS_ISA, (1, 2, 4))
"""Rows that are multiplied together."""
_MOST, _MOST_HALVES = (sizes_of(kind, SIZES, VECTORS_ISA)[-1] for kind in (NESTED4, CENTRED4))
GROUP_SUB_BLOCKS = LAYOUTS[NESTED4].sub_blocks
"""Sub-blocks that share a scale where quants are NESTED."""
_TOP, _TINY, _ZERO, _HALF, _ONE = map(np.float32, (SMALL_TOP, 1e-30, 0, 0.5, 1))
_OF_SIDE = np.float32(SMALL_TOP / (SIDE_TOP - SUB_BLOCK // 2 - 1))  # what rounding adds to 32 numbers, and to their sum
_ROWS_BYTES = 1 << 19
"""Bytes of rows that pass one block of columns after another: half of a second cache."""

by_halves, nested = kernel(in_halves), kernel(is_nested)


@kernel
def which(kind: int) -> int:
    """Index in `Scratch.quantized` of the rows that a kind of matrix is multiplied with."""
    return 1 if nested(kind) else 0


_tile = sub_block_tile(SIZES, VECTORS_ISA)


def quantized_bytes(rows: int, k: int) -> int:
    """Bytes of quantized rows that `quantize_sub_blocks` writes and `multiply_columns` may read."""
    return (rows + _MOST) * k // SUB_BLOCK * RECORD


@kernel
def tile_rows(count: int, most: int, sizes: Sequence[int]) -> int:
    """Rows of the next tile of so many that are left, so that those of all tiles, each of up to `most`, are about as
    many."""
    tiles = (count + most - 1) // most
    for size in sizes:
        if tiles * size >= count:
            return size
    return most


@kernel
def quantize_sub_blocks(x: F32, r: int, k: int, kind: int, quantized: I8) -> None:
    """Row r of x [tokens, k] as quantized activations (`codegen/quantized_rows.py`); a scale of values that are not
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
            ints[(to + HALVES) // 4 + half] = -OF_HALVES * _numbers(v, _inverse(top), quantized, to + half * LANES)
            floats[(to + SCALE) // 4 + half] = _scale(top)


@kernel
def _quantize_super_block(x: F32, first: int, quantized: I8, base: int) -> None:
    """Eight sub-blocks of a row, whose scales are integer multiples of one."""
    floats, ints, shorts = quantized.view(np.float32), quantized.view(np.int32), quantized.view(np.int16)
    top, not_finite = _ZERO, _ZERO  # 0, else NaN
    for sub_block in range(GROUP_SUB_BLOCKS):
        least = _least(load_f32(x, first + 2 * sub_block * TILE), load_f32(x, first + (2 * sub_block + 1) * TILE))
        top, not_finite = max(top, least), not_finite + (least - least)
        floats[(base + sub_block * RECORD + SCALE) // 4] = least  # until its scale is known
    inverse, scale = _inverse(top) if not_finite == _ZERO else _ZERO, top / _TOP / _TOP + not_finite
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
    both = total(add(as_floats(magnitude_bits(low)), as_floats(magnitude_bits(high))))
    of_side = _HALF * (both + abs(total(add(low, high)))) * _OF_SIDE  # values of one sign, or of the other
    return top if top > of_side else of_side  # which is NaN where sums overflow


@kernel
def _steps(wanted: float) -> int:
    """`wanted` rounded up, at most 127."""
    steps = int(wanted)
    return min(steps + 1 if steps < wanted else steps, SMALL_TOP)


@kernel
def _inverse(top: float) -> Any:
    return _TOP / top if top > _TINY else _ZERO


@kernel
def _numbers(v: Float, inverse: float, quantized: I8, to: int) -> Any:
    """Sixteen values become numbers at a place of the quantized activations; their sum."""
    n = to_i32(mul(v, splat(inverse)))
    store_bytes(np.int64(quantized.ctypes.data) + to, n)
    return total_i32(n)


@kernel
def _scale(top: float) -> Any:
    return top / _TOP + (top - top)


@kernel
def multiply_columns(
    first: int, end: int, count: int, matrices: Matrices, matrix: int, target: Target, scratch: Scratch, thread: int
) -> None:
    """Blocks first..end of columns, as `decoder.product` says."""
    facts, floats, totals = matrices.table[matrix], matrices.floats, scratch.totals[thread]
    quantized, out, width, column = scratch.quantized[which(facts[KIND])], target.out, target.width, target.column
    k, stride, most = facts[K], facts[K] // SUB_BLOCK * RECORD, _MOST_HALVES if by_halves(facts[KIND]) else _MOST
    size, some = k // CHUNK * facts[STEP], max(most, _ROWS_BYTES // stride // most * most)
    base, left = np.int64(matrices.quants.ctypes.data) + facts[QUANTS_AT], np.int64(quantized.ctypes.data)
    to = np.int64(totals.ctypes.data)
    for at in range(0, count, some):
        last = min(at + some, count)
        for j in range(first, end):
            bias, row = facts[BIAS] + j * BLOCK, at
            b0, b1 = load_f32(floats, bias), load_f32(floats, bias + LANES)
            while row < last:
                rows = tile_rows(last - row, most, SIZES)
                for r in range(rows):
                    store_f32(totals, BLOCK * r, b0)
                    store_f32(totals, BLOCK * r + LANES, b1)
                    _expect(out, place(row + r, column + j * BLOCK, width))
                    _expect(out, place(row + r, column + j * BLOCK + LANES, width))
                _tile(facts[KIND], rows, left + row * stride, stride, k // SUB_BLOCK, base + j * size, to)
                for r in range(min(rows, count - row)):
                    put(totals, BLOCK * r, out, place(row + r, column + j * BLOCK, width), target.mode)
                    put(totals, BLOCK * r + LANES, out, place(row + r, column + j * BLOCK + LANES, width), target.mode)
                row += rows


@kernel
def _expect(out: F32, i: int) -> None:
    """The line will be written: it comes while sums are made, else the stores that wait for it hold up what follows."""
    fetch_to_write(np.int64(out.ctypes.data) + 4 * i)


@kernel
def put(totals: F32, i: int, out: F32, to: int, mode: int) -> None:
    y = load_f32(totals, i)
    store_f32(out, to, add(load_f32(out, to), y) if mode == ADD else y)
