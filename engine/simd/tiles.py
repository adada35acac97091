"""Register tiles of matrix products: the loops in which nearly all time goes, each one operation with a numpy meaning.

`int_tile(rows, columns, isa)`: int16 activations times int8 weights with one float32 scale per 32 of them.
`float_tile(rows, columns)`: float32 with one multiply and one add a step. `columns` counts vectors of 16. The
instruction set decides how an exact integer sum is made, never what it is.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from engine.simd.vector import JIT, LANES

GROUP = 32  # weights that share a scale
_I8, _I16, _I32, _I64, _F32 = ir.IntType(8), ir.IntType(16), ir.IntType(32), ir.IntType(64), ir.FloatType()
_I32X16, _F32X16 = ir.VectorType(_I32, LANES), ir.VectorType(_F32, LANES)


def _const(value: int) -> Any:
    return ir.Constant(_I64, value)


def _at(b: Any, base: Any, offset: Any, kind: Any) -> Any:
    """A pointer to `kind` at byte address base + offset."""
    return b.inttoptr(b.add(base, offset), kind.as_pointer())


def _splat(b: Any, value: Any, lanes: int = LANES) -> Any:
    one = b.insert_element(ir.Constant(ir.VectorType(value.type, lanes), ir.Undefined), value, ir.Constant(_I32, 0))
    return b.shuffle_vector(one, one, ir.Constant(ir.VectorType(_I32, lanes), [0] * lanes))


def _vnni(b: Any, total: Any, a: Any, w: Any) -> Any:
    """AVX-512 VNNI: 16 lanes of total + a[2i] * w[2i] + a[2i + 1] * w[2i + 1] in one instruction."""
    kind = ir.FunctionType(_I32X16, [_I32X16, _I32X16, _I32X16])
    dot = cgutils.get_or_insert_function(b.module, kind, "llvm.x86.avx512.vpdpwssd.512")
    return b.call(dot, [total, b.bitcast(a, _I32X16), b.bitcast(w, _I32X16)])


def _pmaddwd(name: str, lanes: int) -> Callable[..., Any]:
    """The same by pmaddwd on registers of `lanes` int32."""

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


def _loop(b: Any, count: Any, starts: list[Any], body: Callable[[Any, list[Any]], list[Any]]) -> list[Any]:
    """for i in range(count), count >= 1, with values carried from one turn to the next."""
    entry, loop, done = b.block, b.append_basic_block("loop"), b.append_basic_block("done")
    b.branch(loop)
    b.position_at_end(loop)
    i = b.phi(_I64)
    i.add_incoming(_const(0), entry)
    carried = [b.phi(start.type) for start in starts]
    for phi, start in zip(carried, starts, strict=True):
        phi.add_incoming(start, entry)
    results = body(i, list(carried))
    following = b.add(i, _const(1))
    i.add_incoming(following, b.block)
    for phi, value in zip(carried, results, strict=True):
        phi.add_incoming(value, b.block)
    b.cbranch(b.icmp_signed("<", following, count), loop, done)
    b.position_at_end(done)
    return results


def int_tile(rows: int, columns: int, isa: str) -> Any:
    """out[r, n] = row_scale[r] * sum over groups g of (int32 dot of group g) * scale[g, n], + bias[n].

    Addresses: a int16 (rows of `lda` bytes), w int8 [groups][16 pairs][columns][16 lanes][2], scale float32
    [groups][columns * 16], row_scale float32, bias float32, out float32 (rows of `ldo` bytes). The sum of one group is
    exact in int32 (32 * 127 * 32767 < 2**31); groups are added in order.
    """
    if not JIT:
        return _int_tile_meaning(rows, columns)
    dot = DOTS[isa]
    width = 4 * LANES * columns  # bytes of one row of the tile

    def group_body(b: Any, a: Any, lda: Any, w: Any, scale: Any) -> Callable[[Any, list[Any]], list[Any]]:
        def body(g: Any, sums: list[Any]) -> list[Any]:
            dots: list[Any] = [ir.Constant(_I32X16, [0] * LANES) for _ in sums]
            a_group = b.add(a, b.mul(g, _const(2 * GROUP)))
            w_group = b.add(w, b.mul(g, _const(GROUP * LANES * columns)))
            for pair in range(GROUP // 2):
                weights = []
                for c in range(columns):
                    kind = ir.VectorType(_I8, 2 * LANES)
                    load = b.load(_at(b, w_group, _const((pair * columns + c) * 2 * LANES), kind), align=1)
                    weights.append(b.sext(load, ir.VectorType(_I16, 2 * LANES)))
                for r in range(rows):
                    offset = b.add(b.mul(lda, _const(r)), _const(4 * pair))
                    two = b.load(_at(b, a_group, offset, _I32), align=2)
                    both = b.bitcast(_splat(b, two), ir.VectorType(_I16, 2 * LANES))
                    for c in range(columns):
                        dots[r * columns + c] = dot(b, dots[r * columns + c], both, weights[c])
            scales = [
                b.load(_at(b, scale, b.add(b.mul(g, _const(width)), _const(64 * c)), _F32X16), align=4)
                for c in range(columns)
            ]
            return [
                b.fadd(total, b.fmul(b.sitofp(value, _F32X16), scales[i % columns]))
                for i, (total, value) in enumerate(zip(sums, dots, strict=True))
            ]

        return body

    @intrinsic
    def tile(
        typing: Any, a: Any, lda: Any, w: Any, scale: Any, groups: Any, row_scale: Any, bias: Any, out: Any, ldo: Any
    ) -> Any:
        def codegen(context: Any, b: Any, sig: Any, args: Any) -> Any:
            a, lda, w, scale, groups, row_scale, bias, out, ldo = args
            zero = ir.Constant(_F32X16, [0.0] * LANES)
            sums = _loop(b, groups, [zero] * (rows * columns), group_body(b, a, lda, w, scale))
            for r in range(rows):
                factor = _splat(b, b.load(_at(b, row_scale, _const(4 * r), _F32), align=4))
                for c in range(columns):
                    start = b.load(_at(b, bias, _const(64 * c), _F32X16), align=4)
                    value = b.fadd(b.fmul(sums[r * columns + c], factor), start)
                    b.store(value, _at(b, out, b.add(b.mul(ldo, _const(r)), _const(64 * c)), _F32X16), align=4)
            return context.get_dummy_value()

        i = types.intp
        return types.void(i, i, i, i, i, i, i, i, i), codegen

    return tile


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
                right = [b.load(_at(b, row, _const(64 * c), _F32X16), align=4) for c in range(columns)]
                results = []
                for r in range(rows):
                    offset = b.add(b.mul(lda, _const(r)), b.mul(k, _const(4)))
                    left = _splat(b, b.load(_at(b, a, offset, _F32), align=4))
                    results += [b.fadd(sums[r * columns + c], b.fmul(left, right[c])) for c in range(columns)]
                return results

            zero = ir.Constant(_F32X16, [0.0] * LANES)
            for i, value in enumerate(_loop(b, depth, [zero] * (rows * columns), body)):
                r, c = divmod(i, columns)
                b.store(value, _at(b, out, b.add(b.mul(ldo, _const(r)), _const(64 * c)), _F32X16), align=4)
            return context.get_dummy_value()

        i = types.intp
        return types.void(i, i, i, i, i, i, i), codegen

    return tile


def _view(address: int, count: int, dtype: Any) -> Any:
    size = int(count) * np.dtype(dtype).itemsize
    return np.frombuffer((ctypes.c_char * size).from_address(int(address)), dtype)


def _int_tile_meaning(rows: int, columns: int) -> Callable[..., None]:
    def tile(a: int, lda: int, w: int, scale: int, groups: int, row_scale: int, bias: int, out: int, ldo: int) -> None:
        weights = _view(w, groups * GROUP * columns * LANES, np.int8).astype(np.int32)
        weights = weights.reshape(groups, GROUP // 2, columns * LANES, 2)
        scales = _view(scale, groups * columns * LANES, np.float32).reshape(groups, -1)
        for r in range(rows):
            left = _view(a + r * lda, groups * GROUP, np.int16).astype(np.int32).reshape(groups, GROUP // 2, 1, 2)
            dots = (left * weights).sum((1, 3), dtype=np.int32)
            total = np.zeros(columns * LANES, np.float32)
            for g in range(groups):
                total = total + dots[g].astype(np.float32) * scales[g]
            factor = _view(row_scale + 4 * r, 1, np.float32)[0]
            start = _view(bias, columns * LANES, np.float32)
            _view(out + r * ldo, columns * LANES, np.float32)[:] = total * factor + start

    return tile


def _float_tile_meaning(rows: int, columns: int) -> Callable[..., None]:
    def tile(a: int, lda: int, m: int, ldm: int, depth: int, out: int, ldo: int) -> None:
        for r in range(rows):
            total = np.zeros(columns * LANES, np.float32)
            left = _view(a + r * lda, depth, np.float32)
            for k in range(depth):
                total = total + left[k] * _view(m + k * ldm, columns * LANES, np.float32)
            _view(out + r * ldo, columns * LANES, np.float32)[:] = total

    return tile
