"""Operations of all searches. A lane is a block: 16 of them are searched at once, each by the same operations."""

from typing import NamedTuple

import numpy as np
from numba import njit

from engine.quant.layout import LEVELS, MIDPOINTS
from engine.simd import F32, LANES, Float, Lanes, larger, load_f32, magnitude, nearest, splat, store_f32, with_sign
from engine.simd.vector import f32x16, operation

f = np.float32
ZERO, ONE, TINY = f(0), f(1), f(1e-30)
_SPLIT, _LARGEST, _NORMAL = f(8193), f(65504), f(2.0**-14)
_DENORMAL = f(0.75)  # a float32 near it has the step of the halves below the normal ones, 2^-24


class Values(NamedTuple):
    """16 blocks in 16 lanes. x and w, float32 [count * 16]: values and their weights, value i of lane l at i * 16 + l;
    n is the number of values that share a scale."""

    x: F32
    w: F32
    n: int


class Range(NamedTuple):
    """The least and the greatest quant; `uneven` if quants are levels of IQ4_NL."""

    low: Float
    high: Float
    uneven: bool


choose = operation(
    f32x16(f32x16, f32x16, f32x16, f32x16),
    lambda builder, a, b, x, y: builder.select(builder.fcmp_ordered(">", a, b), x, y),
    lambda a, b, x, y: np.where(a > b, x, y),
)
"""choose(a, b, x, y): x where a > b, else y."""


@njit(inline="always")
def nonzero(x: Lanes) -> Lanes:
    """x, but 1 where it is next to nothing, so that it can be divided by."""
    return choose(magnitude(x), splat(TINY), x, splat(ONE))


@njit(inline="always")
def inverse(x: Lanes) -> Lanes:
    """1 / x, but 0 where x is next to nothing."""
    return choose(magnitude(x), splat(TINY), ONE / nonzero(x), splat(ZERO))


@njit(inline="always")
def quant(x: Lanes, low: Lanes, high: Lanes) -> Lanes:
    """The integer from low to high that is nearest to x."""
    return larger(low, high - larger(high - nearest(x), splat(ZERO)))


@njit(inline="always")
def level(x: Lanes) -> Lanes:
    """The level of IQ4_NL that is nearest to x."""
    found = splat(LEVELS[0])
    for i in range(15):
        found = choose(x, splat(MIDPOINTS[i]), splat(LEVELS[i + 1]), found)
    return found


@njit(inline="always")
def to_half(x: Lanes) -> Lanes:
    """Rounds to a nearest float16 value: by Veltkamp's splitting for normal ones, by addition for the others."""
    a = choose(splat(_LARGEST), magnitude(x), magnitude(x), splat(_LARGEST))
    big = a * _SPLIT
    denormal = a + _DENORMAL - _DENORMAL
    return with_sign(choose(splat(_NORMAL), a, denormal, big - (big - a)), x)


@njit(nogil=True)
def gather(values: F32, first: int, count: int, x: F32) -> None:
    """x[i * 16 + lane] = value i of block first + lane of `values`, flat, `count` a block; zeros where none is left."""
    blocks = min(LANES, values.size // count - first)
    x[:] = ZERO
    for lane in range(blocks):
        for i in range(count):
            x[i * LANES + lane] = values[(first + lane) * count + i]


@njit(nogil=True)
def weigh(values: Values, at: int) -> None:
    """The weights of n values from `at` on: the size of the value and the mean size of all n, added."""
    (x, w, n), mean = values, splat(ZERO)
    for i in range(at, at + n * LANES, LANES):
        mean = mean + magnitude(load_f32(x, i))
    mean = mean / f(n)
    for i in range(at, at + n * LANES, LANES):
        store_f32(w, i, mean + magnitude(load_f32(x, i)))


@njit(nogil=True)
def weigh_squares(values: Values, at: int) -> None:
    """The weights of n values from `at` on: the squares of what `weigh` adds, added."""
    x, w, n = values
    weigh(values, at)
    for i in range(at, at + n * LANES, LANES):
        v = magnitude(load_f32(x, i))
        mean = load_f32(w, i) - v
        store_f32(w, i, mean * mean + v * v)
