"""Vectors and memory: arrays, values in fewer bits by address, rows to columns, what is read soon, shared counters.

`load_f32(array, i)` is array[i : i + 16] of a contiguous one-dimensional array. float16 is that of IEEE 754 everywhere.
"""

import os
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from engine.cpu import compiled_isa
from engine.simd.arithmetic import interleaved
from engine.simd.vector import (
    F32X16,
    I32X16,
    JIT,
    LANES,
    Vector,
    all_f32,
    all_i32,
    chosen,
    const,
    emit_call,
    emit_load,
    emit_store,
    f32x16,
    i32x16,
    operation,
    operation_on,
    operation_on_array,
    prefetch_line,
    view,
)

_F16X16, _I16X16, _I8X16 = (ir.VectorType(kind, LANES) for kind in (ir.HalfType(), ir.IntType(16), ir.IntType(8)))
_NATIVE = JIT and compiled_isa() != "portable"  # which has no instruction for it, nor LLVM a function


def _load(vector: Vector) -> Any:
    return operation_on_array(
        lambda array: vector(array, types.intp),
        lambda b, at: b.load(b.bitcast(at, vector.llvm.as_pointer()), align=1),
        lambda array, i: array[i : i + vector.lanes].copy(),
    )


def _put(array: Any, i: int, value: Any) -> None:
    array[i : i + LANES] = value


def _store(vector: Vector) -> Any:
    def emit(b: Any, at: Any, value: Any) -> None:
        b.store(value, b.bitcast(at, vector.llvm.as_pointer()), align=1)

    return operation_on_array(lambda array: types.void(array, types.intp, vector), emit, _put)


load_f32, store_f32 = _load(f32x16), _store(f32x16)
load_i32, store_i32 = _load(i32x16), _store(i32x16)


def _widen(b: Any, half: Any) -> Any:
    """float16 bits in int32 to float32: the exponent moves by a product, which is right for small numbers as well."""
    sign = b.shl(b.and_(half, all_i32(0x8000)), all_i32(16))
    moved = b.shl(b.and_(half, all_i32(0x7FFF)), all_i32(13))
    value = b.bitcast(b.fmul(b.bitcast(moved, F32X16), all_f32(2.0**112)), I32X16)
    infinite = b.icmp_signed(">=", moved, all_i32(0x0F800000))
    value = b.select(infinite, b.or_(value, all_i32(0x7F800000)), value)
    return b.bitcast(b.or_(value, sign), F32X16)


def _narrow(b: Any, x: Any) -> Any:
    """float32 to float16 bits in int32, halves to even."""
    bits = b.bitcast(x, I32X16)
    sign, size = b.and_(b.lshr(bits, all_i32(16)), all_i32(0x8000)), b.and_(bits, all_i32(0x7FFFFFFF))
    odd = b.and_(b.lshr(size, all_i32(13)), all_i32(1))
    usual = b.lshr(b.add(b.add(size, all_i32(0xFFF - (112 << 23))), odd), all_i32(13))
    half = all_f32(0.5)  # whose last bit is that of the smallest float16
    small = b.sub(b.bitcast(b.fadd(b.bitcast(size, F32X16), half), I32X16), all_i32(0x3F000000))
    value = b.select(b.icmp_signed("<", size, all_i32(0x38800000)), small, usual)
    value = b.select(b.icmp_signed(">=", size, all_i32(0x47800000)), all_i32(0x7C00), value)
    payload = b.or_(all_i32(0x7E00), b.and_(b.lshr(size, all_i32(13)), all_i32(0x3FF)))
    return b.or_(b.select(b.icmp_signed(">", size, all_i32(0x7F800000)), payload, value), sign)


def emit_load_half(b: Any, address: Any) -> Any:
    """Sixteen float16 as float32, exact."""
    if _NATIVE:
        return b.fpext(emit_load(b, address, 0, _F16X16), F32X16)
    return _widen(b, b.zext(emit_load(b, address, 0, _I16X16), I32X16))


def _store_half(b: Any, address: Any, x: Any) -> None:
    emit_store(b, b.fptrunc(x, _F16X16) if _NATIVE else b.trunc(_narrow(b, x), _I16X16), address)


def _load_bytes(b: Any, address: Any) -> Any:
    return b.sext(emit_load(b, address, 0, _I8X16), I32X16)


def emit_pairs(b: Any, low: Any, high: Any) -> Any:
    """The lowest 16 bits of each, those of `low` before those of `high`, lane by lane, as <16 x i32>."""
    return b.or_(b.and_(low, all_i32(0xFFFF)), b.shl(high, all_i32(16)))


@np.errstate(over="ignore")
def _put_half(address: int, x: Any) -> None:
    view(address, LANES, np.float16)[:] = x.astype(np.float16)


def _put_bytes(address: int, x: Any) -> None:
    view(address, LANES, np.int8)[:] = x.astype(np.int8)


