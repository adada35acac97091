"""Every operation of the vocabulary against its meaning in numpy, bit for bit, on random and on awkward values."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from engine import simd


@njit
def plus(x: Any, y: Any) -> Any:
    return x + y


@njit
def minus(x: Any, y: Any) -> Any:
    return x - y


@njit
def times(x: Any, y: Any) -> Any:
    return x * y


@njit
def over(x: Any, y: Any) -> Any:
    return x / y


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
    plus: np.add,
    minus: np.subtract,
    times: np.multiply,
    over: np.divide,
    simd.larger: lambda x, y: np.where(x > y, x, y),
    simd.smaller: lambda x, y: np.where(x < y, x, y),
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


def test_larger_and_smaller_give_their_second_argument_beside_a_nan() -> None:
    nan, one = np.full(16, np.nan, np.float32), np.ones(16, np.float32)
    assert np.isnan(apply(simd.larger, one, nan)).all()
    assert (apply(simd.larger, nan, one) == 1).all()
    assert np.isnan(apply(simd.smaller, one, nan)).all()
    assert (apply(simd.smaller, nan, one) == 1).all()


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


Ints = NDArray[np.int32]
INTS = np.concatenate([
    np.array([0, 1, -1, 2**31 - 1, -(2**31), 2**24, 2**24 + 1, 2**30, -(2**30), 63, -64, 64, 127, -128, 8191, -8191]),
    RANDOM.integers(-(2**31), 2**31, 16 * 200), RANDOM.integers(-9000, 9000, 16 * 100),
]).astype(np.int32)  # fmt: skip


def apply_i32(operation: Any, *arguments: NDArray[Any]) -> Ints:
    """An operation that gives int32, each lane taken out by itself."""
    out = np.zeros(arguments[0].size, np.int32)
    load = simd.load_f32 if arguments[0].dtype == np.float32 else simd.load_i32

    @njit
    def keep(v: Any, out: Ints, at: int) -> None:
        for lane in range(16):
            out[at + lane] = simd.total_i32(simd.within(v, np.int32(lane), np.int32(lane + 1), np.int32(0)))

    if len(arguments) == 1:

        @njit
        def run(x: Any, out: Ints) -> None:
            for i in range(0, x.size, 16):
                keep(operation(load(x, i)), out, i)
    else:

        @njit
        def run(x: Any, y: Any, out: Ints) -> None:
            for i in range(0, x.size, 16):
                keep(operation(load(x, i), load(y, i)), out, i)

    run(*arguments, out)
    return out


def test_to_i32_is_the_nearest_and_halves_go_to_the_even_one() -> None:
    x = np.concatenate([
        np.arange(-9000, 9000, 0.5), AWKWARD[np.abs(AWKWARD) < 2e9], [2147483520, -2147483648, 8388609, 0.49999997],
    ]).astype(np.float32)  # fmt: skip
    x = np.concatenate([x, np.zeros(-x.size % 16, np.float32)])
    assert np.array_equal(apply_i32(simd.to_i32, x), np.rint(x.astype(np.float64)).astype(np.int32))


def test_whole_numbers() -> None:
    other = RANDOM.permutation(INTS)
    with np.errstate(over="ignore"):
        assert np.array_equal(apply_i32(plus, INTS, other), INTS + other)
        assert np.array_equal(apply_i32(minus, INTS, other), INTS - other)
        assert np.array_equal(apply_i32(times, INTS, other), INTS * other)
        assert np.array_equal(apply_i32(simd.join_bytes, INTS, other), (INTS << 8) + other)
    assert np.array_equal(apply_i32(simd.larger_i32, INTS, other), np.maximum(INTS, other))


def test_bits_of_magnitudes_are_in_the_order_of_the_floats() -> None:
    x = np.concatenate([AWKWARD, RANDOM.standard_normal(4096).astype(np.float32) * 1000])
    found = apply_i32(simd.magnitude_bits, x)
    same(found.view(np.float32), np.abs(x))
    order = np.argsort(found, kind="stable")
    assert (np.diff(np.abs(x)[order][np.isfinite(x[order])]) >= 0).all()
    nan = apply_i32(simd.magnitude_bits, np.full(16, np.nan, np.float32))
    assert (nan > found.max()).all()


@njit
def _to_floats(x: Ints, out: Array) -> None:
    for i in range(0, x.size, 16):
        simd.store_f32(out, i, simd.to_f32(simd.load_i32(x, i)))


def test_to_f32_rounds_once() -> None:
    out = np.zeros(INTS.size, np.float32)
    _to_floats(INTS, out)
    same(out, INTS.astype(np.float32))


@njit
def _reduce_i32(x: Ints, totals: Ints, peaks: Ints, floats: Array) -> None:
    for i in range(totals.size):
        totals[i] = simd.total_i32(simd.load_i32(x, 16 * i))
        peaks[i] = simd.largest_i32(simd.load_i32(x, 16 * i))
        floats[i] = simd.of_bits(peaks[i])


def test_totals_and_peaks_of_whole_numbers() -> None:
    count = INTS.size // 16
    totals, peaks, floats = np.zeros(count, np.int32), np.zeros(count, np.int32), np.zeros(count, np.float32)
    _reduce_i32(INTS, totals, peaks, floats)
    assert np.array_equal(totals, INTS.reshape(-1, 16).sum(1, dtype=np.int32))
    assert np.array_equal(peaks, INTS.reshape(-1, 16).max(1))
    same(floats, peaks.view(np.float32))


@njit
def _within(x: Ints, low: int, high: int, out: Array) -> None:
    v = simd.within(simd.load_i32(x, 0), np.int32(low), np.int32(high), np.int32(-7))
    simd.store_f32(out, 0, simd.to_f32(v + (simd.no_i32() + np.int32(2))))


def test_lanes_within_bounds() -> None:
    x, lane = np.arange(100, 116).astype(np.int32), np.arange(16)
    for low in (-20, -1, 0, 1, 7, 15, 16, 30):
        for high in (-3, 0, 1, 8, 16, 40):
            out = np.zeros(16, np.float32)
            _within(x, low, high, out)
            assert np.array_equal(out, np.where((lane >= low) & (lane < high), x, -7) + 2)


def test_low_exponents() -> None:
    exponent = np.array([*range(1, 255), 127, 127], np.float32)
    same(apply(simd.low_exponent, exponent + simd.MAGIC), np.ldexp(np.float32(1), exponent.astype(np.int32) - 127))


def test_bits_and_floats() -> None:
    assert np.array_equal(apply_i32(simd.bits, AWKWARD), AWKWARD.view(np.int32))
    out = np.zeros(16, np.float32)

    @njit
    def run(x: Ints, out: Array) -> None:
        simd.store_f32(out, 0, simd.floats(simd.load_i32(x, 0)))

    run(AWKWARD.view(np.int32), out)
    same(out, AWKWARD)


def test_if_larger() -> None:
    x, y = np.roll(AWKWARD, 1), AWKWARD
    out = np.zeros(16, np.float32)

    @njit
    def run(x: Array, y: Array, out: Array) -> None:
        value = simd.splat(np.float32(3))
        simd.store_f32(out, 0, simd.if_larger(simd.load_f32(x, 0), simd.load_f32(y, 0), value))

    for a, b in ((x, y), (y, x), (x, np.full(16, np.nan, np.float32))):
        run(a, b, out)
        same(out, np.where(a > b, 3, 0).astype(np.float32))


@njit
def _of_four(x: Ints, out: Ints) -> None:
    a, b, c, d = simd.load_i32(x, 0), simd.load_i32(x, 16), simd.load_i32(x, 32), simd.load_i32(x, 48)
    simd.store_i32(out, 0, simd.largest_of_four(a, b, c, d))
    simd.store_i32(out, 16, simd.totals_of_four(a, b, c, d))
    simd.store_i32(out, 32, simd.quarters(a, b, c, d))


def test_four_vectors_together() -> None:
    out = np.zeros(48, np.int32)
    for at in range(0, INTS.size - 64, 64):
        x = INTS[at : at + 64].reshape(4, 16)
        _of_four(x.reshape(-1), out)
        assert np.array_equal(out[:16], np.tile(x.max(1), 4))
        assert np.array_equal(out[16:32], np.tile(x.sum(1, dtype=np.int32), 4))
        assert np.array_equal(out[32:], np.concatenate([x[i, 4 * i : 4 * i + 4] for i in range(4)]))


@njit
def _transpose(x: Ints, step: int, out: Ints) -> None:
    simd.transpose(x.ctypes.data, 4 * step, out.ctypes.data)


@pytest.mark.parametrize("step", [16, 32, 48])
def test_transpose(step: int) -> None:
    x, out = INTS[: 16 * step].copy(), np.zeros(256, np.int32)
    _transpose(x, step, out)
    assert np.array_equal(out.reshape(16, 16), x.reshape(16, step)[:, :16].T)


def nearest_float(x: Fraction) -> np.float32:
    """The float32 nearest to x, halves to the even one."""
    if x == 0:
        return np.float32(0)
    exponent = max(-126, abs(x).numerator.bit_length() - x.denominator.bit_length())
    while abs(x) < Fraction(2) ** exponent and exponent > -126:
        exponent -= 1
    unit = Fraction(2) ** (exponent - 23)
    with np.errstate(over="ignore"):
        return np.float32(float(round(x / unit) * unit))  # as a float64 it is exact, or too great for a float32


def fma_cases() -> list[Array]:
    """Factors and summands whose exact sums are anything, near a half of the last place, or next to nothing."""
    cases = [(RANDOM.standard_normal((3, 1600)) * 10.0 ** RANDOM.integers(-9, 9, (3, 1600))).astype(np.float32)]
    odd = RANDOM.integers(2**23, 2**24, 1600) * 2 + 1  # 25 bits: as a float32 a half between two neighbours
    root = RANDOM.integers(1, 2**12, 1600) * 2 + 1
    signs = RANDOM.choice([-1, 1], 1600)
    great = odd - root * root * signs  # root * root + great is such a half, if the summand is a float32
    cases.append(np.stack([root, root * signs, great]).astype(np.float32))
    steps = 1 + np.arange(16) * 2.0**-23
    for half in (1, 1 + 2.0**-23, 1 - 2.0**-24):  # of the last place, or a bit more or less
        cases.append(np.stack([np.full(16, half * 2.0**-24), np.ones(16), steps]).astype(np.float32))
    small = RANDOM.integers(0, 2**25, (3, 1600)).astype(np.int32).view(np.float32)  # subnormal, or little more
    for factor in (0.5, 1.5, -0.75, -0.5):
        cases.append(np.stack([small[0], np.full(1600, factor, np.float32), small[2]]))
    cases.append(np.stack([small[0] * np.float32(2**60), small[1] * np.float32(2**40), small[2]]))
    return [np.ascontiguousarray(case, np.float32) for case in cases]


@njit
def _fma(x: Array, y: Array, z: Array, out: Array) -> None:
    for i in range(0, x.size, 16):
        simd.store_f32(out, i, simd.fma(simd.load_f32(x, i), simd.load_f32(y, i), simd.load_f32(z, i)))


def test_fma_rounds_once() -> None:
    halves = 0
    for x, y, z in fma_cases():
        out = np.zeros_like(x)
        _fma(x, y, z, out)
        sums = [Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c)) for a, b, c in zip(x, y, z, strict=True)]
        expected = np.array([nearest_float(s) for s in sums], np.float32)
        nonzero = expected != 0  # the sign of a zero is IEEE's, not a fraction's
        same(out[nonzero], expected[nonzero])
        assert not out[~nonzero].any()
        units = [Fraction(float(unit)) for unit in np.spacing(np.abs(expected))]
        errors = [abs(Fraction(float(e)) - s) for e, s in zip(expected, sums, strict=True)]
        halves += sum(2 * error == unit for error, unit in zip(errors, units, strict=True))
    assert halves > 500


def test_fma_of_what_is_not_finite() -> None:
    x, y, z = (v.reshape(-1) for v in np.meshgrid(AWKWARD, [np.inf, 0, 2, np.nan, -3e38], [1, -np.inf, np.nan, 3e38]))
    x, y, z = (np.ascontiguousarray(v, np.float32) for v in (x, y, z))
    out = np.zeros_like(x)
    _fma(x, y, z, out)
    with np.errstate(all="ignore"):
        exact = x.astype(np.float64) * y.astype(np.float64) + z.astype(np.float64)
        expected = exact.astype(np.float32)
    assert np.array_equal(np.isnan(out), np.isnan(expected))
    assert np.array_equal(out[~np.isfinite(expected)], expected[~np.isfinite(expected)], equal_nan=True)


@njit
def _shift(x: Array, out: Array, by: int, factor: Any) -> None:
    simd.store_f32(out, by, factor * simd.load_f32(x, by))


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
