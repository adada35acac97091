"""exp, erf, and what follows from them on 16 lanes: own polynomials, so that they are the same everywhere.

Infinities and NaN never become finite.
"""

import math

import numpy as np
from numba import njit

from engine.simd import (
    MAGIC,
    Lanes,
    fma,
    larger,
    low_exponent,
    magnitude,
    nearest,
    power_of_two,
    smaller,
    splat,
    with_sign,
)

f = np.float32
_LOG2E = f(1.4426950408889634)
_LN2_HIGH, _LN2_LOW = f(0.693359375), f(-2.12194440e-4)  # Cody and Waite
_LOWEST = f(-87.0)
# Cephes expf: e^r on |r| <= ln(2)/2
_E = tuple(
    map(f, (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1))
)
# Abramowitz and Stegun 7.1.26: |error| <= 1.5e-7
_P = f(0.3275911)
_A = tuple(map(f, (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)))
_ONE, _HALF, _ROOT_HALF = f(1.0), f(0.5), f(0.7071067811865476)
_ZERO, _MINUS_TWO = f(0.0), f(-2.0)
_CUBE, _ROOT = f(0.044715), f(0.7978845608028654)  # sqrt(2/pi)
# 2^r on |r| <= 1/2, of least greatest relative error (7.6e-5)
_TWO = (0.05517043, 0.24260938, 0.69326102, 0.99992819)
# The same polynomial by its first coefficient, and by how much r is moved for that to be 2^-4
_MONIC = tuple(f(c / _TWO[0]) for c in _TWO[1:])
_MOVED, _EXPONENT = math.log2(16 * _TWO[0]), f(MAGIC + 127 - 4)
_FAINT = f(-20.0)
# Cephes exp2f: 2^r on |r| <= 1/2, without the 1 that is added last
_TWO_TO = tuple(
    map(f, (1.535336188319500e-4, 1.339887440266574e-3, 9.618437357674640e-3, 5.550332471162809e-2,
            2.402264791363012e-1, 6.931472028550421e-1))
)  # fmt: skip
_LEAST_POWER = f(-126.0)


@njit(inline="always")
def exp(x: Lanes) -> Lanes:
    """e**x for x <= 0; e**-87 below -87; NaN for NaN (`larger` gives its second argument then)."""
    x = larger(splat(_LOWEST), x)
    n = nearest(x * _LOG2E)
    r = x - n * _LN2_HIGH - n * _LN2_LOW
    p = _E[0] * r + _E[1]
    p = p * r + _E[2]
    p = p * r + _E[3]
    p = p * r + _E[4]
    p = p * r + _E[5]
    p = p * r * r + r + _ONE
    return p * power_of_two(n)


@njit(inline="always")
def erf(x: Lanes) -> Lanes:
    """Within 6e-7: 1.5e-7 of the formula, the rest of float32."""
    a = magnitude(x)
    t = _ONE / (_ONE + _P * a)
    p = _A[0] * t + _A[1]
    p = p * t + _A[2]
    p = p * t + _A[3]
    p = (p * t + _A[4]) * t
    return with_sign(_ONE - p * exp(_ZERO - a * a), x)


@njit(inline="always")
def gelu(x: Lanes) -> Lanes:
    """x/2 (1 + erf(x / sqrt(2))): the exact form that BERT uses."""
    return _HALF * x * (_ONE + erf(x * _ROOT_HALF))


def whole_power_of(x: float) -> np.float32:
    """The number that `whole_power` takes for an x."""
    return f(x + _MOVED)


@njit(inline="always")
def whole_power(x: Lanes) -> Lanes:
    """MAGIC + the integer nearest to 2**x, from x moved by `whole_power_of`, up to 13: the number is in the low
    half of the bits. 2**x is within 8e-5 of itself; 0 for x <= -2 and for NaN."""
    x = larger(x, splat(_FAINT))
    n = x + _EXPONENT
    r = x - (n - _EXPONENT)
    p = r + _MONIC[0]
    p = fma(p, r, splat(_MONIC[1]))
    p = fma(p, r, splat(_MONIC[2]))
    return fma(p, low_exponent(n), splat(MAGIC))


@njit(inline="always")
def two_to(x: Lanes) -> Lanes:
    """2**x for x <= 0, within 2e-7 of itself; 2**-126 below -126; NaN for NaN."""
    x = larger(splat(_LEAST_POWER), x)
    n = nearest(x)
    r = x - n
    p = splat(_TWO_TO[0])
    p = fma(p, r, splat(_TWO_TO[1]))
    p = fma(p, r, splat(_TWO_TO[2]))
    p = fma(p, r, splat(_TWO_TO[3]))
    p = fma(p, r, splat(_TWO_TO[4]))
    p = fma(p, r, splat(_TWO_TO[5]))
    return fma(p, r, splat(_ONE)) * power_of_two(n)


@njit(inline="always")
def silu(x: Lanes) -> Lanes:
    """x / (1 + e**-x)."""
    e = exp(_ZERO - magnitude(x))
    above, below = larger(splat(_ZERO), x), smaller(splat(_ZERO), x)  # one of them is x, the other 0; both NaN for NaN
    return (above + below * e) / (_ONE + e)


@njit(inline="always")
def logistic(x: Lanes) -> Lanes:
    """1 / (1 + e**-x)."""
    top, under = exp(smaller(splat(_ZERO), x)), exp(_ZERO - magnitude(x))
    return top / (_ONE + under) + (x - x)


@njit(inline="always")
def tanh(x: Lanes) -> Lanes:
    """The hyperbolic tangent, within 2e-7."""
    e = exp(_MINUS_TWO * magnitude(x))
    return with_sign((_ONE - e) / (_ONE + e), x) + (x - x)


@njit(inline="always")
def gelu_tanh(x: Lanes) -> Lanes:
    """x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))."""
    inner = _ROOT * fma(x * x * _CUBE, x, x)
    return _HALF * x * (_ONE + tanh(inner))
