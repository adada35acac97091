"""Sixteen values in fewer bits, by address: float16 as IEEE 754 has it, on every CPU, and integers of 8 and of 16
bits; and what will be read soon."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from engine.cpu import compiled_isa
from engine.simd.address import const, pointer, prefetch_line, view
from engine.simd.vector import JIT, LANES, all_i32, f32x16, i32x16, operation

_F32X16, _I32X16 = f32x16.llvm, i32x16.llvm
_F16X16, _I16X16, _I8X16 = (ir.VectorType(kind, LANES) for kind in (ir.HalfType(), ir.IntType(16), ir.IntType(8)))
_NATIVE = JIT and compiled_isa() != "portable"  # which has no instruction for it, nor LLVM a function


def _widen(b: Any, half: Any) -> Any:
    """float16 bits in int32 to float32: the exponent moves by a product, which is right for small numbers as well."""
    sign = b.shl(b.and_(half, all_i32(0x8000)), all_i32(16))
    moved = b.shl(b.and_(half, all_i32(0x7FFF)), all_i32(13))
    value = b.bitcast(b.fmul(b.bitcast(moved, _F32X16), ir.Constant(_F32X16, [2.0**112] * LANES)), _I32X16)
    infinite = b.icmp_signed(">=", moved, all_i32(0x0F800000))
    value = b.select(infinite, b.or_(value, all_i32(0x7F800000)), value)
    return b.bitcast(b.or_(value, sign), _F32X16)


def _narrow(b: Any, x: Any) -> Any:
    """float32 to float16 bits in int32, halves to even."""
    bits = b.bitcast(x, _I32X16)
    sign, size = b.and_(b.lshr(bits, all_i32(16)), all_i32(0x8000)), b.and_(bits, all_i32(0x7FFFFFFF))
    odd = b.and_(b.lshr(size, all_i32(13)), all_i32(1))
    usual = b.lshr(b.add(b.add(size, all_i32(0xFFF - (112 << 23))), odd), all_i32(13))
    half = ir.Constant(_F32X16, [0.5] * LANES)  # whose last bit is that of the smallest float16
    small = b.sub(b.bitcast(b.fadd(b.bitcast(size, _F32X16), half), _I32X16), all_i32(0x3F000000))
    value = b.select(b.icmp_signed("<", size, all_i32(0x38800000)), small, usual)
    value = b.select(b.icmp_signed(">=", size, all_i32(0x47800000)), all_i32(0x7C00), value)
    payload = b.or_(all_i32(0x7E00), b.and_(b.lshr(size, all_i32(13)), all_i32(0x3FF)))
    return b.or_(b.select(b.icmp_signed(">", size, all_i32(0x7F800000)), payload, value), sign)


def emit_load_half(b: Any, address: Any) -> Any:
    """Sixteen float16 as float32, exact."""
    if _NATIVE:
        return b.fpext(b.load(pointer(b, address, const(0), _F16X16), align=1), _F32X16)
    return _widen(b, b.zext(b.load(pointer(b, address, const(0), _I16X16), align=1), _I32X16))


def _store_half(b: Any, address: Any, x: Any) -> None:
    if _NATIVE:
        b.store(b.fptrunc(x, _F16X16), pointer(b, address, const(0), _F16X16), align=1)
    else:
        b.store(b.trunc(_narrow(b, x), _I16X16), pointer(b, address, const(0), _I16X16), align=1)


def _load_bytes(b: Any, address: Any) -> Any:
    return b.sext(b.load(pointer(b, address, const(0), _I8X16), align=1), _I32X16)


def _store_bytes(b: Any, address: Any, x: Any) -> None:
    b.store(b.trunc(x, _I8X16), pointer(b, address, const(0), _I8X16), align=1)


@operation(f32x16, types.intp)(emit_load_half)
def load_half(address: Any) -> Any:
    """Sixteen float16 as float32, exact."""
    return view(address, LANES, np.float16).astype(np.float32)


@operation(types.void, types.intp, f32x16)(_store_half)
def store_half(address: Any, x: Any) -> Any:
    """Rounded to nearest, halves to even; infinite from 65520 on."""
    with np.errstate(over="ignore"):
        view(address, LANES, np.float16)[:] = x.astype(np.float16)


@operation(i32x16, types.intp)(_load_bytes)
def load_bytes(address: Any) -> Any:
    """Sixteen int8 as int32."""
    return view(address, LANES, np.int8).astype(np.int32)


@operation(types.void, types.intp, i32x16)(_store_bytes)
def store_bytes(address: Any, x: Any) -> Any:
    """The lowest 8 bits of each."""
    view(address, LANES, np.int8)[:] = x.astype(np.int8)


def _store_pairs(b: Any, address: Any, low: Any, high: Any) -> None:
    pairs = b.or_(b.and_(low, all_i32(0xFFFF)), b.shl(high, all_i32(16)))
    b.store(pairs, pointer(b, address, const(0), _I32X16), align=1)


@operation(types.void, types.intp, i32x16, i32x16)(_store_pairs)
def store_pairs(address: Any, low: Any, high: Any) -> Any:
    """The lowest 16 bits of each, those of `low` before those of `high`, lane by lane."""
    view(address, 2 * LANES, np.int16)[:] = np.stack([low, high], 1).reshape(-1).astype(np.int16)


@operation(types.void, types.intp)(lambda b, address: prefetch_line(b, address, 0))
def fetch(address: Any) -> Any:
    """Ask for the cache line there: nothing changes."""


@operation(types.void, types.intp)(lambda b, address: prefetch_line(b, address, 0, 1, write=True))
def fetch_to_write(address: Any) -> Any:
    """Ask for the cache line there, which will be written."""
