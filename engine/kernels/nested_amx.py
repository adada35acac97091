"""Products of many rows with nested codes on AMX: a group of 32 columns becomes a panel, 10 KB that stay in the first
cache, which then all rows pass."""

import numpy as np

from engine.kernels.codes import BIAS, BLOCK, CODES_AT, KIND, STEP, K
from engine.kernels.compiled import kernel
from engine.kernels.nested import put
from engine.kernels.places import place
from engine.simd import CHUNK, F32, I8, I32, I64, LANES, load_f32, start_tiles, store_f32
from engine.simd.nested import NESTED6, RUN, RUNS
from engine.simd.nested_amx import ROWS, nested_panel, nested_products, start_halves, start_runs
from engine.simd.nested_tiles import RECORD

_ROWS_BYTES = 1 << 20
"""Of rows that pass one block of columns after another: half of a second cache."""

_panel, _runs, _halves = nested_panel(), nested_products(halves=False), nested_products(halves=True)


@kernel
def nested_columns_amx(
    first: int, end: int, count: int, codes: I8, floats: F32, facts: I64, mode: int, out: F32, width: int, column: int,
    records: I8, totals: F32, panel: I8, sums: I32,
) -> None:  # fmt: skip
    """Blocks first..end of columns, as `coded.product` says. The usual tiles are there again when it is done."""
    stride = facts[K] // RUN * RECORD
    some = max(ROWS, _ROWS_BYTES // stride // ROWS * ROWS)
    if facts[KIND] == NESTED6:
        start_halves()
    else:
        start_runs()
    for at in range(0, count, some):
        rows, left = min(some, count - at), np.int64(records.ctypes.data) + at * stride
        for j in range(first, end):
            _block(j, rows, left, codes, floats, facts, totals, panel, sums)
            for r in range(rows):
                put(totals, BLOCK * r, out, place(at + r, column + j * BLOCK, width), mode)
                put(totals, BLOCK * r + LANES, out, place(at + r, column + j * BLOCK + LANES, width), mode)
    start_tiles()


@kernel
def _block(
    j: int, count: int, left: int, codes: I8, floats: F32, facts: I64, totals: F32, panel: I8, sums: I32
) -> None:
    """The totals of `count` rows of records from an address on, and more up to a multiple of ROWS, and block j."""
    stride, bias, tiles = facts[K] // RUN * RECORD, facts[BIAS] + j * BLOCK, (count + ROWS - 1) // ROWS
    size, groups = facts[STEP] * (RUN * RUNS // CHUNK), facts[K] // (RUN * RUNS)
    here, to = np.int64(codes.ctypes.data) + facts[CODES_AT] + j * groups * size, np.int64(panel.ctypes.data)
    b0, b1 = load_f32(floats, bias), load_f32(floats, bias + LANES)
    for r in range(tiles * ROWS):
        store_f32(totals, BLOCK * r, b0)
        store_f32(totals, BLOCK * r + LANES, b1)
    total, work = np.int64(totals.ctypes.data), np.int64(sums.ctypes.data)
    for g in range(groups):
        _panel(facts[KIND], here + g * size, to)
        if facts[KIND] == NESTED6:
            _halves(left + g * RUNS * RECORD, stride, tiles, to, total, work)
        else:
            _runs(left + g * RUNS * RECORD, stride, tiles, to, total, work)
