"""The scale of each group of a decoder's weights: of some that hold all of its numbers the one with the least error.

Weights w become whole numbers, and a number times the scale d stands for its weight. The smallest d that holds the
greatest weight has the finest steps, but a larger one may lie better for the few values that codes can mean. So
d = max|w| / divisor is tried for all DIVISORS: with x, the weights in units of d, and r = x - rint(x), the error is
sum(r * r) * d * d. The first of the least errors counts.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.kernels.compiled import entry, kernel
from engine.simd import F32, I8, LANES, fma, load_bytes, load_f32, mul, nearest, splat, sub, total

F64 = NDArray[np.float64]
FIRST, LAST = 127, 112
"""Divisors, from the first down to the last."""
UNIT = 128
"""Parts of a number that A and B of codes count."""
_ZERO, _ONE, _TINY = np.float32(0), np.float32(1), np.float32(1e-30)
_PART = np.float32(1 / UNIT)


@kernel
def _first(top: float) -> Any:
    """The smallest scale; 0 where that is hardly a number any more. What is not finite stays so."""
    scale = np.float32(top / FIRST)
    return _ZERO if scale < _TINY else scale


@entry
def fit_codes(
    codes: I8, steps: F64, offsets: F64, tops: F64, k: int, run: int, group: int, middle: int, scales: F32
) -> None:  # fmt: skip
    """scales [n * groups] of codes [n * k]: step * code + offset in runs, or step * (code - middle) if there is one;
    steps and offsets [n * k / run]; tops [n * groups], the greatest magnitudes or more. All flat."""
    groups = (k + group - 1) // group
    for i in range(scales.size):
        at = i // groups * k + i % groups * group
        end = min(at + group, i // groups * k + k)
        found, least = _first(tops[i]), np.inf
        if found > _ZERO:
            for divisor in range(FIRST, LAST - 1, -1):
                scale = np.float32(tops[i] / divisor)
                error = _error_of_codes(codes, steps, offsets, at, at // run, end, run, middle, np.float64(scale))
                if error < least:
                    found, least = scale, error
        scales[i] = found


@kernel
def _error_of_codes(
    codes: I8, steps: F64, offsets: F64, at: int, place: int, end: int, run: int, middle: int, scale: float
) -> float:
    unit, squares, here = UNIT / scale, splat(_ZERO), np.int64(codes.ctypes.data)
    for first in range(at, end, run):
        a = np.float32(np.rint(steps[place] * unit)) * _PART
        b = a * np.float32(-middle) if middle else np.float32(np.rint(offsets[place] * unit)) * _PART
        a_lanes, b_lanes, place = splat(a), splat(b), place + 1
        for p in range(first, first + run, LANES):
            x = fma(load_bytes(here + p), a_lanes, b_lanes)
            r = sub(x, nearest(x))
            squares = fma(r, r, squares)
    return np.float64(total(squares)) * scale * scale


@entry
def fit_values(values: F32, k: int, group: int, scales: F32) -> None:
    """The same of float32 values [n * k], whose numbers are rint(value * (1 / d)); k is a multiple of 16. `scales` has
    the greatest magnitudes when it is called."""
    groups = (k + group - 1) // group
    for i in range(scales.size):
        at = i // groups * k + i % groups * group
        end = min(at + group, i // groups * k + k)
        top, least = np.float64(scales[i]), np.inf
        found = _first(top)
        if found > _ZERO:
            for divisor in range(FIRST, LAST - 1, -1):
                scale = np.float32(top / divisor)
                error = _error_of_values(values, at, end, scale)
                if error < least:
                    found, least = scale, error
        scales[i] = found


@kernel
def _error_of_values(values: F32, at: int, end: int, scale: Any) -> float:
    inverse, squares = splat(_ONE / scale), splat(_ZERO)
    for p in range(at, end, LANES):
        x = mul(load_f32(values, p), inverse)
        r = sub(x, nearest(x))
        squares = fma(r, r, squares)
    return np.float64(total(squares)) * np.float64(scale) * np.float64(scale)
