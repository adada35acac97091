"""Every operation of the vocabulary against its meaning in numpy, bit for bit, on random and on awkward values."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from engine import simd

Array = NDArray[np.float32]
AWKWARD = np.array(
    [0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3e38, -3e38, 1e-45, -1e-45, 1e-38, np.inf, -np.inf], np.float32
)
RANDOM = np.random.default_rng(0)


def apply(operation: Any, *arguments: Array) -> Array:
    """The operation on 16 lanes at a time, compiled."""
    out = np.zeros(arguments[0].size, np.float32)
    if len(arguments) == 1:

        @njit
        def run(x: Array, out: Array) -> None:
            for i in range(0, x.size, 16):
                simd.store_f32(out, i, operation(simd.load_f32(x, i)))
    else:

        @njit
        def run(x: Array, y: Array, out: Array) -> None:
            for i in range(0, x.size, 16):
                simd.store_f32(out, i, operation(simd.load_f32(x, i), simd.load_f32(y, i)))

    run(*arguments, out)
    return out


def same(found: Array, expected: Array) -> None:
    """Equal bits; any NaN for a NaN."""
    wrong = (found.view(np.int32) != expected.view(np.int32)) & ~(np.isnan(found) & np.isnan(expected))
    assert not wrong.any(), (np.flatnonzero(wrong)[:5], found[wrong][:5], expected[wrong][:5])


UNARY: dict[Any, Callable[[Array], Array]] = {simd.magnitude: np.abs, simd.nearest: np.rint}
BINARY: dict[Any, Callable[[Array, Array], Array]] = {
    simd.add: np.add,
    simd.sub: np.subtract,
    simd.mul: np.multiply,
    simd.div: np.divide,
    simd.larger: lambda x, y: np.where(x > y, x, y),
    simd.with_sign: np.copysign,
}


@pytest.mark.parametrize("operation", UNARY, ids=lambda o: getattr(o, "__name__", "?"))
def test_unary(operation: Any) -> None:
    x = np.concatenate([AWKWARD, RANDOM.standard_normal(4096).astype(np.float32) * 1000])
    same(apply(operation, x), UNARY[operation](x))


@pytest.mark.parametrize("operation", BINARY, ids=lambda o: getattr(o, "__name__", "?"))
def test_binary(operation: Any) -> None:
    x, y = (np.repeat(AWKWARD, 16), np.tile(AWKWARD, 16))
    x, y = (np.concatenate([v, RANDOM.standard_normal(4096).astype(np.float32)]) for v in (x, y))
    with np.errstate(all="ignore"):
        same(apply(operation, x, y), BINARY[operation](x, y))


def test_larger_gives_its_second_argument_beside_a_nan() -> None:
    nan, one = np.full(16, np.nan, np.float32), np.ones(16, np.float32)
    assert np.isnan(apply(simd.larger, one, nan)).all()
    assert (apply(simd.larger, nan, one) == 1).all()


def test_power_of_two_over_its_whole_range() -> None:
    n = np.arange(-126, 128, dtype=np.float32)
    n = np.concatenate([n, np.zeros(-n.size % 16, np.float32)])
    same(apply(simd.power_of_two, n), np.ldexp(np.float32(1), n.astype(np.int32)))


@njit
def _reduce(x: Array, totals: Array, peaks: Array) -> None:
    for i in range(totals.size):
        totals[i] = simd.total(simd.load_f32(x, 16 * i))
        peaks[i] = simd.largest(simd.load_f32(x, 16 * i))


def test_total_is_a_fixed_tree_and_largest_the_largest() -> None:
    x = (RANDOM.standard_normal(16 * 500) * 10.0 ** RANDOM.integers(-6, 6, 16 * 500)).astype(np.float32)
    totals, peaks = np.zeros(500, np.float32), np.zeros(500, np.float32)
    _reduce(x, totals, peaks)
    tree = x.reshape(-1, 16)
    same(peaks, tree.max(1))
    for half in (8, 4, 2, 1):
        tree = tree[:, :half] + tree[:, half:]
    same(totals, tree[:, 0])


@njit
def _narrow(x: Array, out: NDArray[np.int16]) -> None:
    for i in range(0, x.size, 16):
        simd.store_i16(out, i, simd.to_i16(simd.load_f32(x, i)))


def test_to_i16_over_its_whole_range() -> None:
    x = np.arange(-32768, 32768, dtype=np.float32)
    out = np.zeros(x.size, np.int16)
    _narrow(x, out)
    assert np.array_equal(out, x.astype(np.int16))


@njit
def _shift(x: Array, out: Array, by: int, factor: Any) -> None:
    simd.store_f32(out, by, simd.mul(simd.load_f32(x, by), simd.splat(factor)))


@pytest.mark.parametrize("by", range(17))
def test_loads_and_stores_need_no_alignment(by: int) -> None:
    x, out = RANDOM.standard_normal(40).astype(np.float32), np.zeros(40, np.float32)
    _shift(x, out, by, np.float32(3))
    expected = np.zeros(40, np.float32)
    expected[by : by + 16] = x[by : by + 16] * np.float32(3)
    same(out, expected)


def test_arrays_that_cannot_be_written_can_be_read() -> None:
    x, out = np.ones(16, np.float32), np.zeros(16, np.float32)
    x.flags.writeable = False
    _shift(x, out, 0, np.float32(2))
    assert (out == 2).all()
