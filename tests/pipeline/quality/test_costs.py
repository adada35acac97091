"""Costs by the formulas of costs.py."""

import pytest

from pipeline.quality.qualify import Prices, costs


def test_known_values() -> None:
    """0.34 an hour, 10,000 documents of 500 tokens an hour; a service takes 0.10, a GPU 0.02 a million tokens."""
    found = costs(Prices(0.34, 0.10, 0.02), 10_000, 5_000_000)
    assert found.documents == pytest.approx(0.034)
    assert found.tokens == pytest.approx(0.068)
    assert found.api is not None
    assert found.gpu is not None
    assert found.api.tokens == pytest.approx(81_600_000)  # 24 · 0.34 / 0.10 millions
    assert found.api.documents == pytest.approx(163_200)
    assert found.api.reached  # 120 millions a day
    assert found.gpu.tokens == pytest.approx(408_000_000)
    assert not found.gpu.reached


def test_what_was_not_asked_for_is_not_told() -> None:
    found = costs(Prices(1.0), 100, 1000)
    assert (found.api, found.gpu) == (None, None)
