"""The judgement of answers whose truth is known: figures with their intervals, and the calibration of scores."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

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
    """The figures of n documents, each counted once, with the middle 95% of its values on documents that are drawn with
    replacement, from a fixed seed (the bootstrap: Efron 1979)."""
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


BINS: Final = 10


@dataclass(frozen=True)
class Bin:
    """The answers whose scores lie from `low` to below `high` (the last one: to 1): how many, their mean score, and the
    share of them that is right."""

    low: float
    high: float
    answers: int
    score: float
    right: float


@dataclass(frozen=True)
class Calibration:
    """The bins that have answers, and the mean over all answers of |share that is right - mean score| of their bins."""

    bins: tuple[Bin, ...]
    error: float


def calibration(scores: Sequence[float], right: Sequence[bool]) -> Calibration | None:
    """The calibration of answers with scores from 0 to 1, by ten bins of equal width (Guo et al. 2017, equation 3);
    None for no answers."""
    if not scores:
        return None
    said, was = np.array(scores, np.float64), np.array(right, np.float64)
    numbers = np.minimum((said * BINS).astype(np.int64), BINS - 1)
    bins = tuple(
        Bin(number / BINS, (number + 1) / BINS, int(its.sum()), float(said[its].mean()), float(was[its].mean()))
        for number in range(BINS)
        if (its := numbers == number).any()
    )
    error = sum(one.answers * abs(one.right - one.score) for one in bins) / len(scores)
    return Calibration(bins, error)


@dataclass(frozen=True)
class LabelScore:
    """The answers about one label: how many documents have it and how many got it, and how good that was. Precision is
    None where no document got it, recall where none has it."""

    name: str
    documents: int
    answered: int
    precision: float | None
    recall: float | None
    f1: float


@dataclass(frozen=True)
class Confusion:
    """How often documents with the label of the row got the label of the column; the last column: no label."""

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class FieldScore:
    """One field over all documents of which its value is known: in how many it is present; the means of the
    judgements, and that of `token_f1` where it is present; and how many got a value though it is absent there."""

    name: str
    documents: int
    present: int
    exact: float
    normalised: float
    token_f1: float
    present_f1: float | None
    absent_answered: int


@dataclass(frozen=True)
class Judgement:
    """The measurement of rows: figures with their intervals, each label with the confusion, or each field; and the
    calibration of the scores, None where there are none."""

    figures: tuple[Figure, ...]
    labels: tuple[LabelScore, ...] = ()
    confusion: Confusion | None = None
    fields: tuple[FieldScore, ...] = ()
    calibration: Calibration | None = None


Judge = Callable[[Sequence[Mapping[str, Any]]], Judgement]
"""Judges one row for each document, in order."""
