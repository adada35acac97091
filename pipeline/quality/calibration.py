"""Whether scores are as often right as they say: the calibration curve, and the expected calibration error.

Source: Guo, Pleiss, Sun and Weinberger, On calibration of modern neural networks (2017), equation 3, with ten bins of
equal width.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

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
    """The calibration of answers with scores from 0 to 1; None for no answers."""
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
