"""A scale and an offset a block, and for each of its groups whole numbers of both: x near d * k * q - dmin * o."""

import numpy as np
from numba import njit

from engine.quant.search import offset
from engine.quant.search.lanes import TINY, ZERO, choose, code, f, gather, inverse, to_half, weigh
from engine.simd import F32, LANES, Float, Lanes, add, div, larger, load_f32, mul, splat, store_f32, sub

ROUNDS = 3
_WORST = f(3e38)
_INDEPENDENT = f(1e-6)


@njit(nogil=True, cache=True)
def fit(blocks: F32, top: Float, most: Float, d: F32, dmin: F32, k: F32, o: F32) -> None:
    """d, dmin [b] (values of float16) and k, o [b, g] of blocks [b, g, n]; q from 0 to top, k and o from 0 to most"""
    groups, n = blocks.shape[1:]
    size, row = groups * n, groups * LANES
    x, w = np.empty(size * LANES, np.float32), np.empty(size * LANES, np.float32)
    real, whole = np.empty(2 * row, np.float32), np.empty(2 * row + 2 * LANES, np.float32)
    for first in range(0, blocks.shape[0], LANES):
        gather(blocks.reshape(-1), first, size, x)
        for group in range(groups):
            weigh(x, w, group * n * LANES, n)
            scale, shift = offset.best(x, w, group * n * LANES, n, top, offset.BELOW_ZERO)
            store_f32(real, group * LANES, scale)
            store_f32(real, row + group * LANES, sub(splat(ZERO), shift))
        search(x, w, groups, n, top, most, real, whole)
        for lane in range(min(LANES, blocks.shape[0] - first)):
            d[first + lane], dmin[first + lane] = whole[2 * row + lane], whole[2 * row + LANES + lane]
            for group in range(groups):
                k[first + lane, group] = whole[group * LANES + lane]
                o[first + lane, group] = whole[row + group * LANES + lane]


@njit(nogil=True)
def search(x: F32, w: F32, groups: int, n: int, top: Float, most: Float, real: F32, whole: F32) -> None:
    """The whole numbers of all groups (k, then o), and behind them d and dmin: the best of some rounds."""
    row = groups * LANES
    scale, shift = splat(ZERO), splat(ZERO)
    for at in range(0, row, LANES):
        scale, shift = larger(load_f32(real, at), scale), larger(load_f32(real, row + at), shift)
    d, dmin, error = to_half(div(scale, splat(most))), to_half(div(shift, splat(most))), splat(_WORST)
    tried = np.empty(2 * row, np.float32)
    for _ in range(ROUNDS):
        found, next_d, next_dmin = try_scales(x, w, groups, n, top, most, real, d, dmin, tried)
        for at in range(0, 2 * row, LANES):
            store_f32(whole, at, choose(error, found, load_f32(tried, at), load_f32(whole, at)))
        store_f32(whole, 2 * row, choose(error, found, d, load_f32(whole, 2 * row)))
        store_f32(whole, 2 * row + LANES, choose(error, found, dmin, load_f32(whole, 2 * row + LANES)))
        error, d, dmin = choose(error, found, found, error), to_half(next_d), to_half(next_dmin)


@njit(nogil=True)
def try_scales(
    x: F32, w: F32, groups: int, n: int, top: Float, most: Float, real: F32, d: Lanes, dmin: Lanes, tried: F32
) -> tuple[Lanes, Lanes, Lanes]:
    """The best whole numbers near real / d and real / dmin, into `tried`; their error; the d and dmin that fit best."""
    row, total = groups * LANES, splat(ZERO)
    uu, uv, vv, xu, xv = splat(ZERO), splat(ZERO), splat(ZERO), splat(ZERO), splat(ZERO)
    for group in range(groups):
        at = group * LANES
        k, o, error = pair(x, w, n * at, n, top, most, load_f32(real, at), load_f32(real, row + at), d, dmin)
        store_f32(tried, at, k)
        store_f32(tried, row + at, o)
        total = add(total, error)
        a, b, c, p, r = products(x, w, n * at, n, top, d, dmin, k, o)
        uu, uv, vv, xu, xv = add(uu, a), add(uv, b), add(vv, c), add(xu, p), add(xv, r)
    next_d, next_dmin = solve(uu, uv, vv, xu, xv, d, dmin)
    return total, next_d, next_dmin


