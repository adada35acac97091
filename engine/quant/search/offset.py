"""The search of a scale and an offset for each block: x near d * q + m, with q from 0 to top; and of both for each
super-block with integer factors of both for each sub-block: x near d * k * q - dmin * o."""

from typing import NamedTuple

import numpy as np
from numba import njit

from engine.quant.search.lanes import TINY, ZERO, Values, choose, f, gather, inverse, quant, to_half, weigh
from engine.simd import F32, LANES, Float, Lanes, larger, load_f32, splat, store_f32
from engine.simd.compiled import owner

STEPS, STEP = 10, f(0.1)
ROUNDS, FACTOR_ROUNDS = 4, 3
_WORST = f(3e38)
ANYWHERE, BELOW_ZERO, _NOWHERE = f(3.0e38), f(0), f(3.2e38)
_INDEPENDENT = f(1e-6)


Fit = tuple[Lanes, Lanes, Lanes]
"""Scale d, offset m, and what they take off the error."""
Pair = tuple[Lanes, Lanes]


class Tops(NamedTuple):
    """The greatest quant q, and the greatest of the factors k and o."""

    quant: Float
    factor: Float


@owner
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
        store_f32(found, LANES, offset + lowest)
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
        store_f32(x, i, load_f32(x, i) - lowest)
    return lowest


@njit(nogil=True)
def best(values: Values, at: int, top: Float, limit: Float) -> tuple[Lanes, Lanes]:
    """The scale d and the offset m (at most `limit`) of the n values from `at` on."""
    lowest, highest, ww, wx = splat(ZERO), load_f32(values.x, at), splat(ZERO), splat(ZERO)
    for i in range(at, at + values.n * LANES, LANES):
        v, weight = load_f32(values.x, i), load_f32(values.w, i)
        lowest, highest = choose(lowest, v, v, lowest), larger(v, highest)
        ww, wx = ww + weight, wx + weight * v
    unit = inverse(highest - lowest)
    m = wx / larger(ww, splat(TINY))  # the best of all without a scale
    m = choose(m, splat(limit), splat(ZERO), m)
    found = splat(ZERO), m, m * wx
    for step in range(-STEPS, STEPS + 1):
        guess = (top + STEP * f(step)) * unit
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
        q = quant((v - lowest) * inverse_d, splat(ZERO), splat(top))
        weighted = load_f32(values.w, i) * q
        wq, qq, xq = wq + weighted, qq + weighted * q, xq + weighted * v
    both = ww * qq
    determinant = both - wq * wq
    unit = inverse(choose(determinant, _INDEPENDENT * both, determinant, splat(ZERO)))
    found_d = (ww * xq - wx * wq) * unit
    found_m = choose(unit, splat(ZERO), (qq * wx - wq * xq) * unit, splat(_NOWHERE))
    alone = xq / larger(qq, splat(TINY))
    found_d = choose(found_m, splat(limit), alone, found_d)
    found_m = choose(found_m, splat(limit), splat(ZERO), found_m)
    found_gain = choose(found_d, splat(ZERO), found_d * xq + found_m * wx, splat(ZERO))
    return (
        choose(found_gain, gain, found_d, d),
        choose(found_gain, gain, found_m, m),
        choose(found_gain, gain, found_gain, gain),
    )


@owner
def fit_factors(blocks: F32, top: Float, most: Float, d: F32, dmin: F32, k: F32, o: F32) -> None:
    """Writes d, dmin [b] (values of float16) and k, o [b, s] of super-blocks [b, s, n]; q from 0 to top, k and o from 0
    to most."""
    subs, n = blocks.shape[1:]
    size, row, tops = subs * n, subs * LANES, Tops(top, most)
    values = Values(np.empty(size * LANES, np.float32), np.empty(size * LANES, np.float32), n)
    real, whole = np.empty(2 * row, np.float32), np.empty(2 * row + 2 * LANES, np.float32)
    for first in range(0, blocks.shape[0], LANES):
        gather(blocks.reshape(-1), first, size, values.x)
        for at in range(0, row, LANES):
            weigh(values, at * n)
            scale, shift = best(values, at * n, top, BELOW_ZERO)
            store_f32(real, at, scale)
            store_f32(real, row + at, ZERO - shift)
        search(values, tops, real, whole)
        for lane in range(min(LANES, blocks.shape[0] - first)):
            d[first + lane], dmin[first + lane] = whole[2 * row + lane], whole[2 * row + LANES + lane]
            for i in range(subs):
                k[first + lane, i] = whole[i * LANES + lane]
                o[first + lane, i] = whole[row + i * LANES + lane]


