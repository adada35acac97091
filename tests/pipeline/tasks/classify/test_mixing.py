"""`mixing`: the shares are those of the greatest likelihood, and a head that tells nothing has none."""

import numpy as np
import pytest

from pipeline.tasks.classify.fit import MOST, mixture_of


def made(count: int, x_tells: float, y_tells: float, seed: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Logits of two heads for documents of 4 labels, each with what it tells of the label and noise."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 4, count).astype(np.int32)
    true = np.eye(4)[labels]
    x, y = (tells * true + random.standard_normal((count, 4)) for tells in (x_tells, y_tells))
    return x.astype(np.float32), y.astype(np.float32), labels


def cost(x: np.ndarray, y: np.ndarray, labels: np.ndarray, shares: tuple[float, float]) -> float:
    """Minus the logarithm of the likelihood, by its definition."""
    mixed = shares[0] * x.astype(float) + shares[1] * y
    mixed -= mixed.max(1, keepdims=True)
    return float((np.log(np.exp(mixed).sum(1)) - mixed[np.arange(labels.size), labels]).sum())


@pytest.mark.parametrize(("x_tells", "y_tells"), [(2.0, 1.0), (0.5, 3.0), (1.0, 1.0)])
def test_no_other_shares_are_more_likely(x_tells: float, y_tells: float) -> None:
    x, y, labels = made(800, x_tells, y_tells)
    found = mixture_of(x, y, labels)
    assert all(share > 0 for share in found)
    assert found == pytest.approx((x_tells, y_tells), abs=0.4), "noise of variance 1: the logits are their own odds"
    least = cost(x, y, labels, found)
    for x_times in (0.9, 1.0, 1.1):
        for y_times in (0.9, 1.0, 1.1):
            assert cost(x, y, labels, (found[0] * x_times, found[1] * y_times)) >= least - 1e-3


def test_a_head_that_is_mostly_wrong_has_no_share() -> None:
    x, y, labels = made(800, 2.0, -1.5)
    assert mixture_of(x, y, labels)[1] == 0.0


def test_logits_that_are_all_the_same_tell_nothing() -> None:
    x, _, labels = made(300, 2.0, 0.0)
    shares = mixture_of(x, np.ones_like(x), labels)
    assert shares[1] == pytest.approx(0, abs=1e-6)
    assert shares[0] == pytest.approx(2.0, rel=0.25)


def test_shares_stay_within_their_bounds() -> None:
    labels = np.arange(40, dtype=np.int32) % 4
    certain = np.eye(4, dtype=np.float32)[labels]
    shares = mixture_of(certain, certain, labels)
    assert all(0 <= share <= MOST for share in shares)
    assert max(shares) > 4, "where nothing is ever wrong, scores are near 1"


def test_one_document_does_not_make_it_fail() -> None:
    one = np.ones((1, 3), np.float32)
    assert all(np.isfinite(mixture_of(one, one, np.zeros(1, np.int32))))
