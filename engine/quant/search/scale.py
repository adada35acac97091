"""The search of one scale for each block: x near d * q, with q from low (negative) to high."""

import numpy as np
from numba import njit

from engine.quant.search.lanes import TINY, ZERO, Range, Values, choose, f, gather, inverse, level, quant, weigh
from engine.simd import F32, LANES, Float, Lanes, add, div, larger, load_f32, mul, splat, store_f32, sub

STEPS, STEP, UNEVEN_STEP = 9, f(0.1), f(1)
ROUNDS = 3


@njit(nogil=True, cache=True)
def fit(blocks: F32, low: Float, high: Float, uneven: bool, out: F32) -> None:
    """Writes the scales d [b] of blocks [b, n] to `out`."""
    n = blocks.shape[1]
    values = Values(np.empty(n * LANES, np.float32), np.empty(n * LANES, np.float32), n)
    d = np.empty(LANES, np.float32)
    for first in range(0, blocks.shape[0], LANES):
        gather(blocks.reshape(-1), first, n, values.x)
        weigh(values, 0)
        store_f32(d, 0, best(values, 0, Range(low, high, uneven)))
        count = min(LANES, blocks.shape[0] - first)
        out[first : first + count] = d[:count]


@njit(nogil=True)
def best(values: Values, at: int, quants: Range) -> Lanes:
    """The scale d of the n values from `at` on. The largest value is tried near either end of the quants."""
    top, bottom = splat(ZERO), splat(ZERO)
    for i in range(at, at + values.n * LANES, LANES):
        v = load_f32(values.x, i)
        top, bottom = larger(v, top), larger(sub(splat(ZERO), v), bottom)
    unit = inverse(choose(top, bottom, top, sub(splat(ZERO), bottom)))
    d, gain, width = splat(ZERO), splat(ZERO), UNEVEN_STEP if quants.uneven else STEP
    for end in (quants.low, quants.high):
        for step in range(-STEPS, STEPS + 1):
            d, gain = better(values, at, quants, mul(splat(end + width * f(step)), unit), d, gain)
    for _ in range(ROUNDS):
        d, gain = better(values, at, quants, inverse(d), d, gain)
    return d


@njit(inline="always")
def better(values: Values, at: int, quants: Range, inverse_d: Lanes, d: Lanes, gain: Lanes) -> tuple[Lanes, Lanes]:
    """The scale that fits the quants x * inverse_d best, and what it takes off the error; d and gain where that is
    less.

    For given quants the error sum(w (x - d q)^2) is least at d = sum(w x q) / sum(w q^2), less by d * sum(w x q).
    """
    xq, qq = splat(ZERO), splat(ZERO)
    for i in range(at, at + values.n * LANES, LANES):
        v = load_f32(values.x, i)
        q = round_to(mul(v, inverse_d), quants)
        wq = mul(load_f32(values.w, i), q)
        xq, qq = add(xq, mul(wq, v)), add(qq, mul(wq, q))
    found = div(xq, larger(qq, splat(TINY)))
    found_gain = mul(found, xq)
    return choose(found_gain, gain, found, d), choose(found_gain, gain, found_gain, gain)


@njit(inline="always")
def round_to(x: Lanes, quants: Range) -> Lanes:
    """The quant nearest to x, or the level nearest to x."""
    return level(x) if quants.uneven else quant(x, splat(quants.low), splat(quants.high))
