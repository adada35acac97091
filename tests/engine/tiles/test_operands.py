"""Whole numbers as operands: what is stored where, for int16 pairs and, on a processor with AMX, for int8 digits."""

from typing import Any

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

import engine
from engine.simd import JIT, LANES, load_f32, load_i32, store_i32, to_i32
from engine.tiles.amx.attention import store_columns, store_row, store_weights
from engine.tiles.operands import CODED, ROW_TOP, SMALL_TOP, TOP, store_digits, store_pairs
from tests.engine.isas import need

RANDOM = np.random.default_rng(6)


def need_tiles() -> None:
    """Skip the test where kernels are not compiled for AMX."""
    need("amx")
    if engine.isa() != "amx" or not JIT:
        pytest.skip("kernels are compiled for another instruction set here")


def stored(store: Any, vectors: NDArray[Any], size: int) -> NDArray[np.int8]:
    """What `store` writes of [4, 16] values into a buffer of -1."""
    out = np.full(size, -1, np.int8)

    @njit
    def run(v: Any, out: Any) -> None:
        store(
            out.ctypes.data, to_i32(load_f32(v, 0)), to_i32(load_f32(v, 16)), to_i32(load_f32(v, 32)),
            to_i32(load_f32(v, 48)),
        )  # fmt: skip

    run(vectors.astype(np.float32).reshape(-1), out)
    return out


def interleaved(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.int8]:
    return np.stack([a, b], axis=1).astype(np.int16).reshape(-1).view(np.int8)


def by_fours(v: NDArray[Any]) -> NDArray[Any]:
    """Four that are multiplied together side by side: of 0..15, 32..47, 16..31, 48..63."""
    return v[[0, 2, 1, 3]].T.reshape(-1)


def numbers(top: int) -> list[NDArray[Any]]:
    ends = np.array([top, -top, 0, 64, -64, 63, -65, 127, -127, 1, -1, 65, 100, -100, 2, 3])
    return [RANDOM.integers(-top, top + 1, (4, LANES)), np.tile(ends, (4, 1)), np.full((4, LANES), top)]


def test_pairs() -> None:
    for v in numbers(ROW_TOP):
        expected = [interleaved(v[0], v[1]), interleaved(v[2], v[3])]
        row = stored(store_pairs, v, 192)
        assert np.array_equal(row[:128], np.concatenate(expected))
        assert (row[128:] == -1).all()


def test_digits() -> None:
    need_tiles()
    for v in numbers(ROW_TOP):
        row, x = stored(store_digits, v, 2048), v.reshape(-1)[CODED]
        assert np.array_equal(row[:64], x >> 8)
        assert np.array_equal(row[1024:1088].view(np.uint8), x & 255)
        assert (np.delete(row, np.r_[:64, 1024:1088]) == -1).all()
    for v in numbers(TOP):
        columns, x = stored(store_columns, v, 2048).astype(int), by_fours(v)
        assert np.array_equal(256 * columns[:64] + columns[1024:1088], x)
        assert (np.delete(columns, np.r_[:64, 1024:1088]) == -1).all()
    for v in numbers(SMALL_TOP):
        row = stored(store_row, v, 128)
        assert np.array_equal(row[:64], by_fours(v))
        assert (row[64:] == -1).all()


def test_weights_are_low_halves_and_are_added_up() -> None:
    need_tiles()

    @njit
    def run(v: Any, out: Any, share: Any) -> None:
        added = store_weights(
            out.ctypes.data, load_i32(share, 0), load_i32(v, 0), load_i32(v, 16), load_i32(v, 32), load_i32(v, 48)
        )  # fmt: skip
        store_i32(share, 0, added)

    for v in map(np.abs, numbers(TOP)):
        out, share = np.full(2048, -1, np.int8), np.full(LANES, 7, np.int32)
        run((v | 0x4B400000).astype(np.int32).reshape(-1), out, share)
        assert share.sum() == 7 * LANES + v.sum()
        assert np.array_equal(out[:64].view(np.uint8), by_fours(v) >> 8)
        assert np.array_equal(out[1024:1088].view(np.uint8), by_fours(v) & 255)
        assert (np.delete(out, np.r_[:64, 1024:1088]) == -1).all()
