"""Matrix products of a decoder: rows times a matrix of an arena (`kernels/codes.py`), by a team of threads.

All threads call `multiply`. Rows become whole numbers of 16 bits, then blocks of 32 columns are claimed until none is
left. A few rows are multiplied right from the codes; for more of them the numbers of a block are made once for all, in
memory that stays in the first cache. Both add the same exact sums in the same order: the same bits.
"""

from typing import Any

import numpy as np

from engine.kernels.codes import BIAS, BLOCK, CODES, FLOATS, GROUP, KIND, STEP, K, N
from engine.kernels.compiled import kernel
from engine.kernels.matmul import ADD, ISA, PLAIN, SUMS, blocks, linear_float
from engine.kernels.places import TILE, place
from engine.kernels.rows import line_up
from engine.kernels.team import barrier, claim, new_team
from engine.simd import (
    CHUNK,
    EIGHT,
    F32,
    FLOAT,
    FOUR,
    I8,
    I64,
    LANES,
    ROW_TOP,
    SIX,
    add,
    few_tile,
    fma,
    larger_i32,
    largest_i32,
    load_f32,
    magnitude_bits,
    mul,
    no_i32,
    of_bits,
    operands,
    panel_tile,
    splat,
    store_f32,
    to_i32,
    unpack,
)  # fmt: skip

__all__ = ["ADD", "PLAIN", "barrier", "coded_scratch", "multiply", "new_team", "product", "take"]

FEW = 8
"""Rows up to which a product is made right from the codes."""
_TILES = {"amx": (16, 2), "avx512_vnni": (8, 2), "avx2": (4, 1), "portable": (4, 1)}
"""rows x vectors of 16 columns that are multiplied together where rows are many"""
_TILE_ROWS, _TILE_COLUMNS = _TILES[ISA]
_VECTORS_ISA = "avx512_vnni" if ISA == "amx" else ISA
_AMX = ISA == "amx"
_PAIR_ROW = operands(_VECTORS_ISA).store_row
_DIGIT_ROW = operands(ISA).store_row
_ZERO, _TOP, _TINY = np.float32(0), np.float32(ROW_TOP), np.float32(1e-30)
_BEFORE = np.float32(-0.0)  # what a sum begins with: fma(x, y, -0) is x * y
_ROW_BYTES = 2 * CHUNK  # of a chunk of a row
_SHARES = 8  # claims for each thread, or more
_LONGEST_GROUP = 256

_few_4 = tuple(few_tile(FOUR, rows, _VECTORS_ISA) for rows in (1, 2, 4, 8))
_few_6 = tuple(few_tile(SIX, rows, _VECTORS_ISA) for rows in (1, 2, 4, 8))
_few_8 = tuple(few_tile(EIGHT, rows, _VECTORS_ISA) for rows in (1, 2, 4, 8))
_few_41, _few_42, _few_44, _few_48 = _few_4
_few_61, _few_62, _few_64, _few_68 = _few_6
_few_81, _few_82, _few_84, _few_88 = _few_8
_panel = panel_tile(_TILE_ROWS if not _AMX else 8, _TILE_COLUMNS, _VECTORS_ISA)
_unpack_4, _unpack_6, _unpack_8 = (unpack(kind, digits=_AMX) for kind in (FOUR, SIX, EIGHT))

Scratch = tuple[Any, ...]


