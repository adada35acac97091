"""Products of encoders over whole matrices, bit for bit as they are defined, for every number of rows around the
heights of tiles."""

from typing import Any

import numpy as np
import pytest
from numba import njit

from engine.kernels.matmul import ADD, PLAIN, Rows, Target
from engine.kernels.matmul import encoder as grouped
from engine.kernels.matmul.encoder import BETWEEN, LAYOUT, TOTALS
from engine.models.layers import start, stop
from engine.tiles.grouped import FOUR
from tests.engine.kernels import groups
from tests.engine.kernels.groups import Floats, Numbers
from tests.engine.kernels.tiles import from_tiles, near, to_tiles, untouched
from tests.reference import whole_numbers as reference
from tests.reference.whole_numbers import RAISED, gelu_near, gelu_raised

LAYERS = 2
Operand = tuple[Any, Any]


@njit
def quantize(x: Floats, first: int, factors: Floats, left: Operand, m: int, k: int, kind: int) -> None:
    quants, scales = left
    none = factors[:0]
    matrix = grouped.Matrix(quants, none, none, none, factors, 0, 0)
    grouped.quantize(Rows(x, first, k), matrix, grouped.Operand(quants, scales, none, m, k, kind))


@njit
def multiply(
    left: Operand, m: int, k: int, kind: int, stack: Any, layer: int, n: int, out: Floats, first: int, column: int,
    width: int, mode: int, totals: Floats,
) -> None:  # fmt: skip
    (quants, scales), (weights, factors, bias) = left, stack
    start()
    none = totals[:0]
    matrix = grouped.Matrix(weights, factors, none, bias, none, layer, n)
    target = Target(out, width, first, column, mode)
    grouped.matmul(grouped.Operand(quants, scales, none, m, k, kind), matrix, target, totals)
    stop()


@njit
def multiply_gelu(
    left: Operand, m: int, k: int, kind: int, stack: Any, layer: int, n: int, made: Operand, out_kind: int,
    between: Floats, inverses: Floats, totals: Floats,
) -> None:  # fmt: skip
    (quants, scales), (weights, factors, bias), (operand, operand_scales) = left, stack, made
    start()
    none = totals[:0]
    matrix = grouped.Matrix(weights, factors, none, bias, none, layer, n)
    out = grouped.Operand(operand, operand_scales, none, m, n, out_kind)
    grouped.matmul_gelu(grouped.Operand(quants, scales, none, m, k, kind), matrix, out, inverses, between, totals)
    stop()


def row_size(k: int, kind: int) -> int:
    """Bytes of a row of an operand."""
    return 2 * k if LAYOUT == "pairs" else groups.planes_of(kind, LAYOUT) * k


