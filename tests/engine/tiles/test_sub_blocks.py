"""Quants in sub-blocks: what their memory means, and the products of rows with them, against plain Python."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.kernels.matmul import ISA, VECTORS_ISA, aligned
from engine.simd import JIT
from engine.simd.compiled import kernel
from engine.tiles.amx import stop_tiles
from engine.tiles.amx.sub_blocks import (
    FEW_SUB_BLOCKS,
    MOST_SUB_BLOCKS,
    PANEL_BYTES,
    SUMS_BYTES,
    start_halves,
    start_sub_blocks,
    sub_block_panel,
    sub_block_products,
)
from engine.tiles.quantized_rows import RECORD, SIDE_TOP
from engine.tiles.sub_block_tile import sizes_of, sub_block_tile
from engine.tiles.sub_blocks import (
    CENTRED4,
    CENTRED5,
    CENTRED8,
    NESTED4,
    NESTED5,
    NESTED6,
    OFFSET4,
    OFFSET5,
    quants_in,
    sub_block_at,
    words_of,
)
from tests.engine.isas import need
from tests.engine.kernels.called import called
from tests.reference.whole_numbers import fma

NESTED = (NESTED4, NESTED5, NESTED6)
GROUPS = (NESTED4, NESTED5)
BITS = {CENTRED4: 4, OFFSET4: 4, CENTRED5: 5, OFFSET5: 5, CENTRED8: 8, NESTED4: 4, NESTED5: 5, NESTED6: 6}
UNITS = {NESTED4: 64, NESTED5: 64, NESTED6: 32}
HEADS = {kind: 64 if kind in (OFFSET4, OFFSET5) else 32 for kind in BITS}
ZERO_POINT = {CENTRED4: 8, CENTRED5: 16, CENTRED8: 128, NESTED6: 32}
SIZES = (1, 2, 3, 4, 6, 8)
IN_SUB_BLOCKS = 16
Ints, Floats = NDArray[np.int64], NDArray[np.float32]


def layout(quants: Any, kind: int, column: int, k: int) -> int:
    """That of a run's value k in words [words][columns][4], as `engine.tiles.sub_blocks` says."""
    words, i = quants[:, column], k % 4
    half, t = divmod(k // 4, 4)
    if kind == CENTRED8:
        return int(words[k // 4, i])
    low = int(words[t + (BITS[kind] > 4), i]) >> 4 * half & 15
    if BITS[kind] == 5:
        return low | (int(words[0, i]) >> k // 4 & 1) << 4
    if kind == NESTED6:
        return low | (int(words[5 * half, i]) >> 2 * t & 3) << 4
    return low


def made_up(kind: int) -> tuple[Any, Ints, Floats]:
    """Memory of sub-blocks; quants [sub_blocks][32 columns][32] without their zero point; factors
    [sub_blocks][1, 2 or 4][32 columns]: a, b, d
    and dmin, or d * a of both halves, or d and m. All numbers of the first columns are the greatest."""
    random, group = np.random.default_rng(kind), 8 if kind in NESTED else 1
    sub_block, before = 2 * (HEADS[kind] + 64 * BITS[kind]), 2 * UNITS.get(kind, 0)
    memory = aligned(IN_SUB_BLOCKS // group * (before + group * sub_block) + 16384, np.uint8)
    memory[:] = random.integers(0, 256, memory.size)
    quants, factors = np.empty((IN_SUB_BLOCKS, 32, 32), int), []
    for i in range(IN_SUB_BLOCKS):
        here = memory[i // group * (before + group * sub_block) :]
        part = here[before + i % group * sub_block :][:sub_block]
        if kind in NESTED:
            units = here[:before].view(np.float16)
            if i % group == 0:
                units[:] = random.standard_normal(units.size)
            head = part[:64].view(np.int8 if kind == NESTED6 else np.uint8)
            both = np.resize(units.reshape(2, -1, 16).swapaxes(0, 1), (2, 2, 16)).reshape(2, 32)
            if kind in GROUPS:
                head &= 63  # what six bits hold
                head[:16] = 63
                part[64:].reshape(-1, 2, 16, 4)[:, 0, 0] = 255
                factors.append(np.concatenate([columns(head.reshape(2, 2, 16)), both.astype(np.float32)]))
            else:
                factors.append(columns(head.reshape(2, 2, 16)) * both.astype(np.float32))
        else:
            own = part[: 2 * HEADS[kind]].view(np.float16)
            own[:] = random.standard_normal(own.size)
            factors.append(columns(own.reshape(2, -1, 16)))
        words = part[2 * HEADS[kind] :].reshape(-1, 32, 4)  # of one side and of the other
        for c in range(32):
            quants[i, c] = [layout(words, kind, c, k) - ZERO_POINT.get(kind, 0) for k in range(32)]
    return memory, quants, np.array(factors, np.float32)


def columns(values: Any) -> Floats:
    """[2 sides][n][16] -> [n][32]"""
    result: Floats = values.swapaxes(0, 1).reshape(-1, 32).astype(np.float32)
    return result


class Left:
    """Rows of numbers x [rows][sub_blocks][32], those of the first row at their ends, with their scales
    [rows][sub_blocks][1 or 2], or of eight sub-blocks one and integers of it [rows][sub_blocks], as quantized
    activations of so many sub-blocks, and behind them more."""

    def __init__(self, kind: int, rows: int, sub_blocks: int) -> None:
        random = np.random.default_rng(rows)
        self.x = random.integers(-127, 128, (rows, sub_blocks, 32)).astype(np.int8)
        self.x[0, 0], self.x[0, 1] = 127, -127
        self.scales = random.standard_normal((rows, sub_blocks, 2)).astype(np.float32)
        self.steps = random.integers(0, 128, (rows, sub_blocks)).astype(np.int16)
        if kind in NESTED:
            self.x //= 2
            self.x[0], self.steps[0] = 0, 127
            self.x[0, :, : SIDE_TOP // 127], self.x[0, :, SIDE_TOP // 127] = 127, SIDE_TOP % 127
            self.x[0, 8:] *= -1
            self.scales[:] = self.scales[:, np.arange(sub_blocks) // 8 * 8, :1]
        self.sums = self.x.astype(np.int32).reshape(rows, sub_blocks, 2, 16).sum(3)
        self.offsets = (self.steps * self.sums.sum(2) + 8) // 16
        self.memory = aligned(rows * (RECORD * sub_blocks + 64), np.int8).reshape(rows, -1)
        out = self.memory[:, : RECORD * sub_blocks].reshape(rows, sub_blocks, RECORD)
        out[..., :32] = self.x
        if kind in NESTED:
            both = np.stack([self.steps, self.offsets.astype(np.int16)], 2).reshape(rows, -1, 2, 2)
            out[..., 32:36] = self.own_scales()[..., None].view(np.int8)
            out[..., 36:40] = both[:, :, ::-1].swapaxes(2, 3).reshape(rows, sub_blocks, 2).view(np.int8)
            out[..., 48:] = self.scales[..., :1].copy().view(np.int8)
        else:
            out[..., 32:40] = self.scales.view(np.int8)
        out[..., 40:48] = (-(32 if kind in NESTED else 8) * self.sums).astype(np.int32).view(np.int8)
        self.before = random.standard_normal((rows, 32)).astype(np.float32)

    def own_scales(self) -> Floats:
        """Of each run."""
        own: Floats = self.scales[..., 0] * self.steps
        return own

    def product(self, kind: int, quants: Ints, factors: Floats) -> Floats:
        """`before` and the products, every float32 operation where it is said."""
        total, halves = self.before, (slice(16), slice(16, 32))
        whole = offsets = np.zeros((len(total), 32), np.int64)
        for i in range(self.x.shape[1]):
            x, scale, own = self.x[:, i].astype(int), self.scales[:, i].T[:, :, None], factors[i]
            first, second = (x[:, half] @ quants[i][:, half].T for half in halves)
            if kind in GROUPS:
                (a, b, d, dmin), step = own, self.steps[:, i, None].astype(int)
                if kind == NESTED4:
                    assert abs(first + second).max() <= 15 * SIDE_TOP
                    whole = whole + a.astype(int) * step * (first + second)
                else:
                    part = (first + second).astype(np.float32) * (d * a)
                    total = fma(part, self.own_scales()[:, i, None], total)
                offsets = offsets + b.astype(int) * self.offsets[:, i, None]
                if i % 8 == 7:
                    part = offsets.astype(np.float32) * (dmin * np.float32(-16))
                    if kind == NESTED4:
                        assert abs(whole).max() < 2**31
                        part = fma(offsets.astype(np.float32), dmin * np.float32(-16), whole.astype(np.float32) * d)
                    total = fma(part, scale[0], total)
                    whole = offsets = np.zeros_like(whole)
                continue
            first, second = first.astype(np.float32), second.astype(np.float32)
            if kind in NESTED:
                total = fma(fma(second, own[1], first * own[0]), self.own_scales()[:, i, None], total)
                continue
            total = fma(fma(second, scale[1], first * scale[0]), own[0], total)
            if len(own) > 1:
                low, high = self.sums[:, i].astype(np.float32).T[:, :, None]
                total = fma(fma(high, scale[1], low * scale[0]), own[1], total)
        return total


@pytest.mark.parametrize("kind", BITS)
def test_words_hold_codes(kind: int) -> None:
    q = np.random.default_rng(kind).integers(0, 1 << BITS[kind], (3, 16, 32)).astype(np.uint8)
    words = words_of(kind, q)
    assert words.shape == (3, BITS[kind], 16, 4)
    assert np.array_equal(quants_in(kind, words), q)
    assert [layout(words[1], kind, 5, k) for k in range(32)] == q[1, 5].tolist()


@pytest.mark.parametrize("kind", BITS)
@pytest.mark.parametrize("side", [0, 1])
def test_meaning(kind: int, side: int) -> None:
    memory, quants, factors = made_up(kind)
    own = slice(16 * side, 16 * side + 16)
    for i in range(IN_SUB_BLOCKS):
        found, of_columns = sub_block_at(kind, memory.ctypes.data, i, side)
        assert np.array_equal(found, quants[i, own])
        times = np.ones((len(of_columns), 1), np.float32)
        if kind not in NESTED:
            times[1:] = -1 / 8
        assert np.array_equal(of_columns, factors[i, :, own] * times)


_tile = sub_block_tile(SIZES, VECTORS_ISA)


@called
@kernel
def multiply(kind: int, rows: int, a: Any, stride: int, sub_blocks: int, quants: Any, out: Any) -> None:
    _tile(kind, rows, a.ctypes.data, stride, sub_blocks, quants.ctypes.data, out.ctypes.data)


@pytest.mark.parametrize(
    ("kind", "sub_blocks"), [*product(BITS, (8, IN_SUB_BLOCKS)), (CENTRED4, 6), (OFFSET5, 2), (CENTRED8, 4)]
)
@pytest.mark.parametrize("rows", SIZES)
def test_tile(kind: int, sub_blocks: int, rows: int) -> None:
    """With numbers at their ends too: sums are exact, and every float32 operation is where it is said."""
    if JIT and rows not in sizes_of(kind, SIZES, VECTORS_ISA):
        pytest.skip("there is no such tile of this kind")
    memory, quants, factors = made_up(kind)
    left, out = Left(kind, rows, sub_blocks), np.full(32 * (rows + 1), 77, np.float32)
    out[: 32 * rows] = left.before.reshape(-1)
    multiply(kind, rows, left.memory.reshape(-1), left.memory.shape[1], sub_blocks, memory, out)
    assert np.array_equal(out[: 32 * rows].reshape(rows, 32), left.product(kind, quants, factors))
    assert (out[32 * rows :] == 77).all()


_panel = sub_block_panel()
_centred, _offset = sub_block_products(CENTRED5, MOST_SUB_BLOCKS), sub_block_products(OFFSET5, MOST_SUB_BLOCKS)
_few_centred, _few_offset = sub_block_products(CENTRED4, FEW_SUB_BLOCKS), sub_block_products(OFFSET4, FEW_SUB_BLOCKS)
_nested4, _nested5, _nested6 = (sub_block_products(kind, MOST_SUB_BLOCKS) for kind in NESTED)


@called
@kernel
def make_panel(kind: int, quants: Any, panel: Any) -> None:
    _panel(kind, quants.ctypes.data, MOST_SUB_BLOCKS, panel.ctypes.data)


@pytest.mark.skipif(not JIT, reason="panels are made by compiled code alone")
@pytest.mark.parametrize("kind", BITS)
def test_panel(kind: int) -> None:
    """What tiles of AMX take, made without it."""
    (memory, quants, factors), panel = made_up(kind), aligned(PANEL_BYTES + 64, np.int8)
    panel[-64:] = 77
    make_panel(kind, memory, panel)
    sub_blocks = panel[:-64].reshape(MOST_SUB_BLOCKS, -1)
    found = (
        sub_blocks[:, :1024]
        .reshape(MOST_SUB_BLOCKS, 2, 8, 16, 4)
        .transpose(0, 1, 3, 2, 4)
        .reshape(MOST_SUB_BLOCKS, 32, 32)
    )
    assert np.array_equal(found, quants[:MOST_SUB_BLOCKS])
    assert (panel[-64:] == 77).all()
    of_columns, factors = (
        sub_blocks[:, 1024:].copy().view(np.float32).reshape(MOST_SUB_BLOCKS, 2, 32),
        factors[:MOST_SUB_BLOCKS],
    )
    if kind not in GROUPS:
        of_columns = of_columns[:, : factors.shape[1]]
        of_columns[:, 1:] *= -8 if kind in (OFFSET4, OFFSET5) else 1
        assert np.array_equal(of_columns, factors)
        return
    for n, own in enumerate(factors[:, :2].astype(int).swapaxes(0, 1)):
        if kind == NESTED4 or n == 1:
            assert np.array_equal(of_columns.view(np.int32)[::2, n], own[1::2] + 65536 * own[::2])
            assert np.array_equal(of_columns[1, n], factors[1, 2 + n] * (1, -16)[n])
        else:
            assert np.array_equal(of_columns[:, 0], factors[:, 2] * factors[:, 0])


@called
@kernel
def run_panels(kind: int, sub_blocks: int, quants: Any, a: Any, stride: int, count: int, panel: Any, out: Any) -> None:
    here, totals, sums = panel.ctypes.data, out.ctypes.data, panel.ctypes.data + PANEL_BYTES
    _panel(kind, quants.ctypes.data, sub_blocks, here)
    if kind in (NESTED4, NESTED5):
        start_sub_blocks()
        if kind == NESTED4:
            _nested4(a.ctypes.data, stride, count, here, totals, sums)
        else:
            _nested5(a.ctypes.data, stride, count, here, totals, sums)
    else:
        start_halves()
        if kind == NESTED6:
            _nested6(a.ctypes.data, stride, count, here, totals, sums)
        elif kind in (CENTRED4, CENTRED5, CENTRED8):
            if sub_blocks == MOST_SUB_BLOCKS:
                _centred(a.ctypes.data, stride, count, here, totals, sums)
            else:
                _few_centred(a.ctypes.data, stride, count, here, totals, sums)
        elif sub_blocks == MOST_SUB_BLOCKS:
            _offset(a.ctypes.data, stride, count, here, totals, sums)
        else:
            _few_offset(a.ctypes.data, stride, count, here, totals, sums)
    stop_tiles()


@pytest.mark.parametrize("kind", BITS)
@pytest.mark.parametrize("sub_blocks", [FEW_SUB_BLOCKS, MOST_SUB_BLOCKS])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_panels(kind: int, sub_blocks: int, count: int) -> None:
    """On AMX many rows have the same bits."""
    need("amx")
    if ISA != "amx" or not JIT:
        pytest.skip("kernels are compiled for another instruction set here")
    if kind in NESTED and sub_blocks < MOST_SUB_BLOCKS:
        pytest.skip("these have groups")
    rows = 8 * count
    memory, quants, factors = made_up(kind)
    left, out = Left(kind, rows, sub_blocks), np.full(32 * (rows + 1), 77, np.float32)
    out[: 32 * rows] = left.before.reshape(-1)
    panel = aligned(PANEL_BYTES + SUMS_BYTES + 64, np.int8)
    panel[-64:] = 77
    run_panels(kind, sub_blocks, memory, left.memory.reshape(-1), left.memory.shape[1], count, panel, out)
    assert np.array_equal(out[: 32 * rows].reshape(rows, 32), left.product(kind, quants, factors))
    assert (out[32 * rows :] == 77).all()
    assert (panel[-64:] == 77).all()
