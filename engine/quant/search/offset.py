"""A scale and an offset a group: x near d * q + m, with q from 0 to top."""

import numpy as np
from numba import njit

from engine.quant.search.lanes import TINY, ZERO, choose, code, f, gather, inverse, weigh
from engine.simd import F32, LANES, Float, Lanes, add, div, larger, load_f32, mul, splat, store_f32, sub

STEPS, STEP = 10, f(0.1)
ROUNDS = 4
ANYWHERE, BELOW_ZERO, _NOWHERE = f(3.0e38), f(0), f(3.2e38)
_INDEPENDENT = f(1e-6)


@njit(nogil=True, cache=True)
def fit(groups: F32, top: Float, d: F32, m: F32) -> None:
    """d, m [b] of groups [b, n]"""
    n = groups.shape[1]
    x, w, found = np.empty(n * LANES, np.float32), np.empty(n * LANES, np.float32), np.empty(2 * LANES, np.float32)
    for first in range(0, groups.shape[0], LANES):
        gather(groups.reshape(-1), first, n, x)
        weigh(x, w, 0, n)
        lowest = from_lowest(x, 0, n)
        scale, offset = best(x, w, 0, n, top, ANYWHERE)
        store_f32(found, 0, scale)
        store_f32(found, LANES, add(offset, lowest))
        count = min(LANES, groups.shape[0] - first)
        d[first : first + count] = found[:count]
        m[first : first + count] = found[LANES : LANES + count]


@njit(nogil=True)
def from_lowest(x: F32, at: int, n: int) -> Lanes:
    """Subtract from each group its lowest value, so that nothing is lost where all are far from zero; returns it."""
    lowest = load_f32(x, at)
    for i in range(at, at + n * LANES, LANES):
        v = load_f32(x, i)
        lowest = choose(lowest, v, v, lowest)
    for i in range(at, at + n * LANES, LANES):
        store_f32(x, i, sub(load_f32(x, i), lowest))
    return lowest


@njit(nogil=True)
def best(x: F32, w: F32, at: int, n: int, top: Float, limit: Float) -> tuple[Lanes, Lanes]:
    """d and m (at most `limit`) of the n values from `at` on."""
    lowest, highest, ww, wx = splat(ZERO), load_f32(x, at), splat(ZERO), splat(ZERO)
    for i in range(at, at + n * LANES, LANES):
        v, weight = load_f32(x, i), load_f32(w, i)
        lowest, highest = choose(lowest, v, v, lowest), larger(v, highest)
        ww, wx = add(ww, weight), add(wx, mul(weight, v))
    unit = inverse(sub(highest, lowest))
    m = div(wx, larger(ww, splat(TINY)))  # the best of all without a scale
    m = choose(m, splat(limit), splat(ZERO), m)
    d, gain = splat(ZERO), mul(m, wx)
    for step in range(-STEPS, STEPS + 1):
        guess = mul(splat(top + STEP * f(step)), unit)
        d, m, gain = better(x, w, at, n, guess, lowest, top, limit, ww, wx, d, m, gain)
    for _ in range(ROUNDS):
        d, m, gain = better(x, w, at, n, inverse(d), m, top, limit, ww, wx, d, m, gain)
    return d, m


@njit(inline="always")
def better(
    x: F32, w: F32, at: int, n: int, inverse_d: Lanes, lowest: Lanes, top: Float, limit: Float, ww: Lanes, wx: Lanes,
    d: Lanes, m: Lanes, gain: Lanes,
) -> tuple[Lanes, Lanes, Lanes]:  # fmt: skip
    """Scale and offset that fit the codes (x - lowest) * inverse_d best, and what they take off the error.

    d, m and gain where that is less. For given codes the error sum(w (x - d q - m)^2) is least where its derivatives
    by d and m are zero, or, where that m is above the limit or all codes are the same, at m = 0 and
    d = sum(w x q) / sum(w q^2).
    """
    wq, qq, xq = splat(ZERO), splat(ZERO), splat(ZERO)
    for i in range(at, at + n * LANES, LANES):
        v = load_f32(x, i)
        q = code(mul(sub(v, lowest), inverse_d), splat(ZERO), splat(top))
        weighted = mul(load_f32(w, i), q)
        wq, qq, xq = add(wq, weighted), add(qq, mul(weighted, q)), add(xq, mul(weighted, v))
    both = mul(ww, qq)
    determinant = sub(both, mul(wq, wq))
    unit = inverse(choose(determinant, mul(splat(_INDEPENDENT), both), determinant, splat(ZERO)))
    found_d = mul(sub(mul(ww, xq), mul(wx, wq)), unit)
    found_m = choose(unit, splat(ZERO), mul(sub(mul(qq, wx), mul(wq, xq)), unit), splat(_NOWHERE))
    alone = div(xq, larger(qq, splat(TINY)))
    found_d = choose(found_m, splat(limit), alone, found_d)
    found_m = choose(found_m, splat(limit), splat(ZERO), found_m)
    found_gain = choose(found_d, splat(ZERO), add(mul(found_d, xq), mul(found_m, wx)), splat(ZERO))
    return (
        choose(found_gain, gain, found_d, d),
        choose(found_gain, gain, found_m, m),
        choose(found_gain, gain, found_gain, gain),
    )
