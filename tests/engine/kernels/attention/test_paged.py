"""Paged attention: the bits of its slow truth, whatever is computed together, wherever the pages lie."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.kernels.attention import Heads
from engine.kernels.attention.paged import PageTable, Tile, attend, new_work, rows_together, work_of
from engine.kernels.attention.paged_operands import PAGE, KvCache, write_kv
from engine.kernels.rows import place
from engine.simd.compiled import entry
from tests.engine.kernels.tiles import from_tiles, to_tiles
from tests.reference import paged as truth

RANDOM = np.random.default_rng(4)
LENGTH, PART = 75, 32
f = np.float32

_write_kv = entry(getattr(write_kv, "py_func", write_kv))


@entry
def _attend(tile: Any, heads: Any, cache: Any, table: Any, work: Any, out: NDArray[f]) -> None:
    attend(tile, heads, cache, table, work_of(work, 1), out)


class Case:
    """A sequence of LENGTH positions and two heads that share keys, whose pages lie out of order."""

    def __init__(self, *, whole: bool, part: int = PART, depth: int = 0) -> None:
        self.part, self.depth, self.whole = part, depth or part, whole
        self.q = RANDOM.standard_normal((LENGTH, 2, part)).astype(f)
        self.k, self.v = (RANDOM.standard_normal((LENGTH, part)).astype(f) for _ in "kv")
        for x in (self.q, self.k, self.v):
            x[..., self.depth :] = 0
        self.table = np.array([5, 0, 3], np.int32)
        self.base, self.step = 4, 2

    def _pages(self) -> KvCache:
        """What no token has filled holds other sequences' numbers, and the worst of scales."""
        count, dtype = self.base + 6 * self.step, np.int8 if self.whole else np.float16
        keys, values = (RANDOM.integers(-99, 99, (count, self.part * PAGE)).astype(dtype) for _ in "kv")
        scales, narrow = np.full((count, 2 * PAGE), np.nan, f), np.zeros(64, np.int8)
        flat = keys.view(np.int8).reshape(-1), values.view(np.int8).reshape(-1), scales.reshape(-1)
        pages = KvCache(*flat, self.whole, self.part)
        x = to_tiles(np.concatenate([self.k, self.v], 1), 0)
        for t in range(LENGTH):
            index = self.base + int(self.table[t // PAGE]) * self.step
            key, value = place(t, 0, 2 * self.part), place(t, self.part, 2 * self.part)
            _write_kv(x, key, value, pages, index, t % PAGE, narrow)
        return pages

    def found(self, first: int, count: int, heads: tuple[int, int], window: int = 0, cap: float = 0) -> NDArray[f]:
        n, width = 2 * self.part, -(-2 * self.depth // 16) * 16
        out, work = to_tiles(np.zeros((LENGTH, width), f), 0), new_work(2, self.part, 2)
        for part in work:
            part.view(np.uint8)[:] = 0xFF  # a NaN as float32
        (head, many), pages = heads, self._pages()
        for row in range(first, first + count, rows_together(many)):
            some = min(first + count - row, rows_together(many))
            tile = Tile(to_tiles(self.q.reshape(LENGTH, n), 0), n, row, some, row)
            heads = Heads(many, self.depth, width, window, head, f(1), f(cap))
            _attend(tile, heads, pages, PageTable(self.table, self.base, self.step), work, out)
        whole = from_tiles(out, width)[:LENGTH, : 2 * self.depth].reshape(LENGTH, 2, self.depth)
        return whole[first : first + count, head : head + many]

    def expected(self, window: int = 0, cap: float = 0) -> NDArray[f]:
        rows = [
            [truth.attend(q, self.k, self.v, t, window, cap, whole=self.whole)[: self.depth] for q in self.q[t]]
            for t in range(LENGTH)
        ]
        return np.array(rows)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(("window", "cap"), [(0, 0), (10, 0), (33, 0), (0, 2.5), (40, 2.5), (1, 0)])
def test_bits_of_the_truth(whole: bool, window: int, cap: float) -> None:
    case = Case(whole=whole)
    assert np.array_equal(case.found(0, LENGTH, (0, 2), window, cap), case.expected(window, cap))


@pytest.mark.parametrize("depth", [32, 16, 12])
def test_heads_of_any_size(depth: int) -> None:
    case = Case(whole=False, depth=depth)
    assert np.array_equal(case.found(0, LENGTH, (0, 2)), case.expected())


def test_what_is_computed_together_changes_nothing() -> None:
    case = Case(whole=False, part=64, depth=64)
    expected = case.found(0, LENGTH, (0, 2), 40)
    for first, count in ((0, 1), (31, 2), (70, 5), (33, 7), (60, 15), (20, 13)):
        part = expected[first : first + count]
        assert np.array_equal(case.found(first, count, (0, 2), 40), part)
        for head in (0, 1):
            assert np.array_equal(case.found(first, count, (head, 1), 40), part[:, head : head + 1])


def test_it_is_attention() -> None:
    case = Case(whole=False)
    case.k, case.v = (x.astype(np.float16).astype(f) for x in (case.k, case.v))
    scores = np.log(2) * np.einsum("thd,sd->hts", case.q.astype(float), case.k)
    weights = np.exp(np.where(np.tri(LENGTH, dtype=bool), scores, -np.inf))
    expected = np.einsum("hts,sd->thd", weights / weights.sum(2, keepdims=True), case.v)
    far = np.abs(case.found(0, LENGTH, (0, 2)) - expected)
    assert far.max() < 2e-3
    assert np.sqrt((far**2).mean()) < 2e-4


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("part", [32, 64, 96, 128, 256, 512])
def test_sums_of_the_greatest_numbers(whole: bool, part: int) -> None:
    case = Case(whole=whole, part=part)
    case.q[:] = case.k[:] = case.v[:] = 3
    case.q[1::2], case.v[::2] = -3, -3
    assert np.array_equal(case.found(60, 5, (0, 2)), case.expected()[60:65])


@pytest.mark.parametrize("scale", [0, 1e-6, 1e-30, 1e-39])
def test_small_numbers(scale: float) -> None:
    case = Case(whole=True)
    case.q[3:] *= f(scale)
    case.k[5:] *= f(scale)
    case.v[1:] *= f(scale)
    assert np.array_equal(case.found(0, LENGTH, (0, 2)), case.expected())


@pytest.mark.parametrize("whole", [False, True])
def test_what_is_not_finite_stays_so(whole: bool) -> None:
    case = Case(whole=whole)
    case.q[40, 0, 3] = np.nan
    case.q[41, 1, 3] = np.inf
    found = case.found(40, 3, (0, 2))
    assert np.isnan(found[[0, 1], [0, 1]]).all()
    assert np.isfinite(found[[0, 1, 2, 2], [1, 0, 0, 1]]).all()


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("number", [np.nan, np.inf, 65520])
@pytest.mark.parametrize("which", ["k", "v"])
def test_what_is_kept_of_what_is_not_finite_is_seen(whole: bool, number: float, which: str) -> None:
    case = Case(whole=whole)
    getattr(case, which)[20, 3] = number
    found, whole_number = case.found(0, LENGTH, (0, 2), 30), whole and number == 65520
    seen = np.zeros(LENGTH, bool)
    seen[20:50] = not whole_number
    assert np.array_equal(np.isnan(found).all((1, 2)), seen)
    assert np.isfinite(found[~seen]).all()


@pytest.mark.parametrize("whole", [False, True])
def test_scores_below_all_numbers_give_nan(whole: bool) -> None:
    case = Case(whole=whole)
    case.q[40], case.k[:] = 1e36, -6e4
    found = case.found(39, 3, (0, 2))
    assert np.isnan(found[1]).all()
    assert np.isfinite(found[[0, 2]]).all()
