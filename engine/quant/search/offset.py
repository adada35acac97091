"""The search of a scale and an offset for each block: x near d * q + m, with q from 0 to top."""

import numpy as np
from numba import njit

from engine.quant.search.lanes import TINY, ZERO, Values, choose, f, gather, inverse, quant, weigh
from engine.simd import F32, LANES, Float, Lanes, add, div, larger, load_f32, mul, splat, store_f32, sub

STEPS, STEP = 10, f(0.1)
ROUNDS = 4
ANYWHERE, BELOW_ZERO, _NOWHERE = f(3.0e38), f(0), f(3.2e38)
_INDEPENDENT = f(1e-6)


Fit = tuple[Lanes, Lanes, Lanes]
"""Scale d, offset m, and what they take off the error."""


@njit(nogil=True, cache=True)
def fit(blocks: F32, top: Float, d: F32, m: F32) -> None:
    """Writes the scales d [b] and offsets m [b] of blocks [b, n]."""
    n = blocks.shape[1]
    values = Values(np.empty(n * LANES, np.float32), np.empty(n * LANES, np.float32), n)
    found = np.empty(2 * LANES, np.float32)
    for first in range(0, blocks.shape[0], LANES):
        gather(blocks.reshape(-1), first, n, values.x)
        weigh(values, 0)
        lowest = from_lowest(values, 0)
        scale, offset = best(values, 0, top, ANYWHERE)
        store_f32(found, 0, scale)
        store_f32(found, LANES, add(offset, lowest))
        count = min(LANES, blocks.shape[0] - first)
        d[first : first + count] = found[:count]
        m[first : first + count] = found[LANES : LANES + count]


@njit(nogil=True)
def from_lowest(values: Values, at: int) -> Lanes:
    """Subtract from each block its lowest value, so that nothing is lost where all are far from zero; returns it."""
    x, lowest = values.x, load_f32(values.x, at)
    for i in range(at, at + values.n * LANES, LANES):
        v = load_f32(x, i)
        lowest = choose(lowest, v, v, lowest)
    for i in range(at, at + values.n * LANES, LANES):
        store_f32(x, i, sub(load_f32(x, i), lowest))
    return lowest


@njit(nogil=True)
def best(values: Values, at: int, top: Float, limit: Float) -> tuple[Lanes, Lanes]:
    """The scale d and the offset m (at most `limit`) of the n values from `at` on."""
    lowest, highest, ww, wx = splat(ZERO), load_f32(values.x, at), splat(ZERO), splat(ZERO)
    for i in range(at, at + values.n * LANES, LANES):
        v, weight = load_f32(values.x, i), load_f32(values.w, i)
        lowest, highest = choose(lowest, v, v, lowest), larger(v, highest)
        ww, wx = add(ww, weight), add(wx, mul(weight, v))
    unit = inverse(sub(highest, lowest))
    m = div(wx, larger(ww, splat(TINY)))  # the best of all without a scale
    m = choose(m, splat(limit), splat(ZERO), m)
    found = splat(ZERO), m, mul(m, wx)
    for step in range(-STEPS, STEPS + 1):
        guess = mul(splat(top + STEP * f(step)), unit)
        found = better(values, at, (guess, lowest), (top, limit), (ww, wx), found)
    for _ in range(ROUNDS):
        found = better(values, at, (inverse(found[0]), found[1]), (top, limit), (ww, wx), found)
    return found[0], found[1]


@njit(inline="always")
def better(
    values: Values,
    at: int,
    tried: tuple[Lanes, Lanes],
    bounds: tuple[Float, Float],
    sums: tuple[Lanes, Lanes],
    old: Fit,
) -> Fit:
    """The scale and offset that fit the quants (x - lowest) * inverse_d best; the old ones where these gain less.

    tried: inverse_d and lowest; bounds: the greatest q and m; sums: sum(w) and sum(w x). For given quants the error
    sum(w (x - d q - m)^2) is least where its derivatives by d and m are zero, or, where that m is above the limit or
    all quants are equal, at m = 0 and d = sum(w x q) / sum(w q^2).
    """
    (inverse_d, lowest), (top, limit), (ww, wx), (d, m, gain) = tried, bounds, sums, old
    wq, qq, xq = splat(ZERO), splat(ZERO), splat(ZERO)
    for i in range(at, at + values.n * LANES, LANES):
        v = load_f32(values.x, i)
        q = quant(mul(sub(v, lowest), inverse_d), splat(ZERO), splat(top))
        weighted = mul(load_f32(values.w, i), q)
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
