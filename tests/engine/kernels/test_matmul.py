"""`linear` over whole matrices against numpy, exact, for every number of rows around the height of a tile."""

from typing import Any

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from engine.kernels import functions, matmul
from engine.kernels.matmul import ADD, FLOAT_ROWS, GELU, GREATEST, PLAIN, ROWS, SUMS, TOTALS
from engine.kernels.rows import quantize
from engine.models.layers import start, stop
from engine.simd import SMALL_TOP, TOP, gelu_near, load_f32, store_f32
from tests.engine.kernels.tiles import from_tiles, left_bytes, to_tiles

Floats = NDArray[np.float32]
MODES = [PLAIN, GELU, ADD]


@njit
def linear(
    x: Floats, a: Any, ones: Floats, scale: Floats, m: int, k: int, stack: Any, group: int, layer: int, n: int,
    mode: int, out: Floats, first: int, sums: Any, totals: Floats,
) -> None:  # fmt: skip
    weights, factors, bias = stack
    quantize(x, 0, m, k, a, ones)
    start()
    matmul.linear(a, scale, m, k, weights, factors, bias, group, layer, n, mode, out, first, sums, totals)
    stop()


@njit
def near(y: Any) -> Any:
    return gelu_near(y)


@njit
def _apply(function: Any, x: Floats, out: Floats) -> None:
    for i in range(0, x.size, 16):
        store_f32(out, i, function(load_f32(x, i)))


def apply(function: Any, x: Floats) -> Floats:
    out = np.zeros(x.shape, np.float32)
    _apply(function, np.ascontiguousarray(x).reshape(-1), out.reshape(-1))
    return out


def finished(y: Floats, mode: int, gelu: Any, before: Floats) -> Floats:
    return apply(gelu, y) if mode == GELU else before + y if mode == ADD else y


def whole_rows(random: np.random.Generator, m: int, k: int) -> Floats:
    """Whole numbers whose scale is 1: the greatest of each row is TOP."""
    x = random.integers(-TOP, TOP + 1, (m, k)).astype(np.float32)
    x[np.arange(m), random.integers(0, k, m)] = random.choice([-TOP, TOP], m)
    return x


def check(m: int, k: int, n: int, *, group: int, layers: int, first: int = 0, extreme: bool = False) -> None:
    random = np.random.default_rng(m)
    x = np.full((m, k), TOP, np.float32) if extreme else whole_rows(random, m, k)
    values = random.standard_normal((layers, n, k)).astype(np.float32)
    if extreme:
        values = np.ones_like(values)
    packed = [matmul.pack(matrix, group) for matrix in values]
    weights, factors = (np.concatenate(parts) for parts in zip(*packed, strict=True))
    bias = random.standard_normal(layers * n).astype(np.float32)
    scale = random.random(m + ROWS + 16).astype(np.float32)
    before = random.standard_normal((first + m, n)).astype(np.float32)
    for layer in range(layers):
        total = truth(x, values[layer], group)
        for mode in MODES:
            y = total * scale[:m, None] + bias[layer * n : (layer + 1) * n]
            out, ones = to_tiles(before), np.zeros(m, np.float32)
            linear(
                to_tiles(x), np.zeros(left_bytes(m + ROWS, k), np.int8), ones, scale, m, k, (weights, factors, bias),
                group, layer, n, mode, out, first, np.zeros(2 * SUMS, np.int32), np.full(TOTALS, np.nan, np.float32),
            )  # fmt: skip
            assert (ones == 1).all()
            found = from_tiles(out, n)
            assert np.array_equal(found[first : first + m], finished(y, mode, near, before[first:]))
            assert np.array_equal(found[:first], before[:first])


def truth(x: Floats, values: Floats, group: int) -> Floats:
    """Exact sums of each group, then float32 in order of the groups."""
    total: Any = None
    for at in range(0, x.shape[1], group):
        numbers, scales = matmul.to_numbers(values[:, at : at + group])
        sums = x[:, at : at + group].astype(np.int64) @ numbers.T.astype(np.int64)
        assert np.abs(sums).max() < 2**31
        part = sums.astype(np.float32) * scales
        total = part if total is None else total + part
    return total


