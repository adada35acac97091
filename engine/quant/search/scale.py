"""The search of one scale for each block: x near d * q, with q from low (negative) to high; and of one for each
super-block with an integer factor for each sub-block: x near d * k * q."""

import numpy as np
from numba import njit

from engine.quant.search.lanes import (
    TINY,
    ZERO,
    Range,
    Values,
    choose,
    f,
    gather,
    inverse,
    level,
    nonzero,
    quant,
    to_half,
    weigh,
    weigh_squares,
)  # fmt: skip
from engine.simd import F32, LANES, Float, Lanes, larger, load_f32, magnitude, splat, store_f32
from engine.simd.compiled import owner

STEPS, STEP, UNEVEN_STEP = 9, f(0.1), f(1)
ROUNDS = 3
_WORST = f(3e38)


@owner
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
        top, bottom = larger(v, top), larger(ZERO - v, bottom)
    unit = inverse(choose(top, bottom, top, ZERO - bottom))
    d, gain, width = splat(ZERO), splat(ZERO), UNEVEN_STEP if quants.uneven else STEP
    for end in (quants.low, quants.high):
        for step in range(-STEPS, STEPS + 1):
            d, gain = better(values, at, quants, (end + width * f(step)) * unit, d, gain)
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
        q = round_to(v * inverse_d, quants)
        wq = load_f32(values.w, i) * q
        xq, qq = xq + wq * v, qq + wq * q
    found = xq / larger(qq, splat(TINY))
    found_gain = found * xq
    return choose(found_gain, gain, found, d), choose(found_gain, gain, found_gain, gain)


@njit(inline="always")
def round_to(x: Lanes, quants: Range) -> Lanes:
    """The quant nearest to x, or the level nearest to x."""
    return level(x) if quants.uneven else quant(x, splat(quants.low), splat(quants.high))


@owner
def fit_factors(blocks: F32, low: Float, high: Float, least: Float, most: Float, uneven: bool, d: F32, k: F32) -> None:
    """Writes the scales d [b] (values of float16) and factors k [b, s] of super-blocks [b, s, n]; q from low to high, k
    from least to most."""
    subs, n = blocks.shape[1:]
    size, quants, factors = subs * n, Range(low, high, uneven), Range(least, most, False)
    values = Values(np.empty(size * LANES, np.float32), np.empty(size * LANES, np.float32), n)
    real, whole = np.empty(subs * LANES, np.float32), np.empty((subs + 1) * LANES, np.float32)
    for first in range(0, blocks.shape[0], LANES):
        gather(blocks.reshape(-1), first, size, values.x)
        for at in range(0, size * LANES, n * LANES):
            weigh_squares(values, at)
            store_f32(real, at // n, best(values, at, quants))
        search(values, quants, factors, real, whole)
        for lane in range(min(LANES, blocks.shape[0] - first)):
            d[first + lane] = whole[subs * LANES + lane]
            for i in range(subs):
                k[first + lane, i] = whole[i * LANES + lane]


@njit(nogil=True)
def search(values: Values, quants: Range, factors: Range, real: F32, whole: F32) -> None:
    """Writes to `whole` the factors of all sub-blocks, and behind them d, from their scales `real`: the best of some
    rounds."""
    peak, end = splat(ZERO), real.size
    for at in range(0, end, LANES):
        v = load_f32(real, at)
        peak = choose(magnitude(v), magnitude(peak), v, peak)
    d, error = to_half(peak / factors.low), splat(_WORST)
    tried = np.empty(end, np.float32)
    for _ in range(ROUNDS):
        found, next_d = try_scale(values, quants, factors, real, d, tried)
        for at in range(0, end, LANES):
            store_f32(whole, at, choose(error, found, load_f32(tried, at), load_f32(whole, at)))
        store_f32(whole, end, choose(error, found, d, load_f32(whole, end)))
        error, d = choose(error, found, found, error), to_half(next_d)


@njit(nogil=True)
def try_scale(values: Values, quants: Range, factors: Range, real: F32, d: Lanes, tried: F32) -> tuple[Lanes, Lanes]:
    """Writes the best factors near real / d to `tried`. Returns their error, and the d that would fit their quants
    best."""
    total, xu, uu, unit = splat(ZERO), splat(ZERO), splat(ZERO), inverse(d)
    for row in range(0, real.size, LANES):
        wanted = load_f32(real, row) * unit
        k, error = splat(ZERO), splat(_WORST)
        for step in range(-1, 2):
            candidate = quant(wanted + f(step), splat(factors.low), splat(factors.high))
            found = error_of(values, row * values.n, d * candidate, quants)
            k, error = choose(error, found, candidate, k), choose(error, found, found, error)
        store_f32(tried, row, k)
        total = total + error
        xu_more, uu_more = products(values, row * values.n, d * k, k, quants)
        xu, uu = xu + xu_more, uu + uu_more
    return total, choose(uu, splat(ZERO), xu / nonzero(uu), d)


@njit(nogil=True)
def error_of(values: Values, at: int, d: Lanes, quants: Range) -> Lanes:
    """The error sum(w (x - d q)^2) of the n values from `at` on with the best quants q."""
    total, unit = splat(ZERO), inverse(d)
    for i in range(at, at + values.n * LANES, LANES):
        v = load_f32(values.x, i)
        apart = v - d * round_to(v * unit, quants)
        total = total + load_f32(values.w, i) * (apart * apart)
    return total


@njit(nogil=True)
def products(values: Values, at: int, d: Lanes, k: Lanes, quants: Range) -> tuple[Lanes, Lanes]:
    """Returns sum(w x u) and sum(w u^2) with u = k q and the best quants q for d."""
    xu, uu, unit = splat(ZERO), splat(ZERO), inverse(d)
    for i in range(at, at + values.n * LANES, LANES):
        v = load_f32(values.x, i)
        u = k * round_to(v * unit, quants)
        wu = load_f32(values.w, i) * u
        xu, uu = xu + wu * v, uu + wu * u
    return xu, uu
