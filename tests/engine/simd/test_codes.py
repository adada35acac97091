"""Codes of 4, 6 and 8 bits: what numbers they stand for, unpacked and multiplied, against plain Python integers."""

from typing import Any

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from engine.kernels.compiled import kernel
from engine.kernels.matmul import ISA
from engine.models.layers import aligned
from engine.simd import EIGHT, FOUR, SIX, TURN_BYTES, WHOLE, coded_tile, unpack
from engine.simd.codes import numbers_at
from engine.simd.operands import CODED

KINDS = [FOUR, SIX, EIGHT]
SIZES = (1, 2, 4, 8, 12)
TURNS = 16  # four chunks of two vectors of columns


def number(kind: int, turn: NDArray[np.int8], p: int, column: int, which: int) -> int:
    """Of vector p of a turn, as `engine.simd.codes` says."""

    def wrapped(value: int) -> int:
        return (value + 2**15) % 2**16 - 2**15

    if kind in (EIGHT, WHOLE):
        return int(turn.view(f"i{kind // 8}").reshape(16, 16, 2)[p, column, which])
    words = turn.view(np.uint16).reshape(-1, 16, 2)
    both = [wrapped(int(each)) for each in words[0, column]]
    q = int(words[1 + p // 4, column, which]) >> 4 * (p % 4) & 15
    if kind == FOUR:
        return wrapped(q * both[0] + both[1]) >> 7
    q += 16 * (int(words[5 + p // 8, column, which]) >> 2 * (p % 8) & 3)
    return wrapped((q - 32) * both[which] + 64) >> 7


def made_up(kind: int) -> Any:
    """Turns whose numbers are within 127: random codes, small factors."""
    random = np.random.default_rng(kind)
    codes = aligned(TURNS * TURN_BYTES[kind] + 8192, np.int8)
    codes[:] = random.integers(-127, 128, codes.size)
    turns = codes[: TURNS * TURN_BYTES[kind]].reshape(TURNS, -1)
    if kind == WHOLE:
        turns.view(np.int16)[:] >>= 8
    elif kind != EIGHT:
        both = random.integers(-500, 500, (TURNS, 16, 2))
        both[..., 1] = both[..., 1] * 16 if kind == FOUR else both[..., 1]
        turns[:, :64] = both.astype(np.int16).reshape(TURNS, -1).view(np.int8)
    return codes


def numbers(kind: int, codes: NDArray[np.int8]) -> NDArray[np.int64]:
    """[turns * 16][16][2]"""
    turns = codes[: TURNS * TURN_BYTES[kind]].reshape(TURNS, -1)
    found = [[[number(kind, t, p, c, w) for w in range(2)] for c in range(16)] for t in turns for p in range(16)]
    return np.array(found)


@pytest.mark.parametrize("kind", [*KINDS, WHOLE])
def test_meaning(kind: int) -> None:
    codes = made_up(kind)
    assert np.array_equal(numbers_at(kind, codes.ctypes.data, TURNS, TURN_BYTES[kind]), numbers(kind, codes))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("digits", [False, True])
@pytest.mark.parametrize("side", [1, 2])
def test_unpack(kind: int, digits: bool, side: int) -> None:
    operation, turns = unpack(digits=digits), TURNS // side

    @njit
    def run(kind: int, codes: Any, step: int, out: Any) -> None:
        operation(kind, codes.ctypes.data, turns, step, out.ctypes.data)

    codes, out = made_up(kind), np.full(turns * 512 + 64, 77, np.int8 if digits else np.int16)
    run(kind, codes, side * TURN_BYTES[kind], out)
    expected = numbers(kind, codes).reshape(TURNS, 16, 16, 2)[::side]
    if digits:  # [k / 4][16 columns][4]; of a turn k is [2 places][16 vectors]
        in_order = expected.reshape(turns // 2, 2, 16, 16, 2).transpose(0, 1, 4, 2, 3).reshape(-1, 64, 16)
        expected = in_order[:, CODED].reshape(-1, 4, 16).transpose(0, 2, 1)
    assert np.array_equal(out[: turns * 512], expected.reshape(-1))
    assert (out[turns * 512 :] == 77).all()


_tile = coded_tile([*KINDS, WHOLE], SIZES, "avx512_vnni" if ISA == "amx" else ISA)


@kernel
def run_tile(kind: int, rows: int, a: Any, steps: int, codes: Any, group: int, factors: Any, out: Any) -> None:
    _tile(kind, rows, a.ctypes.data, 128 * rows, steps, codes.ctypes.data, group, factors.ctypes.data, out.ctypes.data)


@pytest.mark.parametrize("kind", [*KINDS, WHOLE])
@pytest.mark.parametrize("rows", SIZES)
@pytest.mark.parametrize(("steps", "group"), [(1, 2), (4, 1), (3, 2), (4, 2), (4, 4)])
def test_tile(kind: int, rows: int, steps: int, group: int) -> None:
    random = np.random.default_rng(rows)
    a = random.integers(-32767, 32768, (steps, rows, 64)).astype(np.int16)
    a[:, 0] = 32767
    codes, out = made_up(kind), np.full((rows + 1) * 32, 77, np.float32)
    out[: 32 * rows] = before = random.integers(-5, 5, 32 * rows)
    factors = np.ldexp(np.float32(1), random.integers(-3, 3, (4, 32))).astype(np.float32)  # so that float64 is exact
    run_tile(kind, rows, a.reshape(-1), steps, codes, group, factors.reshape(-1), out)
    w = numbers(kind, codes).reshape(4, 2, 2, 16, 16, 2).transpose(0, 1, 3, 2, 4, 5).reshape(4, 32, 32, 2)[:steps]
    sums = np.einsum("srpw,spcw->src", a.astype(np.int64).reshape(steps, rows, 32, 2), w)
    expected = before.reshape(rows, 32).astype(np.float32)
    for g, at in enumerate(range(0, steps, group)):
        whole = sums[at : at + group].sum(0).astype(np.float32)
        expected = (whole.astype(np.float64) * factors[g] + expected).astype(np.float32)
    assert np.array_equal(out[: 32 * rows].reshape(rows, 32), expected)
    assert (out[32 * rows :] == 77).all()
