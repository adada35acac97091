"""What is done to a row, against the definition in float64, for every length up to eight vectors and longer ones."""

import math

import numpy as np
import pytest

from engine.kernels import rows

RANDOM = np.random.default_rng(3)
LENGTHS = [*range(16, 129, 16), 384, 1536]


def row(n: int, spread: float = 1) -> np.ndarray:
    return (RANDOM.standard_normal(n) * spread).astype(np.float32)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("spread", [1, 1e-20, 1e20])
def test_quantize(n: int, spread: float) -> None:
    x, out = row(n + 16, spread), np.zeros(n + 16, np.int16)
    scale = rows.quantize(x, 16, out, 0, n)
    part = x[16:]
    assert scale == np.float32(np.abs(part).max()) / np.float32(32767)
    assert np.abs(out).max() == 32767
    assert not out[n:].any()
    assert np.abs(out[:n] * float(scale) - part).max() <= 0.502 * scale


@pytest.mark.parametrize("lane", [0, 5, 31])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_the_scale_of_a_row_that_is_not_finite_is_nan(lane: int, value: float) -> None:
    x = row(32)
    x[lane] = value
    assert np.isnan(rows.quantize(x, 0, np.zeros(32, np.int16), 0, 32))


def test_rows_of_nothing_and_of_next_to_nothing_become_zeros() -> None:
    for value in (0, 1e-31, 1e-45):
        out = np.ones(32, np.int16)
        assert rows.quantize(np.full(32, value, np.float32), 0, out, 0, 32) < 1e-34
        assert not out.any()


@pytest.mark.parametrize("padding", [0, 1, 11])
@pytest.mark.parametrize("n", LENGTHS)
def test_layer_norm(n: int, padding: int) -> None:
    size = n - padding
    inside = np.arange(n) < size
    x, y, gain, shift = (np.concatenate([row(n), row(n) * inside]) for _ in range(4))
    before = x.copy()
    rows.layer_norm(x, n, y, n, gain, shift, n, inside.astype(np.float32), size, n, np.float32(1e-12))
    both = (before[n:] + y[n:]).astype(np.float64)[:size]
    expected = (both - both.mean()) / math.sqrt(both.var() + 1e-12) * gain[n:][:size] + shift[n:][:size]
    assert np.abs(x[n:][:size] - expected).max() < 2e-5
    assert not x[n:][size:].any()
    assert np.array_equal(x[:n], before[:n])


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 31, 32, 33, 100, 512])
@pytest.mark.parametrize("scale", [0.1, 1, 30])
def test_softmax(n: int, scale: float) -> None:
    x = np.concatenate([row(16), row(n), np.full(16 + -n % 16, np.nan, np.float32)])
    before = x.copy()
    rows.softmax(x, 16, n, np.float32(scale))
    expected = np.exp(scale * (before[16 : 16 + n].astype(np.float64) - before[16 : 16 + n].max()))
    assert np.abs(x[16 : 16 + n] - expected / expected.sum()).max() < 1e-6
    assert not x[16 + n : 16 + n + -n % 16].any()
    assert np.array_equal(x[:16], before[:16])
    assert np.isnan(x[16 + n + -n % 16 :]).all()


def test_softmax_of_values_that_are_not_finite_is_not_finite() -> None:
    for value in (np.nan, np.inf):
        x = row(32)
        x[7] = value
        rows.softmax(x, 0, 32, np.float32(1))
        assert np.isnan(x).any()


@pytest.mark.parametrize("count", [1, 2, 7])
def test_mean_pool(count: int) -> None:
    x, out = row(16 + 48 * count), np.zeros(64, np.float32)
    rows.mean_pool(x, 16, count, 48, out, 16, 48)
    assert np.allclose(out[16:], x[16:].reshape(count, 48).mean(0, dtype=np.float64), atol=1e-6)
    assert not out[:16].any()


@pytest.mark.parametrize("n", LENGTHS)
def test_dot_and_normalize(n: int) -> None:
    a, b = row(n + 16), row(n)
    expected = a[16:].astype(np.float64) @ b.astype(np.float64)
    assert abs(rows.dot(a, 16, b, 0, n) - expected) < 1e-5 * math.sqrt(n)
    rows.normalize(a, 16, n)
    assert abs(np.linalg.norm(a[16:].astype(np.float64)) - 1) < 1e-6


def test_normalize_leaves_zeros() -> None:
    x = np.zeros(32, np.float32)
    assert rows.normalize(x, 0, 32) == 0
    assert not x.any()
