"""Weights as 8-bit integers: their layout in memory, the loop of products with them, and what AMX makes of them.

A chunk is 64 values of k. Half a chunk of one side is 16 columns and 32 values of k, 16 vectors int8 [16 columns][2]:
vector p has k = p and k = 16 + p of the half, as `dots.pair_tiles` takes them. A block of 32 columns has two sides
that lie side by side, cache line by cache line: int8 [2 halves][8 lines][2 sides][2 vectors][16 columns][2].

Rows are 16-bit integers, in pairs as `operands.store_pairs` makes them: chunk after chunk of 64 along k, in each of
them the rows, 128 bytes each. Addresses and strides are in bytes.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from engine.simd.arithmetic import emit_fma, emit_sum, fma
from engine.simd.vector import (
    F32X16,
    I8X64,
    I16X32,
    JIT,
    LANES,
    all_i32,
    chosen,
    const,
    emit_load,
    emit_store,
    loop,
    operation_on,
    prefetch_line,
    switched,
    view,
)
from engine.tiles.dots import AHEAD, VECTOR, asks_ahead, broadcast, dot_pairs
from engine.tiles.sub_blocks import SIDES

FLOAT, EIGHT = 0, 8
"""Kinds of matrices: float32, and these numbers. More of them: `engine.tiles.sub_blocks`."""
HALF = 32
"""Values of k in half a chunk."""
VECTORS = HALF // 2
HALF_BYTES = HALF * LANES
LINE = 64
CHUNK_BYTES = 4 * HALF_BYTES
ROW_BYTES = 128  # of a chunk
_FACTORS_AHEAD = 1024  # bytes from factors in use to those that are asked for
_WIDE = {"avx512_vnni": 2}  # vectors of columns that are multiplied together: as many as there are registers for, or 1
_WAYS = 8  # sums that are made at the same time, at least: a product needs the one before it in its sum


def half_at(b: Any, chunk: Any, half: Any, side: Any) -> Any:
    """The address of one side of half 0 or 1 of the chunk at an address; its lines lie SIDES * LINE bytes apart."""
    return b.add(chunk, b.add(b.mul(half, const(SIDES * HALF_BYTES)), b.mul(side, const(LINE))))


def emit_quants(b: Any, half: Any, p: int) -> Any:
    """Vector p of the half chunk at an address, <32 x i16>."""
    place = SIDES * LINE * (p // 2) + 2 * LANES * (p % 2)
    return b.sext(emit_load(b, half, place, ir.VectorType(ir.IntType(8), 32)), I16X32)


def quants_at(quants: int, side: int, halves: int) -> NDArray[np.int32]:
    """One side of `halves` half chunks at an address, int32 [halves][16 vectors][16 columns][2]."""
    data = view(quants, -(-halves // 2) * CHUNK_BYTES, np.int8).reshape(-1, VECTORS // 2, SIDES, 2, LANES, 2)
    numbers: NDArray[np.int32] = data[:halves, :, side].reshape(-1, VECTORS, LANES, 2).astype(np.int32)
    return numbers


def int8_tile(sizes: Sequence[int], isa: str) -> Any:
    """tile(rows, a, chunk, steps, quants, group, factors, out): to float32 [rows][32] at `out`, which are -0 at first,
    come `steps` chunks of the rows, `chunk` bytes from one to the next, times 32 columns: of each group of `group`
    chunks the exact int32 sums, and then total = fma(sum, factor of the group and column, total). `rows` is one of
    `sizes`, and factors are [groups][32]."""
    if not JIT:
        return _multiplied
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
    zeros = [all_i32(0)] * (chains * ways)
    sides = [b.add(b.mul(vector, const(wide)), const(v)) for v in range(wide)]
    factors, out = (b.add(at, b.mul(sides[0], const(VECTOR))) for at in (factors, out))

    def of_group(g: Any, totals: list[Any]) -> list[Any]:
        first = b.mul(g, group)
        of_columns = b.add(factors, b.mul(g, const(SIDES * VECTOR)))
        for line in range(0, wide * VECTOR, LINE):
            prefetch_line(b, of_columns, _FACTORS_AHEAD + line, 1)
        left, right = b.add(a, b.mul(first, chunk)), b.add(quants, b.mul(first, const(CHUNK_BYTES)))

        def of_half(i: Any, sums: list[Any]) -> list[Any]:
            step, half = b.ashr(i, const(1)), b.and_(i, const(1))
            rows_at = b.add(left, b.add(b.mul(step, chunk), b.mul(half, const(4 * VECTORS))))
            columns = b.add(right, b.mul(step, const(CHUNK_BYTES)))
            return _emit_half(b, rows, isa, rows_at, [half_at(b, columns, half, side) for side in sides], list(sums))

        left_over = b.sub(steps, first)
        some = b.select(b.icmp_signed("<", group, left_over), group, left_over)
        sums = loop(b, b.mul(some, const(2)), zeros, of_half)
        scale = [emit_load(b, of_columns, VECTOR * v) for v in range(wide)]
        whole = [b.sitofp(emit_sum(b, sums[ways * i : ways * i + ways]), F32X16) for i in range(chains)]
        return [emit_fma(b, s, scale[i % wide], totals[i]) for i, s in enumerate(whole)]

    groups = b.sdiv(b.add(steps, b.sub(group, const(1))), group)
    places = [VECTOR * (SIDES * (i // wide) + i % wide) for i in range(chains)]
    for place, total in zip(places, loop(b, groups, [emit_load(b, out, p) for p in places], of_group), strict=True):
        emit_store(b, total, out, place)
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
            both = broadcast(b, isa, a, ROW_BYTES * r + 4 * p)
            for v, w in enumerate(weights):
                to = ways * (wide * r + v) + p % ways
                sums[to] = dot_pairs(b, isa, sums[to], both, w, in_order=True)
    return sums


def _ask_for(b: Any, half: Any, line: int) -> None:
    """Prefetch a line of half a chunk, some way behind it."""
    prefetch_line(b, half, AHEAD + SIDES * LINE * line, 1)


def digits() -> Any:
    """digits(quants, side, halves, out, step): one side of so many half chunks, `step` bytes from one to the next,
    as int8 [8][16 columns][4], where k has the order of `operands.CODED`."""

    def emit(b: Any, quants: Any, side: Any, halves: Any, out: Any, step: Any) -> None:
        def half(i: Any, carried: list[Any]) -> list[Any]:
            chunk, to = b.add(quants, b.mul(b.ashr(i, const(1)), const(CHUNK_BYTES))), b.add(out, b.mul(i, step))
            here = half_at(b, chunk, b.and_(i, const(1)), side)
            for line in range(HALF_BYTES // LINE):
                _ask_for(b, here, line)
                emit_store(b, _mixed(b, here, SIDES * LINE * line), to, LINE * line)
            return carried

        loop(b, halves, [], half)

    return operation_on(emit, 5) if JIT else _digits


def _mixed(b: Any, half: Any, offset: int) -> Any:
    """Interleave the pairs of two vectors, so that four values of k lie side by side for each column."""
    both = emit_load(b, half, offset, I8X64)
    return chosen(b, both, both, [32 * (i % 2) + 2 * (i // 4) + i // 2 % 2 for i in range(64)])


def _multiplied(rows: int, a: int, chunk: int, steps: int, quants: int, group: int, factors: int, out: int) -> None:
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
