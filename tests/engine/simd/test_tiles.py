"""Register tiles against numpy, exact: every instruction set that this processor has, every shape in use."""

from typing import Any

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

import engine
from engine.cpu import ISAS
from engine.kernels.matmul import FLOAT_ROWS, TILES
from engine.simd import GROUP, LANES, float_tile, int_tile
from tests.engine.isas import need

# Kernels of this process are compiled for one instruction set; it may use those of the sets after it.
SHAPES = sorted({*((isa, shape) for isa, shape in TILES.items()), *((isa, (1, 1)) for isa in TILES)})


def usable(isa: str) -> None:
    need(isa)
    if list(ISAS).index(isa) < list(ISAS).index(engine.isa()):
        pytest.skip(f"kernels are compiled for {engine.isa()} here")


def int_tile_truth(
    a: NDArray[np.int16], w: NDArray[np.int8], scale: NDArray[np.float32], row_scale: Any, bias: Any
) -> NDArray[np.float32]:
    """a [m, k], w [n, k], scale [n, k / 32] -> [m, n]: exact sums of a group, then float32 in order of the groups."""
    groups = a.shape[1] // GROUP
    total = np.zeros((a.shape[0], w.shape[0]), np.float32)
    for g in range(groups):
        part = slice(g * GROUP, (g + 1) * GROUP)
        dots = a[:, part].astype(np.int64) @ w[:, part].T.astype(np.int64)
        assert np.abs(dots).max() < 2**31
        total = total + dots.astype(np.float32) * scale[:, g]
    return total * row_scale[:, None] + bias


@pytest.mark.parametrize(("isa", "shape"), SHAPES)
def test_int_tile(isa: str, shape: tuple[int, int]) -> None:
    usable(isa)
    rows, columns = shape
    tile = int_tile(rows, columns, isa)
    random = np.random.default_rng(1)

    @njit
    def run(a: Any, w: Any, scale: Any, groups: int, row_scale: Any, bias: Any, out: Any) -> None:
        tile(
            a.ctypes.data, 2 * GROUP * groups, w.ctypes.data, scale.ctypes.data, groups, row_scale.ctypes.data,
            bias.ctypes.data, out.ctypes.data, 4 * out.shape[1],
        )  # fmt: skip

    for groups in (1, 2, 3, 12):
        k, n = GROUP * groups, LANES * columns
        for a, w in [
            (random.integers(-32767, 32768, (rows, k)), random.integers(-128, 128, (n, k))),
            (np.full((rows, k), 32767), np.full((n, k), -128)),
            (np.full((rows, k), -32767), np.full((n, k), 127)),
            (np.tile([32767, -32767], (rows, k // 2)), np.tile([127, -128], (n, k // 2))),
        ]:
            a, w = a.astype(np.int16), w.astype(np.int8)
            scale = random.random((n, groups)).astype(np.float32)
            row_scale, bias = random.random(rows).astype(np.float32), random.random(n).astype(np.float32)
            packed = w.reshape(columns, LANES, k // 2, 2).transpose(2, 0, 1, 3).copy()
            out = np.zeros((rows, n), np.float32)
            run(a, packed, scale.T.copy(), groups, row_scale, bias, out)
            assert np.array_equal(out, int_tile_truth(a, w, scale, row_scale, bias))


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 1), (FLOAT_ROWS, 2)])
def test_float_tile(rows: int, columns: int) -> None:
    tile = float_tile(rows, columns)
    random = np.random.default_rng(2)

    @njit
    def run(a: Any, b: Any, out: Any) -> None:
        tile(
            a.ctypes.data, 4 * a.shape[1], b.ctypes.data, 4 * b.shape[1], a.shape[1], out.ctypes.data,
            4 * out.shape[1],
        )  # fmt: skip

    for depth in (1, 2, 31, 32, 33):
        a = random.standard_normal((rows, depth)).astype(np.float32)
        b = random.standard_normal((depth, 16 * columns + 5)).astype(np.float32)
        out = np.zeros((rows, 16 * columns), np.float32)
        run(a, b, out)
        expected = np.zeros_like(out)
        for k in range(depth):
            expected = expected + a[:, k : k + 1] * b[k, : 16 * columns]
        assert np.array_equal(out, expected)
