"""Register tiles of matrix products: the loops in which nearly all time goes, each one operation with a numpy meaning.

`pair_tiles(most, columns, isa)`: int16 times int16 into int32, exact. `float_tile(rows, columns)`: float32 with one
multiply and one add a step. `columns` counts vectors of 16. AMX has its own, in `amx.py`. The instruction set decides
how an exact integer sum is made, never what it is.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from engine.simd.address import const, loop, pointer, switched, view
from engine.simd.vector import JIT, LANES, operation_on

PAIRS = 16  # of int16 in one iteration of the loop: half a chunk
_I16, _I32, _F32 = ir.IntType(16), ir.IntType(32), ir.FloatType()
_I32X16, _F32X16, _I16X32 = ir.VectorType(_I32, LANES), ir.VectorType(_F32, LANES), ir.VectorType(_I16, 2 * LANES)


def splat(b: Any, value: Any, lanes: int = LANES) -> Any:
    one = b.insert_element(ir.Constant(ir.VectorType(value.type, lanes), ir.Undefined), value, ir.Constant(_I32, 0))
    return b.shuffle_vector(one, one, ir.Constant(ir.VectorType(_I32, lanes), [0] * lanes))


def _vnni(b: Any, total: Any, a: Any, w: Any, *, in_order: bool = False) -> Any:
    """AVX-512 VNNI: 16 lanes of total + a[2i] * w[2i] + a[2i + 1] * w[2i + 1] in one instruction. By its name: LLVM,
    where it is free to choose, makes a product and a sum of it."""
    kind = ir.FunctionType(_I32X16, [_I32X16, _I32X16, _I32X16])
    values = [total, b.bitcast(a, _I32X16), b.bitcast(w, _I32X16)]
    return b.asm(kind, "vpdpwssd $3, $2, $0", "=v,0,v,v", values, in_order)


def _pmaddwd(name: str, lanes: int) -> Callable[..., Any]:
    """Return a dot product like `_vnni` by pmaddwd, on registers of `lanes` int32."""

    def dot(b: Any, total: Any, a: Any, w: Any) -> Any:
        narrow, wide = ir.VectorType(_I16, 2 * lanes), ir.VectorType(_I32, lanes)
        function = cgutils.get_or_insert_function(b.module, ir.FunctionType(wide, [narrow, narrow]), name)
        parts = [
            b.call(function, [_slice(b, a, i, 2 * lanes), _slice(b, w, i, 2 * lanes)])
            for i in range(0, 2 * LANES, 2 * lanes)
        ]
        while len(parts) > 1:
            parts = [_join(b, x, y) for x, y in zip(parts[::2], parts[1::2], strict=True)]
        return b.add(total, parts[0])

    return dot


def _slice(b: Any, value: Any, first: int, lanes: int) -> Any:
    return b.shuffle_vector(value, value, ir.Constant(ir.VectorType(_I32, lanes), list(range(first, first + lanes))))


def _join(b: Any, x: Any, y: Any) -> Any:
    lanes = 2 * x.type.count
    return b.shuffle_vector(x, y, ir.Constant(ir.VectorType(_I32, lanes), list(range(lanes))))


DOTS: dict[str, Callable[..., Any]] = {
    "avx512_vnni": _vnni,
    "avx2": _pmaddwd("llvm.x86.avx2.pmadd.wd", 8),
    "portable": _pmaddwd("llvm.x86.sse2.pmadd.wd", 4),
}


def broadcast_pair(b: Any, isa: str, address: Any, offset: int) -> Any:
    """Two int16 at an address, in all lanes. With AVX-512 they are read where this is written and nothing is moved past
    it, nor past `dot_in_order`, so that few values are in registers at a time."""
    if isa != "avx512_vnni":
        return b.bitcast(splat(b, b.load(pointer(b, address, const(offset), _I32), align=1)), _I16X32)
    kind = ir.FunctionType(_I32X16, [address.type])
    return b.asm(kind, f"vpbroadcastd {offset}($1), $0", "=v,r,~{memory}", [address], True)


def dot_in_order(b: Any, isa: str, total: Any, both: Any, w: Any) -> Any:
    """total + the products of a broadcast pair and w, where it is written."""
    if isa != "avx512_vnni":
        return DOTS[isa](b, total, both, w)
    return _vnni(b, total, both, w, in_order=True)


def pair_tiles(most: int, columns: int, isa: str) -> Any:
    """tile(rows, *PairTile): out[r, n] = sum over k of a[r, k] * w[k, n] for 1 to `most` rows, int32, exact while it
    fits."""
    if not JIT:
        return lambda rows, *addresses: _pair_tile_meaning(rows, columns)(*addresses)

    def emit(b: Any, rows: Any, *args: Any) -> None:
        tile = PairTile(*args)
        cases = {n: partial(_emit_pair_tile, b, n, columns, DOTS[isa], tile) for n in range(1, most + 1)}
        switched(b, rows, cases)

    return operation_on(emit, 9)


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


def _emit_pair_tile(b: Any, rows: int, columns: int, dot: Callable[..., Any], tile: PairTile) -> None:
    """Write the loop of a tile:

    for i in range(steps):
        for pair in range(PAIRS):
            for r in range(rows):
                for c in range(columns):
                    sums[r, c] += a[r, 2 values] . w[c, 2 values of 16 columns]
    out[rows, columns] = sums
    """
    a, lda, w, ldw, steps, out, ldo, ldc = tile

    def body(i: Any, sums: list[Any]) -> list[Any]:
        sums = list(sums)
        left, right = b.add(a, b.mul(i, const(4 * PAIRS))), b.add(w, b.mul(i, const(64 * PAIRS)))
        for pair in range(PAIRS):
            weights = [
                b.load(pointer(b, right, b.add(b.mul(ldw, const(c)), const(64 * pair)), _I16X32), align=1)
                for c in range(columns)
            ]
            for r in range(rows):
                offset = b.add(b.mul(lda, const(r)), const(4 * pair))
                both = b.bitcast(splat(b, b.load(pointer(b, left, offset, _I32), align=1)), _I16X32)
                for c in range(columns):
                    sums[r * columns + c] = dot(b, sums[r * columns + c], both, weights[c])
        return sums

    zero = ir.Constant(_I32X16, [0] * LANES)
    for i, value in enumerate(loop(b, steps, [zero] * (rows * columns), body)):
        r, c = divmod(i, columns)
        b.store(value, pointer(b, out, b.add(b.mul(ldo, const(r)), b.mul(ldc, const(c))), _I32X16), align=4)


def float_tile(rows: int, columns: int) -> Any:
    """out[r, n] = sum over k in order of a[r, k] * b[k, n]. Addresses and strides in bytes; float32."""
    if not JIT:
        return _float_tile_meaning(rows, columns)

    @intrinsic
    def tile(typing: Any, a: Any, lda: Any, m: Any, ldm: Any, depth: Any, out: Any, ldo: Any) -> Any:
        def codegen(context: Any, b: Any, sig: Any, args: Any) -> Any:
            a, lda, m, ldm, depth, out, ldo = args

            def body(k: Any, sums: list[Any]) -> list[Any]:
                row = b.add(m, b.mul(k, ldm))
                right = [b.load(pointer(b, row, const(64 * c), _F32X16), align=4) for c in range(columns)]
                results = []
                for r in range(rows):
                    offset = b.add(b.mul(lda, const(r)), b.mul(k, const(4)))
                    left = splat(b, b.load(pointer(b, a, offset, _F32), align=4))
                    results += [b.fadd(sums[r * columns + c], b.fmul(left, right[c])) for c in range(columns)]
                return results

            zero = ir.Constant(_F32X16, [0.0] * LANES)
            for i, value in enumerate(loop(b, depth, [zero] * (rows * columns), body)):
                r, c = divmod(i, columns)
                b.store(value, pointer(b, out, b.add(b.mul(ldo, const(r)), const(64 * c)), _F32X16), align=4)
            return context.get_dummy_value()

        i = types.intp
        return types.void(i, i, i, i, i, i, i), codegen

    return tile


def _pair_tile_meaning(rows: int, columns: int) -> Callable[..., None]:
    def tile(a: int, lda: int, w: int, ldw: int, steps: int, out: int, ldo: int, ldc: int) -> None:
        k = 2 * PAIRS * int(steps)
        right = [view(w + c * ldw, k * LANES, np.int16).reshape(k // 2, LANES, 2) for c in range(columns)]
        for r in range(rows):
            left = view(a + r * lda, k, np.int16).astype(np.int32).reshape(k // 2, 1, 2)
            for c, part in enumerate(right):
                view(out + r * ldo + c * ldc, LANES, np.int32)[:] = (left * part).sum((0, 2), dtype=np.int32)

    return tile


def _float_tile_meaning(rows: int, columns: int) -> Callable[..., None]:
    def tile(a: int, lda: int, m: int, ldm: int, depth: int, out: int, ldo: int) -> None:
        for r in range(rows):
            total = np.zeros(columns * LANES, np.float32)
            left = view(a + r * lda, depth, np.float32)
            for k in range(depth):
                total = total + left[k] * view(m + k * ldm, columns * LANES, np.float32)
            view(out + r * ldo, columns * LANES, np.float32)[:] = total

    return tile
