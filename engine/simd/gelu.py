"""GELU on 16 lanes as one operation, so that it can stand between the products of tiles."""

from typing import Any

import numpy as np
from llvmlite import ir

from engine.simd.arithmetic import emit_fma, fma
from engine.simd.vector import LANES, f32x16, operation

f = np.float32
END = f(4)
# (Phi(y) - 1/2) / y in powers of y^2 on |y| <= 4, where it is 1/2; GELU errs by at most 2.4e-4, and not beyond 4
POWERS = tuple(
    map(
        f,
        (
            2.27796164153915e-08, -1.5985209529389977e-06, 4.795392669620924e-05, -0.000814000319223851,
            0.008772316388785839, -0.06457295268774033, 0.39788317680358887,
        ),
    )
)  # fmt: skip


def emit_gelu(b: Any, y: Any) -> Any:
    """GELU of a vector, as LLVM code."""

    def all_lanes(value: Any) -> Any:
        return ir.Constant(f32x16.llvm, [float(value)] * LANES)

    low, high = all_lanes(-END), all_lanes(END)
    inside = b.select(b.fcmp_ordered("<", high, y), high, y)
    inside = b.select(b.fcmp_ordered(">", low, inside), low, inside)
    square = b.fmul(inside, inside)
    p = all_lanes(POWERS[0])
    for power in POWERS[1:]:
        p = emit_fma(b, p, square, all_lanes(power))
    return b.fmul(y, emit_fma(b, inside, p, all_lanes(0.5)))


@operation(f32x16, f32x16)(emit_gelu)
def gelu_near(y: Any) -> Any:
    """GELU within 2.4e-4, for values that are rounded to integers anyway; NaN for NaN."""
    inside = np.where(y > END, END, y)
    inside = np.where(inside < -END, -END, inside)
    square, p = inside * inside, np.full(LANES, POWERS[0], f)
    for power in POWERS[1:]:
        p = fma(p, square, power)
    return y * fma(inside, p, f(0.5))
