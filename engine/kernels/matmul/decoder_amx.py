"""Products of a decoder's many rows on AMX, which pass columns that are made ready once: quants of 8 bits as tiles of
digits; eight sub-blocks of 32 columns, at the end of k two, as a panel of 10 KB that stays in the first cache.

A product of tiles takes 16 cycles, and its operands come from a cache in less only if it is a near one. So 32 rows of
a part of k stay in the first cache while the columns of a panel pass them. What is next is fetched meanwhile: columns
from the second cache into the first, and the rows' next part from memory into the second. Rows are read from memory
once for each panel.
"""

from typing import Any

import numpy as np

from engine.kernels.matmul import ADD, Target
from engine.kernels.matmul.arena import BLOCK
from engine.kernels.matmul.operands import Matrix, Operand, put_block
from engine.kernels.matmul.sub_blocks import by_halves, which
from engine.kernels.rows import place
from engine.simd import F32, LANES, load_f32, store_f32
from engine.simd.compiled import kernel
from engine.tiles.amx import start_tiles
from engine.tiles.amx.digits import ALL, ALL_ADD, BEGIN, CONTINUE, END, END_ADD, NOTHING, Finish, Products, amx_group
from engine.tiles.amx.sub_blocks import (
    FEW_SUB_BLOCKS,
    MOST_SUB_BLOCKS,
    ROWS,
    start_halves,
    start_sub_blocks,
    sub_block_panel,
    sub_block_products,
)
from engine.tiles.int8 import ROW_BYTES, digits
from engine.tiles.operands import CHUNK
from engine.tiles.quantized_rows import RECORD
from engine.tiles.sub_blocks import CENTRED4, CENTRED5, CENTRED8, NESTED4, NESTED5, NESTED6, OFFSET4, SUB_BLOCK

PANEL, WIDEST = 1 << 20, 8
"""Bytes of digits that stay in the second cache, half of it; blocks of columns, whose totals stay there too."""
_TOGETHER = 2 * LANES  # rows
_PART = 4  # steps of k whose operands stay in the first cache: whole groups
TOTALS = _TOGETHER * WIDEST * BLOCK
"""float32 that `matmul_digits` needs for totals."""
_TILE, _PAIR = 1024, 4 * LANES * BLOCK  # bytes of a tile, and of the totals of 16 rows and a block
_ROWS_PART = ROW_BYTES * LANES * _PART  # bytes of 16 rows of a part, which lie together

_digits = digits()
_SUMS_APART = 4096 + 1024
"""Bytes from four tiles of sums to the next four: pages apart they would be mistaken for each other."""
SUMS = 2 * _SUMS_APART // 4
"""int32 that both take."""
_group_of_4, _group_of_2, _group_of_1, _group_of_0 = (amx_group(steps, 4) for steps in (4, 2, 1, 0))


