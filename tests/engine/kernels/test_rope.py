"""Rotary positions: the table to the last bit that float32 has, and what turns where."""

import hashlib
from decimal import Decimal, localcontext

import numpy as np
import pytest

from engine.kernels import rope
from tests.engine.kernels.called import called
from tests.engine.kernels.tiles import from_tiles, to_tiles

RANDOM = np.random.default_rng(8)


def test_cosines_and_sines_are_exact_enough() -> None:
    angles = np.concatenate([np.arange(rope.MAX_CONTEXT), RANDOM.uniform(0, rope.MAX_CONTEXT, 100_000)]).astype(float)
    cosines, sines = rope.cosines_and_sines(angles)
    assert np.abs(cosines - np.cos(angles)).max() < 1e-15
    assert np.abs(sines - np.sin(angles)).max() < 1e-15


@pytest.mark.parametrize(("depth", "base"), [(64, 10_000.0), (64, 160_000.0), (2, 1.0), (80, 1e6)])
def test_frequencies(depth: int, base: float) -> None:
    found = rope.frequencies(depth, base)
    with localcontext(prec=60):
        expected = [float(Decimal(base) ** (Decimal(-2 * i) / depth)) for i in range(depth // 2)]
    assert found.tolist() == expected


@pytest.mark.parametrize(("depth", "half"), [(64, 32), (8, 16), (80, 48)])
def test_table(depth: int, half: int) -> None:
    found = rope.table(5000, depth, 10_000.0, half).reshape(5000, 2, half)
    angles = np.arange(5000)[:, None] * 10_000.0 ** (-np.arange(0, depth, 2) / depth)
    assert np.abs(found[:, 0, : depth // 2] - np.cos(angles)).max() < 4e-8
    assert np.abs(found[:, 1, : depth // 2] - np.sin(angles)).max() < 4e-8
    assert not found[:, :, depth // 2 :].any()


def test_the_table_has_the_same_bits_everywhere() -> None:
    found = rope.table(8192, 64, 160_000.0, 32)
    assert hashlib.sha256(found.tobytes()).hexdigest()[:16] == "a8390907f42040dc"


@pytest.mark.parametrize("half", [16, 48])
def test_rope(half: int) -> None:
    heads, lengths, column = 3, [1, 20, 7], 32
    n = column + 2 * half * heads + 16
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    x = RANDOM.standard_normal((starts[-1], n)).astype(np.float32)
    angles = RANDOM.standard_normal((20, 2, half)).astype(np.float32)
    tiles = to_tiles(x, 0)
    called(rope.rope)(tiles, starts, n, column, heads, half, angles.reshape(-1))
    expected = x.copy()
    for t in range(starts[-1]):
        cosine, sine = angles[t - max(s for s in starts if s <= t)]
        for head in range(heads):
            at = column + 2 * half * head
            left, right = x[t, at : at + half], x[t, at + half : at + 2 * half]
            expected[t, at : at + half] = left * cosine - right * sine
            expected[t, at + half : at + 2 * half] = right * cosine + left * sine
    assert np.array_equal(from_tiles(tiles, n)[: starts[-1]], expected)
