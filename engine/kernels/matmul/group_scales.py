"""The scale of each group of a decoder's weights: of some that hold all of its numbers the one with the least error.

Weights w become integers, and a number times the scale d stands for its weight. The smallest d that holds the
greatest weight has the finest steps, but a larger one may lie better for the few values that weights of few bits have.
So d = max|w| / divisor is tried for divisors from FIRST down to LAST: with x, the weights in units of d, and
r = x - rint(x), the error is sum(r * r) * d * d. The first of the least errors counts.
"""

from typing import Any

import numpy as np

from engine.kernels.compiled import entry, kernel
from engine.simd import F32, LANES, fma, load_f32, mul, nearest, splat, sub, total

FIRST, LAST = 127, 112
_ZERO, _ONE, _TINY = np.float32(0), np.float32(1), np.float32(1e-30)


@kernel
def _first(top: float) -> Any:
    """The smallest scale; 0 where that is hardly a number any more. What is not finite stays so."""
    scale = np.float32(top / FIRST)
    return _ZERO if scale < _TINY else scale


@entry
def fit_values(values: F32, k: int, group: int, scales: F32) -> None:
    """scales [n * groups] of float32 values [n * k], flat; k is a multiple of 16. The integers are
    rint(value * (1 / d)). `scales` has the greatest magnitudes when it is called."""
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
