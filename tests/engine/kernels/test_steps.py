"""What stands between the products of a decoder: the bits of plain numpy."""

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.kernels import rope
from engine.kernels import rows as steps
from engine.kernels.rows import place
from engine.simd.compiled import entry
from tests.engine.kernels.tiles import from_tiles, to_tiles
from tests.reference.paged import tanh
from tests.reference.whole_numbers import by_lanes, exp, fma

f = np.float32
Floats = NDArray[np.float32]
RANDOM = np.random.default_rng(12)


@entry
def _norm(x: Floats, t: int, column: int, n: int, size: int, places: int, weights: Floats, out: Floats) -> None:
    steps.rms_norm(x, place(t, column, n), steps.RmsNorm(weights, size, places, f(1e-5)), 16, out)


@entry
def _rope(x: Floats, t: int, n: int, column: int, heads: int, half: int, angles: Floats) -> None:
    rope.rope_row(x, place(t, column, n), heads, half, angles, 2 * half, f(0.3))


@entry
def _gate(x: Floats, first: int, end: int, n: int, gelu: bool, factors: Floats) -> None:
    if gelu:
        steps.geglu_tanh(x, factors, 0, n, first, end, n, x)
    else:
        steps.swiglu(x, factors, 0, n, first, end, n, x)


@entry
def _logits(x: Floats, first: int, last: int, count: int, n: int, divisor: f, cap: f, out: Floats, width: int) -> None:
    steps.write_logits(x, n, count, first, last, steps.Logits(divisor, cap), out, width)


def rows(n: int, scale: float = 1) -> Floats:
    return (scale * RANDOM.standard_normal((19, n))).astype(f)


def test_rms_norm() -> None:
    x, weights = rows(96), rows(96)[0]
    x[:, 72:80] = weights[56:64] = 0  # 40 values in 48 places
    tiles, out = to_tiles(x), to_tiles(np.zeros_like(x))
    for t in range(19):
        _norm(tiles, t, 32, 96, 40, 48, weights, out)
    part = x[:, 32:80]
    length = np.sqrt(by_lanes(part, lambda lanes, v: fma(v, v, lanes)) / f(40) + f(1e-5))
    found = from_tiles(out, 96)[:19]
    assert np.array_equal(found[:, 32:80], part * (f(1) / length)[:, None] * weights[16:64])
    assert not found[:, :32].any()


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e30])
def test_a_norm_of_what_is_not_finite(value: float) -> None:
    x = rows(32)
    x[3, 5] = value
    out = to_tiles(np.zeros_like(x))
    _norm(to_tiles(x), 3, 0, 32, 32, 32, np.ones(48, f), out)
    assert np.isnan(from_tiles(out, 32)[3]).any()


def test_rope_row() -> None:
    x, angles = rows(160), RANDOM.standard_normal((2, 2, 32)).astype(f)
    tiles = to_tiles(x)
    _rope(tiles, 17, 160, 16, 2, 32, angles.reshape(-1))
    expected, (cosine, sine) = x.copy(), angles[1]
    for at in (16, 80):
        left, right = x[17, at : at + 32], x[17, at + 32 : at + 64]
        expected[17, at : at + 32] = (left * cosine - right * sine) * f(0.3)
        expected[17, at + 32 : at + 64] = (right * cosine + left * sine) * f(0.3)
    assert np.array_equal(from_tiles(tiles, 160)[:19], expected)


def test_gates() -> None:
    x = rows(96, 4)
    gate, up = x[:, :48], x[:, 48:]
    e = exp(-np.abs(gate))
    inner = f(0.7978845608028654) * fma(gate * gate * f(0.044715), gate, gate)
    expected = {
        False: (np.maximum(gate, 0) + np.minimum(gate, 0) * e) / (f(1) + e) * up,
        True: f(0.5) * gate * (f(1) + tanh(inner)) * up,
    }
    for gelu, values in expected.items():
        gates, ups = to_tiles(gate), to_tiles(up)
        for first, end in ((5, 17), (0, 5), (17, 19)):
            _gate(gates, first, end, 48, gelu, ups)
        assert np.array_equal(from_tiles(gates, 48)[:19], values)
        assert np.array_equal(from_tiles(ups, 48)[:19], up)


@pytest.mark.parametrize(("divisor", "cap"), [(1, 0), (8, 0), (1, 3)])
def test_write_logits(divisor: float, cap: float) -> None:
    x, out = rows(64, 5), np.full((19, 51), np.nan, f)
    for first, last in ((32, 51), (0, 32)):
        _logits(to_tiles(x), first, last, 19, 64, f(divisor), f(cap), out.reshape(-1), 51)
    expected = x[:, :51] * (f(1) / f(divisor)) if divisor != 1 else x[:, :51]
    if cap:
        expected = tanh(expected * (f(1) / f(cap))) * f(cap)
    assert np.array_equal(out, expected)
