"""Paged attention in plain numpy, as engine/NUMERICS.md defines it: the same bits, one query at a time."""

import math

import numpy as np

from engine.kernels import functions
from tests.reference.whole_numbers import Floats, exp, fma, fused_polynomial

f = np.float32
PAGE = 32
TINY, NOTHING = f(1e-30), f(-3e38)


def two_to(x: Floats) -> Floats:
    x = np.maximum(x, f(-126))
    n = np.rint(x)
    p = fused_polynomial((*functions._TWO_TO, f(1)), x - n)
    return np.ldexp(p, n.astype(int))


def tanh(x: Floats) -> Floats:
    e = exp(f(-2) * np.abs(x))
    return np.copysign((f(1) - e) / (f(1) + e), x) + (x - x)


def halved(x: Floats) -> f:
    while x.size > 1:
        x = x[: x.size // 2] + x[x.size // 2 :]
    return f(x[0])


def key_top(part: int, *, whole: bool) -> int:
    return 127 if whole else math.isqrt((2**31 - 1) // part)


def top_beside(top: int, count: int) -> int:
    return min(32767, (2**31 - 1) // (count * top))


def numbers(x: Floats, top: int) -> tuple[Floats, f]:
    """Whole numbers within `top`, and their scale."""
    greatest = f(np.abs(x).max())
    inverse = f(top) / greatest if greatest > TINY else f(0)
    return np.rint(x * inverse).astype(np.int64), greatest / f(top)


def kept(x: Floats, *, whole: bool) -> tuple[Floats, f]:
    """What is multiplied of a key or value [part] that is kept as int8, else as float16; and the scale."""
    if whole:
        return numbers(x, 127)
    half = x.astype(np.float16).astype(f)
    scale = np.abs(half).max() / f(key_top(x.size, whole=False))
    return np.rint(half * (f(1) / scale if scale > TINY else f(0))).astype(np.int64), scale


def columns(x: Floats, *, whole: bool) -> tuple[Floats, Floats]:
    """What is multiplied of keys or values [tokens, part], and their scales."""
    numbers, scales = zip(*[kept(each, whole=whole) for each in x], strict=True)
    return np.array(numbers), np.array(scales)


def attend(q: Floats, keys: Floats, values: Floats, position: int, window: int, cap: float, *, whole: bool) -> Floats:
    """What the query [part] of a position mixes of values [tokens, part]; keys the same; none of them rounded yet."""
    first = max(0, position + 1 - window) if window else 0
    top_of_keys = key_top(q.size, whole=whole)
    query, scale = numbers(q, top_beside(top_of_keys, q.size))
    most = f(top_beside(top_of_keys, PAGE))
    top, lanes, mixed = NOTHING, np.zeros(16, f), np.zeros(q.size, f)
    for page in range(first // PAGE, position // PAGE + 1):
        seen = [t for t in range(page * PAGE, page * PAGE + PAGE) if first <= t <= position]
        k, of_keys = columns(keys[seen], whole=whole)
        v, of_values = columns(values[seen], whole=whole)
        assert abs(k @ query).max() < 2**31
        scores = (k @ query).astype(f) * (scale * of_keys)
        if cap:
            scores = tanh(scores) * f(cap)
        greatest, factor = max(top, scores.max()), f(1)
        if greatest > top:
            factor, top = two_to(np.array([top - greatest], f))[0], greatest
        weights = two_to(scores - top)
        both = np.zeros(PAGE, f)
        both[[t % PAGE for t in seen]] = weights
        lanes = fma(lanes, factor, both[:16] + both[16:])
        parts = weights * of_values
        whole_parts = np.rint(parts * (most / parts.max() if parts.max() > TINY else f(0))).astype(np.int64)
        assert abs(whole_parts @ v).max() < 2**31
        mixed = fma((whole_parts @ v).astype(f), parts.max() * (f(1) / most), mixed * factor)
    return mixed * (f(1) / halved(lanes) if top > NOTHING else f(np.nan))