@kernel
def matmul_digits(first: int, end: int, operand: Operand, matrix: Matrix, target: Target) -> None:
    """Blocks first..end of columns, as `decoder.matmul` says. While a group is multiplied, the one before is stored
    and the vectors of the one before that are finished (`amx_group`)."""
    blocks, count = end - first, operand.rows
    steps, group = matrix.k // CHUNK, matrix.group // CHUNK
    panel, left = np.int64(operand.panel.ctypes.data), np.int64(operand.quants.ctypes.data)
    _unpack(panel, first, blocks, matrix)
    totals = np.int64(operand.totals.ctypes.data)
    new, share = np.int64(operand.sums.ctypes.data), _ROWS_PART // blocks
    old, then = new + _SUMS_APART, _no_finish()
    before = then
    for i in range(0, count, _TOGETHER):
        for p in range(0, steps, _PART):
            for j in range(blocks):
                here = panel + _TILE * (2 * j * steps + p)
                near = here + 2 * _TILE * steps if j + 1 < blocks else panel + _TILE * (p + _PART)
                for r in range(i, min(i + _TOGETHER, count), LANES):
                    rows = left + ROW_BYTES * (r * steps + LANES * p)
                    later = rows if p + _PART < steps else left + ROW_BYTES * ((r + _TOGETHER) * steps - LANES * _PART)
                    far = later + _ROWS_PART + share * j
                    for q in range(0, min(_PART, steps - p), group):
                        ahead, w = near + _TILE * ((r - i) // LANES * steps + q), here + _TILE * q
                        at = Products(rows + 2 * _TILE * q, w, w + _TILE * steps, ahead, far + _TILE // 4 * q, new)
                        _group(min(group, steps - p - q), at, old, before)
                        new, old, before = old, new, then
                        total = totals + _PAIR * ((r - i) // LANES * blocks + j)
                        then = _finish(r, first + j, p + q, total, matrix, target, operand.scales)
    _flush(new, old, before, then)


@kernel
def _unpack(panel: int, first: int, blocks: int, matrix: Matrix) -> None:
    """The quants of some blocks of columns as tiles of digits: block after block, side after side, [k / 64][1024]."""
    steps, group = matrix.k // CHUNK, matrix.group // CHUNK
    base = np.int64(matrix.quants.ctypes.data) + first * steps * matrix.step
    for j in range(blocks):
        for q in range(0, steps, group):
            for side in range(2):
                to = panel + _TILE * ((2 * j + side) * steps + q)
                _digits(base, side, 2 * min(group, steps - q), to, _TILE // 2)
            base += min(group, steps - q) * matrix.step


@kernel
def _finish(r: int, j: int, q: int, total: int, matrix: Matrix, target: Target, scales: F32) -> Finish:
    """The rest of the work of 16 rows from r on, block j of columns and the group that begins at step q, which has the
    totals of this number."""
    steps, group = matrix.k // CHUNK, matrix.group // CHUNK
    factors = (j * ((steps + group - 1) // group) + q // group) * BLOCK
    out = place(r, target.column + j * BLOCK, target.width)
    return Finish(
        _kind(q == 0, q + group >= steps, target.mode), _address(matrix.floats, factors), np.int64(total),
        _address(scales, r), _address(matrix.bias, j * BLOCK), _address(target.out, out),
    )  # fmt: skip


@kernel
def _address(values: F32, i: int) -> Any:
    """The address of a value."""
    return np.int64(values.ctypes.data) + 4 * i


@kernel
def _kind(begins: bool, ends: bool, mode: int) -> Any:
    """The way in which `amx_group` finishes the sums of a group."""
    if not ends:
        return np.int64(BEGIN if begins else CONTINUE)
    if mode == ADD:
        return np.int64(ALL_ADD if begins else END_ADD)
    return np.int64(ALL if begins else END)


@kernel
def _no_finish() -> Finish:
    """The rest of the work of no group."""
    none = np.int64(0)
    return Finish(np.int64(NOTHING), none, none, none, none, none)


@kernel
def _flush(new: int, old: int, before: Finish, then: Finish) -> None:
    """Finish the last two groups: the sums of one wait at `old`, those of the other in the tiles."""
    none = np.int64(0)
    _group_of_0(Products(none, none, none, none, none, np.int64(new)), old, before)
    _group_of_0(Products(none, none, none, none, none, np.int64(old)), new, then)


@kernel
def _group(steps: int, products: Products, old: int, finish: Finish) -> None:
    """`amx_group` of a group of 256 values of k, of one of 128, or of 64 that are left."""
    if steps == 4:
        _group_of_4(products, old, finish)
    elif steps == 2:
        _group_of_2(products, old, finish)
    else:
        _group_of_1(products, old, finish)


_ROWS_BYTES = 1 << 20
"""Bytes of rows that pass one block of columns after another: half of a second cache."""

_panel = sub_block_panel()
_nested4, _nested5, _nested6 = (sub_block_products(kind, MOST_SUB_BLOCKS) for kind in (NESTED4, NESTED5, NESTED6))
_centred, _few_centred = sub_block_products(CENTRED4, MOST_SUB_BLOCKS), sub_block_products(CENTRED4, FEW_SUB_BLOCKS)
_offset, _few_offset = sub_block_products(OFFSET4, MOST_SUB_BLOCKS), sub_block_products(OFFSET4, FEW_SUB_BLOCKS)


@kernel
def matmul_panels(first: int, end: int, left: Operand, matrix: Matrix, target: Target) -> None:
    """Blocks first..end of columns, as `decoder.matmul` says. The usual tiles are there again when it is done."""
    stride = matrix.k // SUB_BLOCK * RECORD
    some = max(ROWS, _ROWS_BYTES // stride // ROWS * ROWS)
    if by_halves(matrix.kind):
        start_halves()
    else:
        start_sub_blocks()
    for at in range(0, left.rows, some):
        rows = min(some, left.rows - at)
        for j in range(first, end):
            _sum_up(j, at, rows, left, matrix)
            for r in range(rows):
                put_block(left.totals, r, target, at + r, j * BLOCK)
    start_tiles()


@kernel
def _sum_up(j: int, row: int, count: int, left: Operand, matrix: Matrix) -> None:
    """The totals of `count` quantized rows from `row` on, and more up to a multiple of ROWS, and block j."""
    stride, tiles, totals = matrix.k // SUB_BLOCK * RECORD, (count + ROWS - 1) // ROWS, left.totals
    a = np.int64(left.quantized[which(matrix.kind)].ctypes.data) + row * stride
    here = np.int64(matrix.quants.ctypes.data) + j * (matrix.k // CHUNK) * matrix.step
    b0, b1 = load_f32(matrix.bias, j * BLOCK), load_f32(matrix.bias, j * BLOCK + LANES)
    for r in range(tiles * ROWS):
        store_f32(totals, BLOCK * r, b0)
        store_f32(totals, BLOCK * r + LANES, b1)
    panel, total = np.int64(left.panel.ctypes.data), np.int64(totals.ctypes.data)
    work = np.int64(left.sums.ctypes.data)
    sub_block, end = 0, matrix.k // SUB_BLOCK
    while sub_block < end:
        sub_blocks = MOST_SUB_BLOCKS if sub_block + MOST_SUB_BLOCKS <= end else FEW_SUB_BLOCKS
        _panel(matrix.kind, here + sub_block * SUB_BLOCK * matrix.step // CHUNK, sub_blocks, panel)
        _products(matrix.kind, sub_blocks, a + sub_block * RECORD, stride, tiles, panel, total, work)
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