def _put_pairs(address: int, low: Any, high: Any) -> None:
    view(address, 2 * LANES, np.int16)[:] = np.stack([low, high], 1).reshape(-1).astype(np.int16)


load_half = operation(
    f32x16(types.intp), emit_load_half, lambda address: view(address, LANES, np.float16).astype(np.float32)
)
"""Sixteen float16 as float32, exact."""
store_half = operation(types.void(types.intp, f32x16), _store_half, _put_half)
"""Rounded to nearest, halves to even; infinite from 65520 on."""
load_bytes = operation(i32x16(types.intp), _load_bytes, lambda address: view(address, LANES, np.int8).astype(np.int32))
"""Sixteen int8 as int32."""
store_bytes = operation(
    types.void(types.intp, i32x16), lambda b, address, x: emit_store(b, b.trunc(x, _I8X16), address), _put_bytes
)
"""The lowest 8 bits of each."""
store_pairs = operation(
    types.void(types.intp, i32x16, i32x16),
    lambda b, address, low, high: emit_store(b, emit_pairs(b, low, high), address), _put_pairs,
)  # fmt: skip
"""The lowest 16 bits of each, those of `low` before those of `high`, lane by lane."""
fetch = operation(types.void(types.intp), lambda b, address: prefetch_line(b, address, 0), lambda address: None)
fetch_to_write = operation(
    types.void(types.intp), lambda b, address: prefetch_line(b, address, 0, 1, write=True), lambda address: None
)
"""Ask for the cache line there, which will be read, or written: nothing changes."""


def emit_transposed(b: Any, source: Any, step: Any, offset: int) -> list[Any]:
    """Four columns of 16 rows that lie `step` bytes apart, from an offset in the first row on."""
    rows, four = [], ir.VectorType(ir.IntType(32), 4)
    for r in range(4):  # four columns of the rows r, r + 4, r + 8 and r + 12, which loads put together
        parts = [emit_load(b, b.add(source, b.mul(step, const(r + i))), offset, four) for i in range(0, LANES, 4)]
        low, high = (chosen(b, parts[i], parts[i + 1], list(range(8))) for i in (0, 2))
        rows.append(chosen(b, low, high, list(range(LANES))))
    pairs = zip(interleaved(b, rows[0], rows[1], 1), interleaved(b, rows[2], rows[3], 1), strict=True)
    return [value for x, y in pairs for value in interleaved(b, x, y, 2)]


def _transpose(b: Any, source: Any, step: Any, target: Any) -> None:
    for column in range(0, LANES, 4):
        for i, value in enumerate(emit_transposed(b, source, step, 4 * column)):
            emit_store(b, value, target, 64 * (column + i))


def _transposed(source: int, step: int, target: int) -> None:
    rows = np.array([view(source + r * step, LANES, np.int32) for r in range(LANES)])
    view(target, LANES * LANES, np.int32)[:] = rows.T.reshape(-1)


transpose = operation_on(_transpose, 3) if JIT else _transposed
"""transpose(source, step, target): rows of 64 bytes that lie `step` bytes apart, from address `source` on, become the
columns of 16 rows one after another from `target` on."""

_LOCK = threading.Lock()


def _locked(change: Callable[[int, int], int]) -> Callable[[Any, int, int], int]:
    """An operation of plain Python on a counter; it gives what was there before."""

    def meaning(array: Any, i: int, value: int) -> int:
        with _LOCK:
            before = int(array[i])
            array[i] = change(before, value)
            return before

    return meaning


atomic_add = operation_on_array(
    lambda array: types.int64(array, types.intp, types.int64),
    lambda b, at, value: b.atomic_rmw("add", at, value, "seq_cst"),
    _locked(lambda before, value: before + value),
)
"""atomic_add(array, i, value): array[i] += value; what was there before."""
atomic_load = operation_on_array(
    lambda array: types.int64(array, types.intp),
    lambda b, at: b.load_atomic(at, "acquire", 8),
    lambda array, i: int(array[i]),
)
atomic_store = operation_on_array(
    lambda array: types.void(array, types.intp, types.int64),
    lambda b, at, value: b.store_atomic(value, at, "release", 8),
    _locked(lambda before, value: value),
)
"""atomic_load(array, i), atomic_store(array, i, value): what was written before a store is seen after a load of it."""


def _give_way(b: Any) -> None:
    kind = ir.FunctionType(ir.IntType(32), [])
    b.call(cgutils.get_or_insert_function(b.module, kind, "sched_yield"), [])


pause = operation(types.void(), partial(emit_call, name="x86.sse2.pause", result=ir.VoidType()), lambda: None)
give_way = operation(types.void(), _give_way, os.sched_yield)
"""A moment within a loop that waits; and the rest of the thread's time slice, for other threads (sched_yield)."""
