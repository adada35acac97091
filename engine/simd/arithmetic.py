"""Arithmetic on 16 lanes. Each operation is one IEEE operation a lane; none but `fma` is fused, none approximated."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from engine.cpu import compiled_isa
from engine.simd.transpose import chosen, interleaved
from engine.simd.vector import JIT, LANES, f32x16, i32x16, operation

_F32, _I32 = ir.FloatType(), ir.IntType(32)
_F64X16, _I64X16 = ir.VectorType(ir.DoubleType(), LANES), ir.VectorType(ir.IntType(64), LANES)


MAGIC = np.float32(1.5 * 2**23)
"""A float32 to which a number is added to round it to a whole one."""


class _Int:
    llvm = _I32


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


def emit_sum(b: Any, values: list[Any]) -> Any:
    """Return the sum of vectors of integers."""
    total = values[0]
    for value in values[1:]:
        total = b.add(total, value)
    return total


def emit_fma(b: Any, x: Any, y: Any, z: Any) -> Any:
    """x * y + z, rounded once. Without the instruction: the product is exact in float64, the sum is rounded there to an
    odd last bit if it is not, so that the rounding to float32 that follows is the only one (Boldo and Melquiond 2008).
    """
    if JIT and compiled_isa() != "portable":
        return _call("llvm.fma.v16f32", f32x16)(b, x, y, z)
    zero, one = ir.Constant(_F64X16, [0.0] * LANES), ir.Constant(_I64X16, [1] * LANES)
    x, y, z = (b.fpext(value, _F64X16) for value in (x, y, z))
    product = b.fmul(x, y)
    whole = b.fadd(product, z)
    part = b.fsub(whole, product)
    rest = b.fadd(b.fsub(product, b.fsub(whole, part)), b.fsub(z, part))
    bits = b.bitcast(whole, _I64X16)
    outward = b.icmp_signed("==", b.fcmp_ordered(">", rest, zero), b.fcmp_ordered(">", whole, zero))
    odd = b.select(outward, b.or_(bits, one), b.sub(bits, one))
    even = b.icmp_signed("==", b.and_(bits, one), ir.Constant(_I64X16, [0] * LANES))
    bits = b.select(b.and_(even, b.fcmp_ordered("!=", rest, zero)), odd, bits)
    return b.fptrunc(b.bitcast(bits, _F64X16), f32x16.llvm)


@operation(f32x16, f32x16, f32x16, f32x16)(emit_fma)
def fma(x: Any, y: Any, z: Any) -> Any:
    """x * y + z, rounded once."""
    x, y, z = (np.asarray(value, np.float64) for value in (x, y, z))
    product = x * y
    whole = product + z
    part = whole - product
    rest = (product - (whole - part)) + (z - part)
    bits = whole.view(np.int64)
    odd = np.where((rest > 0) == (whole > 0), bits | 1, bits - 1)
    inexact = (bits & 1 == 0) & (rest != 0) & ~np.isnan(rest)
    return np.where(inexact, odd, bits).view(np.float64).astype(np.float32)


@operation(f32x16, f32x16, f32x16)(_larger)
def larger(x: Any, y: Any) -> Any:
    """x where x > y, else y."""
    return np.where(x > y, x, y)


@operation(f32x16, f32x16, f32x16)(lambda b, x, y: b.select(b.fcmp_ordered("<", x, y), x, y))
def smaller(x: Any, y: Any) -> Any:
    """x where x < y, else y."""
    return np.where(x < y, x, y)


def _if_larger(b: Any, x: Any, y: Any, value: Any) -> Any:
    return b.select(b.fcmp_ordered(">", x, y), value, ir.Constant(f32x16.llvm, [0.0] * LANES))


@operation(f32x16, f32x16, f32x16, f32x16)(_if_larger)
def if_larger(x: Any, y: Any, value: Any) -> Any:
    """`value` where x > y, else 0."""
    return np.where(x > y, value, np.float32(0))


@operation(f32x16, f32x16)(_call("llvm.fabs.v16f32", f32x16))
def magnitude(x: Any) -> Any:
    return np.abs(x)


@operation(f32x16, f32x16, f32x16)(_call("llvm.copysign.v16f32", f32x16))
def with_sign(x: Any, sign: Any) -> Any:
    return np.copysign(x, sign)


@operation(f32x16, f32x16)(_call("llvm.rint.v16f32", f32x16))
def nearest(x: Any) -> Any:
    """Round to the nearest integer, halves to the even one."""
    return np.rint(x)


emit_to_i32 = _call("llvm.lrint.v16i32.v16f32", i32x16)


@operation(i32x16, f32x16)(emit_to_i32)
def to_i32(x: Any) -> Any:
    """The nearest integer, halves to the even one; anything for what int32 does not hold."""
    return np.rint(x).astype(np.int32)


@operation(f32x16, i32x16)(lambda b, x: b.sitofp(x, f32x16.llvm))
def to_f32(x: Any) -> Any:
    return x.astype(np.float32)


@operation(i32x16)(lambda b: ir.Constant(i32x16.llvm, None))
def no_i32() -> Any:
    """A vector of sixteen integer zeros."""
    return np.zeros(LANES, np.int32)


@operation(i32x16, types.int32)(_splat)
def splat_i32(x: Any) -> Any:
    return np.full(LANES, x, np.int32)


def _larger_i32(b: Any, x: Any, y: Any) -> Any:
    return b.select(b.icmp_signed(">", x, y), x, y)


@operation(i32x16, i32x16, i32x16)(_larger_i32)
def larger_i32(x: Any, y: Any) -> Any:
    return np.maximum(x, y)


@operation(types.int32, i32x16)(_fold(_larger_i32))
def largest_i32(x: Any) -> Any:
    return x.max()


def _fold_four(combine: Any) -> Any:
    """Reduce four vectors together: their halves side by side, then all of them in every four lanes."""

    def emit(b: Any, *values: Any) -> Any:
        x, y, z, w = values
        first, second = combine(b, *interleaved(b, x, y, 1)), combine(b, *interleaved(b, z, w, 1))
        value = combine(b, *interleaved(b, first, second, 2))
        for distance in (8, 4):
            value = combine(b, value, chosen(b, value, value, [(i + distance) % LANES for i in range(LANES)]))
        return value

    return emit


emit_largest_of_four = _fold_four(_larger_i32)


@operation(i32x16, i32x16, i32x16, i32x16, i32x16)(emit_largest_of_four)
def largest_of_four(*values: Any) -> Any:
    """The greatest lane of each of four vectors, in every four lanes."""
    return np.tile(np.max(values, axis=1), LANES // 4)


@operation(i32x16, i32x16, i32x16, i32x16, i32x16)(_fold_four(lambda b, x, y: b.add(x, y)))
def totals_of_four(*values: Any) -> Any:
    """The sum of the lanes of each of four vectors, in every four lanes."""
    return np.tile(np.sum(values, axis=1, dtype=np.int32), LANES // 4)


def _emit_quarters(b: Any, x: Any, y: Any, z: Any, w: Any) -> Any:
    halves = [*range(8), *range(24, 32)]
    even, odd = chosen(b, x, z, halves), chosen(b, y, w, halves)
    return chosen(b, even, odd, [i + LANES * (i // 4 % 2) for i in range(LANES)])


@operation(i32x16, i32x16, i32x16, i32x16, i32x16)(_emit_quarters)
def quarters(*values: Any) -> Any:
    """The first four lanes of the first vector, the next four of the second, and so on."""
    return np.concatenate([value[4 * i : 4 * i + 4] for i, value in enumerate(values)])


def _magnitude_bits(b: Any, x: Any) -> Any:
    return b.and_(b.bitcast(x, i32x16.llvm), ir.Constant(i32x16.llvm, [0x7FFFFFFF] * LANES))


@operation(i32x16, f32x16)(_magnitude_bits)
def magnitude_bits(x: Any) -> Any:
    """The bits of |x|: as integers they are in the order of the floats, infinity and then NaN on top."""
    return x.view(np.int32) & np.int32(0x7FFFFFFF)


@operation(i32x16, f32x16)(lambda b, x: b.bitcast(x, i32x16.llvm))
def bits(x: Any) -> Any:
    return x.view(np.int32)


@operation(f32x16, i32x16)(lambda b, x: b.bitcast(x, f32x16.llvm))
def floats(x: Any) -> Any:
    """The float32 of these bits."""
    return x.view(np.float32)


@operation(types.float32, types.int32)(lambda b, x: b.bitcast(x, _F32))
def of_bits(x: Any) -> Any:
    """The float32 of these bits."""
    return np.int32(x).view(np.float32)


def _within(b: Any, x: Any, low: Any, high: Any, other: Any) -> Any:
    lane = ir.Constant(i32x16.llvm, list(range(LANES)))
    inside = b.and_(b.icmp_signed(">=", lane, _splat(b, low)), b.icmp_signed("<", lane, _splat(b, high)))
    return b.select(inside, x, _splat(b, other))


@operation(i32x16, i32x16, types.int32, types.int32, types.int32)(_within)
def within(x: Any, low: Any, high: Any, other: Any) -> Any:
    """The lanes low..high of x, and `other` in those before and after."""
    lane = np.arange(LANES)
    return np.where((lane >= low) & (lane < high), x, np.int32(other))


@operation(i32x16, i32x16, i32x16)(lambda b, x, y: b.add(x, y))
def add_i32(x: Any, y: Any) -> Any:
    return x + y


@operation(i32x16, i32x16, i32x16)(lambda b, x, y: b.sub(x, y))
def sub_i32(x: Any, y: Any) -> Any:
    return x - y


@operation(i32x16, i32x16, i32x16)(lambda b, x, y: b.mul(x, y))
def mul_i32(x: Any, y: Any) -> Any:
    return x * y


def _join_bytes(b: Any, high: Any, low: Any) -> Any:
    return b.add(b.shl(high, ir.Constant(i32x16.llvm, [8] * LANES)), low)


@operation(i32x16, i32x16, i32x16)(_join_bytes)
def join_bytes(high: Any, low: Any) -> Any:
    """256 * high + low, modulo 2**32."""
    return (high << 8) + low


@operation(types.int32, i32x16)(_call("llvm.vector.reduce.add.v16i32", _Int))
def total_i32(x: Any) -> Any:
    return np.int32(x.sum(dtype=np.int32))


def _low_exponent(b: Any, n: Any) -> Any:
    shift = ir.Constant(i32x16.llvm, [23] * LANES)
    return b.bitcast(b.shl(b.bitcast(n, i32x16.llvm), shift), f32x16.llvm)


@operation(f32x16, f32x16)(_low_exponent)
def low_exponent(n: Any) -> Any:
    """2**(m - 127) for n = MAGIC + m, whose lowest bits are those of the integer m from 1 to 254."""
    return (n.view(np.int32) << 23).view(np.float32)


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
