"""Products of many rows with quants in sub-blocks on AMX: eight sub-blocks of 32 columns, at the end of k two, become a
panel, 10 KB that stay in the first cache, which then all rows pass."""

import numpy as np

from engine.codegen import CHUNK, start_tiles
from engine.codegen.quantized_rows import RECORD
from engine.codegen.sub_block_amx import (
    FEW_SUB_BLOCKS,
    MOST_SUB_BLOCKS,
    ROWS,
    start_halves,
    start_sub_blocks,
    sub_block_panel,
    sub_block_products,
)
from engine.codegen.sub_blocks import CENTRED4, CENTRED5, CENTRED8, NESTED4, NESTED5, NESTED6, OFFSET4, SUB_BLOCK
from engine.kernels.compiled import kernel
from engine.kernels.matmul.arena import BIAS, BLOCK, KIND, QUANTS_AT, STEP, K
from engine.kernels.matmul.arguments import Matrices, Scratch, Target
from engine.kernels.matmul.blockwise import by_halves, put, which
from engine.kernels.places import place
from engine.simd import LANES, load_f32, store_f32

_ROWS_BYTES = 1 << 20
"""Bytes of rows that pass one block of columns after another: half of a second cache."""

_panel = sub_block_panel()
_nested4, _nested5, _nested6 = (sub_block_products(kind, MOST_SUB_BLOCKS) for kind in (NESTED4, NESTED5, NESTED6))
_centred, _few_centred = sub_block_products(CENTRED4, MOST_SUB_BLOCKS), sub_block_products(CENTRED4, FEW_SUB_BLOCKS)
_offset, _few_offset = sub_block_products(OFFSET4, MOST_SUB_BLOCKS), sub_block_products(OFFSET4, FEW_SUB_BLOCKS)


@kernel
def multiply_columns_amx(
    first: int, end: int, count: int, matrices: Matrices, matrix: int, target: Target, scratch: Scratch, thread: int
) -> None:
    """Blocks first..end of columns, as `decoder.product` says. The usual tiles are there again when it is done."""
    facts, totals, out = matrices.table[matrix], scratch.totals[thread], target.out
    quantized, width, column = scratch.quantized[which(facts[KIND])], target.width, target.column
    stride = facts[K] // SUB_BLOCK * RECORD
    some = max(ROWS, _ROWS_BYTES // stride // ROWS * ROWS)
    if by_halves(facts[KIND]):
        start_halves()
    else:
        start_sub_blocks()
    for at in range(0, count, some):
        rows, left = min(some, count - at), np.int64(quantized.ctypes.data) + at * stride
        for j in range(first, end):
            _block(j, rows, left, matrices, matrix, scratch, thread)
            for r in range(rows):
                put(totals, BLOCK * r, out, place(at + r, column + j * BLOCK, width), target.mode)
                put(totals, BLOCK * r + LANES, out, place(at + r, column + j * BLOCK + LANES, width), target.mode)
    start_tiles()


@kernel
def _block(j: int, count: int, left: int, matrices: Matrices, matrix: int, scratch: Scratch, thread: int) -> None:
    """The totals of `count` quantized rows from an address on, and more up to a multiple of ROWS, and block j."""
    facts, floats, totals = matrices.table[matrix], matrices.floats, scratch.totals[thread]
    stride, bias, tiles = facts[K] // SUB_BLOCK * RECORD, facts[BIAS] + j * BLOCK, (count + ROWS - 1) // ROWS
    here = np.int64(matrices.quants.ctypes.data) + facts[QUANTS_AT] + j * (facts[K] // CHUNK) * facts[STEP]
    to = np.int64(scratch.panel[thread].ctypes.data)
    b0, b1 = load_f32(floats, bias), load_f32(floats, bias + LANES)
    for r in range(tiles * ROWS):
        store_f32(totals, BLOCK * r, b0)
        store_f32(totals, BLOCK * r + LANES, b1)
    total, work, sub_block, end = (
        np.int64(totals.ctypes.data),
        np.int64(scratch.sums[thread].ctypes.data),
        0,
        facts[K] // SUB_BLOCK,
    )
    while sub_block < end:
        sub_blocks = MOST_SUB_BLOCKS if sub_block + MOST_SUB_BLOCKS <= end else FEW_SUB_BLOCKS
        _panel(facts[KIND], here + sub_block * SUB_BLOCK * facts[STEP] // CHUNK, sub_blocks, to)
        _products(facts[KIND], sub_blocks, left + sub_block * RECORD, stride, tiles, to, total, work)
        sub_block += sub_blocks


@kernel
def _products(kind: int, sub_blocks: int, a: int, stride: int, count: int, panel: int, totals: int, sums: int) -> None:
    """Call `sub_block_products` of this kind and number of sub-blocks."""
    if kind == NESTED4:
        _nested4(a, stride, count, panel, totals, sums)
    elif kind == NESTED5:
        _nested5(a, stride, count, panel, totals, sums)
    elif kind == NESTED6:
        _nested6(a, stride, count, panel, totals, sums)
    elif kind in (CENTRED4, CENTRED5, CENTRED8):
        if sub_blocks == MOST_SUB_BLOCKS:
            _centred(a, stride, count, panel, totals, sums)
        else:
            _few_centred(a, stride, count, panel, totals, sums)
    elif sub_blocks == MOST_SUB_BLOCKS:
        _offset(a, stride, count, panel, totals, sums)
    else:
        _few_offset(a, stride, count, panel, totals, sums)
