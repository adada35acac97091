"""The interval of a share covers it as often as it says, and is the one of the tables."""

from fractions import Fraction
from math import comb

import pytest

from pipeline.review.sampling import clopper_pearson


@pytest.mark.parametrize(
    ("wrong", "looked_at", "low", "high"),
    [
        (0, 20, 0.0, 1 - 0.025 ** (1 / 20)),  # in closed form
        (20, 20, 0.025 ** (1 / 20), 1.0),
        (1, 20, 0.001265, 0.248733),
        (2, 4, 0.067586, 0.932414),
        (0, 1, 0.0, 0.975),
    ],
)
def test_the_bounds_are_those_of_the_tables(wrong: int, looked_at: int, low: float, high: float) -> None:
    assert clopper_pearson(wrong, looked_at) == pytest.approx((low, high), abs=2e-6)


def test_the_bounds_of_a_large_sample_are_where_the_exact_tails_are_a_fortieth() -> None:
    low, high = clopper_pearson(50, 2000)
    assert 1 - below(50, low) == pytest.approx(0.025, rel=1e-9)
    assert below(51, high) == pytest.approx(0.025, rel=1e-9)


def below(count: int, share: float) -> float:
    """The probability of fewer than `count` of 2000, in whole numbers: `share` is so many of 2**60."""
    whole = 2**60
    yes = round(share * whole)
    terms = sum(comb(2000, wrong) * yes**wrong * (whole - yes) ** (2000 - wrong) for wrong in range(count))
    return float(Fraction(terms, whole**2000))


@pytest.mark.parametrize("share", [0.01, 0.2, 0.5, 0.93])
def test_the_share_is_covered_in_95_of_100_samples(share: float) -> None:
    size = 25
    covered = sum(
        comb(size, wrong) * share**wrong * (1 - share) ** (size - wrong)
        for wrong in range(size + 1)
        if clopper_pearson(wrong, size)[0] <= share <= clopper_pearson(wrong, size)[1]
    )
    assert covered >= 0.95


@pytest.mark.parametrize(("wrong", "looked_at"), [(0, 0), (2, 1), (-1, 3)])
def test_what_is_no_share_is_refused(wrong: int, looked_at: int) -> None:
    with pytest.raises(ValueError, match="is no share"):
        clopper_pearson(wrong, looked_at)