@njit(nogil=True)
def pair(
    x: F32, w: F32, at: int, n: int, top: Float, most: Float, scale: Lanes, shift: Lanes, d: Lanes, dmin: Lanes
) -> tuple[Lanes, Lanes, Lanes]:
    """The two whole numbers of a group: of the nine next to scale / d and shift / dmin those with the least error."""
    k, o, error = splat(ZERO), splat(ZERO), splat(_WORST)
    scale, shift = mul(scale, inverse(d)), mul(shift, inverse(dmin))
    for step in range(9):
        try_k = code(add(scale, splat(f(step // 3 - 1))), splat(ZERO), splat(most))
        try_o = code(add(shift, splat(f(step % 3 - 1))), splat(ZERO), splat(most))
        found = error_of(x, w, at, n, top, mul(d, try_k), mul(dmin, try_o))
        k, o = choose(error, found, try_k, k), choose(error, found, try_o, o)
        error = choose(error, found, found, error)
    return k, o, error


@njit(nogil=True)
def error_of(x: F32, w: F32, at: int, n: int, top: Float, d: Lanes, shift: Lanes) -> Lanes:
    """sum(w (x - d q + shift)^2) with the best codes q"""
    total, unit = splat(ZERO), inverse(d)
    for i in range(at, at + n * LANES, LANES):
        v = add(load_f32(x, i), shift)
        apart = sub(v, mul(d, code(mul(v, unit), splat(ZERO), splat(top))))
        total = add(total, mul(load_f32(w, i), mul(apart, apart)))
    return total


@njit(nogil=True)
def products(
    x: F32, w: F32, at: int, n: int, top: Float, d: Lanes, dmin: Lanes, k: Lanes, o: Lanes
) -> tuple[Lanes, Lanes, Lanes, Lanes, Lanes]:
    """The weighted sums of u u, u o, o o, x u, x o with u = k q and the best codes q for d and dmin"""
    uu, uv, vv, xu, xv = splat(ZERO), splat(ZERO), splat(ZERO), splat(ZERO), splat(ZERO)
    unit, shift = inverse(mul(d, k)), mul(dmin, o)
    for i in range(at, at + n * LANES, LANES):
        v, weight = load_f32(x, i), load_f32(w, i)
        u = mul(k, code(mul(add(v, shift), unit), splat(ZERO), splat(top)))
        wu, wo = mul(weight, u), mul(weight, o)
        uu, uv, vv = add(uu, mul(wu, u)), add(uv, mul(wu, o)), add(vv, mul(wo, o))
        xu, xv = add(xu, mul(wu, v)), add(xv, mul(wo, v))
    return uu, uv, vv, xu, xv


@njit(inline="always")
def solve(uu: Lanes, uv: Lanes, vv: Lanes, xu: Lanes, xv: Lanes, d: Lanes, dmin: Lanes) -> tuple[Lanes, Lanes]:
    """The d and dmin with the least sum(w (x - d u + dmin o)^2); the given ones where that has a negative one."""
    both = mul(uu, vv)
    determinant = sub(both, mul(uv, uv))
    unit = inverse(choose(determinant, mul(splat(_INDEPENDENT), both), determinant, splat(ZERO)))
    found_d = mul(sub(mul(xu, vv), mul(xv, uv)), unit)
    found_dmin = mul(sub(mul(xu, uv), mul(xv, uu)), unit)
    alone = div(xu, larger(uu, splat(TINY)))
    fine = choose(found_dmin, splat(ZERO), found_d, splat(ZERO))
    single = choose(vv, splat(ZERO), d, choose(alone, splat(ZERO), alone, d))
    return choose(fine, splat(ZERO), found_d, single), choose(fine, splat(ZERO), found_dmin, dmin)
