"""Scores, weights and their products with values against numpy, exact, on each instruction set of this processor."""

from typing import Any

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from engine.simd import LANES, load_i32, store_i32
from engine.tiles.attention import KEYS, ROWS, attention_tiles
from engine.tiles.operands import SMALL_TOP
from tests.engine.isas import COMPARED, usable

RANDOM = np.random.default_rng(12)


def numbers(rows: int, depth: int) -> list[NDArray[np.int64]]:
    """Some within 127, and those that make the greatest sums of either sign."""
    return [RANDOM.integers(-SMALL_TOP, SMALL_TOP + 1, (rows, depth)), np.full((rows, depth), SMALL_TOP)]


@pytest.mark.parametrize("isa", [isa for isa in COMPARED if isa in ROWS])
@pytest.mark.parametrize(("depth", "groups"), [(16, 1), (48, 3), (128, 2)])
def test_scores(isa: str, depth: int, groups: int) -> None:
    usable(isa)
    tiles = attention_tiles(isa)
    store_row, turn, score, rows, run = tiles.store_row, tiles.turn_keys, tiles.score, tiles.rows, LANES * tiles.bytes
    runs = depth // LANES

    @njit
    def make(q: Any, k: Any, queries: Any, keys: Any, buffer: Any) -> None:
        for i in range(runs):
            for r in range(rows):
                store_row(np.int64(queries.ctypes.data) + (i * rows + r) * run, load_i32(q, r * depth + i * LANES))
            for t in range(0, groups * KEYS, LANES):
                for r in range(LANES):
                    at = (t + r) * depth + i * LANES
                    store_row(np.int64(buffer.ctypes.data) + r * run, load_i32(k, at))
                turn(buffer.ctypes.data, np.int64(keys.ctypes.data) + (t // LANES * runs + i) * LANES * run)

    @njit
    def multiply(count: int, queries: Any, keys: Any, greatest: Any, out: Any) -> None:
        score(count, queries.ctypes.data, keys.ctypes.data, depth, groups, greatest.ctypes.data, out.ctypes.data)

    queries, keys = np.zeros(rows * depth * 2, np.int8), np.zeros(groups * KEYS * depth * 2, np.int8)
    for q in numbers(rows, depth):
        for k in (*numbers(groups * KEYS, depth), np.full((groups * KEYS, depth), -SMALL_TOP)):
            flat = (q.astype(np.int32).reshape(-1), (k + tiles.offset).astype(np.int32).reshape(-1))
            make(*flat, queries, keys, np.zeros(LANES * run, np.int8))
            expected = q @ (k + tiles.offset).T
            for count in {rows, tiles.half}:
                out, greatest = np.zeros(groups * KEYS * rows, np.int32), np.zeros(rows * LANES, np.int32)
                multiply(count, queries, keys, greatest, out)
                found = out.reshape(-1, rows, LANES).transpose(1, 0, 2)[:count]
                assert np.array_equal(found.reshape(count, -1), expected[:count])
                lanes = expected[:count].reshape(count, -1, LANES).max(1)
                assert np.array_equal(greatest.reshape(rows, LANES)[:count], lanes)


@pytest.mark.parametrize("isa", [isa for isa in COMPARED if isa in ROWS])
def test_weights_times_values(isa: str) -> None:
    usable(isa)
    tiles = attention_tiles(isa)
    store_weights, mix, rows, groups = tiles.store_weights, tiles.mix, tiles.rows, 3

    @njit
    def weigh(v: Any, out: Any, shares: Any) -> None:
        for r in range(rows):
            for g in range(groups):
                low, high = load_i32(v, (r * groups + g) * KEYS), load_i32(v, (r * groups + g) * KEYS + LANES)
                to = np.int64(out.ctypes.data) + (g * 2 * rows + r) * 4 * LANES
                store_i32(shares, r * LANES, store_weights(to, load_i32(shares, r * LANES), low, high))

    @njit
    def multiply(count: int, weights: Any, values: Any, sums: Any) -> None:
        mix(count, weights.ctypes.data, values.ctypes.data, values.nbytes // 2, groups, sums.ctypes.data)

    weights = RANDOM.integers(0, 8191, (rows, groups, 2, LANES))
    values = RANDOM.integers(-511, 512, (2, LANES, groups, 2, LANES))
    data, shares = np.full(groups * 2 * rows * LANES, -1, np.int32), np.zeros(rows * LANES, np.int32)
    weigh((weights | 0x4B400000).astype(np.int32).reshape(-1), data, shares)
    assert np.array_equal(shares.reshape(rows, LANES).sum(1), weights.reshape(rows, -1).sum(1))
    packed = values.transpose(0, 2, 4, 1, 3).astype(np.int16).copy()
    for count in {rows, tiles.half}:
        sums = np.full(2 * rows * LANES, -1, np.int32)
        multiply(count, data, packed, sums)
        expected = np.einsum("rgpi,vdgpi->vrd", weights, values)
        assert np.array_equal(sums.reshape(2, rows, LANES)[:, :count], expected[:, :count])
