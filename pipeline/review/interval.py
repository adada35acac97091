"""The interval of a share that was counted in a sample.

Clopper and Pearson (1934): all shares under which so many, or so few, would not be rarer than alpha / 2. It covers the
true share in at least 1 - alpha of all samples, however small they are.
"""

from collections.abc import Callable
from math import exp, lgamma, log, log1p

_STEPS = 60  # halvings, until the bounds are as exact as a float


def clopper_pearson(wrong: int, looked_at: int, alpha: float = 0.05) -> tuple[float, float]:
    """The lower and the upper bound. ValueError without 0 <= wrong <= looked_at > 0."""
    if not 0 <= wrong <= looked_at or looked_at == 0:
        raise ValueError(f"{wrong} of {looked_at} is no share")
    low, high = 0.0, 1.0
    if wrong > 0:
        low = _solved(lambda share: _at_least(wrong, looked_at, share) > alpha / 2)
    if wrong < looked_at:
        high = _solved(lambda share: 1.0 - _at_least(wrong + 1, looked_at, share) < alpha / 2)
    return low, high


def _solved(above: Callable[[float], bool]) -> float:
    """The share from which on `above` holds."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if above(middle) else (middle, high)
    return (low + high) / 2


def _at_least(count: int, of: int, share: float) -> float:
    """The probability of `count` or more of `of`, each with probability `share`, 0 < share < 1."""
    whole, yes, no = lgamma(of + 1), log(share), log1p(-share)
    each = (whole - lgamma(k + 1) - lgamma(of - k + 1) + k * yes + (of - k) * no for k in range(count, of + 1))
    return min(1.0, sum(map(exp, each)))
