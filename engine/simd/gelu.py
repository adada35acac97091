"""GELU on 16 lanes as one operation, so that it can stand between the products of tiles; and its table."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from engine.cpu import compiled_isa
from engine.simd.arithmetic import emit_fma, emit_magnitude_bits, fma
from engine.simd.vector import F32X16, I32X16, LANES, all_f32, all_i32, chosen, emit_call, f32x16, operation

f = np.float32
END = f(3.859375)
# GELU(y) - max(y, 0), which is -t * (1 - Phi(t)) of t = |y|, as c0 + c1 * t + c2 * t * t: in 16 parts, each with the
# coefficients whose greatest error is least; the last one is 0 at END, and where |y| is above it
TABLE = tuple(
    np.array(coefficients, f)
    for coefficients in (
        (
            0.0, -0.000636681099422276, -0.010522527620196342, -0.04655885323882103, -0.11917942017316818,
            -0.2205696702003479, -0.3252650201320648, -0.4023745357990265, -0.4307522177696228, -0.4063003361225128,
            -0.34275853633880615, -0.26096245646476746, -0.18056800961494446, -0.11417064070701599,
            -0.0662418082356453, -0.0051233768463134766,
        ),
        (
            -0.49991095066070557, -0.49209848046302795, -0.44118645787239075, -0.32681018114089966,
            -0.1608545333147049, 0.020033035427331924, 0.1732643097639084, 0.26908746361732483, 0.3000201880931854,
            0.27736976742744446, 0.2239844650030136, 0.16163013875484467, 0.10560338199138641, 0.0630028247833252,
            0.034516170620918274, 0.0013275146484375,
        ),
        (
            0.39727097749710083, 0.3734627068042755, 0.30739617347717285, 0.21634891629219055, 0.12137747555971146,
            0.04061705246567726, -0.015486419200897217, -0.045268189162015915, -0.05369725823402405,
            -0.04845178872346878, -0.0372362956404686, -0.025350691750645638, -0.015587959438562393,
            -0.008753957226872444, -0.004520721733570099, 0.0,
        ),
    )
)  # fmt: skip
ROUND = f(1.5 * 2**21)
"""A value plus this is rounded to a multiple of 1/4, the middle of its part; the lowest four bits number the part."""
RAISE = f(0.171875)
"""GELU plus this is above zero: the least value of GELU is -0.16998, and `gelu_near` errs by at most 2.2e-4."""


def emit_value_of(b: Any, table: Sequence[float], index: Any) -> Any:
    """table[index % 16] of each lane, as LLVM code; `index` is int32 [16]."""
    match compiled_isa():
        case "amx" | "avx512_vnni":
            return emit_call(b, _constant(table), index, name="x86.avx512.permvar.sf.512", result=F32X16)
        case "avx2":
            return _of_halves(b, table, index)
        case _:
            return _one_by_one(b, table, index)


def _of_halves(b: Any, table: Sequence[float], index: Any) -> Any:
    """AVX2 takes from eight values for eight lanes."""
    half, found = LANES // 2, []
    for first in (0, half):
        lanes = chosen(b, index, index, [*range(first, first + half)])
        low, high = (
            emit_call(b, _constant(part), lanes, name="x86.avx2.permps", result=ir.VectorType(ir.FloatType(), half))
            for part in (table[:half], table[half:])
        )
        is_high = b.icmp_signed(
            "!=", b.and_(lanes, ir.Constant(lanes.type, [half] * half)), ir.Constant(lanes.type, None)
        )
        found.append(b.select(is_high, high, low))
    return chosen(b, found[0], found[1], [*range(LANES)])


def _one_by_one(b: Any, table: Sequence[float], index: Any) -> Any:
    index, values = b.and_(index, all_i32(LANES - 1)), ir.Constant(F32X16, ir.Undefined)
    for lane in range(LANES):
        place = ir.Constant(ir.IntType(32), lane)
        value = b.extract_element(_constant(table), b.extract_element(index, place))
        values = b.insert_element(values, value, place)
    return values


def _constant(table: Sequence[float]) -> Any:
    return ir.Constant(ir.VectorType(ir.FloatType(), len(table)), [float(value) for value in table])


def emit_gelu(b: Any, y: Any) -> Any:
    """GELU of a vector, as LLVM code."""
    size = b.bitcast(emit_magnitude_bits(b, y), F32X16)
    t = b.select(b.fcmp_ordered("<", all_f32(END), size), all_f32(END), size)
    part = b.bitcast(b.fadd(t, all_f32(ROUND)), I32X16)
    c0, c1, c2 = (emit_value_of(b, table.tolist(), part) for table in TABLE)
    below = emit_fma(b, emit_fma(b, c2, t, c1), t, c0)
    return emit_fma(b, b.fadd(y, size), all_f32(0.5), below)  # of an infinity below zero it is NaN


def emit_gelu_raised(b: Any, y: Any) -> Any:
    """GELU of a vector plus RAISE, as LLVM code."""
    return b.fadd(emit_gelu(b, y), all_f32(RAISE))


def _gelu_near(y: Any) -> Any:
    size = np.abs(y)
    t = np.where(size > END, END, size)
    part = (t + ROUND).view(np.int32) % LANES
    c0, c1, c2 = (table[part] for table in TABLE)
    return fma(y + size, f(0.5), fma(fma(c2, t, c1), t, c0))


gelu_near = operation(f32x16(f32x16), emit_gelu, _gelu_near)
"""GELU within 2.2e-4, for values that are rounded to integers anyway; not finite where y is not."""
