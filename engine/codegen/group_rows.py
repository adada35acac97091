"""Rows of float32 become integers, as the left operands of `group_tile`: a group of four rows at a time.

    s = max|x| / T                              T = 127 of one digit, 32767 of two
    a = rint(x * (T / max|x|))                  zeros if max|x| is 1e-30 or less

A group that is not finite has the scale NaN: what is computed of the row is then NaN too, never an answer.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from engine.codegen.group_tile import BYTES, GROUP, VECTOR
from engine.codegen.operands import ROW_TOP, SMALL_TOP
from engine.simd.address import const, pointer, view
from engine.simd.arithmetic import emit_largest_of_four, emit_to_i32
from engine.simd.vector import JIT, LANES, all_i32, f32x16, i32x16, operation_on

TOPS = {1: SMALL_TOP, 2: ROW_TOP}
"""The greatest integer of so many digits."""
FOUR = 4
"""Rows at a time: what takes a whole vector for one row takes the same for four."""
_APART = 4 * LANES * LANES  # bytes from 16 values of a row to the next 16, in tiles (`places.py`)
_TINY = np.float32(1e-30)


class Rows(NamedTuple):
    """Addresses and bytes: the first 16 values of the first row, in tiles; what values are multiplied with before,
    float32 [GROUP]; the group of the first row of the operand, the bytes to the next row's and those to the second
    digits; the scale of that group, and the bytes to the next row's."""

    x: Any
    factors: Any
    out: Any
    row: Any
    low: Any
    scale: Any
    scales: Any


def group_rows(digits: int, isa: str) -> Any:
    """take(*Rows): four rows, the first of them a multiple of four."""
    if not JIT:
        return partial(_meaning, digits)

    def emit(b: Any, *args: Any) -> None:
        _emit(b, digits, isa, Rows(*args))

    return operation_on(emit, len(Rows._fields))


def _emit(b: Any, digits: int, isa: str, to: Rows) -> None:
    count = GROUP // LANES
    factors = [_load(b, to.factors, VECTOR * i) for i in range(count)]
    rows = [[b.fmul(_load(b, to.x, VECTOR * r + _APART * i), factors[i]) for i in range(count)] for r in range(FOUR)]
    most = b.bitcast(emit_largest_of_four(b, *(_peak(b, row) for row in rows)), f32x16.llvm)
    top, zero = _all(TOPS[digits]), _all(0)
    scales = b.fadd(b.fdiv(most, top), b.fsub(most, most))
    inverses = b.select(b.fcmp_ordered(">", most, _all(_TINY)), b.fdiv(top, most), zero)
    for r, row in enumerate(rows):
        scale = b.extract_element(scales, ir.Constant(ir.IntType(32), r))
        b.store(scale, pointer(b, b.add(to.scale, b.mul(to.scales, const(r))), const(0), ir.FloatType()), align=4)
        inverse = b.shuffle_vector(inverses, inverses, all_i32(r))
        place = b.add(to.out, b.mul(to.row, const(r)))
        _store(b, isa, digits, place, to.low, [emit_to_i32(b, b.fmul(v, inverse)) for v in row])


def _load(b: Any, base: Any, offset: int) -> Any:
    return b.load(pointer(b, base, const(offset), f32x16.llvm), align=4)


def _all(value: Any) -> Any:
    return ir.Constant(f32x16.llvm, [float(value)] * LANES)


def _peak(b: Any, row: list[Any]) -> Any:
    """The greatest magnitudes of a row's vectors, lane by lane, as bits."""
    peak = None
    for v in row:
        bits = b.and_(b.bitcast(v, i32x16.llvm), all_i32(0x7FFFFFFF))
        peak = bits if peak is None else b.select(b.icmp_signed(">", bits, peak), bits, peak)
    return peak


def _store(b: Any, isa: str, digits: int, address: Any, low: Any, vectors: list[Any]) -> None:
    """A group of a row, integers of so many digits."""
    for i, v in enumerate(vectors):
        if isa not in BYTES:
            _store_part(b, v, address, i, 16)
            continue
        high = b.ashr(v, all_i32(8)) if digits == 2 else v
        _store_part(b, b.add(high, all_i32(128)), address, i, 8)
        if digits == 2:
            _store_part(b, v, b.add(address, low), i, 8)


def _store_part(b: Any, v: Any, address: Any, i: int, bits: int) -> None:
    """The low bits of vector i of a group."""
    kind = ir.VectorType(ir.IntType(bits), LANES)
    b.store(b.trunc(v, kind), pointer(b, address, const(i * LANES * bits // 8), kind), align=1)


def _meaning(digits: int, *args: int) -> None:
    to = Rows(*(int(arg) for arg in args))
    factors, top = view(to.factors, GROUP, np.float32), np.float32(TOPS[digits])
    for r in range(FOUR):
        parts = [view(to.x + VECTOR * r + _APART * i, LANES, np.float32) for i in range(GROUP // LANES)]
        x = np.concatenate(parts) * factors
        most = np.abs(x).view(np.int32).max().view(np.float32)
        view(to.scale + r * to.scales, 1, np.float32)[:] = most / top + (most - most)
        inverse = top / most if most > _TINY else np.float32(0)
        view(to.out + r * to.row, GROUP, np.int16)[:] = np.rint(x * inverse).astype(np.int32)
