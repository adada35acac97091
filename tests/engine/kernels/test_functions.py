"""exp, erf and GELU against the standard library, over every interval where they change their behaviour."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from engine import simd
from engine.kernels import functions
from engine.simd import load_f32, store_f32
from engine.simd.gelu import END, RAISE
from engine.tiles.operands import TOP

Array = NDArray[np.float32]


def apply(function: Any, x: Array) -> Array:
    x = np.concatenate([x, np.zeros(-x.size % 16, np.float32)]).astype(np.float32)
    out = np.zeros(x.size, np.float32)

    @njit
    def run(x: Array, out: Array) -> None:
        for i in range(0, x.size, 16):
            store_f32(out, i, function(load_f32(x, i)))

    run(x, out)
    return out


def truth(function: Callable[[float], float], x: Array) -> NDArray[np.float64]:
    return np.array([function(float(v)) for v in x])


def test_exp_is_within_two_units_in_the_last_place() -> None:
    x = np.linspace(-87, 0, 160_000, dtype=np.float32)
    expected = truth(math.exp, x)
    assert (np.abs(apply(functions.exp, x) - expected) <= 2 * np.spacing(expected.astype(np.float32))).all()


def test_exp_at_the_edges() -> None:
    x = np.array([0, -0.0, -87, -88, -1e30, -np.inf, np.nan, -1e-45], np.float32)
    found = apply(functions.exp, x)
    assert found[0] == found[1] == found[7] == 1
    assert np.isnan(found[6])
    assert 0 < found[2] < 1.7e-38
    assert (found[3:6] == found[2]).all()


def test_erf_is_within_six_ten_millionths() -> None:
    x = np.linspace(-10, 10, 160_000, dtype=np.float32)
    assert np.abs(apply(functions.erf, x) - truth(math.erf, x)).max() < 6e-7


@pytest.mark.parametrize(("low", "high", "limit"), [(-10, 10, 4e-7), (-200, 200, 4e-7)])
def test_gelu(low: float, high: float, limit: float) -> None:
    x = np.linspace(low, high, 160_000, dtype=np.float32)
    expected = truth(lambda v: v / 2 * (1 + math.erf(v / math.sqrt(2))), x)
    assert (np.abs(apply(functions.gelu, x) - expected) <= limit * np.maximum(1, np.abs(x))).all()


def test_gelu_passes_on_what_is_not_finite() -> None:
    found = apply(functions.gelu, np.array([np.nan, np.inf, -np.inf] + [0] * 13, np.float32))
    assert np.isnan(found[0])
    assert not np.isfinite(found[1])


_AT_END = [sign * np.nextafter(END, to) for sign in (1, -1) for to in (np.float32(0), END, np.float32(9))]


def test_gelu_near_is_within_22_hundred_thousandths() -> None:
    x = np.concatenate([np.linspace(-12, 12, 400_000), _AT_END, [1e4, 1e30, -30, -1e4, 0, -0.0]]).astype(np.float32)
    expected = truth(lambda v: v / 2 * math.erfc(-v / math.sqrt(2)), x)
    error = np.abs(apply(simd.gelu_near, x)[: x.size] - expected)
    assert error[np.abs(x) <= 12].max() < 2.2e-4
    assert error[np.abs(x) > 12].max() < 1e-30


def test_raised_values_are_above_zero() -> None:
    x = np.concatenate([np.linspace(-4, 4, 400_000), [-1e4, -3e38]]).astype(np.float32)
    assert (apply(simd.gelu_near, x) + RAISE).min() > 1e-3


def whole_powers(x: Array) -> NDArray[np.int32]:
    """The whole numbers that `whole_power` finds."""
    moved = np.array([functions.whole_power_of(float(v)) for v in x], np.float32)
    return apply(functions.whole_power, moved)[: x.size].view(np.int32) & 0xFFFF


def test_whole_powers_of_two_are_within_eight_hundred_thousandths_and_rounding() -> None:
    x = np.linspace(-20, 13, 200_000).astype(np.float32)
    expected = np.exp2(x.astype(np.float64))
    assert (np.abs(whole_powers(x) - expected) <= 0.5 + 8e-5 * expected).all()


def test_whole_powers_at_the_edges() -> None:
    assert whole_powers(np.array([0, 1, 12, -2, -20, -1e30, -np.inf, np.nan, -3e38], np.float32)).tolist() == [
        1, 2, 4096, 0, 0, 0, 0, 0, 0,
    ]  # fmt: skip
    assert whole_powers(np.array([12.99964], np.float32)) <= TOP


@pytest.mark.parametrize("function", [simd.gelu_near, functions.exp, functions.gelu, functions.erf])
def test_nan_stays_nan_and_an_infinity_never_becomes_an_ordinary_value(function: Any) -> None:
    found = apply(function, np.array([np.nan] * 16, np.float32))
    assert np.isnan(found).all()


def test_gelu_near_of_infinities() -> None:
    found = apply(simd.gelu_near, np.array([np.inf, 3e38, -3e38, -np.inf] + [0] * 12, np.float32))
    assert found[0] == np.inf
    assert found[1] > 2e38
    assert found[2] == 0
    assert np.isnan(found[3])
