"""The loop in which products of rows and 8-bit integers (the arena) spend their time, and what AMX makes of these.

Rows are 16-bit integers, in pairs as `operands.store_row` makes them: chunk after chunk of 64 along k, in each of
them the rows, 128 bytes each. Addresses and strides are in bytes.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from engine.codegen.int8_layout import CHUNK_BYTES, HALF_BYTES, LINE, SIDES, VECTORS, emit_quants, half_at, quants_at
from engine.codegen.sub_block_tile import AHEAD, asks_ahead
from engine.codegen.tiles import broadcast_pair, dot_in_order
from engine.simd.address import const, loop, pointer, prefetch_line, switched, view
from engine.simd.arithmetic import emit_fma, emit_sum, fma
from engine.simd.vector import JIT, LANES, f32x16, operation_on

ROW_BYTES = 128  # of a chunk
_FACTORS_AHEAD = 1024  # bytes from factors in use to those that are asked for
_WIDE = {"avx512_vnni": 2}  # vectors of columns that are multiplied together: as many as there are registers for, or 1
_WAYS = 8  # sums that are made at the same time, at least: a product needs the one before it in its sum
_I8, _I32 = ir.IntType(8), ir.IntType(32)
_I32X16, _I8X64 = ir.VectorType(_I32, LANES), ir.VectorType(_I8, 64)
_VECTOR = 4 * LANES  # bytes of 16 factors or totals


def int8_tile(sizes: Sequence[int], isa: str) -> Any:
    """tile(rows, a, chunk, steps, quants, group, factors, out): to float32 [rows][32] at `out`, which are -0 at first,
    come `steps` chunks of the rows, `chunk` bytes from one to the next, times 32 columns: of each group of `group`
    chunks the exact int32 sums, and then total = fma(sum, factor of the group and column, total). `rows` is one of
    `sizes`, and factors are [groups][32]."""
    if not JIT:
        return _meaning
    wide = _WIDE.get(isa, 1)

    def emit(b: Any, rows: Any, *args: Any) -> None:
        def tile(size: int) -> None:
            loop(b, const(SIDES // wide), [], partial(_emit_tile, b, size, wide, isa, args))

        switched(b, rows, {size: partial(tile, size) for size in sizes})

    return operation_on(emit, 8)


def _emit_tile(b: Any, rows: int, wide: int, isa: str, args: tuple[Any, ...], vector: Any, carried: list[Any]) -> Any:
    """Write the loop of `wide` vectors of a tile; `vector` times so many come before them:

    for g in groups of `group` chunks:
        sums[rows, wide] = 0                             (several of each, added at the end: products wait for sums)
        for chunk in group g:
            for half in (0, 1):
                for p in pairs of k of the half:
                    sums[r, v] += a[r, p] . weights[p, v]    for every row r and vector v
        totals[r, v] = fma(float32(sums[r, v]), factors[g, v], totals[r, v])
    """
    a, chunk, steps, quants, group, factors, out = args
    ways, chains = max(1, _WAYS // (rows * wide)), rows * wide
    zeros = [ir.Constant(_I32X16, [0] * LANES)] * (chains * ways)
    sides = [b.add(b.mul(vector, const(wide)), const(v)) for v in range(wide)]
    factors, out = (b.add(at, b.mul(sides[0], const(_VECTOR))) for at in (factors, out))

    def of_group(g: Any, totals: list[Any]) -> list[Any]:
        first = b.mul(g, group)
        of_columns = b.add(factors, b.mul(g, const(SIDES * _VECTOR)))
        _prefetch(b, of_columns, wide * _VECTOR)
        left, right = b.add(a, b.mul(first, chunk)), b.add(quants, b.mul(first, const(CHUNK_BYTES)))

        def of_half(i: Any, sums: list[Any]) -> list[Any]:
            step, half = b.ashr(i, const(1)), b.and_(i, const(1))
            rows_at = b.add(left, b.add(b.mul(step, chunk), b.mul(half, const(4 * VECTORS))))
            columns = b.add(right, b.mul(step, const(CHUNK_BYTES)))
            return _emit_half(b, rows, isa, rows_at, [half_at(b, columns, half, side) for side in sides], list(sums))

        sums = loop(b, b.mul(_smaller(b, group, b.sub(steps, first)), const(2)), zeros, of_half)
        scale = [b.load(pointer(b, of_columns, const(_VECTOR * v), f32x16.llvm), align=4) for v in range(wide)]
        whole = [b.sitofp(emit_sum(b, sums[ways * i : ways * i + ways]), f32x16.llvm) for i in range(chains)]
        return [emit_fma(b, s, scale[i % wide], totals[i]) for i, s in enumerate(whole)]

    groups = b.sdiv(b.add(steps, b.sub(group, const(1))), group)
    places = [pointer(b, out, const(_VECTOR * (SIDES * (i // wide) + i % wide)), f32x16.llvm) for i in range(chains)]
    for place, total in zip(places, loop(b, groups, [b.load(p, align=4) for p in places], of_group), strict=True):
        b.store(total, place, align=4)
    return carried


def _emit_half(b: Any, rows: int, isa: str, a: Any, halves: list[Any], sums: list[Any]) -> list[Any]:
    """`sums` of each row and vector, several of them, plus products with half a chunk of each of some sides."""
    wide = len(halves)
    ways = len(sums) // (rows * wide)
    following = [emit_quants(b, half, 0) for half in halves]
    for p in range(VECTORS):
        if p % 2 == 0 and asks_ahead(rows, isa):
            for half in halves:
                _ask_for(b, half, p // 2)
        weights = following
        if p + 1 < VECTORS:  # made before products need them
            following = [emit_quants(b, half, p + 1) for half in halves]
        for r in range(rows):
            both = broadcast_pair(b, isa, a, ROW_BYTES * r + 4 * p)
            for v, w in enumerate(weights):
                to = ways * (wide * r + v) + p % ways
                sums[to] = dot_in_order(b, isa, sums[to], both, w)
    return sums


def _prefetch(b: Any, factors: Any, size: int) -> None:
    """Prefetch so many bytes of factors, some groups behind those at an address."""
    for line in range(0, size, 64):
        prefetch_line(b, factors, _FACTORS_AHEAD + line, 1)


def _ask_for(b: Any, half: Any, line: int) -> None:
    """Prefetch a line of half a chunk, some way behind it."""
    prefetch_line(b, half, AHEAD + SIDES * LINE * line, 1)


def _smaller(b: Any, x: Any, y: Any) -> Any:
    return b.select(b.icmp_signed("<", x, y), x, y)


def digits() -> Any:
    """digits(quants, side, halves, out, step): one side of so many half chunks, `step` bytes from one to the next,
    as int8 [8][16 columns][4], where k has the order of `operands.CODED`."""

    def emit(b: Any, quants: Any, side: Any, halves: Any, out: Any, step: Any) -> None:
        def half(i: Any, carried: list[Any]) -> list[Any]:
            chunk, to = b.add(quants, b.mul(b.ashr(i, const(1)), const(CHUNK_BYTES))), b.add(out, b.mul(i, step))
            here = half_at(b, chunk, b.and_(i, const(1)), side)
            for line in range(HALF_BYTES // LINE):
                _ask_for(b, here, line)
                b.store(_mixed(b, here, SIDES * LINE * line), pointer(b, to, const(LINE * line), _I8X64), align=1)
            return carried

        loop(b, halves, [], half)

    return operation_on(emit, 5) if JIT else _digits


def _mixed(b: Any, half: Any, offset: int) -> Any:
    """Interleave the pairs of two vectors, so that four values of k lie side by side for each column."""
    both = b.load(pointer(b, half, const(offset), _I8X64), align=1)
    order = [32 * (i % 2) + 2 * (i // 4) + i // 2 % 2 for i in range(64)]
    return b.shuffle_vector(both, both, ir.Constant(ir.VectorType(_I32, 64), order))


def _meaning(rows: int, a: int, chunk: int, steps: int, quants: int, group: int, factors: int, out: int) -> None:
    width = SIDES * LANES
    total = view(out, rows * width, np.float32).reshape(rows, width).copy()
    for g, first in enumerate(range(0, steps, group)):
        count = min(group, steps - first)
        left = _rows_at(a + first * chunk, chunk, count, rows)
        right = [quants_at(quants + first * CHUNK_BYTES, side, 2 * count) for side in range(SIDES)]
        sums = [(left * part.reshape(-1, LANES, 2)).sum((1, 3), dtype=np.int32) for part in right]
        whole = np.concatenate(sums, axis=1).astype(np.float32)
        total = fma(whole, view(factors + 4 * g * width, width, np.float32), total)
    view(out, rows * width, np.float32)[:] = total.reshape(-1)


def _rows_at(a: int, chunk: int, steps: int, rows: int) -> NDArray[np.int32]:
    """Return the left operand at an address as int32 [rows][32 * steps pairs][1][2]."""
    found = [view(a + i * chunk, rows * ROW_BYTES // 2, np.int16).reshape(rows, -1, 1, 2) for i in range(steps)]
    return np.concatenate(found, axis=1).astype(np.int32)


def _digits(quants: int, side: int, halves: int, out: int, step: int) -> None:
    for i, values in enumerate(quants_at(quants, side, halves).reshape(halves, VECTORS // 2, 2, LANES, 2)):
        view(out + i * step, values.size, np.int8)[:] = values.transpose(0, 2, 3, 1).reshape(-1)
