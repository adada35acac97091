"""Products of AMX tiles against numpy, exact, up to the greatest numbers; on a processor that has AMX."""

from typing import Any

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

import engine
from engine.simd import JIT
from engine.tiles import amx as tiles
from engine.tiles.operands import CHUNK, SMALL_TOP, TOP
from tests.engine.isas import need

Numbers = NDArray[np.int64]
RANDOM = np.random.default_rng(8)
EVERYWHERE = np.iinfo(np.int32).min


@pytest.fixture(autouse=True)
def amx() -> None:
    need("amx")
    if engine.isa() != "amx" or not JIT:
        pytest.skip("kernels are compiled for another instruction set here")


def rows(x: Numbers) -> NDArray[Any]:
    """[16, 64 * chunks] -> [chunks, 16, 64], four that are multiplied together side by side."""
    return x.reshape(16, -1, 4, 16)[:, :, [0, 2, 1, 3]].transpose(1, 0, 3, 2).reshape(-1, 16, CHUNK)


def columns(x: Numbers) -> NDArray[Any]:
    """[64 * chunks, n] -> [n / 16, chunks, 16, 64]."""
    chunks = x.reshape(-1, 4, 16, x.shape[1] // 16, 16)[:, [0, 2, 1, 3]]
    return chunks.transpose(3, 0, 2, 4, 1).reshape(x.shape[1] // 16, -1, 16, CHUNK)


def cases(left: int, top: int, k: int, n: int) -> list[tuple[Numbers, Numbers]]:
    signs = np.where(RANDOM.random((k, n)) < 0.5, -1, 1)
    return [
        (RANDOM.integers(-left, left + 1, (16, k)), RANDOM.integers(-top, top + 1, (k, n))),
        (np.full((16, k), left), np.full((k, n), top)),
        (np.full((16, k), -left), np.full((k, n), top)),
        (RANDOM.choice([-left, left], (16, k)), top * signs),
    ]


def planes(high: NDArray[Any], low: NDArray[Any]) -> NDArray[np.int8]:
    """[..., 16, 64] each -> [..., 2, 16, 64], the lowest byte of each."""
    return np.ascontiguousarray(np.stack([high, low], axis=-3) & 255).astype(np.uint8).view(np.int8)


def low_unsigned(x: NDArray[Any]) -> NDArray[np.int8]:
    """Two bytes, the lower one without sign."""
    return planes(x >> 8, x)


def low_signed(x: NDArray[Any]) -> NDArray[np.int8]:
    """Two bytes, the lower one with sign."""
    return planes((x + 128) >> 8, x)


def sums(found: NDArray[np.int32], planes: int) -> Numbers:
    """[planes, 2, 16, 16] -> [16, 32]: bytes put together as int32 does."""
    total = np.zeros((2, 16, 16), np.int64)
    for plane in found.reshape(planes, 2, 16, 16):
        total = (total << 8) + plane
    wrapped = (total + 2**31) % 2**32 - 2**31
    return np.concatenate(list(wrapped), axis=1)


@njit
def _wide(a: Any, w: Any, chunks: int, out: Any) -> None:
    tiles.start_tiles()
    tiles.clear_tiles()
    for q in range(chunks):
        tiles.multiply_wide(a.ctypes.data + 2048 * q, w.ctypes.data + 2048 * q, w.ctypes.data + 2048 * (chunks + q))
    tiles.keep_six(out.ctypes.data)
    tiles.stop_tiles()


@njit
def _small(a: Any, w: Any, chunks: int, out: Any) -> None:
    tiles.start_tiles()
    tiles.clear_tiles()
    for q in range(chunks):
        tiles.multiply_small(a.ctypes.data + 1024 * q, w.ctypes.data + 1024 * q, 1024 * chunks)
    tiles.keep_four(out.ctypes.data)
    tiles.stop_tiles()


@pytest.mark.parametrize("chunks", [1, 2, 3, 6, 24])
def test_wide(chunks: int) -> None:
    top = min(TOP, (2**31 - 1) // (TOP * CHUNK * chunks))
    for a, w in cases(TOP, top, CHUNK * chunks, 32):
        out = np.full(6 * 256 + 16, EVERYWHERE, np.int32)
        _wide(low_unsigned(rows(np.abs(a))), low_signed(columns(w)), chunks, out)
        assert np.array_equal(sums(out[:1536], 3), np.abs(a) @ w)
        assert (out[1536:] == EVERYWHERE).all()


def test_wide_with_the_greatest_numbers_of_both() -> None:
    """All that int32 holds: 32 products of 8191 and 8191, where digits carry."""
    a, w = np.zeros((16, CHUNK), np.int64), np.zeros((CHUNK, 32), np.int64)
    a[:, :], w[::2, :] = TOP, TOP
    for y in (w, -w):
        out = np.zeros(6 * 256, np.int32)
        _wide(low_unsigned(rows(a)), low_signed(columns(y)), 1, out)
        assert np.array_equal(sums(out, 3), a @ y)


@pytest.mark.parametrize("chunks", [1, 2, 4])
def test_small(chunks: int) -> None:
    for a, w in cases(SMALL_TOP, SMALL_TOP, CHUNK * chunks, 64):
        out = np.full(4 * 256 + 16, EVERYWHERE, np.int32)
        _small(
            np.ascontiguousarray(rows(a)).astype(np.int8), np.ascontiguousarray(columns(w)).astype(np.int8), chunks, out
        )
        assert np.array_equal(np.concatenate(list(out[:1024].reshape(4, 16, 16)), axis=1), a @ w)
        assert (out[1024:] == EVERYWHERE).all()
