"""Products of many rows with quants on AMX: quants become tiles of digits once, which all rows then pass.

A product of tiles takes 16 cycles, and its operands come from a cache in less only if it is a near one. So 32 rows of
a part of k stay in the first cache while the columns of a panel pass them. What is next is fetched meanwhile: columns
from the second cache into the first, and the rows' next part from memory into the second. Rows are read from memory
once for each panel.
"""

from typing import Any

import numpy as np

from engine.codegen import (
    ALL,
    ALL_ADD,
    BEGIN,
    CHUNK,
    CONTINUE,
    END,
    END_ADD,
    NOTHING,
    Finish,
    Products,
    amx_group,
    digits,
)
from engine.kernels.compiled import kernel
from engine.kernels.matmul.arena import BIAS, BLOCK, FLOATS, GROUP, QUANTS_AT, STEP, K
from engine.kernels.matmul.arguments import Matrices, Scratch, Target
from engine.kernels.matmul.linear import ADD
from engine.kernels.places import place
from engine.simd import F32, I64, LANES

PANEL, WIDEST = 1 << 20, 8
"""Bytes of digits that stay in the second cache, half of it; blocks of columns, whose totals stay there too."""
_TOGETHER = 2 * LANES  # rows
_PART = 4  # steps of k whose operands stay in the first cache: whole groups
TOTALS = _TOGETHER * WIDEST * BLOCK
"""float32 that `columns` needs for totals."""
_ROW_BYTES = 2 * CHUNK
_TILE, _PAIR = 1024, 4 * LANES * BLOCK  # bytes of a tile, and of the totals of 16 rows and a block
_ROWS_PART = _ROW_BYTES * LANES * _PART  # bytes of 16 rows of a part, which lie together

_digits = digits()
_SUMS_APART = 4096 + 1024
"""Bytes from four tiles of sums to the next four: pages apart they would be mistaken for each other."""
_group_of_4, _group_of_2, _group_of_1, _group_of_0 = (amx_group(steps, 4) for steps in (4, 2, 1, 0))


@kernel
def columns(
    first: int, end: int, count: int, matrices: Matrices, matrix: int, target: Target, scratch: Scratch, thread: int
) -> None:
    """Blocks first..end of columns, as `decoder.product` says. While a group is multiplied, the one before is stored
    and the vectors of the one before that are finished (`amx_group`)."""
    facts, blocks = matrices.table[matrix], end - first
    steps, group = facts[K] // CHUNK, facts[GROUP] // CHUNK
    panel, left = np.int64(scratch.panel[thread].ctypes.data), np.int64(scratch.quants.ctypes.data)
    _unpack(panel, first, blocks, matrices, facts)
    totals = np.int64(scratch.totals[thread].ctypes.data)
    new, share = np.int64(scratch.sums[thread].ctypes.data), _ROWS_PART // blocks
    old, then = new + _SUMS_APART, _no_finish()
    before = then
    for i in range(0, count, _TOGETHER):
        for p in range(0, steps, _PART):
            for j in range(blocks):
                here = panel + _TILE * (2 * j * steps + p)
                near = here + 2 * _TILE * steps if j + 1 < blocks else panel + _TILE * (p + _PART)
                for r in range(i, min(i + _TOGETHER, count), LANES):
                    rows = left + _ROW_BYTES * (r * steps + LANES * p)
                    later = rows if p + _PART < steps else left + _ROW_BYTES * ((r + _TOGETHER) * steps - LANES * _PART)
                    far = later + _ROWS_PART + share * j
                    for q in range(0, min(_PART, steps - p), group):
                        ahead, w = near + _TILE * ((r - i) // LANES * steps + q), here + _TILE * q
                        at = Products(rows + 2 * _TILE * q, w, w + _TILE * steps, ahead, far + _TILE // 4 * q, new)
                        _group(min(group, steps - p - q), at, old, before)
                        new, old, before = old, new, then
                        total = totals + _PAIR * ((r - i) // LANES * blocks + j)
                        then = _finish(r, first + j, p + q, total, matrices, facts, target, scratch)
    _flush(new, old, before, then)


@kernel
def _unpack(panel: int, first: int, blocks: int, matrices: Matrices, facts: I64) -> None:
    """The quants of some blocks of columns as tiles of digits: block after block, side after side, [k / 64][1024]."""
    steps, group, step = facts[K] // CHUNK, facts[GROUP] // CHUNK, facts[STEP]
    base = np.int64(matrices.quants.ctypes.data) + facts[QUANTS_AT] + first * steps * step
    for j in range(blocks):
        for q in range(0, steps, group):
            for side in range(2):
                to = panel + _TILE * ((2 * j + side) * steps + q)
                _digits(base, side, 2 * min(group, steps - q), to, _TILE // 2)
            base += min(group, steps - q) * step


@kernel
def _finish(
    r: int, j: int, q: int, total: int, matrices: Matrices, facts: I64, target: Target, scratch: Scratch
) -> Finish:
    """The rest of the work of 16 rows from r on, block j of columns and the group that begins at step q, which has the
    totals of this number."""
    steps, group = facts[K] // CHUNK, facts[GROUP] // CHUNK
    factors = facts[FLOATS] + (j * ((steps + group - 1) // group) + q // group) * BLOCK
    return Finish(
        _kind(q == 0, q + group >= steps, target.mode), _address(matrices.floats, factors), np.int64(total),
        _address(scratch.scales, r), _address(matrices.floats, facts[BIAS] + j * BLOCK),
        _address(target.out, place(r, target.column + j * BLOCK, target.width)),
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
