"""What the searches share. A lane is a block: 16 of them are searched at once, each by the same operations."""

from typing import Any

import numpy as np
from numba import njit

from engine.quant.blocks.levels import LEVELS, MIDDLES
from engine.simd import (
    F32,
    LANES,
    Lanes,
    add,
    div,
    larger,
    load_f32,
    magnitude,
    mul,
    nearest,
    splat,
    store_f32,
    sub,
    with_sign,
)  # fmt: skip
from engine.simd.vector import f32x16, operation

f = np.float32
ZERO, ONE, TINY = f(0), f(1), f(1e-30)
_SPLIT, _LARGEST, _NORMAL = f(8193), f(65504), f(2.0**-14)
_DENORMAL = f(0.75)  # a float32 near it has the step of the halves below the normal ones, 2^-24


@operation(f32x16, f32x16, f32x16, f32x16, f32x16)(lambda b, a, c, x, y: b.select(b.fcmp_ordered(">", a, c), x, y))
def choose(a: Any, b: Any, x: Any, y: Any) -> Any:
    """x where a > b, else y."""
    return np.where(a > b, x, y)


@njit(inline="always")
def nonzero(x: Lanes) -> Lanes:
    """x, but 1 where it is next to nothing, so that it can be divided by."""
    return choose(magnitude(x), splat(TINY), x, splat(ONE))


@njit(inline="always")
def inverse(x: Lanes) -> Lanes:
    """1 / x, but 0 where x is next to nothing."""
    return choose(magnitude(x), splat(TINY), div(splat(ONE), nonzero(x)), splat(ZERO))


@njit(inline="always")
def code(x: Lanes, low: Lanes, high: Lanes) -> Lanes:
    """The whole number from low to high that is nearest to x."""
    return larger(low, sub(high, larger(sub(high, nearest(x)), splat(ZERO))))


@njit(inline="always")
def level(x: Lanes) -> Lanes:
    """The level of IQ4_NL that is nearest to x."""
    found = splat(LEVELS[0])
    for i in range(15):
        found = choose(x, splat(MIDDLES[i]), splat(LEVELS[i + 1]), found)
    return found


@njit(inline="always")
def to_half(x: Lanes) -> Lanes:
    """A nearest value that float16 has: by Veltkamp's splitting for normal ones, by addition for the others."""
    a = choose(splat(_LARGEST), magnitude(x), magnitude(x), splat(_LARGEST))
    big = mul(a, splat(_SPLIT))
    denormal = sub(add(a, splat(_DENORMAL)), splat(_DENORMAL))
    return with_sign(choose(splat(_NORMAL), a, denormal, sub(big, sub(big, a))), x)


@njit(nogil=True)
def gather(values: F32, first: int, count: int, x: F32) -> None:
    """x[i * 16 + lane] = value i of block first + lane of `values`, flat, `count` a block; zeros where none is left."""
    blocks = min(LANES, values.size // count - first)
    x[:] = ZERO
    for lane in range(blocks):
        for i in range(count):
            x[i * LANES + lane] = values[(first + lane) * count + i]


@njit(nogil=True)
def weigh(x: F32, w: F32, at: int, n: int) -> None:
    """The weights of n values from `at` on: the size of the value and the mean size in its group, added."""
    mean = splat(ZERO)
    for i in range(at, at + n * LANES, LANES):
        mean = add(mean, magnitude(load_f32(x, i)))
    mean = div(mean, splat(f(n)))
    for i in range(at, at + n * LANES, LANES):
        store_f32(w, i, add(mean, magnitude(load_f32(x, i))))


@njit(nogil=True)
def weigh_squares(x: F32, w: F32, at: int, n: int) -> None:
    """The same, their squares added."""
    weigh(x, w, at, n)
    for i in range(at, at + n * LANES, LANES):
        v = magnitude(load_f32(x, i))
        mean = sub(load_f32(w, i), v)
        store_f32(w, i, add(mul(mean, mean), mul(v, v)))


@njit(nogil=True)
def scatter(lanes: F32, at: int, out: F32, first: int, stride: int) -> None:
    """out[first * stride], out[(first + 1) * stride] … = the 16 lanes at `at`, as far as out goes."""
    for lane in range(LANES):
        if (first + lane) * stride < out.size:
            out[(first + lane) * stride] = lanes[at + lane]
