"""SiLU, the logistic function and tanh on 16 lanes, from `functions.exp`. Infinities and NaN never become finite."""

import numpy as np
from numba import njit

from engine.kernels.functions import exp
from engine.simd import Lanes, add, div, larger, magnitude, mul, smaller, splat, sub, with_sign

_ZERO, _ONE, _TWO = np.float32(0), np.float32(1), np.float32(2)


@njit(inline="always")
def silu(x: Lanes) -> Lanes:
    """x / (1 + e**-x)."""
    e = exp(sub(splat(_ZERO), magnitude(x)))
    above, below = larger(splat(_ZERO), x), smaller(splat(_ZERO), x)  # one of them is x, the other 0; both NaN for NaN
    return div(add(above, mul(below, e)), add(splat(_ONE), e))


@njit(inline="always")
def logistic(x: Lanes) -> Lanes:
    """1 / (1 + e**-x)."""
    top, under = exp(smaller(splat(_ZERO), x)), exp(sub(splat(_ZERO), magnitude(x)))
    return add(div(top, add(splat(_ONE), under)), sub(x, x))


@njit(inline="always")
def tanh(x: Lanes) -> Lanes:
    """Within 2e-7."""
    e = exp(mul(splat(-_TWO), magnitude(x)))
    return add(with_sign(div(sub(splat(_ONE), e), add(splat(_ONE), e)), x), sub(x, x))