@pytest.mark.parametrize("m", [*range(1, 2 * ROWS + 2), 47, 48, 49, 128])
@pytest.mark.parametrize("group", [64, 128])
def test_rows_around_the_height_of_a_tile(m: int, group: int) -> None:
    check(m, 128, 64, group=group, layers=2)


@pytest.mark.parametrize("k", [64, 128, 192, 384, 1536])
@pytest.mark.parametrize("n", [64, 128, 192, 320])
@pytest.mark.parametrize("group", [128, 192, 1536])
def test_widths(k: int, n: int, group: int) -> None:
    check(19, k, n, group=group, layers=1)


@pytest.mark.parametrize("k", [64, 1536])
@pytest.mark.parametrize("group", [128, 1536])
def test_the_greatest_sums_and_rows_that_are_not_the_first(k: int, group: int) -> None:
    check(20, k, 64, group=group, layers=1, first=32, extreme=True)


@njit
def linear_float(
    x: Floats, m: int, k: int, weights: Floats, bias: Floats, layer: int, n: int, mode: int, out: Floats, first: int,
    sums: Floats,
) -> None:  # fmt: skip
    matmul.linear_float(x, m, k, weights, bias, layer, n, mode, out, first, sums)


@pytest.mark.parametrize("m", [*range(1, 2 * FLOAT_ROWS + 2), 33])
@pytest.mark.parametrize(("k", "n"), [(64, 32), (128, 96)])
def test_linear_float(m: int, k: int, n: int) -> None:
    random = np.random.default_rng(m)
    layers, first = 2, 16
    x = random.standard_normal((m + FLOAT_ROWS, k)).astype(np.float32)
    w = random.standard_normal((layers, n, k)).astype(np.float32)
    weights = np.concatenate([matmul.pack_float(matrix) for matrix in w])
    bias = random.standard_normal(layers * n).astype(np.float32)
    before = random.standard_normal((first + m, n)).astype(np.float32)
    for layer in range(layers):
        y = np.zeros((m, n), np.float32)
        for i in range(k):
            y = y + x[:m, i : i + 1] * w[layer, :, i]
        y = y + bias[layer * n : (layer + 1) * n]
        for mode in MODES:
            out = to_tiles(before)
            linear_float(
                x.reshape(-1), m, k, weights, bias, layer, n, mode, out, first, np.zeros(SUMS, np.float32)
            )  # fmt: skip
            found = from_tiles(out, n)
            assert np.array_equal(found[first : first + m], finished(y, mode, functions.gelu, before[first:]))
            assert np.array_equal(found[:first], before[:first])


@pytest.mark.parametrize("k", [64, 384, 1536, 8192])
def test_weights_become_the_nearest_numbers_and_no_sum_can_overflow(k: int) -> None:
    random = np.random.default_rng(k)
    values = (random.standard_normal((8, k)) * 10.0 ** np.arange(-4, 4)[:, None]).astype(np.float32)
    values[1], values[2, 1:], values[3] = 0, 0, random.choice([-3, 3], k)
    numbers, scales = matmul.to_numbers(values)
    assert numbers.dtype == np.int32
    assert scales.dtype == np.float32
    assert np.abs(numbers).max() <= SMALL_TOP
    assert np.abs(numbers.astype(np.int64)).sum(1).max() <= GREATEST
    assert not numbers[1].any()
    assert scales[1] == 0
    errors = np.abs(numbers * scales[:, None].astype(np.float64) - values)
    assert (errors <= 0.5001 * scales[:, None]).all()
    if np.abs(values[0] / np.abs(values[0]).max()).sum() * SMALL_TOP < GREATEST - k:
        assert scales[0] == np.abs(values[0]).max() / np.float32(SMALL_TOP)  # is raised only where it must be


def test_the_scale_does_not_depend_on_the_order_of_a_row() -> None:
    random = np.random.default_rng(5)
    values = random.standard_normal((4, 1536)).astype(np.float32)
    order = random.permutation(1536)
    numbers, scales = matmul.to_numbers(values)
    mixed, others = matmul.to_numbers(values[:, order])
    assert np.array_equal(numbers[:, order], mixed)
    assert np.array_equal(scales, others)
