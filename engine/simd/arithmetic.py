"""Operations on 16 lanes. Each is one IEEE operation a lane; none but `fma` is fused, none approximated."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from engine.cpu import compiled_isa
from engine.simd.vector import (
    F32X16,
    I32X16,
    JIT,
    LANES,
    all_f32,
    all_i32,
    chosen,
    emit_call,
    emit_splat,
    f32x16,
    i32x16,
    operation,
)

_F64X16, _I64X16 = ir.VectorType(ir.DoubleType(), LANES), ir.VectorType(ir.IntType(64), LANES)
MAGIC = np.float32(1.5 * 2**23)
"""A float32 to which a number is added to round it to a whole one."""


def interleaved(b: Any, x: Any, y: Any, size: int) -> tuple[Any, Any]:
    """Interleave every four lanes: turns of `size` lanes from the lower halves of x and y, and from the upper ones."""
    turns = [source + i for at in range(0, 2, size) for source in (0, LANES) for i in range(at, at + size)]
    low, high = (chosen(b, x, y, [at + i for at in range(half, LANES, 4) for i in turns]) for half in (0, 2))
    return low, high


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
        return emit_call(b, x, y, z, name="fma.v16f32", result=F32X16)
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
    return b.fptrunc(b.bitcast(bits, _F64X16), F32X16)


def _fma(x: Any, y: Any, z: Any) -> Any:
    x, y, z = (np.asarray(value, np.float64) for value in (x, y, z))
    product = x * y
    whole = product + z
    part = whole - product
    rest = (product - (whole - part)) + (z - part)
    bits = whole.view(np.int64)
    odd = np.where((rest > 0) == (whole > 0), bits | 1, bits - 1)
    inexact = (bits & 1 == 0) & (rest != 0) & ~np.isnan(rest)
    return np.where(inexact, odd, bits).view(np.float64).astype(np.float32)


def _compared(b: Any, x: Any, y: Any, *, sign: str) -> Any:
    compare = b.fcmp_ordered if isinstance(x.type.element, ir.FloatType) else b.icmp_signed
    return b.select(compare(sign, x, y), x, y)


_larger, _smaller = partial(_compared, sign=">"), partial(_compared, sign="<")


def _if_larger(b: Any, x: Any, y: Any, value: Any) -> Any:
    return b.select(b.fcmp_ordered(">", x, y), value, all_f32(0))


def emit_magnitude_bits(b: Any, x: Any) -> Any:
    """The bits of |x|."""
    return b.and_(b.bitcast(x, I32X16), all_i32(0x7FFFFFFF))


emit_to_i32 = partial(emit_call, name="lrint.v16i32.v16f32", result=I32X16)


def _within(b: Any, x: Any, low: Any, high: Any, other: Any) -> Any:
    lane = ir.Constant(I32X16, list(range(LANES)))
    inside = b.and_(b.icmp_signed(">=", lane, emit_splat(b, low)), b.icmp_signed("<", lane, emit_splat(b, high)))
    return b.select(inside, x, emit_splat(b, other))


def _low_exponent(b: Any, n: Any) -> Any:
    return b.bitcast(b.shl(b.bitcast(n, I32X16), all_i32(23)), F32X16)


def _power_of_two(b: Any, n: Any) -> Any:
    return b.bitcast(b.shl(b.add(b.fptosi(n, I32X16), all_i32(127)), all_i32(23)), F32X16)


def _fold(combine: Callable[..., Any], b: Any, value: Any) -> Any:
    """Reduce 16 lanes by the fixed tree 8 + 8, 4 + 4, 2 + 2, 1 + 1."""
    half = LANES
    while half > 1:
        half //= 2
        value = combine(b, *(chosen(b, value, value, list(range(at, at + half))) for at in (0, half)))
    return b.extract_element(value, ir.Constant(ir.IntType(32), 0))


def _fold_four(combine: Callable[..., Any], b: Any, x: Any, y: Any, z: Any, w: Any) -> Any:
    """Reduce four vectors together: their halves side by side, then all of them in every four lanes."""
    first, second = combine(b, *interleaved(b, x, y, 1)), combine(b, *interleaved(b, z, w, 1))
    value = combine(b, *interleaved(b, first, second, 2))
    for distance in (8, 4):
        value = combine(b, value, chosen(b, value, value, [(i + distance) % LANES for i in range(LANES)]))
    return value


emit_largest_of_four = partial(_fold_four, _larger)


def _quarters(b: Any, x: Any, y: Any, z: Any, w: Any) -> Any:
    halves = [*range(8), *range(24, 32)]
    even, odd = chosen(b, x, z, halves), chosen(b, y, w, halves)
    return chosen(b, even, odd, [i + LANES * (i // 4 % 2) for i in range(LANES)])


def _total(x: Any) -> Any:
    while x.size > 1:
        x = x[: x.size // 2] + x[x.size // 2 :]
    return x[0]


_OF_FOUR = i32x16(i32x16, i32x16, i32x16, i32x16)

splat = operation(f32x16(types.float32), emit_splat, lambda x: np.full(LANES, x, np.float32))
splat_i32 = operation(i32x16(types.int32), emit_splat, lambda x: np.full(LANES, x, np.int32))
no_i32 = operation(i32x16(), lambda b: all_i32(0), lambda: np.zeros(LANES, np.int32))
"""A number in all lanes."""
fma = operation(f32x16(f32x16, f32x16, f32x16), emit_fma, _fma)
"""x * y + z, rounded once."""
larger = operation(f32x16(f32x16, f32x16), _larger, lambda x, y: np.where(x > y, x, y))
smaller = operation(f32x16(f32x16, f32x16), _smaller, lambda x, y: np.where(x < y, x, y))
"""x where x > y, or x < y, else y."""
if_larger = operation(
    f32x16(f32x16, f32x16, f32x16), _if_larger, lambda x, y, value: np.where(x > y, value, np.float32(0))
)
"""if_larger(x, y, value): `value` where x > y, else 0."""
larger_i32 = operation(i32x16(i32x16, i32x16), _larger, np.maximum)
magnitude = operation(f32x16(f32x16), partial(emit_call, name="fabs.v16f32", result=F32X16), np.abs)
with_sign = operation(f32x16(f32x16, f32x16), partial(emit_call, name="copysign.v16f32", result=F32X16), np.copysign)
nearest = operation(f32x16(f32x16), partial(emit_call, name="rint.v16f32", result=F32X16), np.rint)
"""Round to the nearest integer, halves to the even one."""
to_i32 = operation(i32x16(f32x16), emit_to_i32, lambda x: np.rint(x).astype(np.int32))
"""The nearest integer, halves to the even one; anything for what int32 does not hold."""
to_f32 = operation(f32x16(i32x16), lambda b, x: b.sitofp(x, F32X16), lambda x: x.astype(np.float32))
magnitude_bits = operation(i32x16(f32x16), emit_magnitude_bits, lambda x: x.view(np.int32) & np.int32(0x7FFFFFFF))
"""The bits of |x|: as integers they are in the order of the floats, infinity and then NaN on top."""
bits = operation(i32x16(f32x16), lambda b, x: b.bitcast(x, I32X16), lambda x: x.view(np.int32))
floats = operation(f32x16(i32x16), lambda b, x: b.bitcast(x, F32X16), lambda x: x.view(np.float32))
of_bits = operation(
    types.float32(types.int32), lambda b, x: b.bitcast(x, ir.FloatType()), lambda x: np.int32(x).view(np.float32)
)
"""The bits of float32, and the float32 of these bits."""
within = operation(
    i32x16(i32x16, types.int32, types.int32, types.int32), _within,
    lambda x, low, high, other: np.where((np.arange(LANES) >= low) & (np.arange(LANES) < high), x, np.int32(other)),
)  # fmt: skip
"""within(x, low, high, other): the lanes low..high of x, and `other` in those before and after."""
join_bytes = operation(
    i32x16(i32x16, i32x16),
    lambda b, high, low: b.add(b.shl(high, all_i32(8)), low),
    lambda high, low: (high << 8) + low,
)
"""256 * high + low, modulo 2**32."""
low_exponent = operation(f32x16(f32x16), _low_exponent, lambda n: (n.view(np.int32) << 23).view(np.float32))
"""2**(m - 127) for n = MAGIC + m, whose lowest bits are those of the integer m from 1 to 254."""
power_of_two = operation(f32x16(f32x16), _power_of_two, lambda n: ((n.astype(np.int32) + 127) << 23).view(np.float32))
"""2 ** n for whole n from -126 to 127, by the bits of the exponent."""
total = operation(types.float32(f32x16), partial(_fold, lambda b, x, y: b.fadd(x, y)), _total)
largest = operation(types.float32(f32x16), partial(_fold, _larger), lambda x: np.float32(x.max()))
largest_i32 = operation(types.int32(i32x16), partial(_fold, _larger), lambda x: x.max())
total_i32 = operation(
    types.int32(i32x16), partial(emit_call, name="vector.reduce.add.v16i32", result=ir.IntType(32)),
    lambda x: np.int32(x.sum(dtype=np.int32)),
)  # fmt: skip
"""Sum and greatest lane of a vector."""
largest_of_four = operation(_OF_FOUR, emit_largest_of_four, lambda *v: np.tile(np.max(v, axis=1), LANES // 4))
totals_of_four = operation(
    _OF_FOUR, partial(_fold_four, lambda b, x, y: b.add(x, y)),
    lambda *v: np.tile(np.sum(v, axis=1, dtype=np.int32), LANES // 4),
)  # fmt: skip
"""The greatest lane, or the sum of the lanes, of each of four vectors, in every four lanes."""
quarters = operation(
    _OF_FOUR, _quarters, lambda *v: np.concatenate([value[4 * i : 4 * i + 4] for i, value in enumerate(v)])
)
"""The first four lanes of the first vector, the next four of the second, and so on."""
