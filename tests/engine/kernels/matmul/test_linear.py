"""`linear` over whole matrices against numpy, exact, for every number of rows around the height of a tile."""

from typing import Any

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from engine.codegen import CHUNK, ROW_TOP, SMALL_TOP
from engine.kernels.matmul import linear as matmul
from engine.kernels.matmul import packing
from engine.kernels.matmul.arguments import Target
from engine.kernels.matmul.linear import ADD, GELU, LONGEST, PLAIN, ROWS, SUMS, TOTALS, WIDTH
from engine.kernels.rows import quantize
from engine.models.layers import start, stop
from engine.models.weights import GROUPS
from engine.simd import fma, gelu_near, load_f32, store_f32
from tests.engine.kernels.called import called
from tests.engine.kernels.tiles import from_left, from_tiles, left_bytes, to_tiles

Floats = NDArray[np.float32]
MODES = [PLAIN, ADD]
TOP = np.float32(ROW_TOP)


@njit
def linear(
    x: Floats, a: Any, ones: Floats, scale: Floats, m: int, k: int, stack: Any, group: int, layer: int, n: int,
    mode: int, out: Floats, first: int, column: int, width: int, inverse: Floats, operand: Any, sums: Any,
    totals: Floats,
) -> None:  # fmt: skip
    weights, factors, bias = stack
    quantize(x, 0, m, k, a, ones)
    start()
    left, matrix = matmul.Operand(a, scale, m, k), matmul.Layer(weights, factors, bias, group, layer, n)
    work = matmul.Work(inverse, operand, sums, totals)
    matmul.linear(left, matrix, Target(out, width, column, mode), first, work)
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


@njit
def _fused(x: Floats, y: Floats, z: Floats, out: Floats) -> None:
    for i in range(0, x.size, 16):
        store_f32(out, i, fma(load_f32(x, i), load_f32(y, i), load_f32(z, i)))


def fused(*values: Floats) -> Floats:
    """x * y + z by the engine's own fma, which has a test."""
    arrays = [np.array(v, np.float32, order="C") for v in np.broadcast_arrays(*values)]
    out = np.zeros(arrays[0].shape, np.float32)
    _fused(*(array.reshape(-1) for array in arrays), out.reshape(-1))
    return out


def whole_rows(random: np.random.Generator, m: int, k: int) -> Floats:
    """Whole numbers whose scale is 1: the greatest of each row is ROW_TOP."""
    x = random.integers(-ROW_TOP, ROW_TOP + 1, (m, k)).astype(np.float32)
    x[np.arange(m), random.integers(0, k, m)] = random.choice([-TOP, TOP], m)
    return x


def check(m: int, k: int, n: int, *, group: int, layers: int = 1, first: int = 0, extreme: bool = False) -> None:
    random = np.random.default_rng(m)
    x = np.full((m, k), TOP, np.float32) if extreme else whole_rows(random, m, k)
    values = random.standard_normal((layers, n, k)).astype(np.float32)
    if extreme:
        values = np.ones_like(values)
    packed = [packing.pack(matrix, group) for matrix in values]
    weights, factors = (np.concatenate(parts) for parts in zip(*packed, strict=True))
    bias = random.standard_normal(layers * n).astype(np.float32)
    scale = random.random(m + ROWS + 16).astype(np.float32) / 2**16
    column, width = (0, n) if first else (WIDTH, n + 2 * WIDTH)  # the product is a part of the rows
    before = random.standard_normal((first + m, width)).astype(np.float32)
    inside = (slice(first, first + m), slice(column, column + n))

    def run(layer: int, mode: int, out: Floats, at: int, within: int, inverse: Floats, operand: Any) -> None:
        ones = np.zeros(m, np.float32)
        linear(
            to_tiles(x), np.zeros(left_bytes(m + ROWS, k), np.int8), ones, scale, m, k, (weights, factors, bias),
            group, layer, n, mode, out, first, at, within, inverse, operand, np.zeros(2 * SUMS, np.int32),
            np.full(max(TOTALS, WIDTH * (m + ROWS)), np.nan, np.float32),
        )  # fmt: skip
        assert (ones == 1).all()

    for layer in range(layers):
        y = fused(truth(x, values[layer], group), scale[:m, None], bias[layer * n : (layer + 1) * n])
        for mode in MODES:
            out, expected = to_tiles(before), before.copy()
            run(layer, mode, out, column, width, np.zeros(16 + m, np.float32), np.zeros(0, np.int8))
            expected[inside] = before[inside] + y if mode == ADD else y
            assert np.array_equal(from_tiles(out, width)[: first + m], expected)
        made = apply(near, y)
        inverse = np.zeros(m + ROWS + 16, np.float32)
        inverse[:m] = TOP / np.abs(made).max(1)
        operand = np.full(left_bytes(m + ROWS, n), -1, np.int8)
        run(layer, GELU, np.zeros(0, np.float32), 0, n, inverse, operand)
        quantized = np.zeros(left_bytes(m + ROWS, n), np.int8)
        called(quantize)(to_tiles(made), 0, m, n, quantized, np.zeros(m, np.float32))
        assert np.array_equal(from_left(operand, m, n), from_left(quantized, m, n))


