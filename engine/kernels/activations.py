"""SiLU, the logistic function, tanh and GELU by tanh on 16 lanes, from `functions.exp`.

Infinities and NaN never become finite.
"""

import numpy as np
from numba import njit

from engine.kernels.functions import exp
from engine.simd import Lanes, add, div, fma, larger, magnitude, mul, smaller, splat, sub, with_sign

_ZERO, _HALF, _ONE, _TWO = np.float32(0), np.float32(0.5), np.float32(1), np.float32(2)
_CUBE, _ROOT = np.float32(0.044715), np.float32(0.7978845608028654)  # sqrt(2/pi)


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
    """The hyperbolic tangent, within 2e-7."""
    e = exp(mul(splat(-_TWO), magnitude(x)))
    return add(with_sign(div(sub(splat(_ONE), e), add(splat(_ONE), e)), x), sub(x, x))


@njit(inline="always")
def gelu_tanh(x: Lanes) -> Lanes:
    """x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))."""
    inner = mul(splat(_ROOT), fma(mul(mul(x, x), splat(_CUBE)), x, x))
    return mul(mul(splat(_HALF), x), add(splat(_ONE), tanh(inner)))
