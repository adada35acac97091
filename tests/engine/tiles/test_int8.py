"""Numbers of 8 bits: where they lie, as digits, and multiplied, against plain Python integers."""

from typing import Any

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from engine.kernels.matmul import VECTORS_ISA, aligned
from engine.simd.compiled import kernel
from engine.tiles.int8 import digits, int8_tile, quants_at
from engine.tiles.operands import CODED
from tests.engine.kernels.called import called

SIZES = (1, 2, 4, 8, 12)
CHUNKS = 4


def made_up() -> tuple[Any, NDArray[np.int64]]:
    """Memory of chunks, and behind it more; the numbers: [chunks * 2 halves][2 sides][16 vectors][16 columns][2]."""
    memory = aligned(CHUNKS * 2048 + 8192, np.int8)
    memory[:] = np.random.default_rng(8).integers(-127, 128, memory.size)
    numbers = memory[: CHUNKS * 2048].reshape(2 * CHUNKS, 8, 2, 2, 16, 2).swapaxes(1, 2)
    return memory, numbers.reshape(2 * CHUNKS, 2, 16, 16, 2).astype(np.int64)


@pytest.mark.parametrize("side", [0, 1])
def test_meaning(side: int) -> None:
    memory, numbers = made_up()
    for halves in (2 * CHUNKS, 3):
        assert np.array_equal(quants_at(memory.ctypes.data, side, halves), numbers[:halves, side])


def test_digits() -> None:
    operation, halves = digits(), 2 * CHUNKS

    @njit
    def run(quants: Any, side: int, step: int, out: Any) -> None:
        operation(quants.ctypes.data, side, halves, out.ctypes.data, step)

    memory, numbers = made_up()
    for side in range(2):
        out = np.full(halves * 600, 77, np.int8)
        run(memory, side, 600, out)
        # [k / 4][16 columns][4]; of half a chunk k is [2 places][16 vectors]
        in_order = numbers[:, side].reshape(CHUNKS, 2, 16, 16, 2).transpose(0, 1, 4, 2, 3).reshape(-1, 64, 16)
        expected = in_order[:, CODED].reshape(-1, 4, 16).transpose(0, 2, 1).reshape(halves, 512)
        assert np.array_equal(out.reshape(halves, 600)[:, :512], expected.astype(np.int8))
        assert (out.reshape(halves, 600)[:, 512:] == 77).all()


_tile = int8_tile(SIZES, VECTORS_ISA)


@called
@kernel
def sub_block_tile(rows: int, a: Any, steps: int, quants: Any, group: int, factors: Any, out: Any) -> None:
    _tile(rows, a.ctypes.data, 128 * rows, steps, quants.ctypes.data, group, factors.ctypes.data, out.ctypes.data)


@pytest.mark.parametrize("rows", SIZES)
@pytest.mark.parametrize(("steps", "group"), [(1, 2), (4, 1), (3, 2), (4, 2), (4, 4)])
def test_tile(rows: int, steps: int, group: int) -> None:
    random = np.random.default_rng(rows)
    a = random.integers(-32767, 32768, (steps, rows, 64)).astype(np.int16)
    a[:, 0] = 32767
    (quants, numbers), out = made_up(), np.full((rows + 1) * 32, 77, np.float32)
    out[: 32 * rows] = before = random.integers(-5, 5, 32 * rows)
    factors = np.ldexp(np.float32(1), random.integers(-3, 3, (4, 32))).astype(np.float32)  # so that float64 is exact
    sub_block_tile(rows, a.reshape(-1), steps, quants, group, factors.reshape(-1), out)
    w = numbers.transpose(0, 2, 1, 3, 4).reshape(CHUNKS, 32, 32, 2)[:steps]
    sums = np.einsum("srpw,spcw->src", a.astype(np.int64).reshape(steps, rows, 32, 2), w)
    expected = before.reshape(rows, 32).astype(np.float32)
    for g, at in enumerate(range(0, steps, group)):
        whole = sums[at : at + group].sum(0).astype(np.float32)
        expected = (whole.astype(np.float64) * factors[g] + expected).astype(np.float32)
    assert np.array_equal(out[: 32 * rows].reshape(rows, 32), expected)
    assert (out[32 * rows :] == 77).all()
