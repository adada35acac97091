"""Products with codes against numpy, exact: types, rows, sizes and threads; and the same on every instruction set."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import engine
from engine.gguf import GgmlType
from engine.kernels.matmul import ADD, FIRST, PLAIN, Target
from engine.kernels.matmul.arena import Arena, MatrixShape
from engine.kernels.matmul.decoder import matmul, new_scratch, operand, quantize
from engine.kernels.matmul.operands import Matrices, matrix_of
from engine.kernels.matmul.team import Team, barrier, new_team
from engine.models.layers import start, stop
from engine.quant import TYPES
from engine.simd import JIT
from engine.simd.compiled import entry
from tests.engine.isas import COMPARED, need
from tests.engine.kernels.tiles import from_tiles, to_tiles
from tests.reference.coded import GROUPS, IN_SUB_BLOCKS, coded_product, matrix_numbers, run_product
from tests.reference.whole_numbers import in_order

Floats = NDArray[np.float32]
T = GgmlType
KINDS = [T.Q8_0, T.Q4_0, T.Q4_1, T.Q4_K, T.Q6_K, T.Q5_0, T.Q5_1, T.Q5_K, T.Q3_K, T.IQ4_NL, T.F16]


@entry
def run(
    team: Any, thread: int, threads: int, x: Floats, count: int, codes: Any, floats: Floats, table: Any, first: int,
    end: int, row: int, mode: int, out: Floats, width: int, column: int, scratch: Any,
) -> None:  # fmt: skip
    start()
    whole, matrices = Team(team, thread, threads), Matrices(codes, floats, table)
    left = operand(scratch, whole, count)
    quantize(whole, x, matrices, first, end, left)
    barrier(whole)
    matmul(whole, FIRST, left, matrix_of(matrices, row), Target(out, width, FIRST, column, mode))
    barrier(whole)
    stop()


def product(
    arena: Arena, row: int, x: Floats, *, threads: int = 1, mode: Any = PLAIN, before: Floats, column: int,
    brought: range | None = None,
) -> Floats:  # fmt: skip
    """`before` [m, width] with the product in its columns from `column` on. x is brought to this matrix, or to more."""
    brought = brought or range(row, row + 1)
    count, k = x.shape[0], arena.matrices[row].padded_k
    padded = np.zeros((count, k), np.float32)
    padded[:, : x.shape[1]] = x
    tiles, out, team = to_tiles(padded), to_tiles(before), new_team()
    scratch = new_scratch(count, k, threads)

    def work(thread: int) -> None:
        run(team, thread, threads, tiles, count, arena.quants, arena.floats, arena.table, brought.start, brought.stop,
            row, mode, out, before.shape[1], column, scratch)  # fmt: skip

    others = [threading.Thread(target=work, args=(i,)) for i in range(1, threads)]
    for other in others:
        other.start()
    work(0)
    for other in others:
        other.join()
    return from_tiles(out, before.shape[1])[:count]


class Example:
    """An arena of matrices before and after the one that counts, which has random values of many magnitudes."""

    def __init__(self, kind: GgmlType, n: int, k: int, seed: int = 0) -> None:
        self.random = np.random.default_rng(seed)
        self.kind, self.n, self.k = kind, n, k
        self.arena = Arena([MatrixShape(T.Q8_0, 32, 32), MatrixShape(kind, n, k), MatrixShape(T.F32, 16, 16)])
        w = self.random.standard_normal((n, k)) * np.exp(self.random.standard_normal((n, k // 32))).repeat(32, 1)
        self.data = TYPES[kind].quantize(w.astype(np.float32))
        self.data[n // 2] = TYPES[kind].quantize(np.zeros((1, k), np.float32))
        self.bias = self.random.standard_normal(n).astype(np.float32)
        self.arena.fill(1, self.data, self.bias)

    def check(self, count: int, threads: int = 1, scale: float = 1.0) -> None:
        x = (self.random.standard_normal((count, self.k)) * scale).astype(np.float32)
        padded = self.arena.matrices[1].padded_n
        before = self.random.standard_normal((count, padded + 48)).astype(np.float32)
        expected = self.expected(x)
        for mode in (PLAIN, ADD):
            found = product(self.arena, 1, x, threads=threads, mode=mode, before=before, column=32)
            inside = found[:, 32 : 32 + self.n]
            assert np.array_equal(inside, before[:, 32 : 32 + self.n] + expected if mode else expected)
            rest = before[:, 32 + self.n : 32 + padded] if mode else np.zeros((count, padded - self.n), np.float32)
            assert np.array_equal(found[:, 32 + self.n : 32 + padded], rest)
            for outside in (slice(32), slice(32 + padded, None)):
                assert np.array_equal(found[:, outside], before[:, outside])

    def expected(self, x: Floats) -> Floats:
        if self.kind == T.F32:
            return in_order(x, TYPES[T.F32].dequantize(self.data).T) + self.bias
        if self.kind in IN_SUB_BLOCKS:
            return run_product(x, self.kind, self.data, self.bias)
        whole, scales = matrix_numbers(self.kind, self.data)
        return coded_product(x, whole, scales, GROUPS.get(self.kind, 128), self.bias)


@pytest.mark.parametrize("kind", [*KINDS, T.F32], ids=lambda kind: kind.name)
def test_types(kind: GgmlType) -> None:
    example = Example(kind, 40, 512)
    for count in (1, 3, 19):
        example.check(count)


def test_rows_are_brought_to_several_matrices_at_once() -> None:
    """That need them in all forms."""
    kinds = [T.Q4_1, T.Q6_K, T.Q3_K, T.F32, T.Q4_0, T.Q4_K]
    arena, random = Arena([MatrixShape(kind, 32, 256) for kind in kinds]), np.random.default_rng(4)
    for i, kind in enumerate(kinds):
        arena.fill(i, TYPES[kind].quantize(random.standard_normal((32, 256)).astype(np.float32)))
    x, before = random.standard_normal((18, 256)).astype(np.float32), np.zeros((18, 32), np.float32)
    for i, kind in enumerate(kinds):
        alone = product(arena, i, x, before=before, column=0)
        together = product(arena, i, x, before=before, column=0, brought=range(len(kinds)))
        assert np.array_equal(together, alone), kind


@pytest.mark.parametrize(("kind", "k", "count"), [(T.Q4_0, 8192, 90), (T.Q4_K, 8192, 90), (T.Q3_K, 256, 150)])
def test_rows_pass_in_parts(kind: GgmlType, k: int, count: int) -> None:
    """Not all of them while one block of columns stays."""
    Example(kind, 64, k).check(count)


@pytest.mark.parametrize("kind", [T.F16, T.Q4_0, T.Q4_K, T.Q6_K], ids=lambda kind: kind.name)
def test_rows(kind: GgmlType) -> None:
    example = Example(kind, 64, 256)
    for count in range(1, 65):
        example.check(count)


@pytest.mark.parametrize("kind", [T.Q4_0, T.F32], ids=lambda kind: kind.name)
def test_rows_beside_a_row_change_no_bit(kind: GgmlType) -> None:
    """Of 1 to 64 rows each has the bits that it has alone, for any number of threads."""
    example = Example(kind, 96, 320)
    x, before = (example.random.standard_normal((64, n)).astype(np.float32) for n in (320, 96))

    def rows(first: int, end: int, threads: int) -> Floats:
        return product(example.arena, 1, x[first:end], threads=threads, before=before[first:end], column=0)

    alone = np.concatenate([rows(i, i + 1, 1) for i in range(64)])
    for count in range(2, 65):
        assert np.array_equal(rows(64 - count, 64, 1 + count % 3), alone[64 - count :]), count


@pytest.mark.parametrize("kind", [T.BF16, T.Q8_0, T.Q5_1, T.F32], ids=lambda kind: kind.name)
@pytest.mark.parametrize(("n", "k"), [(1, 32), (17, 96), (33, 160), (128, 224), (1040, 320), (2100, 64)])
def test_sizes(kind: GgmlType, n: int, k: int) -> None:
    example = Example(kind, n, k)
    for count in (1, 5, 18):
        example.check(count)


@pytest.mark.parametrize("kind", [T.BF16, T.Q4_K, T.F32], ids=lambda kind: kind.name)
@pytest.mark.parametrize("threads", [2, 3, 7])
def test_threads(kind: GgmlType, threads: int) -> None:
    example = Example(kind, 320, 256)
    for count in (1, 18):
        example.check(count, threads)


@pytest.mark.parametrize("scale", [1e-38, 1e-30, 1e-20, 1e20])
def test_magnitudes(scale: float) -> None:
    for kind in (T.BF16, T.Q4_0, T.Q4_1, T.Q4_K, T.Q6_K):
        Example(kind, 32, 256).check(4, scale=scale)


@pytest.mark.parametrize("kind", [T.Q4_K, T.Q5_K, T.Q6_K], ids=lambda kind: kind.name)
def test_rows_of_one_sign_and_runs_of_little(kind: GgmlType) -> None:
    """Whose sums with the greatest codes would not be int16, and whose scales are few steps or none."""
    example, k = Example(kind, 64, 1024), 1024
    random, runs = example.random, np.arange(k) // 32
    rows = [
        np.ones(k), -np.ones(k), random.uniform(0.9, 1, k), np.where(np.arange(k) % 32 < 17, 1, -1), np.ones(k) * 1e34,
        0.5 ** (runs % 8), 0.5 ** (3 * (runs % 8)), np.where(runs % 8 == 3, 1e-20, runs % 8 == 5), np.zeros(k),
        np.where(runs < 8, 0, random.standard_normal(k)), -(random.uniform(0, 1, k) ** 4), 10.0 ** -(runs + 10),
        np.where(runs % 4 == 1, 0.49, 127) * random.choice([-1, 1], k), np.where(np.arange(k) % 32 == 9, 3, 0),
        np.where(np.arange(k) % 16 == 0, -2e38, 2e38), np.ones(k) * 2e37,
    ]  # fmt: skip
    x = np.array(rows, np.float32)
    codes = TYPES[kind].LAYOUT
    blocks = example.data.reshape(-1).view(codes)
    blocks[:4]["low" if "low" in codes.names else "q"] = 255  # the first row's codes are the greatest
    example.arena.fill(1, example.data, example.bias)
    found = product(example.arena, 1, x, before=np.zeros((len(x), 64), np.float32), column=0)
    with np.errstate(over="ignore"):
        assert np.array_equal(found, example.expected(x), equal_nan=True)
    w = TYPES[kind].dequantize(example.data).astype(np.float64)
    size = np.abs(x).astype(np.float64) @ np.abs(w).T + np.abs(example.bias)
    assert np.isnan(found[-2:]).all(), "sums of some lanes, and of all, are not finite"
    assert (np.abs(found - (x @ w.T + example.bias)) <= size / 60)[:-2].all()


def test_a_row_that_is_not_finite_gives_nan() -> None:
    for kind in (T.Q4_0, T.Q5_1, T.Q4_K, T.BF16):
        example = Example(kind, 32, 256)
        for bad, at in ((np.nan, 70), (np.inf, 90), (-np.inf, 255), (np.nan, 80)):
            x = np.ones((3, 256), np.float32)
            x[1, at] = bad
            before = np.zeros((3, 32), np.float32)
            found = product(example.arena, 1, x, before=before, column=0)
            assert np.isnan(found[1]).all()
            assert np.isfinite(found[[0, 2]]).all()


@pytest.mark.parametrize("kind", [T.Q2_K, *IN_SUB_BLOCKS], ids=lambda kind: kind.name)
def test_a_file_may_hold_anything(kind: GgmlType) -> None:
    """Random bytes: no row of weights changes another one, what is not finite gives NaN, and a few rows the same as
    many."""
    random = np.random.default_rng(1)
    data = random.integers(0, 256, (64, 512 // TYPES[kind].BLOCK_VALUES * TYPES[kind].BLOCK_BYTES)).astype(np.uint8)
    arena = Arena([MatrixShape(kind, 64, 512)])
    arena.fill(0, data)
    w = TYPES[kind].dequantize(data).astype(np.float64)
    x, before = random.standard_normal((40, 512)).astype(np.float32), np.zeros((40, 64), np.float32)
    found = product(arena, 0, x, before=before, column=0)
    finite = np.isfinite(w).all(1)
    assert finite.sum() > 0 or kind == T.Q8_0
    assert (np.isnan if kind not in IN_SUB_BLOCKS else lambda y: ~np.isfinite(y))(found[:, ~finite]).all()
    exact = x @ w[finite].T
    length = np.abs(x).max(1)[:, None] * np.abs(w[finite]).max(1)
    assert (np.abs(found[:, finite] - exact) <= 512 * length / 127).all()
    few = np.concatenate([product(arena, 0, x[i : i + 1], before=before[:1], column=0) for i in range(40)])
    assert np.array_equal(found, few, equal_nan=True)


@pytest.mark.parametrize("kind", IN_SUB_BLOCKS, ids=lambda kind: kind.name)
def test_scales_and_codes_at_their_ends(kind: GgmlType) -> None:
    """Scales of no size, the least and the greatest, whole numbers of runs at their ends, blocks of one code, where an
    offset may undo steps; k that is no multiple of a chunk, n none of a block."""
    random, k = np.random.default_rng(3), 512 if TYPES[kind].BLOCK_VALUES == 256 else 416
    blocks = np.zeros((120, k // TYPES[kind].BLOCK_VALUES), TYPES[kind].LAYOUT)
    for field in blocks.dtype.names:
        values = blocks[field]
        if values.ndim == 2:
            values[:] = random.choice([0, -0.0, 6e-8, -6e-8, -2e-5, 1, 4368, -65504], values.shape)
        elif field == "scales":
            values[:] = random.choice([0, 1, 63, 127, 128, 255], values.shape).astype(np.uint8).view(values.dtype)
        else:
            values[:] = random.choice([0, 17, 136, 255], (*values.shape[:2], 1))
            values[::2] = random.integers(0, 256, values[::2].shape)
    arena, data = Arena([MatrixShape(kind, 120, k)]), blocks.view(np.uint8).reshape(120, -1)
    arena.fill(0, data)
    x, before = random.standard_normal((19, k)).astype(np.float32), np.zeros((19, 128), np.float32)
    bias = np.zeros(120, np.float32)
    expected = run_product(x, kind, data, bias)
    assert np.isfinite(expected).all()
    for count in (1, 5, 19):
        found = product(arena, 0, x[:count], before=before[:count], column=0)
        assert np.array_equal(found[:, :120], expected[:count])
        assert not found[:, 120:].any()


def test_scales_have_less_error_than_the_finest() -> None:
    """Squares of what rounding does to weights, to those with max|w| / 127; and that many of the others are taken."""
    random = np.random.default_rng(2)
    for kind, most in ((T.Q3_K, 0.6), (T.BF16, 0.93)):
        data = TYPES[kind].quantize(random.standard_normal((64, 512)).astype(np.float32))
        w, size = TYPES[kind].dequantize(data), GROUPS.get(kind, 128)
        whole, scales = matrix_numbers(kind, data)
        units = scales.repeat(size, axis=1)
        finest = (np.abs(w).reshape(64, -1, size).max(2) / np.float32(127)).repeat(size, axis=1)
        assert np.square(w - whole * units).sum() <= most * np.square(w - np.rint(w / finest) * finest).sum()
        found = set(np.rint(127 * finest / units).ravel())
        assert found <= set(range(112, 128)), kind
        assert len(found) > 8, kind


def test_weights_that_are_hardly_numbers() -> None:
    """Groups around the least scale, and zeros."""
    example = Example(T.BF16, 32, 1280)
    magnitudes = 10.0 ** np.arange(-32, -22).repeat(128) * (np.arange(1280) > 1000)
    example.data = TYPES[T.BF16].quantize((TYPES[T.BF16].dequantize(example.data) * magnitudes).astype(np.float32))
    example.arena.fill(1, example.data, example.bias)
    example.check(3, scale=1e25)


def test_memory_is_near_the_size_of_the_file() -> None:
    exact = dict.fromkeys((T.Q4_0, T.Q4_1, T.Q5_0, T.Q5_1, T.Q8_0), 1.002)
    for kind, most in (exact | {T.Q4_K: 1.03, T.Q5_K: 1.03, T.Q6_K: 1.01}).items():
        matrix = MatrixShape(kind, 4096, 4096)
        held = matrix.quant_bytes + 4 * (matrix.weights + matrix.padded_n)
        size = 4096 * 4096 // TYPES[kind].BLOCK_VALUES * TYPES[kind].BLOCK_BYTES
        assert held <= most * size


@pytest.mark.parametrize("isa", [*COMPARED, "plain"])
def test_every_instruction_set(isa: str) -> None:
    """The tests of this file in a process of that instruction set, or as plain Python; fewer where they are slow."""
    if os.environ.get("CLOISTER_ISA") or not JIT:
        pytest.skip("this is such a process")
    if isa != "plain":
        need(isa)
    if isa == engine.isa():
        pytest.skip("this is the process that all tests of this file are in")
    settings = {"NUMBA_DISABLE_JIT": "1"} if isa == "plain" else {"CLOISTER_ISA": isa}
    few, more = "test_types and (Q4_K or Q6_K or Q4_1) or test_threads and 3-BF16", "test_types or 3-BF16 or beside"
    chosen = few if isa == "plain" else more
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-k", chosen, __file__], env=os.environ | settings, text=True,
        cwd=Path(__file__).parents[4], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
