"""Paged attention in plain numpy, as engine/README.md defines it: the same bits, one query at a time."""

import numpy as np

from engine.kernels import functions
from tests.reference.whole_numbers import Floats, exp, fma, fused_polynomial

f = np.float32
PAGE = 32


def two_to(x: Floats) -> Floats:
    x = np.maximum(x, f(-126))
    n = np.rint(x)
    p = fused_polynomial((*functions._TWO_TO, f(1)), x - n)
    return np.ldexp(p, n.astype(int))


def tanh(x: Floats) -> Floats:
    e = exp(f(-2) * np.abs(x))
    return np.copysign((f(1) - e) / (f(1) + e), x)


def halved(x: Floats) -> f:
    while x.size > 1:
        x = x[: x.size // 2] + x[x.size // 2 :]
    return f(x[0])


def attend(q: Floats, keys: Floats, values: Floats, position: int, window: int, cap: float) -> Floats:
    """What the query [depth] of a position mixes of values [tokens, depth]; keys the same."""
    first = max(0, position + 1 - window) if window else 0
    top, whole, mixed = f(-3e38), f(0), np.zeros(values.shape[1], f)
    for page in range(first // PAGE, position // PAGE + 1):
        seen = [t for t in range(page * PAGE, page * PAGE + PAGE) if first <= t <= position]
        scores = np.zeros(len(seen), f)
        for d in range(q.size):
            scores = fma(q[d], keys[seen, d], scores)
        if cap:
            scores = tanh(scores) * f(cap)
        greatest = max(top, scores.max())
        if greatest > top:
            factor = two_to(np.array([top - greatest], f))[0]
            mixed, whole, top = mixed * factor, whole * factor, greatest
        lanes = np.zeros(PAGE, f)
        lanes[[t % PAGE for t in seen]] = weights = two_to(scores - top)
        whole = whole + halved(lanes[:16] + lanes[16:])
        for t, weight in zip(seen, weights, strict=True):
            mixed = fma(weight, values[t], mixed)
    return mixed * (f(1) / whole)
