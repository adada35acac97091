"""One scale a group: x near d * q, with q from low (negative) to high."""

import numpy as np
from numba import njit

from engine.quant.search.lanes import TINY, ZERO, choose, code, f, gather, inverse, level, weigh
from engine.simd import F32, LANES, Float, Lanes, add, div, larger, load_f32, mul, splat, store_f32, sub

STEPS, STEP, UNEVEN_STEP = 9, f(0.1), f(1)
ROUNDS = 3


@njit(nogil=True, cache=True)
def fit(groups: F32, low: Float, high: Float, uneven: bool, out: F32) -> None:
    """out [b] = d of groups [b, n]"""
    n = groups.shape[1]
    x, w, d = np.empty(n * LANES, np.float32), np.empty(n * LANES, np.float32), np.empty(LANES, np.float32)
    for first in range(0, groups.shape[0], LANES):
        gather(groups.reshape(-1), first, n, x)
        weigh(x, w, 0, n)
        store_f32(d, 0, best(x, w, 0, n, low, high, uneven))
        count = min(LANES, groups.shape[0] - first)
        out[first : first + count] = d[:count]


@njit(nogil=True)
def best(x: F32, w: F32, at: int, n: int, low: Float, high: Float, uneven: bool) -> Lanes:
    """d of the n values from `at` on. The largest value is tried near either end of the codes."""
    top, bottom = splat(ZERO), splat(ZERO)
    for i in range(at, at + n * LANES, LANES):
        v = load_f32(x, i)
        top, bottom = larger(v, top), larger(sub(splat(ZERO), v), bottom)
    unit = inverse(choose(top, bottom, top, sub(splat(ZERO), bottom)))
    d, gain, width = splat(ZERO), splat(ZERO), UNEVEN_STEP if uneven else STEP
    for end in (low, high):
        for step in range(-STEPS, STEPS + 1):
            d, gain = better(x, w, at, n, mul(splat(end + width * f(step)), unit), low, high, uneven, d, gain)
    for _ in range(ROUNDS):
        d, gain = better(x, w, at, n, inverse(d), low, high, uneven, d, gain)
    return d


@njit(inline="always")
def better(
    x: F32, w: F32, at: int, n: int, inverse_d: Lanes, low: Float, high: Float, uneven: bool, d: Lanes, gain: Lanes
) -> tuple[Lanes, Lanes]:
    """The scale that fits the codes x * inverse_d best, and what it takes off the error; d and gain where that is less.

    For given codes the error sum(w (x - d q)^2) is least at d = sum(w x q) / sum(w q^2), less by d * sum(w x q).
    """
    xq, qq = splat(ZERO), splat(ZERO)
    for i in range(at, at + n * LANES, LANES):
        v = load_f32(x, i)
        q = round_to(mul(v, inverse_d), low, high, uneven)
        wq = mul(load_f32(w, i), q)
        xq, qq = add(xq, mul(wq, v)), add(qq, mul(wq, q))
    found = div(xq, larger(qq, splat(TINY)))
    found_gain = mul(found, xq)
    return choose(found_gain, gain, found, d), choose(found_gain, gain, found_gain, gain)


@njit(inline="always")
def round_to(x: Lanes, low: Float, high: Float, uneven: bool) -> Lanes:
    """The code nearest to x."""
    return level(x) if uneven else code(x, splat(low), splat(high))
