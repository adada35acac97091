"""SiLU, the logistic function, tanh and gated units against the standard library, and probabilities."""

import math

import numpy as np
import pytest

from engine.kernels import functions, vectors
from engine.kernels import rows as kernels
from engine.simd import gelu_near
from tests.engine.kernels.called import called
from tests.engine.kernels.test_functions import apply, truth
from tests.engine.kernels.tiles import from_tiles, to_tiles

RANDOM = np.random.default_rng(9)
NOT_FINITE = np.array([np.inf, -np.inf, np.nan, -np.nan], np.float32)


def logistic(v: float) -> float:
    return 1 / (1 + math.exp(-v)) if v >= 0 else math.exp(v) / (1 + math.exp(v))


@pytest.mark.parametrize("limit", [1, 20, 200])
def test_against_the_standard_library(limit: float) -> None:
    x = np.linspace(-limit, limit, 100_000, dtype=np.float32)
    expected = truth(lambda v: v * logistic(v), x)
    assert (np.abs(apply(functions.silu, x) - expected) <= 4e-7 * np.maximum(1e-3, np.abs(expected))).all()
    assert np.abs(apply(functions.logistic, x) - truth(logistic, x)).max() < 3e-7
    assert np.abs(apply(functions.tanh, x) - truth(math.tanh, x)).max() < 2e-7


def test_at_the_edges() -> None:
    x = np.array([0, -0.0, 3e38, -3e38, 1e-45, -1e-45, -1000, 1000], np.float32)
    assert apply(functions.silu, x)[:3].tolist() == [0, 0, np.float32(3e38)]
    assert np.abs(apply(functions.silu, x)[[4, 5, 6]]).max() < 1e-30
    assert apply(functions.logistic, x)[:4].tolist() == pytest.approx([0.5, 0.5, 1, 0])
    assert apply(functions.tanh, x)[:4].tolist() == [0, 0, 1, -1]


@pytest.mark.parametrize("function", [functions.silu, functions.logistic, functions.tanh])
def test_what_is_not_finite_does_not_become_so(function: object) -> None:
    assert not np.isfinite(apply(function, NOT_FINITE)[: NOT_FINITE.size]).any()


@pytest.mark.parametrize(
    ("kernel", "function"),
    [
        (kernels.swiglu, functions.silu),
        (kernels.geglu, functions.gelu),
        (kernels.geglu_near, gelu_near),
    ],
)
@pytest.mark.parametrize("count", [1, 16, 23])
def test_gated_units(kernel: object, function: object, count: int) -> None:
    x = RANDOM.standard_normal((count, 96)).astype(np.float32)
    out = np.full(-(-count // 16) * 16 * 48, np.nan, np.float32)
    tiles = to_tiles(x)
    called(kernel)(tiles, tiles, 48, 96, 0, count, 48, out)
    expected = apply(function, x[:, :48].reshape(-1))[: count * 48].reshape(count, 48) * x[:, 48:]
    assert np.array_equal(from_tiles(out, 48)[:count], expected)


def test_probabilities() -> None:
    x = RANDOM.standard_normal((7, 5)).astype(np.float32) * 4
    shares = np.exp(x.astype(float)) / np.exp(x.astype(float)).sum(1, keepdims=True)
    assert np.abs(vectors.probabilities(x, "softmax") - shares).max() < 1e-6
    assert np.abs(vectors.probabilities(x, "sigmoid") - 1 / (1 + np.exp(-x.astype(float)))).max() < 1e-6
    assert np.array_equal(vectors.probabilities(x, "none"), x)
    assert vectors.probabilities(x[:0], "sigmoid").shape == (0, 5)
