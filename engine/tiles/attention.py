"""The two loops in which attention on vector registers spends its time: queries times keys, weights times values.

*Scores.* With AVX-512 VNNI four numbers of 8 bits are multiplied at a time (`vpdpbusd`), of which one side has no sign:
keys are stored with 128 added. All scores of a query are then too great by the same number, 128 times the sum of the
query, which goes away where they are compared with the greatest. The others multiply two numbers of 16 bits at a time.

*Weights and values* are numbers of 16 bits, and those of the keys i and i + 16 of each 32 lie side by side.

The rows of a tile lie one after another in runs of 16 numbers or, as weights, of 64 bytes: what is multiplied lies at
constant distances from one address.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types

from engine.simd.memory import emit_pairs, emit_transposed
from engine.simd.vector import (
    I16X32,
    I32X16,
    JIT,
    LANES,
    all_i16,
    all_i32,
    chosen,
    const,
    emit_load,
    emit_store,
    i32x16,
    loop,
    operation,
    operation_on,
    switched,
    view,
)
from engine.tiles.dots import VECTOR, broadcast, dot_bytes, dot_pairs

KEYS = 2 * LANES
"""Keys that are scored and weighed together."""
ROWS = {"avx512_vnni": 8, "avx2": 3, "portable": 3}
"""Queries of a block, for which there are registers."""
_COLUMNS = {"avx512_vnni": 2}  # vectors that are multiplied together, else one
_BYTES = {"avx512_vnni": 1}  # of a number of queries and keys, else two
_LEAST = -(2**31)
_STORED = 4  # rows that are scored, and stored, together


class AttentionTiles(NamedTuple):
    """What attention is made of on an instruction set.

    rows, half: queries of a block, and of a block that lacks the others. bytes: of a number of queries and keys.
    offset: what is added to each key.

    store_row(address, v): 16 numbers of a query or of a key. turn_keys(source, target): 16 numbers of 16 keys, stored
    one key after another, as a right operand, as many bytes.

    score(count, queries, keys, depth, groups, greatest, scores): scores int32 [groups][2][rows][16] of `count` rows,
    `rows` or `half` of them, of queries [depth / 16][rows][16], and KEYS keys for each group; greatest int32
    [rows][16]: the greatest ones, lane by lane.

    store_weights(address, share, low, high): two vectors of numbers from 0 to 2**15 - 1, in the low halves of lanes,
    as a row of KEYS weights; returns share + their sum, in any order of the lanes.

    mix(count, weights, values, next_values, groups, sums): sums int32 [2][rows][16] of weights [groups] times two
    vectors of values [groups][16][16][2], which lie next_values bytes apart. Weights [rows][64 bytes] of a group lie
    where its scores begin.
    """

    rows: int
    half: int
    bytes: int
    offset: int
    store_row: Any
    turn_keys: Any
    score: Any
    store_weights: Any
    mix: Any


def attention_tiles(isa: str) -> AttentionTiles:
    """The operations of an instruction set."""
    rows, size = ROWS[isa], _BYTES.get(isa, 2) if JIT else 2
    half = (rows + 1) // 2

    def sized(emit: Any, count: int, meaning: Any) -> Any:
        """An operation that exists for `rows` and for `half` of them."""

        def emit_sized(b: Any, given: Any, *args: Any) -> None:
            switched(b, given, {some: partial(emit, b, some, isa, *args) for some in (rows, half)})

        return operation_on(emit_sized, count) if JIT else partial(meaning, rows)

    return AttentionTiles(
        rows=rows, half=half, bytes=size, offset=128 if size == 1 else 0,
        store_row=operation(types.void(types.intp, i32x16), partial(_emit_store_row, size), _put_row),
        turn_keys=operation_on(partial(_emit_turn, size), 2) if JIT else _turn_keys,
        score=sized(_emit_score, 7, _score), mix=sized(_emit_mix, 6, _mix),
        store_weights=operation(
            i32x16(types.intp, i32x16, i32x16, i32x16), partial(_emit_weights, isa), _put_weights
        ),
    )  # fmt: skip


def _emit_store_row(size: int, b: Any, address: Any, v: Any) -> None:
    emit_store(b, b.trunc(v, ir.VectorType(ir.IntType(8 * size), LANES)), address)


def _emit_turn(size: int, b: Any, source: Any, target: Any) -> None:
    """Four bytes of 16 keys side by side."""
    for part in range(size):
        for i, value in enumerate(emit_transposed(b, source, const(LANES * size), 16 * part)):
            emit_store(b, value, target, VECTOR * (4 * part + i))


def _emit_weights(isa: str, b: Any, address: Any, share: Any, low: Any, high: Any) -> Any:
    both = b.bitcast(emit_pairs(b, low, high), I16X32)
    emit_store(b, both, address)
    return dot_pairs(b, isa, share, both, all_i16(1))


def _dot(b: Any, isa: str, size: int, total: Any, left: Any, right: Any) -> Any:
    """`total` plus products of a broadcast left side and a right side, as numbers of `size` bytes."""
    if size == 2:
        return dot_pairs(b, isa, total, left, right, in_order=True)
    return dot_bytes(b, total, right, left)


def _emit_products(
    b: Any, rows: int, isa: str, size: int, steps: int, left: tuple[Any, int], right: list[Any], sums: list[Any]
) -> list[Any]:
    """`sums` [rows][vectors] plus `steps` products; the rows of `left` lie so many bytes apart."""
    sums, (a, apart), columns = list(sums), left, len(right)
    for step in range(steps):
        vectors = [emit_load(b, at, VECTOR * step, I32X16) for at in right]
        for r in range(rows):
            both = broadcast(b, isa, a, apart * r + 4 * step)
            for c, vector in enumerate(vectors):
                sums[columns * r + c] = _dot(b, isa, size, sums[columns * r + c], both, vector)
    return sums


def _emit_score(
    b: Any, rows: int, isa: str, queries: Any, keys: Any, depth: Any, groups: Any, greatest: Any, scores: Any
) -> None:
    """Write the loop of scores:

    for v in vectors of keys, one or two at a time:
        for some rows r:
            sums[r, v] = 0
            for i in depth, 16 at a time:
                sums[r, v] += queries[i, r] . keys[v, i]
            greatest[r] = max(greatest[r], sums[r, v])
            scores[v, r] = sums[r, v]

    Few rows at a time, because a processor that stores 16 vectors in a row does not multiply meanwhile.
    """
    size, columns = _BYTES.get(isa, 2), _COLUMNS.get(isa, 1)
    run, row = LANES * size, columns * ROWS[isa] * VECTOR
    every = b.mul(depth, const(run))  # bytes of a vector of keys

    def of_vectors(v: Any, most: list[Any]) -> list[Any]:
        right = [b.add(keys, b.mul(b.add(b.mul(v, const(columns)), const(c)), every)) for c in range(columns)]
        to = b.add(scores, b.mul(v, const(row)))
        for first in range(0, rows, _STORED):
            some = min(_STORED, rows - first)
            left = b.add(queries, const(first * run))
            sums = _emit_scores_of(b, some, isa, left, right, depth)
            for i, value in enumerate(sums):
                r, c = divmod(i, columns)
                _store_halves(b, value, to, VECTOR * (ROWS[isa] * c + first + r))
                most[first + r] = b.select(b.icmp_signed(">", value, most[first + r]), value, most[first + r])
        return most

    count = b.mul(groups, const(KEYS // LANES // columns))
    for r, value in enumerate(loop(b, count, [all_i32(_LEAST)] * rows, of_vectors)):
        emit_store(b, value, greatest, VECTOR * r)


def _emit_scores_of(b: Any, rows: int, isa: str, queries: Any, right: list[Any], depth: Any) -> list[Any]:
    """Some rows times vectors of keys."""
    size = _BYTES.get(isa, 2)
    run, steps = LANES * size, 4 * size

    def of_run(i: Any, sums: list[Any]) -> list[Any]:
        left = b.add(queries, b.mul(i, const(ROWS[isa] * run)))
        at = [b.add(start, b.mul(i, const(VECTOR * steps))) for start in right]
        return _emit_products(b, rows, isa, size, steps, (left, run), at, sums)

    return loop(b, b.sdiv(depth, const(LANES)), [all_i32(0)] * (rows * len(right)), of_run)


def _store_halves(b: Any, value: Any, address: Any, offset: int) -> None:
    """Store a vector by halves, which is the faster way where many are stored."""
    for i in range(2):
        part = chosen(b, value, value, list(range(i * LANES // 2, (i + 1) * LANES // 2)))
        emit_store(b, part, address, offset + VECTOR // 2 * i)


def _emit_mix(b: Any, rows: int, isa: str, weights: Any, values: Any, next_values: Any, groups: Any, sums: Any) -> None:
    """Write the loop of weights times values, of one or two vectors of values at a time:

    for g in groups:
        for pair in range(16):
            sums[r, v] += weights[g, r, pair] . values[v, g, pair]    for every row r and vector v
    """
    columns, apart = _COLUMNS.get(isa, 1), 2 * ROWS[isa] * VECTOR
    for first in range(0, 2, columns):
        starts = [b.add(values, b.mul(next_values, const(c))) for c in range(first, first + columns)]

        def of_group(g: Any, sums: list[Any], starts: list[Any] = starts) -> list[Any]:
            left = b.add(weights, b.mul(g, const(apart)))
            right = [b.add(start, b.mul(g, const(LANES * VECTOR))) for start in starts]
            return _emit_products(b, rows, isa, 2, LANES, (left, VECTOR), right, sums)

        for i, value in enumerate(loop(b, groups, [all_i32(0)] * (rows * columns), of_group)):
            r, c = divmod(i, columns)
            emit_store(b, value, sums, VECTOR * (ROWS[isa] * (first + c) + r))


def _put_row(address: int, v: Any) -> None:
    view(address, LANES, np.int16)[:] = v


def _put_weights(address: int, share: Any, low: Any, high: Any) -> Any:
    both = np.stack([low, high], axis=1).reshape(-1) & 0xFFFF
    view(address, 2 * LANES, np.int16)[:] = both
    return share + both.reshape(LANES, 2).sum(1, dtype=np.int32)


def _turn_keys(source: int, target: int) -> None:
    found = view(source, LANES * LANES, np.int16).reshape(LANES, LANES // 2, 2)
    view(target, LANES * LANES, np.int16)[:] = found.transpose(1, 0, 2).reshape(-1)


def _score(rows: int, count: int, queries: int, keys: int, depth: int, groups: int, greatest: int, scores: int) -> None:
    left = view(queries, rows * depth, np.int16).reshape(-1, rows, LANES)[:, :count].astype(np.int32)
    right = view(keys, KEYS * groups * depth, np.int16).reshape(-1, depth // 2, LANES, 2).astype(np.int32)
    left = left.transpose(1, 0, 2).reshape(count, depth // 2, 2)
    found = np.einsum("rdp,vdlp->vrl", left, right)
    view(scores, 2 * groups * rows * LANES, np.int32).reshape(-1, rows, LANES)[:, :count] = found
    view(greatest, count * LANES, np.int32)[:] = found.max(0).reshape(-1)


def _mix(rows: int, count: int, weights: int, values: int, next_values: int, groups: int, sums: int) -> None:
    every = view(weights, groups * 2 * rows * 2 * LANES, np.int16).reshape(groups, 2, rows, LANES, 2)
    left, out = every[:, 0, :count].astype(np.int32), view(sums, 2 * rows * LANES, np.int32).reshape(2, rows, LANES)
    for i in range(2):
        right = view(values + i * next_values, groups * LANES * LANES * 2, np.int16)
        right = right.reshape(groups, LANES, LANES, 2).astype(np.int32)
        out[i, :count] = np.einsum("grpk,gpdk->rd", left, right)
