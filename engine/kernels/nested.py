"""Products of a decoder's rows with matrices whose codes stay nested (`engine.simd.nested`): Q4_K, Q5_K and Q6_K.

Each run of 32 values of a row has a scale of its own, so that 8 bits hold them, and codes are multiplied as they are in
the file: twice as many products in an instruction as of 16 bits, and none of a weight's precision lost.
"""

from collections.abc import Sequence

import numpy as np

from engine.kernels.codes import BIAS, BLOCK, CODES_AT, KIND, STEP, K
from engine.kernels.compiled import kernel
from engine.kernels.matmul import ADD, ISA
from engine.kernels.places import TILE, place
from engine.simd import (
    CHUNK,
    F32,
    I8,
    I64,
    LANES,
    SMALL_TOP,
    add,
    larger_i32,
    largest_i32,
    load_f32,
    magnitude_bits,
    mul,
    nested_tile,
    no_i32,
    of_bits,
    splat,
    store_bytes,
    store_f32,
    to_i32,
    total_i32,
)  # fmt: skip
from engine.simd.nested import MIDDLE, RUN, RUNS
from engine.simd.nested_tiles import HALVES, NEGATIVE, RECORD, SCALE

_SIZES = {"avx512_vnni": (1, 2, 4, 6, 8)}
SIZES = _SIZES.get("avx512_vnni" if ISA == "amx" else ISA, (1, 2, 4))
_MOST = SIZES[-1]
_TOP, _TINY, _ZERO = np.float32(SMALL_TOP), np.float32(1e-30), np.float32(0)
_ROWS_BYTES = 1 << 19
"""Of rows that pass one block of columns after another: half of a second cache."""

_tile = nested_tile(SIZES, "avx512_vnni" if ISA == "amx" else ISA)


def record_bytes(rows: int, k: int) -> int:
    """That `take_records` writes and `nested_columns` may read."""
    return (rows + _MOST) * k // RUN * RECORD


@kernel
def tile_rows(count: int, sizes: Sequence[int]) -> int:
    """Rows of the next tile of so many that are left, so that those of all tiles are about as many."""
    most = sizes[-1]
    tiles = (count + most - 1) // most
    for size in sizes:
        if tiles * size >= count:
            return size
    return most


@kernel
def take_records(x: F32, r: int, k: int, records: I8) -> None:
    """Row r of x [tokens, k] as records (`engine.simd.nested_tiles`); the scale of a run that is not finite is NaN."""
    first, base = place(r, 0, k), r * (k // RUN) * RECORD
    floats, ints = records.view(np.float32), records.view(np.int32)
    for run in range(k // RUN):
        i, to = first + 2 * run * TILE, base + run * RECORD
        v0, v1 = load_f32(x, i), load_f32(x, i + TILE)
        peak = larger_i32(magnitude_bits(v0), larger_i32(magnitude_bits(v1), no_i32()))
        top = of_bits(largest_i32(peak))
        inverse = splat(_TOP / top if top > _TINY else _ZERO)
        n0, n1 = to_i32(mul(v0, inverse)), to_i32(mul(v1, inverse))
        address = np.int64(records.ctypes.data) + to
        store_bytes(address, n0)
        store_bytes(address + LANES, n1)
        floats[(to + SCALE) // 4] = top / _TOP + (top - top)
        sum0, sum1 = total_i32(n0), total_i32(n1)
        floats[(to + NEGATIVE) // 4] = np.float32(-(sum0 + sum1))
        ints[(to + HALVES) // 4] = -MIDDLE * sum0
        ints[(to + HALVES) // 4 + 1] = -MIDDLE * sum1


@kernel
def nested_columns(
    first: int, end: int, count: int, codes: I8, floats: F32, facts: I64, mode: int, out: F32, width: int, column: int,
    records: I8, totals: F32,
) -> None:  # fmt: skip
    """Blocks first..end of columns, as `coded.product` says."""
    k, stride = facts[K], facts[K] // RUN * RECORD
    size, some = k // CHUNK * facts[STEP], max(_MOST, _ROWS_BYTES // stride // _MOST * _MOST)
    base, left = np.int64(codes.ctypes.data) + facts[CODES_AT], np.int64(records.ctypes.data)
    to = np.int64(totals.ctypes.data)
    for at in range(0, count, some):
        for j in range(first, end):
            bias, row = facts[BIAS] + j * BLOCK, at
            b0, b1 = load_f32(floats, bias), load_f32(floats, bias + LANES)
            while row < min(at + some, count):
                rows = tile_rows(min(at + some, count) - row, SIZES)
                for r in range(rows):
                    store_f32(totals, BLOCK * r, b0)
                    store_f32(totals, BLOCK * r + LANES, b1)
                _tile(facts[KIND], rows, left + row * stride, stride, k // (RUN * RUNS), base + j * size, to)
                for r in range(min(rows, count - row)):
                    put(totals, BLOCK * r, out, place(row + r, column + j * BLOCK, width), mode)
                    put(totals, BLOCK * r + LANES, out, place(row + r, column + j * BLOCK + LANES, width), mode)
                row += rows


@kernel
def put(totals: F32, i: int, out: F32, to: int, mode: int) -> None:
    y = load_f32(totals, i)
    store_f32(out, to, add(load_f32(out, to), y) if mode == ADD else y)
