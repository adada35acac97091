"""Register tiles of matrix products: the loops in which nearly all time goes, each one operation with a numpy meaning.

`pair_tiles(most, columns, isa)`: int16 times int16 into int32, exact. `float_tile(rows, columns)`: float32 with one
multiply and one add a step. `columns` counts vectors of 16. AMX has its own, in `tiles/amx/`. The instruction set
decides how an exact integer sum is made, never what it is.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from engine.simd.vector import (
    I16X32,
    I32X16,
    JIT,
    LANES,
    all_f32,
    all_i32,
    chosen,
    const,
    emit_call,
    emit_instruction,
    emit_load,
    emit_splat,
    emit_store,
    loop,
    operation_of,
    switched,
    view,
)

VECTOR = 4 * LANES  # bytes of 16 values of 32 bits
AHEAD = 4096  # bytes from quants in use to those that are asked for: what the CPU fetches by itself ends at each page
PAIRS = 16  # of int16 in one iteration of the loop: half a chunk
_FEW_ROWS = {"avx512_vnni": 4}  # that wait for nothing but memory, or 1: the CPU alone then fetches quants sooner
_OF_PAIRS = {"avx2": ("x86.avx2.pmadd.wd", 8), "portable": ("x86.sse2.pmadd.wd", 4)}  # int32 of a register


def asks_ahead(rows: int, isa: str) -> bool:
    """Whether a tile of so many rows asks for quants itself."""
    return rows > _FEW_ROWS.get(isa, 1)


def broadcast(b: Any, isa: str, address: Any, offset: int) -> Any:
    """32 bits at an address, in all lanes. With AVX-512 they are read where this is written and nothing is moved past
    it, nor past a dot product `in_order`, so that few values are in registers at a time."""
    if isa != "avx512_vnni":
        return emit_splat(b, emit_load(b, address, offset, ir.IntType(32)))
    kind = ir.FunctionType(I32X16, [address.type])
    return b.asm(kind, f"vpbroadcastd {offset}($1), $0", "=v,r,~{memory}", [address], True)


def dot_pairs(b: Any, isa: str, total: Any, a: Any, w: Any, *, in_order: bool = False) -> Any:
    """16 lanes of total + a[2i] * w[2i] + a[2i + 1] * w[2i + 1], of int16. With AVX-512 VNNI by the instruction's name:
    LLVM, where it is free to choose, makes a product and a sum of it."""
    if isa == "avx512_vnni":
        values = total, b.bitcast(a, I32X16), b.bitcast(w, I32X16)
        return emit_instruction(b, "vpdpwssd $3, $2, $0", I32X16, *values, in_order=in_order)
    (name, lanes), a, w = _OF_PAIRS[isa], b.bitcast(a, I16X32), b.bitcast(w, I16X32)
    parts = [
        emit_call(b, *(chosen(b, x, x, [*range(at, at + 2 * lanes)]) for x in (a, w)), name=name, result=_ints(lanes))
        for at in range(0, 2 * LANES, 2 * lanes)
    ]
    while len(parts) > 1:
        parts = [chosen(b, x, y, [*range(2 * x.type.count)]) for x, y in zip(parts[::2], parts[1::2], strict=True)]
    return b.add(total, parts[0])


def _ints(lanes: int) -> Any:
    return ir.VectorType(ir.IntType(32), lanes)


def dot_bytes(b: Any, total: Any, unsigned: Any, signed: Any, *, in_order: bool = True) -> Any:
    """16 lanes of `total` plus the products of four bytes each, with AVX-512 VNNI."""
    return emit_instruction(b, "vpdpbusd $3, $2, $0", I32X16, total, unsigned, signed, in_order=in_order)


class PairTile(NamedTuple):
    """Addresses and strides in bytes: rows of `a` (int16) are `lda` apart, vectors of 16 columns of `w` (int16
    [k / 2][16][2]) `ldw`, rows of `out` `ldo` and its vectors `ldc`; `steps` is k / 32."""

    a: Any
    lda: Any
    w: Any
    ldw: Any
    steps: Any
    out: Any
    ldo: Any
    ldc: Any


def pair_tiles(most: int, columns: int, isa: str) -> Any:
    """tile(rows, PairTile): out[r, n] = sum over k of a[r, k] * w[k, n] for 1 to `most` rows, int32, exact while it
    fits."""
    if not JIT:
        return partial(_mean_pairs, columns)

    def emit(b: Any, rows: Any, *args: Any) -> None:
        cases = {n: partial(_emit_pairs, b, n, columns, isa, PairTile(*args)) for n in range(1, most + 1)}
        switched(b, rows, cases)

    return operation_of(emit, 2)


def _emit_pairs(b: Any, rows: int, columns: int, isa: str, t: PairTile) -> None:
    """Write the loop of a tile:

    for i in range(steps):
        for pair in range(PAIRS):
            for r in range(rows):
                for c in range(columns):
                    sums[r, c] += a[r, 2 values] . w[c, 2 values of 16 columns]
    out[rows, columns] = sums
    """

    def body(i: Any, sums: list[Any]) -> list[Any]:
        sums = list(sums)
        left, right = b.add(t.a, b.mul(i, const(4 * PAIRS))), b.add(t.w, b.mul(i, const(VECTOR * PAIRS)))
        for pair in range(PAIRS):
            offsets = [b.add(b.mul(t.ldw, const(c)), const(VECTOR * pair)) for c in range(columns)]
            weights = [emit_load(b, right, offset, I16X32) for offset in offsets]
            for r in range(rows):
                both = emit_splat(b, emit_load(b, left, b.add(b.mul(t.lda, const(r)), const(4 * pair)), ir.IntType(32)))
                for c in range(columns):
                    sums[r * columns + c] = dot_pairs(b, isa, sums[r * columns + c], both, weights[c])
        return sums

    for i, value in enumerate(loop(b, t.steps, [all_i32(0)] * (rows * columns), body)):
        r, c = divmod(i, columns)
        emit_store(b, value, t.out, b.add(b.mul(t.ldo, const(r)), b.mul(t.ldc, const(c))))


def _mean_pairs(columns: int, rows: int, t: PairTile) -> None:
    k = 2 * PAIRS * int(t.steps)
    right = [view(t.w + c * t.ldw, k * LANES, np.int16).reshape(k // 2, LANES, 2) for c in range(columns)]
    for r in range(rows):
        left = view(t.a + r * t.lda, k, np.int16).astype(np.int32).reshape(k // 2, 1, 2)
        for c, part in enumerate(right):
            view(t.out + r * t.ldo + c * t.ldc, LANES, np.int32)[:] = (left * part).sum((0, 2), dtype=np.int32)


class FloatTile(NamedTuple):
    """Addresses and strides in bytes: rows of `a` are `lda` apart, of `m` [depth] `ldm`, of `out` `ldo`; float32."""

    a: Any
    lda: Any
    m: Any
    ldm: Any
    depth: Any
    out: Any
    ldo: Any


def float_tile(rows: int, columns: int) -> Any:
    """tile(FloatTile): out[r, n] = sum over k in order of a[r, k] * m[k, n]."""
    if not JIT:
        return partial(_mean_floats, rows, columns)

    def emit(b: Any, *args: Any) -> None:
        t = FloatTile(*args)

        def body(k: Any, sums: list[Any]) -> list[Any]:
            right = [emit_load(b, b.add(t.m, b.mul(k, t.ldm)), VECTOR * c) for c in range(columns)]
            results = []
            for r in range(rows):
                offset = b.add(b.mul(t.lda, const(r)), b.mul(k, const(4)))
                left = emit_splat(b, emit_load(b, t.a, offset, ir.FloatType()))
                results += [b.fadd(sums[r * columns + c], b.fmul(left, right[c])) for c in range(columns)]
            return results

        for i, value in enumerate(loop(b, t.depth, [all_f32(0)] * (rows * columns), body)):
            r, c = divmod(i, columns)
            emit_store(b, value, t.out, b.add(b.mul(t.ldo, const(r)), const(VECTOR * c)))

    return operation_of(emit)


def _mean_floats(rows: int, columns: int, t: FloatTile) -> None:
    for r in range(rows):
        total = np.zeros(columns * LANES, np.float32)
        left = view(t.a + r * t.lda, t.depth, np.float32)
        for k in range(t.depth):
            total = total + left[k] * view(t.m + k * t.ldm, columns * LANES, np.float32)
        view(t.out + r * t.ldo, columns * LANES, np.float32)[:] = total
