"""`matmul_floats` over whole matrices against numpy, exact, for every number of rows around the height of a tile."""

from typing import Any

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from engine.kernels import functions
from engine.kernels.matmul import ADD, GELU, PLAIN, Target
from engine.kernels.matmul.floats import FLOAT_ROWS, SUMS, matmul_floats, pack_floats
from engine.simd import load_f32, store_f32
from tests.engine.kernels.tiles import from_tiles, to_tiles

Floats = NDArray[np.float32]


@njit
def _apply(function: Any, x: Floats, out: Floats) -> None:
    for i in range(0, x.size, 16):
        store_f32(out, i, function(load_f32(x, i)))


def apply(function: Any, x: Floats) -> Floats:
    out = np.zeros(x.shape, np.float32)
    _apply(function, np.ascontiguousarray(x).reshape(-1), out.reshape(-1))
    return out


@njit
def multiplied(
    x: Floats, m: int, k: int, weights: Floats, bias: Floats, layer: int, n: int, mode: int, out: Floats, first: int,
    column: int, width: int, sums: Floats,
) -> None:  # fmt: skip
    target = Target(out, width, first, column, mode)
    matmul_floats(x, m, k, weights[layer * n * k :], bias[layer * n :], n, target, sums)


@pytest.mark.parametrize("m", [*range(1, 2 * FLOAT_ROWS + 2), 33])
@pytest.mark.parametrize(("k", "n"), [(64, 32), (128, 96)])
def test_matmul_floats(m: int, k: int, n: int) -> None:
    random = np.random.default_rng(m)
    layers, first, column, width = 2, 16, 32, n + 64
    x = random.standard_normal((m + FLOAT_ROWS, k)).astype(np.float32)
    w = random.standard_normal((layers, n, k)).astype(np.float32)
    weights = np.concatenate([pack_floats(matrix) for matrix in w])
    bias = random.standard_normal(layers * n).astype(np.float32)
    before = random.standard_normal((first + m, width)).astype(np.float32)
    inside = (slice(first, first + m), slice(column, column + n))
    for layer in range(layers):
        y = np.zeros((m, n), np.float32)
        for i in range(k):
            y = y + x[:m, i : i + 1] * w[layer, :, i]
        y = y + bias[layer * n : (layer + 1) * n]
        for mode, made in ((PLAIN, y), (GELU, apply(functions.gelu, y)), (ADD, before[inside] + y)):
            out, expected = to_tiles(before), before.copy()
            multiplied(
                x.reshape(-1), m, k, weights, bias, layer, n, mode, out, first, column, width,
                np.zeros(SUMS, np.float32),
            )  # fmt: skip
            expected[inside] = made
            assert np.array_equal(from_tiles(out, width)[: first + m], expected)
