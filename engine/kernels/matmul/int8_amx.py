"""Products of many rows with codes on AMX: codes become tiles of digits once, which all rows then pass.

A product of tiles takes 16 cycles, and its operands come from a cache in less only if it is a near one. So 32 rows of
a part of k stay in the first cache while the columns of a panel pass them. What is next is fetched meanwhile: columns
from the second cache into the first, and the rows' next part from memory into the second. Rows are read from memory
once for each panel.
"""

from typing import Any

import numpy as np

from engine.codegen import CHUNK, NOTHING, amx_group, digits
from engine.kernels.compiled import kernel
from engine.kernels.matmul.arena import BIAS, BLOCK, CODES_AT, FLOATS, GROUP, STEP, K
from engine.kernels.matmul.linear import SUMS_APART, group_kind
from engine.kernels.places import place
from engine.simd import F32, I8, I32, I64, LANES

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
_group_of_4, _group_of_2, _group_of_1, _group_of_0 = (amx_group(steps, 4) for steps in (4, 2, 1, 0))


@kernel
def columns(
    first: int, end: int, count: int, codes: I8, floats: F32, facts: I64, mode: int, out: F32, width: int, column: int,
    numbers: I8, scales: F32, totals: F32, memory: I8, sums: I32,
) -> None:  # fmt: skip
    """Blocks first..end of columns, as `coded.product` says. While a group is multiplied, the one before is stored and
    the vectors of the one before that are finished (`amx_group`)."""
    blocks, steps, group = end - first, facts[K] // CHUNK, facts[GROUP] // CHUNK
    panel, each, share = np.int64(memory.ctypes.data), (steps + group - 1) // group * BLOCK, _ROWS_PART // blocks
    step, base = facts[STEP], np.int64(codes.ctypes.data) + facts[CODES_AT]
    base += first * steps * step
    for j in range(blocks):
        for q in range(0, steps, group):
            for side in range(2):
                to = panel + _TILE * ((2 * j + side) * steps + q)
                _digits(base, side, 2 * min(group, steps - q), to, _TILE // 2)
            base += min(group, steps - q) * step
    new, left = np.int64(sums.ctypes.data), np.int64(numbers.ctypes.data)
    old, nothing, nowhere = new + SUMS_APART, np.int64(NOTHING), np.int64(0)
    then, factor, scale, bias, to, total = nothing, nowhere, nowhere, nowhere, nowhere, nowhere  # of the group before
    then2, factor2, scale2, bias2, to2, total2 = then, factor, scale, bias, to, total  # of the one before that
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
                        _group(min(group, steps - p - q), then2, rows + 2 * _TILE * q, here + _TILE * q,
                               here + _TILE * (steps + q), near + _TILE * ((r - i) // LANES * steps + q),
                               far + _TILE // 4 * q, new, old, factor2, total2, scale2, bias2, to2)  # fmt: skip
                        new, old = old, new
                        then2, factor2, scale2, bias2, to2, total2 = then, factor, scale, bias, to, total
                        then = group_kind(p + q == 0, p + q + group >= steps, mode)
                        at = facts[FLOATS] + (first + j) * each + (p + q) // group * BLOCK
                        factor, scale = _at(floats, at), _at(scales, r)
                        bias = _at(floats, facts[BIAS] + (first + j) * BLOCK)
                        to = _at(out, place(r, column + (first + j) * BLOCK, width))
                        total = np.int64(totals.ctypes.data) + _PAIR * ((r - i) // LANES * blocks + j)
    _group_of_0(then2, 0, 0, 0, 0, 0, new, old, factor2, total2, scale2, nowhere, bias2, to2)
    _group_of_0(then, 0, 0, 0, 0, 0, old, new, factor, total, scale, nowhere, bias, to)


@kernel
def _at(values: F32, i: int) -> Any:
    """The address of a value."""
    return np.int64(values.ctypes.data) + 4 * i


@kernel
def _group(
    steps: int, kind: int, a: int, w: int, w_next: int, near: int, far: int, sums: int, old: int, factors: int,
    totals: int, scale: int, bias: int, out: int,
) -> None:  # fmt: skip
    """`amx_group` of a group of 256 values of k, of one of 128, or of 64 that are left."""
    nowhere = np.int64(0)
    if steps == 4:
        _group_of_4(kind, a, w, w_next, near, far, sums, old, factors, totals, scale, nowhere, bias, out)
    elif steps == 2:
        _group_of_2(kind, a, w, w_next, near, far, sums, old, factors, totals, scale, nowhere, bias, out)
    else:
        _group_of_1(kind, a, w, w_next, near, far, sums, old, factors, totals, scale, nowhere, bias, out)
