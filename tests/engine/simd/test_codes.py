"""Codes of 4, 5 and 8 bits: what numbers they stand for, unpacked and multiplied, against plain Python integers."""

from typing import Any

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from engine.kernels.compiled import kernel
from engine.kernels.matmul import ISA
from engine.models.layers import aligned
from engine.simd import CODES, EIGHT, WHOLE, coded_tile, unpack
from engine.simd.codes import CENTRED4, CENTRED5, OFFSET4, OFFSET5, codes_in, numbers_at, words_of
from engine.simd.operands import CODED

KINDS = [*CODES, EIGHT]
BITS = {CENTRED4: 4, OFFSET4: 4, CENTRED5: 5, OFFSET5: 5, EIGHT: 8, WHOLE: 16}
HEAD = {CENTRED4: 32, OFFSET4: 64, CENTRED5: 32, OFFSET5: 64, EIGHT: 0, WHOLE: 0}
SIZES = (1, 2, 4, 8, 12)
CHUNKS = 4
ISA_OF_VECTORS = "avx512_vnni" if ISA == "amx" else ISA


def wrapped(value: int) -> int:
    return (value + 2**15) % 2**16 - 2**15


def code(words: NDArray[np.uint16], bits: int, p: int) -> int:
    """That of vector p in the words of a lane, as `engine.simd.codes.PIECES` says."""
    each = 16 // bits
    if p < bits * each:
        return int(words[p // each]) >> bits * (p % each) & (1 << bits) - 1
    return sum((int(word) >> 15) << w for w, word in enumerate(words))


def number(kind: int, head: Any, q: int, column: int) -> int:
    """Of a code, as `engine.simd.codes` says."""
    if kind in (CENTRED4, CENTRED5):
        middle = 8 if kind == CENTRED4 else 16
        return (((q ^ middle) - middle) * int(head.view(np.int16)[column]) + 64) >> 7
    a, b = (int(x) for x in head.view(np.int16)[2 * column : 2 * column + 2])
    return wrapped(q * a + b + 64) >> 7


def made_up(kind: int) -> tuple[Any, NDArray[np.int64]]:
    """Memory of chunks whose numbers are within 256, more than files lead to, and behind it more; the numbers:
    [chunks * 2 turns][2 sides][16 vectors][16 columns][2]."""
    random, at, found = np.random.default_rng(kind), 0, []
    size = 32 * BITS[kind] * 2 if kind not in (EIGHT, WHOLE) else 64 * BITS[kind]
    memory = aligned(CHUNKS * 4 * (HEAD[kind] + size) + 8192, np.int8)
    memory[:] = random.integers(-127, 128, memory.size)
    for _ in range(CHUNKS):
        heads, at = memory[at : at + 4 * HEAD[kind]].reshape(2, 2, HEAD[kind]), at + 4 * HEAD[kind]
        words, at = memory[at : at + 4 * size].reshape(2, 2, size), at + 4 * size
        fill(kind, heads, random)
        if kind == WHOLE:
            words.view(np.int16)[:] >>= 8
        for half in range(2):
            for side in range(2):
                found.append(turn_numbers(kind, heads[side, half], words[half, side]))
    return memory, np.array(found).reshape(2 * CHUNKS, 2, 16, 16, 2)


def fill(kind: int, heads: NDArray[np.int8], random: np.random.Generator) -> None:
    """Heads with which numbers are within 256: where there are offsets sums wrap, and so anything will do."""
    most = 500 if kind in (CENTRED4, CENTRED5) else 32768
    if heads.size:
        heads[:] = random.integers(-most, most, heads.size // 2).astype(np.int16).view(np.int8).reshape(heads.shape)


def turn_numbers(kind: int, head: Any, data: NDArray[np.int8]) -> Any:
    if kind in (EIGHT, WHOLE):
        return data.view(f"i{BITS[kind] // 8}").reshape(16, 16, 2)
    words = data.view(np.uint16).reshape(-1, 16, 2)
    return [
        [[number(kind, head, code(words[:, c, w], BITS[kind], p), c) for w in range(2)] for c in range(16)]
        for p in range(16)
    ]


@pytest.mark.parametrize("bits", [4, 5])
def test_words_hold_codes(bits: int) -> None:
    q = np.random.default_rng(bits).integers(0, 1 << bits, (3, 16, 16, 2)).astype(np.uint8)
    words = words_of(bits, q)
    assert words.shape == (3, bits, 16, 2)
    assert np.array_equal(codes_in(bits, words), q)
    for p in range(16):
        assert code(words[1, :, 5, 1], bits, p) == q[1, p, 5, 1]


@pytest.mark.parametrize("kind", [*KINDS, WHOLE])
@pytest.mark.parametrize("side", [0, 1])
def test_meaning(kind: int, side: int) -> None:
    memory, numbers = made_up(kind)
    assert np.abs(numbers).max() <= 256
    for turns in (2 * CHUNKS, 3):
        assert np.array_equal(
            numbers_at(kind, memory.ctypes.data, side, turns).reshape(-1, 16, 16, 2), numbers[:turns, side]
        )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("digits", [False, True])
def test_unpack(kind: int, digits: bool) -> None:
    operation, turns = unpack(ISA_OF_VECTORS, digits=digits), 2 * CHUNKS

    @njit
    def run(kind: int, codes: Any, side: int, step: int, out: Any) -> None:
        operation(kind, codes.ctypes.data, side, turns, out.ctypes.data, step)

    memory, numbers = made_up(kind)
    for side in range(2):
        out = np.full(turns * 600, 77, np.int8 if digits else np.int16)
        run(kind, memory, side, 600 * out.itemsize, out)
        expected = numbers[:, side].reshape(turns, 512)
        if digits:  # [k / 4][16 columns][4]; of a turn k is [2 places][16 vectors]
            in_order = numbers[:, side].reshape(CHUNKS, 2, 16, 16, 2).transpose(0, 1, 4, 2, 3).reshape(-1, 64, 16)
            expected = in_order[:, CODED].reshape(-1, 4, 16).transpose(0, 2, 1).reshape(turns, 512)
        found = out.reshape(turns, 600)
        assert np.array_equal(found[:, :512], expected.astype(out.dtype))
        assert (found[:, 512:] == 77).all()


_tile = coded_tile([*KINDS, WHOLE], SIZES, ISA_OF_VECTORS)


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
    (codes, numbers), out = made_up(kind), np.full((rows + 1) * 32, 77, np.float32)
    out[: 32 * rows] = before = random.integers(-5, 5, 32 * rows)
    factors = np.ldexp(np.float32(1), random.integers(-3, 3, (4, 32))).astype(np.float32)  # so that float64 is exact
    run_tile(kind, rows, a.reshape(-1), steps, codes, group, factors.reshape(-1), out)
    w = numbers.transpose(0, 2, 1, 3, 4).reshape(CHUNKS, 32, 32, 2)[:steps]
    sums = np.einsum("srpw,spcw->src", a.astype(np.int64).reshape(steps, rows, 32, 2), w)
    expected = before.reshape(rows, 32).astype(np.float32)
    for g, at in enumerate(range(0, steps, group)):
        whole = sums[at : at + group].sum(0).astype(np.float32)
        expected = (whole.astype(np.float64) * factors[g] + expected).astype(np.float32)
    assert np.array_equal(out[: 32 * rows].reshape(rows, 32), expected)
    assert (out[32 * rows :] == 77).all()
