"""What is done to a row, against the definition in float64, for every length up to eight vectors and longer ones."""

import math

import numpy as np
import pytest

from engine.kernels import rows as kernels
from engine.kernels.rows import place
from tests.engine.kernels.called import Called
from tests.engine.kernels.tiles import from_tiles, to_tiles

rows = Called(kernels)
RANDOM = np.random.default_rng(3)
LENGTHS = [*range(16, 129, 16), 384, 1536]


def row(n: int, spread: float = 1) -> np.ndarray:
    return (RANDOM.standard_normal(n) * spread).astype(np.float32)


@pytest.mark.parametrize("padding", [0, 1, 11])
@pytest.mark.parametrize("n", LENGTHS)
def test_layer_norm(n: int, padding: int) -> None:
    size, t = n - padding, 20
    inside = np.arange(n) < size
    x = RANDOM.standard_normal((28, n)).astype(np.float32) * inside
    weights, biases = (np.concatenate([row(n), row(n) * inside]) for _ in range(2))
    flat, out = to_tiles(x), to_tiles(x)
    norm = kernels.LayerNorm(weights, biases, inside.astype(np.float32), size, np.float32(1e-12))
    at = place(t, 0, n)
    rows.layer_norm(flat, out, at, norm, n)
    before, found = x[t : t + 4].astype(np.float64)[:, :size], from_tiles(out, n)
    spread = np.sqrt(before.var(1, keepdims=True) + 1e-12)
    expected = (before - before.mean(1, keepdims=True)) / spread * weights[n:][:size] + biases[n:][:size]
    assert np.abs(found[t : t + 4, :size] - expected).max() < 2e-5
    assert not found[t : t + 4, size:].any()
    others = np.delete(np.arange(x.shape[0]), np.s_[t : t + 4])
    assert np.array_equal(found[others], x[others])
    rows.layer_norm(flat, flat, at, norm, n)  # in place
    assert np.array_equal(flat, out, equal_nan=True)


@pytest.mark.parametrize("n", LENGTHS)
def test_line_up(n: int) -> None:
    x = RANDOM.standard_normal((40, n)).astype(np.float32)
    for first, count in ((0, 1), (0, 40), (7, 20), (16, 16), (39, 1)):
        out = np.full(count * n + 16, 7, np.float32)
        rows.line_up(to_tiles(x), first, count, n, out)
        assert np.array_equal(out[: count * n].reshape(count, n), x[first : first + count])
        assert (out[count * n :] == 7).all()


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


@pytest.mark.parametrize("count", [1, 2, 7, 30])
def test_mean_pool(count: int) -> None:
    x, out = RANDOM.standard_normal((5 + count, 48)).astype(np.float32), np.zeros(64, np.float32)
    rows.mean_pool(to_tiles(x), 5, count, 48, out, 16)
    total = np.zeros(48, np.float32)
    for part in x[5:]:
        total = total + part
    assert np.array_equal(out[16:], total / np.float32(count))
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
