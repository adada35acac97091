"""Rotary positions (Su et al. 2021): values i and i + depth / 2 of a head turn by position / base**(2i / depth).

The two halves of a head lie in whole vectors each, so that what turns together is in the same lanes. Sines and cosines
are made from additions and multiplications alone, because those of a library differ in the last bit between machines.
"""

import math
from decimal import Context, Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

from engine.kernels.compiled import kernel
from engine.kernels.places import place
from engine.simd import F32, I64, LANES, add, load_f32, mul, store_f32, sub

F64 = NDArray[np.float64]
MAX_CONTEXT = 131_072
"""Angles up to this are turned exactly enough: about 1e-15 of a turn."""

# half of pi in three parts of 33 bits: products with the number of quarter turns are exact
_HALF_PI = tuple(map(float.fromhex, ("0x1.921fb544p+0", "0x1.0b4611a6p-34", "0x1.3198a2ep-69")))
_SINE = [(-1) ** n / math.factorial(2 * n + 1) for n in range(10)]
_COSINE = [(-1) ** n / math.factorial(2 * n) for n in range(10)]
_POSITIONS = 4096  # at a time


def table(context: int, depth: int, base: float, half: int) -> F32:
    """float32 [context, 2, half], flat: the cosines and sines for heads of `depth` values, zeros beyond depth / 2.
    base is at least 1."""
    angles = frequencies(depth, base)
    out = np.zeros((context, 2, half), np.float32)
    for first in range(0, context, _POSITIONS):
        positions = np.arange(first, min(first + _POSITIONS, context), dtype=np.float64)
        turned = cosines_and_sines(positions[:, None] * angles)
        out[first : first + _POSITIONS, :, : depth // 2] = np.stack(turned, 1)
    return out.reshape(-1)


def frequencies(depth: int, base: float) -> F64:
    """base**(-2i / depth) for i below depth / 2, rounded once."""
    with localcontext(Context(prec=40)):
        step = Decimal(base).ln() * -2 / depth
        return np.array([float((step * i).exp()) for i in range(depth // 2)])


def cosines_and_sines(angles: F64) -> tuple[F64, F64]:
    """Of angles from 0 to MAX_CONTEXT, within 1e-15."""
    turns = np.rint(angles * (2 / math.pi))
    x = angles - turns * _HALF_PI[0] - turns * _HALF_PI[1] - turns * _HALF_PI[2]
    square = x * x
    sine, cosine = x * _polynomial(_SINE, square), _polynomial(_COSINE, square)
    quarter = turns.astype(np.int64) & 3
    swapped = quarter % 2 == 1
    cosines = np.where(swapped, sine, cosine) * np.where((quarter == 1) | (quarter == 2), -1.0, 1.0)
    sines = np.where(swapped, cosine, sine) * np.where(quarter >= 2, -1.0, 1.0)
    return cosines, sines


def _polynomial(coefficients: list[float], x: F64) -> F64:
    value = np.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value = value * x + coefficient
    return value


@kernel
def turn(x: F32, starts: I64, n: int, column: int, heads: int, half: int, angles: F32) -> None:
    """Turn heads of x [tokens, n] in place, 2 * half values each from `column` on, by their tokens' positions in the
    sequences from starts[s] to starts[s + 1]; angles as `table` gives them. half is a multiple of 16."""
    for s in range(starts.size - 1):
        for t in range(starts[s], starts[s + 1]):
            row = (t - starts[s]) * 2 * half
            for head in range(heads):
                for i in range(0, half, LANES):
                    at = column + 2 * half * head + i
                    a, b = place(t, at, n), place(t, at + half, n)
                    left, right = load_f32(x, a), load_f32(x, b)
                    cosine, sine = load_f32(angles, row + i), load_f32(angles, row + half + i)
                    store_f32(x, a, sub(mul(left, cosine), mul(right, sine)))
                    store_f32(x, b, add(mul(right, cosine), mul(left, sine)))
