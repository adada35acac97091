"""The expected calibration error, by hand."""

import pytest

from pipeline.tasks.judging import calibration


def test_known_values() -> None:
    """Two bins: .9 and 1.0 with one of two right, .15 with none right: 2/3 of |.95 - .5| and 1/3 of .15."""
    found = calibration([0.9, 1.0, 0.15], [True, False, False])
    assert found is not None
    assert found.error == pytest.approx(2 / 3 * 0.45 + 1 / 3 * 0.15)
    first, last = found.bins
    assert (first.low, first.high, first.answers, first.right) == (0.1, 0.2, 1, 0.0)
    assert (last.low, last.high, last.answers, last.score, last.right) == (0.9, 1.0, 2, pytest.approx(0.95), 0.5)


def test_scores_that_tell_the_truth_have_no_error() -> None:
    found = calibration([0.75] * 4, [True, True, True, False])
    assert found is not None
    assert found.error == pytest.approx(0.0)
    assert calibration([], []) is None
