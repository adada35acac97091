"""A table of 16 float32 that stands in registers: each lane takes the value of its index."""

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils

from engine.cpu import compiled_isa
from engine.simd.vector import LANES, all_i32, f32x16

_I32, _F32, _HALF = ir.IntType(32), ir.FloatType(), LANES // 2
_I32X8, _F32X8 = ir.VectorType(_I32, _HALF), ir.VectorType(_F32, _HALF)


def emit_value_of(b: Any, table: Sequence[float], index: Any) -> Any:
    """table[index % 16] of each lane, as LLVM code; `index` is int32 [16]."""
    match compiled_isa():
        case "amx" | "avx512_vnni":
            permute = _intrinsic(b, "llvm.x86.avx512.permvar.sf.512", f32x16.llvm, [f32x16.llvm, index.type])
            return b.call(permute, [_constant(table), index])
        case "avx2":
            return _of_halves(b, table, index)
        case _:
            return _one_by_one(b, table, index)


def _of_halves(b: Any, table: Sequence[float], index: Any) -> Any:
    """AVX2 takes from eight values for eight lanes."""
    permute = _intrinsic(b, "llvm.x86.avx2.permps", _F32X8, [_F32X8, _I32X8])
    found = []
    for half in ([*range(_HALF)], [*range(_HALF, LANES)]):
        lanes = b.shuffle_vector(index, index, ir.Constant(_I32X8, half))
        low, high = (b.call(permute, [_constant(part), lanes]) for part in (table[:_HALF], table[_HALF:]))
        is_high = b.icmp_signed("!=", b.and_(lanes, ir.Constant(_I32X8, [_HALF] * _HALF)), ir.Constant(_I32X8, None))
        found.append(b.select(is_high, high, low))
    return b.shuffle_vector(*found, ir.Constant(ir.VectorType(_I32, LANES), [*range(LANES)]))


def _one_by_one(b: Any, table: Sequence[float], index: Any) -> Any:
    index, values = b.and_(index, all_i32(LANES - 1)), ir.Constant(f32x16.llvm, ir.Undefined)
    for lane in range(LANES):
        place = ir.Constant(_I32, lane)
        value = b.extract_element(_constant(table), b.extract_element(index, place))
        values = b.insert_element(values, value, place)
    return values


def _constant(table: Sequence[float]) -> Any:
    return ir.Constant(ir.VectorType(_F32, len(table)), [float(value) for value in table])


def _intrinsic(b: Any, name: str, result: Any, arguments: list[Any]) -> Any:
    return cgutils.get_or_insert_function(b.module, ir.FunctionType(result, arguments), name)
