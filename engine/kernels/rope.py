"""Rotary positions (Su et al. 2021): values i and i + head_dim / 2 of a head rotate by
position / base**(2i / head_dim).

The two halves of a head lie in whole vectors each, so that the two values of a pair are in the same lanes. Sines and
cosines are made from additions and multiplications alone, because those of a library differ in the last bit between
machines.
"""

import math
from decimal import Context, Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

from engine.kernels.rows import place
from engine.simd import F32, I64, LANES, Float, load_f32, store_f32
from engine.simd.compiled import kernel

F64 = NDArray[np.float64]
MAX_CONTEXT = 131_072
"""Sines and cosines of angles up to this are within 1e-15."""

# half of pi in three parts of 33 bits: products with the number of quarter turns are exact
_HALF_PI = tuple(map(float.fromhex, ("0x1.921fb544p+0", "0x1.0b4611a6p-34", "0x1.3198a2ep-69")))
_SINE = [(-1) ** n / math.factorial(2 * n + 1) for n in range(10)]
_COSINE = [(-1) ** n / math.factorial(2 * n) for n in range(10)]
_POSITIONS = 4096  # at a time
_ONE = np.float32(1)


def table(context: int, head_dim: int, base: float, half: int) -> F32:
    """float32 [context, 2, half], flat: the cosines and sines for heads of `head_dim` values, zeros beyond
    head_dim / 2. base is at least 1."""
    angles = frequencies(head_dim, base)
    out = np.zeros((context, 2, half), np.float32)
    for first in range(0, context, _POSITIONS):
        positions = np.arange(first, min(first + _POSITIONS, context), dtype=np.float64)
        both = cosines_and_sines(positions[:, None] * angles)
        out[first : first + _POSITIONS, :, : head_dim // 2] = np.stack(both, 1)
    return out.reshape(-1)


def frequencies(head_dim: int, base: float) -> F64:
    """base**(-2i / head_dim) for i below head_dim / 2, rounded once."""
    with localcontext(Context(prec=40)):
        step = Decimal(base).ln() * -2 / head_dim
        return np.array([float((step * i).exp()) for i in range(head_dim // 2)])


def cosines_and_sines(angles: F64) -> tuple[F64, F64]:
    """The cosines and sines of angles from 0 to MAX_CONTEXT, within 1e-15."""
    quarters = np.rint(angles * (2 / math.pi))
    x = angles - quarters * _HALF_PI[0] - quarters * _HALF_PI[1] - quarters * _HALF_PI[2]
    square = x * x
    sine, cosine = x * _polynomial(_SINE, square), _polynomial(_COSINE, square)
    quarter = quarters.astype(np.int64) & 3
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
def rope(x: F32, starts: I64, n: int, column: int, heads: int, half: int, angles: F32) -> None:
    """Rotate the heads of x [tokens, n] in place, 2 * half values each from `column` on, by their tokens' positions in
    the sequences from starts[s] to starts[s + 1]; angles as `table` gives them. half is a multiple of 16."""
    for s in range(starts.size - 1):
        for t in range(starts[s], starts[s + 1]):
            rope_row(x, place(t, column, n), heads, half, angles, (t - starts[s]) * 2 * half, _ONE)


@kernel
def rope_row(x: F32, at: int, heads: int, half: int, angles: F32, row: int, factor: Float) -> None:
    """Rotate the heads of one row of x in place, 2 * half places each from x[at] on, by the cosines and sines from
    angles[row] on, and multiply them by `factor`."""
    for a in range(at, at + heads * 2 * half * LANES, 2 * half * LANES):
        for i in range(0, half, LANES):
            first, second = a + i * LANES, a + (half + i) * LANES
            left, right = load_f32(x, first), load_f32(x, second)
            cosine, sine = load_f32(angles, row + i), load_f32(angles, row + half + i)
            store_f32(x, first, (left * cosine - right * sine) * factor)
            store_f32(x, second, (right * cosine + left * sine) * factor)
