"""The arithmetic of `sub_block_tile.py` in numpy: its meaning, and what runs without a compiler."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.codegen.int8_layout import SIDES
from engine.codegen.quantized_rows import GROUP, OF_OFFSETS, PAIR, RECORD, SCALE
from engine.codegen.sub_blocks import LAYOUTS, NESTED4, SUB_BLOCK, has_offset, is_nested, sub_block_at, sums_groups
from engine.simd.address import view
from engine.simd.arithmetic import fma
from engine.simd.vector import LANES

SubBlocks = Sequence[tuple[NDArray[np.int32], NDArray[np.float32]]]
_SUB_BLOCK_HALVES = slice(SUB_BLOCK // 2), slice(SUB_BLOCK // 2, SUB_BLOCK)


def multiply_sub_blocks(kind: int, rows: int, a: int, stride: int, sub_blocks: int, quants: int, out: int) -> None:
    """A tile as `sub_block_tile` makes it."""
    total = view(out, rows * SIDES * LANES, np.float32).reshape(rows, -1).copy()
    for side in range(SIDES):
        columns = slice(side * LANES, (side + 1) * LANES)
        for first in range(0, sub_blocks, LAYOUTS[kind].sub_blocks):
            own = range(first, first + LAYOUTS[kind].sub_blocks)
            factors = [sub_block_at(kind, quants, sub_block, side) for sub_block in own]
            quantized = [
                np.stack([view(a + r * stride + sub_block * RECORD, RECORD, np.int8) for r in range(rows)])
                for sub_block in own
            ]
            add = _add_group if sums_groups(kind) else _add_sub_block
            total[:, columns] = add(kind, total[:, columns], quantized, factors)
    view(out, total.size, np.float32)[:] = total.reshape(-1)


def _add_group(kind: int, total: Any, quantized: Sequence[NDArray[np.int8]], sub_blocks: SubBlocks) -> Any:
    """Add a super-block of quants of 4 or 5 bits (NESTED4, NESTED5)."""
    known, (d, dmin) = np.stack(quantized)[..., SUB_BLOCK:], sub_blocks[0][1][2:]
    pairs = known.view(np.int16)[..., (PAIR - SUB_BLOCK) // 2 : (PAIR - SUB_BLOCK) // 2 + 2].astype(np.int32)
    scales = known.view(np.float32)[..., (SCALE - SUB_BLOCK) // 4, None]
    whole, offsets = np.zeros(total.shape, np.int32), np.zeros(total.shape, np.int32)
    for i, (record, (q, (a, b, *_))) in enumerate(zip(quantized, sub_blocks, strict=True)):
        sums, first = record[:, :SUB_BLOCK].astype(np.int32) @ q.T, i // 2 * 2
        steps, sums_of_row = (pairs[first + n, :, 1 - i % 2, None] for n in range(2))
        whole += a.astype(np.int32) * steps * sums
        offsets += b.astype(np.int32) * sums_of_row
        if kind != NESTED4:
            total = fma(sums.astype(np.float32) * (d * a), scales[i], total)
    times = dmin * np.float32(-OF_OFFSETS)
    if kind == NESTED4:
        part = fma(offsets.astype(np.float32), times, whole.astype(np.float32) * d)
    else:
        part = offsets.astype(np.float32) * times
    return fma(part, known[0].view(np.float32)[:, (GROUP - SUB_BLOCK) // 4, None], total)


def _add_sub_block(kind: int, total: Any, quantized: Sequence[NDArray[np.int8]], sub_blocks: SubBlocks) -> Any:
    """Add sub-blocks whose halves are summed by themselves."""
    for record, (q, factors) in zip(quantized, sub_blocks, strict=True):
        x, known = record[:, :SUB_BLOCK].astype(np.int32), record[:, SUB_BLOCK:].copy().view(np.float32).T[:, :, None]
        first, second = ((x[:, half] @ q[:, half].T).astype(np.float32) for half in _SUB_BLOCK_HALVES)
        if is_nested(kind):
            total = fma(fma(second, factors[1], first * factors[0]), known[0], total)
            continue
        total = fma(fma(second, known[1], first * known[0]), factors[0], total)
        if has_offset(kind):
            low, high = known.view(np.int32)[2:4].astype(np.float32)
            total = fma(fma(high, known[1], low * known[0]), factors[1], total)
    return total
