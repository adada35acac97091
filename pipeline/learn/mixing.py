"""How much two heads count: the shares of their logits at which the labels of unseen documents are most likely.

The likelihood of softmax(a * x + b * y) is concave in (a, b): Newton's method walks to where it is greatest. A step is
as long as the slope along it says, so that no logarithm is needed. All sums are exact or in order, on any machine.
"""

from math import fsum
from typing import Final

import numpy as np
from numpy.typing import NDArray

import engine

Logits = NDArray[np.float32]
Slope = tuple[float, float]
STEPS: Final = 30
MOST: Final = 64.0  # of a share
_NEAR: Final = 1e-6  # a step that moves nothing
_RIDGE: Final = 1e-6  # by document: logits that tell nothing have no curvature


def mixture_of(x: Logits, y: Logits, labels: NDArray[np.int32]) -> tuple[float, float]:
    """The shares of two heads, from 0 to MOST, by their logits float32 [n, classes] of documents with these labels."""
    here = (1.0, 0.0)
    slope, bend = _slope(x, y, labels, here)
    for _ in range(STEPS):
        way = _newton(slope, bend)
        length, up = 1.0, slope[0] * way[0] + slope[1] * way[1]
        while True:
            there = _inside(here[0] + length * way[0]), _inside(here[1] + length * way[1])
            after, curve = _slope(x, y, labels, there)
            if after[0] * way[0] + after[1] * way[1] >= -up / 2 or length < 1e-3:
                break
            length /= 2
        moved = max(abs(there[0] - here[0]), abs(there[1] - here[1]))
        here, slope, bend = there, after, curve
        if moved < _NEAR:
            break
    return here


def _inside(share: float) -> float:
    return min(max(share, 0.0), MOST)


def _newton(slope: Slope, bend: tuple[float, float, float]) -> Slope:
    """The step to the greatest likelihood, if it was a parabola."""
    xx, xy, yy = bend
    of = xx * yy - xy * xy
    return (yy * slope[0] - xy * slope[1]) / of, (xx * slope[1] - xy * slope[0]) / of


def _slope(
    x: Logits, y: Logits, labels: NDArray[np.int32], shares: tuple[float, float]
) -> tuple[Slope, tuple[float, float, float]]:
    """The slope of the logarithm of the likelihood by both shares, and minus its curvature: xx, xy, yy."""
    mixed = np.float32(shares[0]) * x + np.float32(shares[1]) * y
    chances = np.ascontiguousarray(engine.softmax(mixed, 1.0).T).astype(np.float64)
    each = [np.ascontiguousarray(one.T).astype(np.float64) for one in (x, y)]
    means = [_down(chances * one) for one in each]
    rows = np.arange(labels.size)
    slope = [fsum((one[labels, rows] - mean).tolist()) for one, mean in zip(each, means, strict=True)]
    pairs = ((0, 0), (0, 1), (1, 1))
    bend = [fsum((_down(chances * each[i] * each[j]) - means[i] * means[j]).tolist()) for i, j in pairs]
    ridge = _RIDGE * labels.size
    return (slope[0], slope[1]), (bend[0] + ridge, bend[1], bend[2] + ridge)


def _down(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of each column, in order of the rows."""
    total: NDArray[np.float64] = np.add.reduce(values, axis=0)
    return total
