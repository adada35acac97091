"""GELU on 16 lanes as one operation, so that it can stand between the products of tiles."""

from typing import Any

import numpy as np
from llvmlite import ir

from engine.simd.arithmetic import emit_fma, fma
from engine.simd.table import emit_value_of
from engine.simd.vector import LANES, all_i32, f32x16, i32x16, operation

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


def emit_gelu(b: Any, y: Any) -> Any:
    """GELU of a vector, as LLVM code."""
    end = _all_lanes(END)
    size = b.bitcast(b.and_(b.bitcast(y, i32x16.llvm), all_i32(0x7FFFFFFF)), f32x16.llvm)
    t = b.select(b.fcmp_ordered("<", end, size), end, size)
    part = b.bitcast(b.fadd(t, _all_lanes(ROUND)), i32x16.llvm)
    c0, c1, c2 = (emit_value_of(b, table.tolist(), part) for table in TABLE)
    below = emit_fma(b, emit_fma(b, c2, t, c1), t, c0)
    return emit_fma(b, b.fadd(y, size), _all_lanes(0.5), below)  # of an infinity below zero it is NaN


def emit_gelu_raised(b: Any, y: Any) -> Any:
    """GELU of a vector plus RAISE, as LLVM code."""
    return b.fadd(emit_gelu(b, y), _all_lanes(RAISE))


def _all_lanes(value: Any) -> Any:
    return ir.Constant(f32x16.llvm, [float(value)] * LANES)


@operation(f32x16, f32x16)(emit_gelu)
def gelu_near(y: Any) -> Any:
    """GELU within 2.2e-4, for values that are rounded to integers anyway; not finite where y is not."""
    size = np.abs(y)
    t = np.where(size > END, END, size)
    part = (t + ROUND).view(np.int32) % LANES
    c0, c1, c2 = (table[part] for table in TABLE)
    return fma(y + size, f(0.5), fma(fma(c2, t, c1), t, c0))
