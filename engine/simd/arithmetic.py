"""Arithmetic on 16 lanes. Each operation is one IEEE operation a lane; none is fused, reordered or approximated."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from engine.simd.vector import LANES, f32x16, i16x16, i32x16, operation

_F32, _I32 = ir.FloatType(), ir.IntType(32)


def _call(name: str, result: Any) -> Any:
    """Emit a call of an LLVM intrinsic."""

    def emit(b: Any, *values: Any) -> Any:
        kind = ir.FunctionType(result.llvm, [v.type for v in values])
        return b.call(cgutils.get_or_insert_function(b.module, kind, name), values)

    return emit


def _splat(b: Any, value: Any) -> Any:
    kind = ir.VectorType(value.type, LANES)
    one = b.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(_I32, 0))
    return b.shuffle_vector(one, one, ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES))


def _fold(combine: Any) -> Any:
    """Reduce 16 lanes by the fixed tree 8 + 8, 4 + 4, 2 + 2, 1 + 1."""

    def emit(b: Any, value: Any) -> Any:
        half = LANES
        while half > 1:
            half //= 2
            index = ir.VectorType(_I32, half)
            low = b.shuffle_vector(value, value, ir.Constant(index, list(range(half))))
            high = b.shuffle_vector(value, value, ir.Constant(index, list(range(half, 2 * half))))
            value = combine(b, low, high)
        return b.extract_element(value, ir.Constant(_I32, 0))

    return emit


def _larger(b: Any, x: Any, y: Any) -> Any:
    return b.select(b.fcmp_ordered(">", x, y), x, y)


@operation(f32x16, types.float32)(_splat)
def splat(x: Any) -> Any:
    return np.full(LANES, x, np.float32)


@operation(f32x16, f32x16, f32x16)(lambda b, x, y: b.fadd(x, y))
def add(x: Any, y: Any) -> Any:
    return x + y


@operation(f32x16, f32x16, f32x16)(lambda b, x, y: b.fsub(x, y))
def sub(x: Any, y: Any) -> Any:
    return x - y


@operation(f32x16, f32x16, f32x16)(lambda b, x, y: b.fmul(x, y))
def mul(x: Any, y: Any) -> Any:
    return x * y


@operation(f32x16, f32x16, f32x16)(lambda b, x, y: b.fdiv(x, y))
def div(x: Any, y: Any) -> Any:
    return x / y


@operation(f32x16, f32x16, f32x16)(_larger)
def larger(x: Any, y: Any) -> Any:
    """x where x > y, else y."""
    return np.where(x > y, x, y)


@operation(f32x16, f32x16)(_call("llvm.fabs.v16f32", f32x16))
def magnitude(x: Any) -> Any:
    return np.abs(x)


@operation(f32x16, f32x16, f32x16)(_call("llvm.copysign.v16f32", f32x16))
def with_sign(x: Any, sign: Any) -> Any:
    return np.copysign(x, sign)


@operation(f32x16, f32x16)(_call("llvm.rint.v16f32", f32x16))
def nearest(x: Any) -> Any:
    """To the nearest whole number, halves to the even one."""
    return np.rint(x)


@operation(i16x16, f32x16)(lambda b, x: b.trunc(b.fptosi(x, i32x16.llvm), i16x16.llvm))
def to_i16(x: Any) -> Any:
    """Whole numbers within ±32767 as int16."""
    return x.astype(np.int16)


def _power_of_two(b: Any, n: Any) -> Any:
    bias = ir.Constant(i32x16.llvm, [127] * LANES)
    shift = ir.Constant(i32x16.llvm, [23] * LANES)
    return b.bitcast(b.shl(b.add(b.fptosi(n, i32x16.llvm), bias), shift), f32x16.llvm)


@operation(f32x16, f32x16)(_power_of_two)
def power_of_two(n: Any) -> Any:
    """2 ** n for whole n from -126 to 127, by the bits of the exponent."""
    return ((n.astype(np.int32) + 127) << 23).view(np.float32)


@operation(types.float32, f32x16)(_fold(lambda b, x, y: b.fadd(x, y)))
def total(x: Any) -> Any:
    while x.size > 1:
        x = x[: x.size // 2] + x[x.size // 2 :]
    return x[0]


@operation(types.float32, f32x16)(_fold(_larger))
def largest(x: Any) -> Any:
    return np.float32(x.max())
