"""Weights of encoders as operands: the nearest whole numbers, in the order of the instruction set in use."""

import numpy as np
import pytest

from engine.kernels.matmul import encoder as packing
from engine.kernels.matmul.encoder import LAYOUT
from engine.tiles.operands import SMALL_TOP
from tests.engine.kernels import groups
from tests.reference import whole_numbers as reference


def weights(n: int, k: int) -> np.ndarray:
    """Rows of very different sizes; one of zeros, one of a single value, one of the greatest alone."""
    random = np.random.default_rng(k)
    values = (random.standard_normal((n, k)) * 10.0 ** random.integers(-4, 4, (n, 1))).astype(np.float32)
    values[1], values[2, 1:], values[3] = 0, 0, random.choice([-3, 3], k)
    return values


@pytest.mark.parametrize("k", [64, 384, 1536])
def test_weights_become_the_nearest_numbers(k: int) -> None:
    values = weights(64, k)
    numbers, scales = packing.to_integers(values)
    expected, factors = reference.columns_of(values)
    assert (numbers.dtype, scales.dtype) == (np.int32, np.float32)
    assert np.array_equal(numbers, expected)
    assert np.array_equal(scales, factors)
    assert np.array_equal(np.abs(numbers).reshape(64, -1, reference.GROUP).max(2) == SMALL_TOP, scales > 0)
    of_each = np.repeat(scales.astype(np.float64), reference.GROUP, axis=1)
    assert (np.abs(numbers * of_each - values) <= 0.5001 * of_each).all()


@pytest.mark.parametrize(("n", "k"), [(64, 64), (128, 192), (64, 1536)])
def test_the_order_of_an_operand(n: int, k: int) -> None:
    values = weights(n, k)
    packed, scales = packing.pack(*packing.to_integers(values))
    numbers, factors = reference.columns_of(values)
    assert np.array_equal(packed, groups.column_bytes(numbers, LAYOUT))
    assert scales.tobytes() == groups.column_scales(numbers, factors, LAYOUT).tobytes()


@pytest.mark.parametrize("size", [1.4e-45, 2.6e-43, 1e-38, 1e-35, 1e-30])
def test_weights_near_the_least_float32_stay_within_their_bounds(size: float) -> None:
    numbers, scales = packing.to_integers(np.full((64, 64), size, np.float32))
    assert np.abs(numbers).max() <= SMALL_TOP
    assert (numbers.any(), scales.any()) == (size > 1e-34, size > 1e-34)


def test_the_bias_of_raised_rows_is_less_what_they_are_raised_by() -> None:
    values, bias = weights(64, 384), np.random.default_rng(7).standard_normal(64).astype(np.float32)
    found = packing.for_raised(bias, *packing.to_integers(values))
    assert np.array_equal(found, reference.for_raised(bias, *reference.columns_of(values)))
    expected = bias - 0.171875 * values.sum(1, dtype=np.float64)
    assert np.allclose(found, expected, rtol=0, atol=2e-2 * np.abs(values).max(1))


def test_weights_of_any_size_have_a_bias_without_a_warning() -> None:
    values = np.where(np.arange(64 * 128).reshape(64, 128) % 128 < 64, 3e38, -3e38).astype(np.float32)
    assert not np.isfinite(packing.for_raised(np.zeros(64, np.float32), *packing.to_integers(values))).any()


def test_the_scale_does_not_depend_on_the_order_within_a_group() -> None:
    random = np.random.default_rng(5)
    values = random.standard_normal((64, 1536)).astype(np.float32)
    order = (np.arange(0, 1536, reference.GROUP)[:, None] + random.permutation(reference.GROUP)).reshape(-1)
    numbers, scales = packing.to_integers(values)
    mixed, others = packing.to_integers(values[:, order])
    assert np.array_equal(numbers[:, order], mixed)
    assert np.array_equal(scales, others)
