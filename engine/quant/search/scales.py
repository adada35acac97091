"""A scale a block, and for each of its groups a whole number of it: x near d * k * q."""

import numpy as np
from numba import njit

from engine.quant.search import scale
from engine.quant.search.lanes import ZERO, choose, code, f, gather, inverse, nonzero, to_half, weigh_squares
from engine.simd import F32, LANES, Float, Lanes, add, div, load_f32, magnitude, mul, splat, store_f32, sub

ROUNDS = 3
_WORST = f(3e38)


@njit(nogil=True, cache=True)
def fit(blocks: F32, low: Float, high: Float, least: Float, most: Float, uneven: bool, d: F32, k: F32) -> None:
    """d [b] (values of float16) and k [b, g] of blocks [b, g, n]; q from low to high, k from least to most"""
    groups, n = blocks.shape[1:]
    size = groups * n
    x, w = np.empty(size * LANES, np.float32), np.empty(size * LANES, np.float32)
    real, whole = np.empty(groups * LANES, np.float32), np.empty((groups + 1) * LANES, np.float32)
    for first in range(0, blocks.shape[0], LANES):
        gather(blocks.reshape(-1), first, size, x)
        for at in range(0, size * LANES, n * LANES):
            weigh_squares(x, w, at, n)
            store_f32(real, at // n, scale.best(x, w, at, n, low, high, uneven))
        search(x, w, groups, n, low, high, least, most, uneven, real, whole)
        for lane in range(min(LANES, blocks.shape[0] - first)):
            d[first + lane] = whole[groups * LANES + lane]
            for group in range(groups):
                k[first + lane, group] = whole[group * LANES + lane]


@njit(nogil=True)
def search(
    x: F32,
    w: F32,
    groups: int,
    n: int,
    low: Float,
    high: Float,
    least: Float,
    most: Float,
    uneven: bool,
    real: F32,
    whole: F32,
) -> None:
    """The whole numbers of all groups, and behind them d, from their scales: the best of some rounds."""
    peak = splat(ZERO)
    for at in range(0, groups * LANES, LANES):
        v = load_f32(real, at)
        peak = choose(magnitude(v), magnitude(peak), v, peak)
    d, error = to_half(div(peak, splat(least))), splat(_WORST)
    tried = np.empty(groups * LANES, np.float32)
    for _ in range(ROUNDS):
        found, next_d = try_scale(x, w, groups, n, low, high, least, most, uneven, real, d, tried)
        for at in range(0, groups * LANES, LANES):
            store_f32(whole, at, choose(error, found, load_f32(tried, at), load_f32(whole, at)))
        at = groups * LANES
        store_f32(whole, at, choose(error, found, d, load_f32(whole, at)))
        error, d = choose(error, found, found, error), to_half(next_d)


@njit(nogil=True)
def try_scale(
    x: F32, w: F32, groups: int, n: int, low: Float, high: Float, least: Float, most: Float, uneven: bool,
    real: F32, d: Lanes, tried: F32,
) -> tuple[Lanes, Lanes]:  # fmt: skip
    """The best whole numbers near real / d, into `tried`; their error, and the d that would fit their codes best."""
    total, xu, uu, unit = splat(ZERO), splat(ZERO), splat(ZERO), inverse(d)
    for group in range(groups):
        middle = mul(load_f32(real, group * LANES), unit)
        k, error = splat(ZERO), splat(_WORST)
        for step in range(-1, 2):
            candidate = code(add(middle, splat(f(step))), splat(least), splat(most))
            found = error_of(x, w, group * n * LANES, n, mul(d, candidate), low, high, uneven)
            k, error = choose(error, found, candidate, k), choose(error, found, found, error)
        store_f32(tried, group * LANES, k)
        total = add(total, error)
        xu_more, uu_more = products(x, w, group * n * LANES, n, mul(d, k), k, low, high, uneven)
        xu, uu = add(xu, xu_more), add(uu, uu_more)
    return total, choose(uu, splat(ZERO), div(xu, nonzero(uu)), d)


@njit(nogil=True)
def error_of(x: F32, w: F32, at: int, n: int, d: Lanes, low: Float, high: Float, uneven: bool) -> Lanes:
    """sum(w (x - d q)^2) with the best codes q"""
    total, unit = splat(ZERO), inverse(d)
    for i in range(at, at + n * LANES, LANES):
        v = load_f32(x, i)
        apart = sub(v, mul(d, scale.round_to(mul(v, unit), low, high, uneven)))
        total = add(total, mul(load_f32(w, i), mul(apart, apart)))
    return total


@njit(nogil=True)
def products(
    x: F32, w: F32, at: int, n: int, d: Lanes, k: Lanes, low: Float, high: Float, uneven: bool
) -> tuple[Lanes, Lanes]:
    """sum(w x u) and sum(w u^2) with u = k q and the best codes q for d"""
    xu, uu, unit = splat(ZERO), splat(ZERO), inverse(d)
    for i in range(at, at + n * LANES, LANES):
        v = load_f32(x, i)
        u = mul(k, scale.round_to(mul(v, unit), low, high, uneven))
        wu = mul(load_f32(w, i), u)
        xu, uu = add(xu, mul(wu, v)), add(uu, mul(wu, u))
    return xu, uu
