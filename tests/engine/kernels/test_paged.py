"""Paged attention: the bits of its slow truth, whatever is computed together, wherever the pages lie."""

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.kernels.compiled import entry
from engine.kernels.paged import PAGE, attend, rows_together, work_size
from engine.models.layers import aligned
from tests.engine.kernels.tiles import from_tiles, to_tiles
from tests.reference import paged as truth

RANDOM = np.random.default_rng(4)
LENGTH, PART = 75, 32
f = np.float32

_attend = entry(attend.py_func if hasattr(attend, "py_func") else attend)


class Case:
    """A sequence of LENGTH positions and two heads that share keys, whose pages lie out of order."""

    def __init__(self, *, whole: bool, part: int = PART, depth: int = PART) -> None:
        self.part, self.depth, self.whole = part, depth, whole
        self.q = RANDOM.standard_normal((LENGTH, 2, part)).astype(f)
        self.k, self.v = (RANDOM.standard_normal((LENGTH, part)).astype(f) for _ in "kv")
        for x in (self.q, self.k, self.v):
            x[..., depth:] = 0
        self.table = np.array([5, 0, 3], np.int32)
        self.base, self.step = 4, 2
        self.pages = self._pages()

    def _pages(self) -> tuple[NDArray[np.int8], NDArray[np.int8], NDArray[np.float32], bool]:
        count, size = self.base + 6 * self.step, self.part * PAGE
        dtype = np.int8 if self.whole else np.float16
        keys, values = np.zeros((count, self.part, PAGE), dtype), np.zeros((count, PAGE, self.part), dtype)
        scales = np.zeros((count, 2, PAGE), f)
        for t in range(LENGTH):
            at, slot = self.base + self.table[t // PAGE] * self.step, t % PAGE
            for i, (x, place) in enumerate(((self.k[t], keys[at, :, slot]), (self.v[t], values[at, slot]))):
                scales[at, i, slot] = scale = np.abs(x).max() / f(127) if self.whole else f(1)
                place[:] = np.rint(x / scale) if self.whole else x
                x[:] = place.astype(f) * scale
        assert keys.size == count * size
        return keys.view(np.int8).reshape(-1), values.view(np.int8).reshape(-1), scales.reshape(-1), self.whole

    def found(self, first: int, count: int, heads: tuple[int, int], window: int = 0, cap: float = 0) -> NDArray[f]:
        n, width = 2 * self.part, -(-2 * self.depth // 16) * 16
        out, work = to_tiles(np.zeros((LENGTH, width), f), 0), aligned(work_size(2, self.part), f)
        work[:] = np.nan
        head, many = heads
        for row in range(first, first + count, rows_together(many)):
            _attend(
                to_tiles(self.q.reshape(LENGTH, n), 0), n, row, min(first + count - row, rows_together(many)), row,
                head, many, self.part, self.depth, window, f(cap), self.pages, self.table, self.base, self.step, work,
                out, width,
            )  # fmt: skip
        whole = from_tiles(out, width)[:LENGTH, : 2 * self.depth].reshape(LENGTH, 2, self.depth)
        return whole[first : first + count, head : head + many]

    def expected(self, window: int = 0, cap: float = 0) -> NDArray[f]:
        rows = [
            [truth.attend(q, self.k, self.v, t, window, cap)[: self.depth] for q in self.q[t]] for t in range(LENGTH)
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
    scores = np.log(2) * np.einsum("thd,sd->hts", case.q.astype(float), case.k)
    weights = np.exp(np.where(np.tri(LENGTH, dtype=bool), scores, -np.inf))
    expected = np.einsum("hts,sd->thd", weights / weights.sum(2, keepdims=True), case.v)
    assert np.abs(case.found(0, LENGTH, (0, 2)) - expected).max() < 5e-6


def test_what_is_not_finite_stays_so() -> None:
    case = Case(whole=False)
    case.q[40, 0, 3] = np.nan
    case.q[41, 1, 3] = np.inf
    found = case.found(40, 3, (0, 2))
    assert np.isnan(found[0, 0]).all()
    assert np.isnan(found[1, 1]).any()
    assert np.isfinite(found[2]).all()
    assert np.isfinite(found[0, 1]).all()
