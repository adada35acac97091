"""Register tiles against numpy, exact: every instruction set that this processor has, every shape in use."""

from typing import Any

import numpy as np
import pytest
from numba import njit

from engine.kernels.matmul.floats import FLOAT_ROWS
from engine.simd import LANES
from engine.tiles.dots import FloatTile, PairTile, float_tile, pair_tiles
from engine.tiles.operands import CHUNK, TOP
from tests.engine.isas import COMPARED, usable

SHAPES = [(isa, shape) for isa in COMPARED if isa != "amx" for shape in ((1, 1), (2, 3), (4, 1), (8, 2))]


@pytest.mark.parametrize(("isa", "shape"), SHAPES)
def test_pair_tile(isa: str, shape: tuple[int, int]) -> None:
    usable(isa)
    rows, columns = shape
    tile = pair_tiles(rows + 1, columns, isa)
    random = np.random.default_rng(1)

    @njit
    def run(a: Any, w: Any, k: int, out: Any) -> None:
        left, right, to = a.ctypes.data, w.ctypes.data, out.ctypes.data
        tile(rows, PairTile(left, 2 * a.shape[1], right, w.strides[0], k // 32, to, 4 * out.shape[1], 64))

    for k in (32, 64, 96, 384):
        n = LANES * columns
        most = 8191 if k == 32 else 127  # 32 * 8191 * 8191 is all that int32 holds
        for a, w in [
            (random.integers(-TOP, TOP + 1, (rows, k)), random.integers(-most, most + 1, (n, k))),
            (np.full((rows, k), TOP), np.full((n, k), most)),
            (np.full((rows, k), -TOP), np.full((n, k), most)),
            (np.tile([TOP, -TOP], (rows, k // 2)), np.tile([-most, most], (n, k // 2))),
        ]:
            left = np.full((rows, k + 7), -1, np.int16)  # rows may lie apart
            left[:, :k] = a
            packed = w.astype(np.int16).reshape(columns, LANES, k // 2, 2).transpose(0, 2, 1, 3).copy()
            out = np.full((rows, n + 3), -1, np.int32)
            run(left, packed, k, out)
            expected = a.astype(np.int64) @ w.T.astype(np.int64)
            assert np.array_equal(out[:, :n], expected)
            assert (out[:, n:] == -1).all()


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 1), (FLOAT_ROWS, 1), (FLOAT_ROWS, 2)])
def test_float_tile(rows: int, columns: int) -> None:
    tile = float_tile(rows, columns)
    random = np.random.default_rng(2)

    @njit
    def run(a: Any, b: Any, out: Any) -> None:
        left, right, to = a.ctypes.data, b.ctypes.data, out.ctypes.data
        tile(FloatTile(left, 4 * a.shape[1], right, 4 * b.shape[1], a.shape[1], to, 4 * out.shape[1]))

    for depth in (1, 2, 31, 32, 33, CHUNK):
        a = random.standard_normal((rows, depth)).astype(np.float32)
        b = random.standard_normal((depth, 16 * columns + 5)).astype(np.float32)
        out = np.zeros((rows, 16 * columns), np.float32)
        run(a, b, out)
        expected = np.zeros_like(out)
        for k in range(depth):
            expected = expected + a[:, k : k + 1] * b[k, : 16 * columns]
        assert np.array_equal(out, expected)
