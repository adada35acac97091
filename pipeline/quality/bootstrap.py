"""Intervals of what was measured on documents, by drawing the documents again (Efron 1979, the bootstrap).

A figure is a function of how often each document counts. Counted once each, it is what was measured. Drawn with
replacement a thousand times from a fixed seed, it is a thousand values, of which the middle 95% are the interval.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Figures = Callable[[Floats], Mapping[str, Floats]]
"""Weights float64 [draws, documents] -> the name of each figure and its value in each draw, float64 [draws]."""

DRAWS: Final = 1000
SEED: Final = 20230223
_TOGETHER: Final = 100  # draws
_LOW, _HIGH = 2.5, 97.5  # percentiles


@dataclass(frozen=True)
class Figure:
    """A measured value with its interval of 95%; None for the value where nothing could be measured."""

    name: str
    value: float | None
    low: float | None
    high: float | None


def measured(figures: Figures, documents: int, draws: int = DRAWS) -> tuple[Figure, ...]:
    """The figures of so many documents, each with its interval."""
    values = figures(np.ones((1, documents)))
    random = np.random.default_rng(SEED)
    drawn = dict[str, list[Floats]]()
    for first in range(0, draws, _TOGETHER):
        weights = random.multinomial(documents, np.full(documents, 1 / documents), min(_TOGETHER, draws - first))
        for name, its in figures(weights.astype(np.float64)).items():
            drawn.setdefault(name, []).append(its)
    return tuple(_figure(name, float(its[0]), np.concatenate(drawn[name])) for name, its in values.items())


def weighted_mean(weights: Floats, values: Floats, known: NDArray[np.bool_] | None = None) -> Floats:
    """float64 [draws]: the mean of the values [documents] that are known, in each draw; NaN where none is."""
    mask = np.ones(len(values)) if known is None else known.astype(np.float64)
    with np.errstate(invalid="ignore"):
        return (weights @ (values * mask)) / (weights @ mask)


def _figure(name: str, value: float, drawn: Floats) -> Figure:
    drawn = drawn[np.isfinite(drawn)]
    if not np.isfinite(value) or not drawn.size:
        return Figure(name, None, None, None)
    low, high = np.percentile(drawn, (_LOW, _HIGH))
    return Figure(name, round(value, 6), round(float(low), 6), round(float(high), 6))