def truth(x: Floats, values: Floats, group: int) -> Floats:
    """Exact sums of each group, then float32 in order of the groups."""
    total: Any = None
    for at in range(0, x.shape[1], group):
        numbers, scales = packing.to_integers(values[:, at : at + group])
        sums = x[:, at : at + group].astype(np.int64) @ numbers.T.astype(np.int64)
        assert np.abs(sums).max() < 2**31
        part = sums.astype(np.float32)
        total = part * scales if total is None else fused(part, scales, total)
    return total


@pytest.mark.parametrize("m", [*range(1, 2 * ROWS + 2), 47, 48, 49, 128])
@pytest.mark.parametrize("group", [64, 128])
def test_rows_around_the_height_of_a_tile(m: int, group: int) -> None:
    check(m, 128, 64, group=group, layers=2)


@pytest.mark.parametrize("k", [64, 128, 192, 384, 1536])
@pytest.mark.parametrize("n", [64, 128, 192, 320])
@pytest.mark.parametrize("group", [64, 128, 192, 384, LONGEST])
def test_widths(k: int, n: int, group: int) -> None:
    check(19, k, n, group=group)


@pytest.mark.parametrize("k", [64, 512, 1536])
@pytest.mark.parametrize("group", [128, 384, LONGEST])
def test_the_greatest_sums_and_rows_that_are_not_the_first(k: int, group: int) -> None:
    check(20, k, 64, group=group, first=32, extreme=True)


def test_no_sum_of_a_group_leaves_int32() -> None:
    assert LONGEST * ROW_TOP * SMALL_TOP < 2**31 <= (LONGEST + CHUNK) * ROW_TOP * SMALL_TOP
    assert all(group <= LONGEST and group % CHUNK == 0 for group in GROUPS.values())


@pytest.mark.parametrize("k", [64, 384, 1536])
def test_weights_become_the_nearest_numbers(k: int) -> None:
    random = np.random.default_rng(k)
    values = (random.standard_normal((8, k)) * 10.0 ** np.arange(-4, 4)[:, None]).astype(np.float32)
    values[1], values[2, 1:], values[3] = 0, 0, random.choice([-3, 3], k)
    numbers, scales = packing.to_integers(values)
    assert numbers.dtype == np.int32
    assert scales.dtype == np.float32
    assert np.array_equal(np.abs(numbers).max(1) == SMALL_TOP, scales > 0)
    assert np.array_equal(scales, np.abs(values).max(1) / np.float32(SMALL_TOP))
    assert not numbers[1].any()
    errors = np.abs(numbers * scales[:, None].astype(np.float64) - values)
    assert (errors <= 0.5001 * scales[:, None]).all()


def test_the_scale_does_not_depend_on_the_order_of_a_row() -> None:
    random = np.random.default_rng(5)
    values = random.standard_normal((4, 1536)).astype(np.float32)
    order = random.permutation(1536)
    numbers, scales = packing.to_integers(values)
    mixed, others = packing.to_integers(values[:, order])
    assert np.array_equal(numbers[:, order], mixed)
    assert np.array_equal(scales, others)
