"""The arithmetic of `sub_block_tile.py` in numpy: its meaning, and what runs without a compiler."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.codegen.int8_layout import SIDES
from engine.codegen.quantized_rows import GROUP, OF_OFFSETS, PAIR, RECORD, SCALE
from engine.codegen.sub_blocks import CODES, NESTED4, RUN, has_offset, is_nested, run_at, sums_groups
from engine.simd.address import view
from engine.simd.arithmetic import fma
from engine.simd.vector import LANES

Runs = Sequence[tuple[NDArray[np.int32], NDArray[np.float32]]]
_HALF_RUNS = slice(RUN // 2), slice(RUN // 2, RUN)


def multiply_runs(kind: int, rows: int, a: int, stride: int, runs: int, codes: int, out: int) -> None:
    """A tile as `run_tile` makes it."""
    total = view(out, rows * SIDES * LANES, np.float32).reshape(rows, -1).copy()
    for side in range(SIDES):
        columns = slice(side * LANES, (side + 1) * LANES)
        for first in range(0, runs, CODES[kind].runs):
            own = range(first, first + CODES[kind].runs)
            factors = [run_at(kind, codes, run, side) for run in own]
            records = [
                np.stack([view(a + r * stride + run * RECORD, RECORD, np.int8) for r in range(rows)]) for run in own
            ]
            add = _add_group if sums_groups(kind) else _add_run
            total[:, columns] = add(kind, total[:, columns], records, factors)
    view(out, total.size, np.float32)[:] = total.reshape(-1)


def _add_group(kind: int, total: Any, records: Sequence[NDArray[np.int8]], runs: Runs) -> Any:
    """Add a super-block of quants of 4 or 5 bits (NESTED4, NESTED5)."""
    known, (d, dmin) = np.stack(records)[..., RUN:], runs[0][1][2:]
    pairs = known.view(np.int16)[..., (PAIR - RUN) // 2 : (PAIR - RUN) // 2 + 2].astype(np.int32)
    scales = known.view(np.float32)[..., (SCALE - RUN) // 4, None]
    whole, offsets = np.zeros(total.shape, np.int32), np.zeros(total.shape, np.int32)
    for i, (record, (q, (a, b, *_))) in enumerate(zip(records, runs, strict=True)):
        sums, first = record[:, :RUN].astype(np.int32) @ q.T, i // 2 * 2
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
    return fma(part, known[0].view(np.float32)[:, (GROUP - RUN) // 4, None], total)


def _add_run(kind: int, total: Any, records: Sequence[NDArray[np.int8]], runs: Runs) -> Any:
    """Add sub-blocks whose halves are summed by themselves."""
    for record, (q, factors) in zip(records, runs, strict=True):
        x, known = record[:, :RUN].astype(np.int32), record[:, RUN:].copy().view(np.float32).T[:, :, None]
        first, second = ((x[:, half] @ q[:, half].T).astype(np.float32) for half in _HALF_RUNS)
        if is_nested(kind):
            total = fma(fma(second, factors[1], first * factors[0]), known[0], total)
            continue
        total = fma(fma(second, known[1], first * known[0]), factors[0], total)
        if has_offset(kind):
            low, high = known.view(np.int32)[2:4].astype(np.float32)
            total = fma(fma(high, known[1], low * known[0]), factors[1], total)
    return total