@njit(nogil=True)
def search(values: Values, tops: Tops, real: F32, whole: F32) -> None:
    """Writes to `whole` the factors of all sub-blocks (k, then o), and behind them d and dmin: the best of some
    rounds."""
    row = real.size // 2
    scale, shift = splat(ZERO), splat(ZERO)
    for at in range(0, row, LANES):
        scale, shift = larger(load_f32(real, at), scale), larger(load_f32(real, row + at), shift)
    d, dmin, error = to_half(scale / tops.factor), to_half(shift / tops.factor), splat(_WORST)
    tried = np.empty(2 * row, np.float32)
    for _ in range(FACTOR_ROUNDS):
        found, next_d, next_dmin = try_scales(values, tops, real, (d, dmin), tried)
        for at in range(0, 2 * row, LANES):
            store_f32(whole, at, choose(error, found, load_f32(tried, at), load_f32(whole, at)))
        store_f32(whole, 2 * row, choose(error, found, d, load_f32(whole, 2 * row)))
        store_f32(whole, 2 * row + LANES, choose(error, found, dmin, load_f32(whole, 2 * row + LANES)))
        error, d, dmin = choose(error, found, found, error), to_half(next_d), to_half(next_dmin)


@njit(nogil=True)
def try_scales(values: Values, tops: Tops, real: F32, units: Pair, tried: F32) -> tuple[Lanes, Lanes, Lanes]:
    """Writes the best factors near real / units to `tried`; units: d and dmin. Returns their error, and the d and dmin
    that fit best."""
    row, n, total = real.size // 2, values.n, splat(ZERO)
    uu, uv, vv, xu, xv = splat(ZERO), splat(ZERO), splat(ZERO), splat(ZERO), splat(ZERO)
    for at in range(0, row, LANES):
        k, o, error = pair(values, n * at, tops, (load_f32(real, at), load_f32(real, row + at)), units)
        store_f32(tried, at, k)
        store_f32(tried, row + at, o)
        total = total + error
        a, b, c, p, r = products(values, n * at, tops, units, (k, o))
        uu, uv, vv, xu, xv = uu + a, uv + b, vv + c, xu + p, xv + r
    next_d, next_dmin = solve(uu, uv, vv, xu, xv, units[0], units[1])
    return total, next_d, next_dmin


@njit(nogil=True)
def pair(values: Values, at: int, tops: Tops, real: Pair, units: Pair) -> tuple[Lanes, Lanes, Lanes]:
    """The factors k and o of a sub-block, and their error: of the nine pairs next to real / units the best."""
    k, o, error = splat(ZERO), splat(ZERO), splat(_WORST)
    (d, dmin), most = units, splat(tops.factor)
    scale, shift = real[0] * inverse(d), real[1] * inverse(dmin)
    for step in range(9):
        try_k = quant(scale + f(step // 3 - 1), splat(ZERO), most)
        try_o = quant(shift + f(step % 3 - 1), splat(ZERO), most)
        found = error_of(values, at, tops, d * try_k, dmin * try_o)
        k, o = choose(error, found, try_k, k), choose(error, found, try_o, o)
        error = choose(error, found, found, error)
    return k, o, error


@njit(nogil=True)
def error_of(values: Values, at: int, tops: Tops, d: Lanes, shift: Lanes) -> Lanes:
    """The error sum(w (x - d q + shift)^2) of the n values from `at` on with the best quants q."""
    total, unit = splat(ZERO), inverse(d)
    for i in range(at, at + values.n * LANES, LANES):
        v = load_f32(values.x, i) + shift
        apart = v - d * quant(v * unit, splat(ZERO), splat(tops.quant))
        total = total + load_f32(values.w, i) * (apart * apart)
    return total


@njit(nogil=True)
def products(
    values: Values, at: int, tops: Tops, units: Pair, factors: Pair
) -> tuple[Lanes, Lanes, Lanes, Lanes, Lanes]:
    """Returns the weighted sums of u u, u o, o o, x u, x o with u = k q and the best quants q for d and dmin; units: d
    and dmin, factors: k and o."""
    uu, uv, vv, xu, xv = splat(ZERO), splat(ZERO), splat(ZERO), splat(ZERO), splat(ZERO)
    (d, dmin), (k, o) = units, factors
    unit, shift = inverse(d * k), dmin * o
    for i in range(at, at + values.n * LANES, LANES):
        v, weight = load_f32(values.x, i), load_f32(values.w, i)
        u = k * quant((v + shift) * unit, splat(ZERO), splat(tops.quant))
        wu, wo = weight * u, weight * o
        uu, uv, vv = uu + wu * u, uv + wu * o, vv + wo * o
        xu, xv = xu + wu * v, xv + wo * v
    return uu, uv, vv, xu, xv


@njit(inline="always")
def solve(uu: Lanes, uv: Lanes, vv: Lanes, xu: Lanes, xv: Lanes, d: Lanes, dmin: Lanes) -> tuple[Lanes, Lanes]:
    """Returns the d and dmin with the least sum(w (x - d u + dmin o)^2); the given ones where that has a negative
    one."""
    both = uu * vv
    determinant = both - uv * uv
    unit = inverse(choose(determinant, _INDEPENDENT * both, determinant, splat(ZERO)))
    found_d = (xu * vv - xv * uv) * unit
    found_dmin = (xu * uv - xv * uu) * unit
    alone = xu / larger(uu, splat(TINY))
    fine = choose(found_dmin, splat(ZERO), found_d, splat(ZERO))
    single = choose(vv, splat(ZERO), d, choose(alone, splat(ZERO), alone, d))
    return choose(fine, splat(ZERO), found_d, single), choose(fine, splat(ZERO), found_dmin, dmin)
