"""Rows of float32 become integers, as the left operands of `group_tile`: a group of four rows at a time.

    s = max|x| / T                              T = 127 of ONE digit, 32767 of TWO, 255 of a RAISED row
    a = rint(x * (T / max|x|))                  zeros if max|x| is 1e-30 or less

A group that is not finite has the scale NaN: what is computed of the row is then NaN too, never an answer.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import cgutils

from engine.codegen.group_tile import BYTES, GROUP, ONE, RAISED, TWO, VECTOR
from engine.codegen.operands import ROW_TOP, SMALL_TOP
from engine.simd.address import const, pointer, view
from engine.simd.arithmetic import emit_largest_of_four, emit_to_i32
from engine.simd.transpose import chosen
from engine.simd.vector import JIT, LANES, all_i32, f32x16, i32x16, operation_on

TOPS = {RAISED: 255, ONE: SMALL_TOP, TWO: ROW_TOP}
"""The greatest integer of each kind of rows."""
FOUR = 4
"""Rows at a time: what takes a whole vector for one row takes the same for four."""
_APART = 4 * LANES * LANES  # bytes from 16 values of a row to the next 16, in tiles (`places.py`)
_TINY = np.float32(1e-30)
_BYTES = ir.VectorType(ir.IntType(8), GROUP)


class Rows(NamedTuple):
    """Addresses and bytes: the first 16 values of the first row, in tiles; what values are multiplied with before (but
    those of a RAISED row), float32 [GROUP]; the group of the first row of the operand, the bytes to the next row's and
    those to the second digits; the scale of that group, and the bytes to the next row's."""

    x: Any
    factors: Any
    out: Any
    row: Any
    low: Any
    scale: Any
    scales: Any


def group_rows(kind: int, isa: str) -> Any:
    """take(*Rows): four rows, the first of them a multiple of four."""
    if not JIT:
        return partial(_meaning, kind)

    def emit(b: Any, *args: Any) -> None:
        _emit(b, kind, isa, Rows(*args))

    return operation_on(emit, len(Rows._fields))


def _emit(b: Any, kind: int, isa: str, to: Rows) -> None:
    count = GROUP // LANES
    rows = [[_load(b, to.x, VECTOR * r + _APART * i) for i in range(count)] for r in range(FOUR)]
    if kind != RAISED:
        factors = [_load(b, to.factors, VECTOR * i) for i in range(count)]
        rows = [[b.fmul(v, factor) for v, factor in zip(row, factors, strict=True)] for row in rows]
    most = b.bitcast(emit_largest_of_four(b, *(_peak(b, row) for row in rows)), f32x16.llvm)
    most = chosen(b, most, most, [*range(FOUR)])
    top, zero = _all(TOPS[kind]), _all(0)
    scales = b.fadd(b.fdiv(most, top), b.fsub(most, most))
    inverses = b.select(b.fcmp_ordered(">", most, _all(_TINY)), b.fdiv(top, most), zero)
    for r, row in enumerate(rows):
        scale = b.extract_element(scales, ir.Constant(ir.IntType(32), r))
        b.store(scale, pointer(b, b.add(to.scale, b.mul(to.scales, const(r))), const(0), ir.FloatType()), align=4)
        inverse = chosen(b, inverses, inverses, [r] * LANES)
        place = b.add(to.out, b.mul(to.row, const(r)))
        _store(b, isa, kind, place, to.low, [emit_to_i32(b, b.fmul(v, inverse)) for v in row])


def _load(b: Any, base: Any, offset: int) -> Any:
    return b.load(pointer(b, base, const(offset), f32x16.llvm), align=4)


def _all(value: Any) -> Any:
    return ir.Constant(ir.VectorType(ir.FloatType(), FOUR), [float(value)] * FOUR)


def _peak(b: Any, row: list[Any]) -> Any:
    """The greatest magnitudes of a row's vectors, lane by lane, as bits."""
    peak = None
    for v in row:
        bits = b.and_(b.bitcast(v, i32x16.llvm), all_i32(0x7FFFFFFF))
        peak = bits if peak is None else b.select(b.icmp_signed(">", bits, peak), bits, peak)
    return peak


def _store(b: Any, isa: str, kind: int, address: Any, low: Any, vectors: list[Any]) -> None:
    """A group of a row of this kind."""
    if isa not in BYTES:
        pairs, size = ir.VectorType(ir.IntType(16), LANES), 2 * LANES
        for i, v in enumerate(vectors):
            b.store(b.trunc(v, pairs), pointer(b, address, const(i * size), pairs), align=1)
        return
    if kind != RAISED:
        high = [b.ashr(v, all_i32(8)) for v in vectors] if kind == TWO else vectors
        bytes_ = b.xor(_packed(b, high, "packsswb"), ir.Constant(_BYTES, [-128] * GROUP))
        b.store(bytes_, pointer(b, address, const(0), _BYTES), align=1)
    if kind != ONE:
        part = [b.and_(v, all_i32(255)) for v in vectors] if kind == TWO else vectors
        address = b.add(address, low) if kind == TWO else address
        b.store(_packed(b, part, "packuswb"), pointer(b, address, const(0), _BYTES), align=1)


def _packed(b: Any, vectors: list[Any], to_bytes: str) -> Any:
    """Four vectors of integers as bytes, one after another, with AVX-512; `to_bytes` is the instruction that makes them
    of int16. It and its like take four values of each vector in turns, and these are put in order."""
    words = ir.VectorType(ir.IntType(16), 2 * LANES)
    low, high = (_call(b, "packssdw", words, *vectors[i : i + 2]) for i in (0, 2))
    mixed = b.bitcast(_call(b, to_bytes, _BYTES, low, high), i32x16.llvm)
    return b.bitcast(chosen(b, mixed, mixed, [4 * (i % 4) + i // 4 for i in range(LANES)]), _BYTES)


def _call(b: Any, name: str, result: Any, *arguments: Any) -> Any:
    kind = ir.FunctionType(result, [each.type for each in arguments])
    return b.call(cgutils.get_or_insert_function(b.module, kind, f"llvm.x86.avx512.{name}.512"), arguments)


def _meaning(kind: int, *args: int) -> None:
    to = Rows(*(int(arg) for arg in args))
    factors = np.float32(1) if kind == RAISED else view(to.factors, GROUP, np.float32)
    top = np.float32(TOPS[kind])
    for r in range(FOUR):
        parts = [view(to.x + VECTOR * r + _APART * i, LANES, np.float32) for i in range(GROUP // LANES)]
        x = np.concatenate(parts) * factors
        most = np.abs(x).view(np.int32).max().view(np.float32)
        view(to.scale + r * to.scales, 1, np.float32)[:] = most / top + (most - most)
        inverse = top / most if most > _TINY else np.float32(0)
        view(to.out + r * to.row, GROUP, np.int16)[:] = np.rint(x * inverse).astype(np.int32)