def empty(m: int, k: int, kind: int) -> list[Any]:
    """Room for an operand of m rows and for its scales, rows up to a multiple of 16 readable; each with its guard."""
    rows = -(-m // 16) * 16
    return near(np.zeros(rows * row_size(k, kind), np.int8), np.zeros(rows * (k // reference.GROUP), np.float32))


def taken(x: Floats, kind: int, first: int = 0, factors: Floats | None = None) -> tuple[Operand, Numbers, Floats]:
    """The rows of x from `first` on as a left operand; and its whole numbers and scales."""
    m, k = len(x) - first, x.shape[1]
    quants, guard, scales, other = empty(m, k, kind)
    ones = np.ones(k, np.float32) if factors is None else factors
    quantize(to_tiles(x), first, ones, (quants, scales), m, k, kind)
    assert untouched(guard)
    assert untouched(other)
    assert not quants[-(-m // FOUR) * FOUR * row_size(k, kind) :].any()
    numbers = groups.numbers_of(quants, m, k, kind, LAYOUT)
    return (quants, scales), numbers, scales.reshape(-1, k // reference.GROUP)[:m]


@pytest.mark.parametrize("kind", [1, 2])
@pytest.mark.parametrize("k", [64, 192, 384])
@pytest.mark.parametrize(("first", "count"), [(0, 1), (0, 17), (32, 5), (16, 33)])
def test_rows_become_whole_numbers(k: int, first: int, count: int, kind: int) -> None:
    random = np.random.default_rng(k)
    x = random.standard_normal((first + count, k)) * 10.0 ** random.integers(-25, 25, (first + count, 1))
    x, factors = x.astype(np.float32), (random.random(k) + 0.5).astype(np.float32)
    _, numbers, scales = taken(x, kind, first, factors)
    expected, of_groups = reference.rows_of(x[first:] * factors, kind)
    assert np.array_equal(scales, of_groups)
    assert np.array_equal(numbers, expected)
    assert (np.abs(numbers).reshape(count, -1, reference.GROUP).max(2) == reference.TOPS[kind]).all()


@pytest.mark.parametrize("kind", [1, 2])
@pytest.mark.parametrize("lane", [0, 21, 47, 63])
@pytest.mark.parametrize("value", [np.nan, -np.nan, np.inf, -np.inf])
def test_what_is_not_finite_becomes_nan(lane: int, value: float, kind: int) -> None:
    x = np.random.default_rng(lane).standard_normal((3, 128)).astype(np.float32)
    x[1, 64 + lane] = value
    left, _, scales = taken(x, kind)
    assert np.array_equal(np.isnan(scales), [[False, False], [False, True], [False, False]])
    stack, _ = stack_of(np.random.default_rng(1), 64, 128)
    out = to_tiles(np.zeros((3, 64)))
    multiply(left, 3, 128, kind, stack, 0, 64, out, 0, 0, 64, PLAIN, np.zeros(TOTALS, np.float32))
    assert np.array_equal(np.isnan(from_tiles(out, 64)[:3]).all(1), [False, True, False])
    assert np.isfinite(from_tiles(out, 64)[[0, 2]]).all()


@pytest.mark.parametrize("kind", [1, 2])
@pytest.mark.parametrize("value", [0, 1e-31, 1e-45])
def test_groups_of_nothing_and_of_next_to_nothing_become_zeros(value: float, kind: int) -> None:
    x = np.ones((2, 128), np.float32)
    x[:, :64] = value
    _, numbers, scales = taken(x, kind)
    assert not numbers[:, :64].any()
    assert scales[:, 0].max() < 1e-32
    assert (numbers[:, 64:] == reference.TOPS[kind]).all()


def stack_of(random: np.random.Generator, n: int, k: int) -> tuple[Any, list[tuple[Numbers, Floats, Floats]]]:
    """Matrices of several layers as they are packed, and what each of them is: numbers, scales, bias."""
    values = random.standard_normal((LAYERS, n, k)).astype(np.float32)
    bias = random.standard_normal((LAYERS, n)).astype(np.float32)
    weights, scales = (
        np.concatenate(parts)
        for parts in zip(*(grouped.pack(*grouped.to_integers(each)) for each in values), strict=True)
    )
    means = [(*reference.columns_of(matrix), of) for matrix, of in zip(values, bias, strict=True)]
    return (weights, scales, bias.reshape(-1)), means


def check(m: int, n: int, k: int, kind: int, first: int = 0) -> None:
    """Both layers of a stack, stored and added in a part of wider rows, and through GELU."""
    random = np.random.default_rng(m)
    values = random.standard_normal((m, k)).astype(np.float32)
    left, x, s = taken(np.abs(values) if kind == RAISED else values, kind)
    stack, means = stack_of(random, n, k)
    column, width = 32, n + 96
    before = random.standard_normal((first + m + 3, width)).astype(np.float32)
    inside = (slice(first, first + m), slice(column, column + n))
    totals, guard = near(np.zeros(TOTALS, np.float32))
    for layer, (w, d, bias) in enumerate(means):
        y = reference.product(x, s, w, d, bias)
        for mode in (PLAIN, ADD):
            expected, (out, behind) = before.copy(), near(to_tiles(before, 0))
            multiply(left, m, k, kind, stack, layer, n, out, first, column, width, mode, totals)
            expected[inside] = before[inside] + y if mode == ADD else y
            assert np.array_equal(out, to_tiles(expected, 0))
            assert untouched(behind)
        made = {RAISED: 2, 1: RAISED, 2: 1}[kind]
        numbers, scales = reference.rows_of(gelu_raised(y) if made == RAISED else gelu_near(y), made)
        quants, behind, found, other = empty(m, n, made)
        between, after = near(np.zeros(BETWEEN * reference.GROUP, np.float32))
        multiply_gelu(left, m, k, kind, stack, layer, n, (quants, found), made, between, np.ones(n, np.float32), totals)
        assert np.array_equal(groups.numbers_of(quants, m, n, made, LAYOUT), numbers)
        assert np.array_equal(found.reshape(-1, n // reference.GROUP)[:m], scales)
        assert all(untouched(each) for each in (behind, other, after, guard))


@pytest.mark.parametrize("kind", reference.TOPS)
@pytest.mark.parametrize("m", range(1, 41))
def test_rows_around_the_height_of_a_tile(m: int, kind: int) -> None:
    check(m, 64, 128, kind)


@pytest.mark.parametrize("kind", reference.TOPS)
@pytest.mark.parametrize(("n", "k"), [(64, 64), (128, 192), (320, 64), (64, 1536)])
def test_widths_and_rows_that_are_not_the_first(n: int, k: int, kind: int) -> None:
    check(19, n, k, kind, first=32)


@pytest.mark.parametrize("made", reference.TOPS)
@pytest.mark.parametrize("value", [np.nan, -np.nan, np.inf, -np.inf])
def test_what_is_not_finite_before_gelu_becomes_nan_behind_it(value: float, made: int) -> None:
    random = np.random.default_rng(2)
    left, _, _ = taken(random.standard_normal((3, 64)).astype(np.float32), 1)
    (weights, factors, bias), _ = stack_of(random, 64, 64)
    bias = np.where(np.arange(bias.size) == 5, np.float32(value), bias)
    quants, _, scales, _ = empty(3, 64, made)
    between, totals = np.zeros(BETWEEN * reference.GROUP, np.float32), np.zeros(TOTALS, np.float32)
    ones = np.ones(64, np.float32)
    multiply_gelu(left, 3, 64, 1, (weights, factors, bias), 0, 64, (quants, scales), made, between, ones, totals)
    assert np.isnan(scales[:3]).all()
