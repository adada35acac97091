"""Nested codes: what their memory means, and the products of rows with them, against plain Python."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.kernels.compiled import kernel
from engine.kernels.matmul import ISA
from engine.models.layers import aligned
from engine.simd import JIT, nested_tile, stop_tiles
from engine.simd.nested import NESTED4, NESTED5, NESTED6, codes_in, run_at, units_at, words_of
from engine.simd.nested_amx import (
    PANEL_BYTES,
    SUMS_BYTES,
    nested_panel,
    nested_products,
    start_halves,
    start_runs,
)
from engine.simd.nested_tiles import RECORD
from tests.engine.isas import need
from tests.reference.whole_numbers import fma

BITS = {NESTED4: 4, NESTED5: 5, NESTED6: 6}
UNITS = {NESTED4: 64, NESTED5: 64, NESTED6: 32}
SIZES = (1, 2, 3, 5, 8)
GROUPS = 2
Ints, Floats = NDArray[np.int64], NDArray[np.float32]


def code(codes: Any, kind: int, column: int, k: int) -> int:
    """That of a run's value k in the words of a side, as `engine.simd.nested` says."""
    words, i = codes.reshape(-1, 16, 4)[:, column], k % 4
    half, t = divmod(k // 4, 4)
    low = int(words[t, i]) >> 4 * half & 15
    if kind == NESTED5:
        return low | (int(words[4, i]) >> k // 4 & 1) << 4
    if kind == NESTED6:
        return low | (int(words[4 + half, i]) >> 2 * t & 3) << 4
    return low


def made_up(kind: int) -> tuple[Any, Ints, Ints, Floats]:
    """Memory of groups; codes [groups][8 runs][32 columns][32], heads [groups][8][2][32 columns], units
    [groups][2][32 columns]."""
    random, size = np.random.default_rng(kind), 64 * BITS[kind]
    run = 2 * (32 + size)
    memory = aligned(GROUPS * (2 * UNITS[kind] + 8 * run) + 16384, np.uint8)
    memory[:] = random.integers(0, 256, memory.size)
    codes, heads, units = np.empty((GROUPS, 8, 32, 32), int), np.empty((GROUPS, 8, 2, 32), int), []
    for g in range(GROUPS):
        here = memory[g * (2 * UNITS[kind] + 8 * run) :]
        own = here[: 2 * UNITS[kind]].view(np.float16)
        own[:] = random.standard_normal(own.size)
        units.append(np.resize(own.reshape(2, -1, 16).swapaxes(0, 1), (2, 2, 16)).reshape(2, 32))
        for j in range(8):
            part = here[2 * UNITS[kind] + j * run :][:run]
            head = part[:64].view(np.int8 if kind == NESTED6 else np.uint8)
            heads[g, j] = head.reshape(2, 2, 16).swapaxes(0, 1).reshape(2, 32)
            for c in range(32):
                side = part[64 + c // 16 * size :][:size]
                codes[g, j, c] = [code(side, kind, c % 16, k) for k in range(32)]
    return memory, codes, heads, np.array(units, np.float32)


def records(x: NDArray[np.int8], scales: Floats) -> NDArray[np.int8]:
    """Of x [rows][runs][32], scales [rows][runs]: int8 [rows][runs * 48]"""
    sums = x.astype(np.int32).reshape(*x.shape[:2], 2, 16).sum(3)
    out = np.empty((*x.shape[:2], RECORD), np.int8)
    out[..., :32] = x
    out[..., 32:36] = scales[..., None].view(np.int8)
    out[..., 36:40] = (-sums.sum(2).astype(np.float32))[..., None].view(np.int8)
    out[..., 40:] = (-32 * sums).astype(np.int32).view(np.int8)
    return out.reshape(len(x), -1)


@pytest.mark.parametrize("kind", BITS)
def test_words_hold_codes(kind: int) -> None:
    q = np.random.default_rng(kind).integers(0, 1 << BITS[kind], (3, 16, 32)).astype(np.uint8)
    words = words_of(kind, q)
    assert words.shape == (3, BITS[kind], 16, 4)
    assert np.array_equal(codes_in(kind, words), q)
    assert [code(words[1], kind, 5, k) for k in range(32)] == q[1, 5].tolist()


@pytest.mark.parametrize("kind", BITS)
@pytest.mark.parametrize("side", [0, 1])
def test_meaning(kind: int, side: int) -> None:
    memory, codes, heads, units = made_up(kind)
    group = memory.ctypes.data + 2 * UNITS[kind] + 8 * 2 * (32 + 64 * BITS[kind])
    own = slice(16 * side, 16 * side + 16)
    assert np.array_equal(units_at(kind, group, side), units[1][:, own])
    for j in range(8):
        found, head = run_at(kind, group + 2 * UNITS[kind] + j * 2 * (32 + 64 * BITS[kind]), side)
        assert np.array_equal(found, codes[1, j, own])
        assert np.array_equal(head, heads[1, j][:, own])


def in_order(kind: int, x: Any, scales: Floats, total: Floats, codes: Ints, heads: Ints, units: Floats) -> Floats:
    """`total` [rows][32] and the products of x [rows][runs][32], every float32 operation where it is said."""
    for j in range(x.shape[1]):
        at, scale = (j // 8, j % 8), scales[:, j, None]
        factors = heads[at].astype(np.float32) * units[j // 8]
        if kind == NESTED6:
            halves = slice(16), slice(16, 32)
            first, second = (x[:, j, half].astype(int) @ (codes[at][:, half] - 32).T for half in halves)
        else:
            first, second = x[:, j].astype(int) @ codes[at].T, -x[:, j].astype(int).sum(1, keepdims=True)
        part = fma(second.astype(np.float32), factors[1], first.astype(np.float32) * factors[0])
        total = fma(part, scale, total)
    return total


_tile = nested_tile(SIZES, "avx512_vnni" if ISA == "amx" else ISA)


@kernel
def run_tile(kind: int, rows: int, a: Any, stride: int, groups: int, codes: Any, out: Any) -> None:
    _tile(kind, rows, a.ctypes.data, stride, groups, codes.ctypes.data, out.ctypes.data)


@pytest.mark.parametrize("kind", BITS)
@pytest.mark.parametrize("rows", SIZES)
@pytest.mark.parametrize("groups", [1, GROUPS])
def test_tile(kind: int, rows: int, groups: int) -> None:
    """With numbers at their ends too: sums are exact, and every float32 operation is where it is said."""
    random = np.random.default_rng(rows)
    memory, codes, heads, units = made_up(kind)
    x = random.integers(-127, 128, (rows, 8 * groups, 32)).astype(np.int8)
    x[0, 0], x[0, 1] = 127, -127
    scales = random.standard_normal((rows, 8 * groups)).astype(np.float32)
    a = aligned(rows * (48 * 8 * GROUPS + 64), np.int8).reshape(rows, -1)
    a[:, : 48 * 8 * groups] = records(x, scales)
    out = np.full(32 * (2 * rows + 1), 77, np.float32)
    out[: 32 * rows] = before = random.standard_normal(32 * rows).astype(np.float32)
    run_tile(kind, rows, a.reshape(-1), a.shape[1], groups, memory, out)
    total = in_order(kind, x, scales, before.reshape(rows, 32), codes, heads, units)
    assert np.array_equal(out[: 32 * rows].reshape(rows, 32), total)
    assert (out[64 * rows :] == 77).all()


_panel, _runs, _halves = nested_panel(), nested_products(halves=False), nested_products(halves=True)


@kernel
def run_panels(halves: bool, kind: int, group: Any, a: Any, stride: int, count: int, panel: Any, out: Any) -> None:
    _panel(kind, group.ctypes.data, panel.ctypes.data)
    sums = panel.ctypes.data + PANEL_BYTES
    if halves:
        start_halves()
        _halves(a.ctypes.data, stride, count, panel.ctypes.data, out.ctypes.data, sums)
    else:
        start_runs()
        _runs(a.ctypes.data, stride, count, panel.ctypes.data, out.ctypes.data, sums)
    stop_tiles()


@pytest.mark.parametrize("kind", BITS)
@pytest.mark.parametrize("count", [1, 2, 5])
def test_panels(kind: int, count: int) -> None:
    """On AMX many rows have the same bits."""
    need("amx")
    if ISA != "amx" or not JIT:
        pytest.skip("kernels are compiled for another instruction set here")
    random, rows = np.random.default_rng(count), 8 * count
    memory, codes, heads, units = made_up(kind)
    x = random.integers(-127, 128, (rows, 8, 32)).astype(np.int8)
    x[0, 0], x[0, 1] = 127, -127
    scales = random.standard_normal((rows, 8)).astype(np.float32)
    a = aligned(rows * (48 * 8 + 64), np.int8).reshape(rows, -1)
    a[:, : 48 * 8] = records(x, scales)
    out = np.full(32 * (rows + 1), 77, np.float32)
    out[: 32 * rows] = before = random.standard_normal(32 * rows).astype(np.float32)
    panel = aligned(PANEL_BYTES + SUMS_BYTES + 64, np.int8)
    panel[-64:] = 77
    run_panels(kind == NESTED6, kind, memory, a.reshape(-1), a.shape[1], count, panel, out)
    total = in_order(kind, x, scales, before.reshape(rows, 32), codes, heads, units)
    assert np.array_equal(out[: 32 * rows].reshape(rows, 32), total)
    assert (out[32 * rows :] == 77).all()
    assert (panel[-64:] == 77).all()
