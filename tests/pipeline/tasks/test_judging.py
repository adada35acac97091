"""Intervals are the same each time, and as wide as the binomial distribution says."""

import math

import numpy as np
import pytest

from pipeline.tasks.judging import measured, weighted_mean


def test_the_interval_of_a_share_is_that_of_the_binomial() -> None:
    values = np.array([1.0] * 160 + [0.0] * 40)
    (figure,) = measured(lambda weights: {"share": weighted_mean(weights, values)}, 200)
    half = 1.96 * math.sqrt(0.8 * 0.2 / 200)
    assert figure.value == pytest.approx(0.8)
    assert figure.low == pytest.approx(0.8 - half, abs=0.01)
    assert figure.high == pytest.approx(0.8 + half, abs=0.01)
    assert (figure,) == measured(lambda weights: {"share": weighted_mean(weights, values)}, 200)


def test_what_cannot_be_measured_has_no_value() -> None:
    none = np.array([False, False])
    (figure,) = measured(lambda weights: {"share": weighted_mean(weights, np.ones(2), none)}, 2)
    assert (figure.value, figure.low, figure.high) == (None, None, None)