def coded_scratch(rows: int, k: int, threads: int) -> Scratch:
    """What products of up to so many rows of up to k values need, for all threads of a team together: rows as whole
    numbers, their scales, the same rows as float32; and for each thread totals, a panel, and sums."""
    rows, k = -(-rows // (2 * LANES)) * 2 * LANES + LANES, -(-k // CHUNK) * CHUNK
    return (
        _lines(rows * k * 2, np.int8), _lines(rows, np.float32), _lines(rows * k, np.float32),
        _lines(threads * rows * BLOCK, np.float32).reshape(threads, -1),
        _lines(threads * BLOCK * (k if _AMX else 2 * _LONGEST_GROUP), np.int8).reshape(threads, -1),
        _lines(threads * 2 * SUMS, np.int32).reshape(threads, -1),
    )  # fmt: skip


def _lines(count: int, dtype: Any) -> Any:
    """Zeros that begin on a cache line."""
    size = count * np.dtype(dtype).itemsize
    memory = np.zeros(size + 64, np.uint8)
    first = -memory.ctypes.data % 64
    return memory[first : first + size].view(dtype)


@kernel
def multiply(
    team: I64, thread: int, threads: int, x: F32, count: int, codes: I8, floats: F32, table: I64, row: int, mode: int,
    out: F32, width: int, column: int, scratch: Scratch,
) -> None:  # fmt: skip
    """`count` rows, and n columns from `column` on, of out[tokens, width] = x[tokens, k] @ matrix `row` of the arena +
    its bias, or + what is there (mode ADD). x and out lie in tiles (places.py); n and k are the padded ones.

    All threads call it; what it wrote is there after the next barrier, and `x` and the slot are free again.
    """
    take(thread, threads, x, count, table[row, K], table[row, KIND], scratch)
    barrier(team, threads)
    product(team, 0, thread, threads, count, codes, floats, table, row, mode, out, width, column, scratch)


@kernel
def take(thread: int, threads: int, x: F32, count: int, k: int, kind: int, scratch: Scratch) -> None:
    """This thread's share of x[count, k] as a left operand; a barrier makes it whole. It serves any number of products
    with matrices of this k, one slot each; `kind` matters as far as it is FLOAT or not."""
    numbers, scales, lined = scratch[0], scratch[1], scratch[2]
    for first in range(thread * LANES, count, threads * LANES):
        if kind == FLOAT:
            line_up(x, first, min(LANES, count - first), k, lined[first * k :])
        else:
            for r in range(first, min(first + LANES, count)):
                scales[r] = _take_row(x, r, count, k, np.int64(numbers.ctypes.data))


@kernel
def _rows(count: int) -> int:
    """Rows of a left operand: those of the tiles that cover them."""
    if count <= FEW:
        return 1 if count == 1 else 2 if count == 2 else 4 if count <= 4 else 8
    return (count + _TILE_ROWS - 1) // _TILE_ROWS * _TILE_ROWS


@kernel
def _take_row(x: F32, r: int, count: int, k: int, to: int) -> Any:
    """A row as whole numbers within ROW_TOP; its scale, NaN for one that is not finite."""
    at, peak = place(r, 0, k), no_i32()
    for i in range(0, k, LANES):
        peak = larger_i32(magnitude_bits(load_f32(x, at + i * LANES)), peak)
    top = of_bits(largest_i32(peak))
    inverse = splat(_TOP / top if top > _TINY else _ZERO)
    digits = _AMX and count > FEW
    step = LANES * _ROW_BYTES if digits else _rows(count) * _ROW_BYTES
    to += (r // LANES * (k // CHUNK) * LANES * _ROW_BYTES + r % LANES * CHUNK) if digits else r * _ROW_BYTES
    for q in range(k // CHUNK):
        i = at + q * CHUNK * LANES
        v0, v1 = to_i32(mul(load_f32(x, i), inverse)), to_i32(mul(load_f32(x, i + TILE), inverse))
        v2, v3 = to_i32(mul(load_f32(x, i + 2 * TILE), inverse)), to_i32(mul(load_f32(x, i + 3 * TILE), inverse))
        if digits:
            _DIGIT_ROW(to + q * step, v0, v1, v2, v3)
        else:
            _PAIR_ROW(to + q * step, v0, v1, v2, v3)
    return top / _TOP + (top - top)


@kernel
def product(
    team: I64, slot: int, thread: int, threads: int, count: int, codes: I8, floats: F32, table: I64, row: int,
    mode: int, out: F32, width: int, column: int, scratch: Scratch,
) -> None:  # fmt: skip
    """`multiply` of what was taken; between two barriers each product has a slot of its own (team.SLOTS)."""
    facts = table[row]
    k, total = facts[K], facts[N] // BLOCK
    step = max(1, total // (threads * _SHARES)) if threads > 1 else total
    while True:
        first = claim(team, slot, step)
        if first >= total:
            return
        for j in range(first, min(first + step, total)):
            if facts[KIND] == FLOAT:
                linear_float(scratch[2], count, k, floats[facts[FLOATS] :], floats[facts[BIAS] :], j, BLOCK, mode, out,
                             0, column + j * BLOCK, width, scratch[3][thread])  # fmt: skip
            elif count <= FEW:
                _few_rows(count, codes, floats, facts, j, mode, out, width, column, scratch, scratch[3][thread])
            elif _AMX:
                _many_amx(count, codes, floats, facts, j, mode, out, width, column, scratch, thread)
            else:
                _many_rows(count, codes, floats, facts, j, mode, out, width, column, scratch, thread)


@kernel
def _places(codes: I8, floats: F32, facts: I64, j: int) -> tuple[int, int, int]:
    """Where block j begins: address of its codes, bytes of 16 columns, and the place of its scales."""
    size, groups = facts[K] // CHUNK * facts[STEP], (facts[K] + facts[GROUP] - 1) // facts[GROUP]
    return codes.ctypes.data + facts[CODES] + 2 * j * size, size, facts[FLOATS] + j * groups * BLOCK


@kernel
def _few_rows(
    count: int, codes: I8, floats: F32, facts: I64, j: int, mode: int, out: F32, width: int, column: int,
    scratch: Scratch, totals: F32,
) -> None:  # fmt: skip
    at, size, factor = _places(codes, floats, facts, j)
    rows, steps, group = _rows(count), facts[K] // CHUNK, facts[GROUP] // CHUNK
    a, to = scratch[0].ctypes.data, totals.ctypes.data
    for half in range(2):
        _few(facts[KIND], rows, a, rows * _ROW_BYTES, steps, at + half * size, group,
             floats.ctypes.data + 4 * (factor + LANES * half), to)  # fmt: skip
        i = BLOCK * j + LANES * half
        bias = load_f32(floats, facts[BIAS] + i)
        for r in range(count):
            _store(load_f32(totals, LANES * r), scratch[1][r], bias, mode, out, place(r, column + i, width))


@kernel
def _few(kind: int, rows: int, a: int, chunk: int, steps: int, codes: int, group: int, factors: int, out: int) -> None:
    """The tile of this kind and number of rows."""
    if kind == FOUR:
        if rows == 1:
            _few_41(a, chunk, steps, codes, group, factors, out)
        elif rows == 2:
            _few_42(a, chunk, steps, codes, group, factors, out)
        elif rows == 4:
            _few_44(a, chunk, steps, codes, group, factors, out)
        else:
            _few_48(a, chunk, steps, codes, group, factors, out)
    elif kind == SIX:
        if rows == 1:
            _few_61(a, chunk, steps, codes, group, factors, out)
        elif rows == 2:
            _few_62(a, chunk, steps, codes, group, factors, out)
        elif rows == 4:
            _few_64(a, chunk, steps, codes, group, factors, out)
        else:
            _few_68(a, chunk, steps, codes, group, factors, out)
    elif rows == 1:
        _few_81(a, chunk, steps, codes, group, factors, out)
    elif rows == 2:
        _few_82(a, chunk, steps, codes, group, factors, out)
    elif rows == 4:
        _few_84(a, chunk, steps, codes, group, factors, out)
    else:
        _few_88(a, chunk, steps, codes, group, factors, out)


@kernel
def _store(total: Any, scale: Any, bias: Any, mode: int, out: F32, to: int) -> None:
    y = fma(total, splat(scale), bias)
    store_f32(out, to, add(load_f32(out, to), y) if mode == ADD else y)


@kernel
def _unpack(kind: int, codes: int, steps: int, out: int, stride: int) -> None:
    if kind == FOUR:
        _unpack_4(codes, steps, out, stride)
    elif kind == SIX:
        _unpack_6(codes, steps, out, stride)
    else:
        _unpack_8(codes, steps, out, stride)


@kernel
def _many_rows(
    count: int, codes: I8, floats: F32, facts: I64, j: int, mode: int, out: F32, width: int, column: int,
    scratch: Scratch, thread: int,
) -> None:  # fmt: skip
    """A group of k after the other: its panel is made, and all rows pass it."""
    at, size, factor = _places(codes, floats, facts, j)
    rows, steps, group = _rows(count), facts[K] // CHUNK, facts[GROUP] // CHUNK
    totals, panel, a = scratch[3][thread], scratch[4][thread].ctypes.data, scratch[0].ctypes.data
    part = LANES * _TILE_COLUMNS
    before = splat(_BEFORE)
    for c in range(0, BLOCK, part):
        for i in range(0, rows * part, LANES):
            store_f32(totals, i, before)
        for q in range(0, steps, group):
            some = min(group, steps - q)
            for v in range(_TILE_COLUMNS):
                from_ = at + (c // LANES + v) * size + q * facts[STEP]
                _unpack(facts[KIND], from_, some, panel + 64 * v, 64 * _TILE_COLUMNS)
            factors = floats.ctypes.data + 4 * (factor + q // group * BLOCK + c)
            for i in range(0, rows, _TILE_ROWS):
                _panel(a + (q * rows + i) * _ROW_BYTES, rows * _ROW_BYTES, some, panel, factors,
                       totals.ctypes.data + 4 * i * part)  # fmt: skip
        for v in range(0, part, LANES):
            i = BLOCK * j + c + v
            bias = load_f32(floats, facts[BIAS] + i)
            for r in range(count):
                _store(load_f32(totals, r * part + v), scratch[1][r], bias, mode, out, place(r, column + i, width))


@kernel
def _many_amx(
    count: int, codes: I8, floats: F32, facts: I64, j: int, mode: int, out: F32, width: int, column: int,
    scratch: Scratch, thread: int,
) -> None:  # fmt: skip
    """The numbers of a block as `matmul.pack` lays them out, and the tiles of encoders."""
    at, size, factor = _places(codes, floats, facts, j)
    k, panel = facts[K], scratch[4][thread]
    for v in range(2):
        _unpack(facts[KIND], at + v * size, k // CHUNK, panel.ctypes.data + v * LANES * k, 0)
    blocks(np.int64(scratch[0].ctypes.data), scratch[1], count, k // CHUNK, np.int64(panel.ctypes.data), floats, floats,
           facts[GROUP] // CHUNK, factor, facts[BIAS] + BLOCK * j, BLOCK, mode, out, 0, column + BLOCK * j, width,
           scratch[1], panel, scratch[5][thread], scratch[3][thread])  # fmt: skip
