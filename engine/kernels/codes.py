"""Matrices of a decoder in memory: codes near the size of the file, all matrices of a model in two flat arrays.

What a code means is in `engine.simd.codes`; here codes and scales are made from the tensors of a file. The whole
numbers of a matrix are w / D rounded, w the values of the file, with a scale D of each column (an output) and group
along k (`kernels/scales.py`). Eight bits hold any of them. Where the file has codes q of 4 bits (Q4_0, Q4_1, Q4_K), or
of up to 6 around zero (Q6_K, Q5_0), they stay, and numbers are made of them with A = rint(step / D * 128) and
B = rint(offset / D * 128), where w = step * q + offset in a run of 32 values or, of 6 bits, 16.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.cpu import threads
from engine.gguf import GgmlType
from engine.kernels.scales import F64, fit_codes, fit_values
from engine.quant import TYPES
from engine.quant.base import Bytes
from engine.simd import CHUNK, EIGHT, F32, FLOAT, FOUR, I8, I64, LANES, SIX, TURN, TURN_BYTES

BLOCK = 2 * LANES
"""Columns that lie together, and are computed together; n is padded to a multiple of them, k of CHUNK."""
FACTS = 8
KIND, CODES, FLOATS, N, K, GROUP, BIAS, STEP = range(FACTS)
"""What a row of the table says: the kind of codes; where the matrix begins in `codes` and in `floats`; n and k, padded;
how many values of k share a scale; where its bias begins in `floats`; bytes of CHUNK values of 16 columns."""
_SMALL_GROUP, _GROUP = 128, 256
_OF_256 = {
    GgmlType.Q2_K, GgmlType.Q3_K, GgmlType.Q4_K, GgmlType.Q5_K, GgmlType.Q6_K, GgmlType.IQ4_XS,
}  # fmt: skip
_FOUR_BITS = {GgmlType.Q4_0, GgmlType.Q4_1, GgmlType.Q4_K}
_SIX_BITS = {GgmlType.Q6_K, GgmlType.Q5_0}
_PART = 128  # columns that a thread makes at a time


@dataclass(frozen=True)
class Matrix:
    """A matrix of n outputs and k inputs, of a type of the file."""

    type: GgmlType
    n: int
    k: int

    @property
    def kind(self) -> int:
        """FLOAT or the bits of its codes."""
        if self.type == GgmlType.F32:
            return FLOAT
        return FOUR if self.type in _FOUR_BITS else SIX if self.type in _SIX_BITS else EIGHT

    @property
    def group(self) -> int:
        """How many values of k share a scale; the last group has what is left."""
        return _GROUP if self.type in _OF_256 else _SMALL_GROUP

    @property
    def padded_n(self) -> int:
        return -(-self.n // BLOCK) * BLOCK

    @property
    def padded_k(self) -> int:
        return -(-self.k // CHUNK) * CHUNK

    @property
    def code_bytes(self) -> int:
        """A multiple of 64."""
        return 0 if self.kind == FLOAT else self.padded_n // LANES * (self.padded_k // TURN) * TURN_BYTES[self.kind]

    @property
    def weights(self) -> int:
        """float32 values before the bias: scales, or the weights themselves."""
        return self.padded_n * (self.padded_k if self.kind == FLOAT else -(-self.padded_k // self.group))


class Arena:
    """The memory of all matrices of a model: `codes` int8, `floats` float32, and a row of FACTS for each, `table`."""

    def __init__(self, matrices: Sequence[Matrix]) -> None:
        self.matrices = tuple(matrices)
        self.table: I64 = np.zeros((len(self.matrices), FACTS), np.int64)
        codes = floats = 0
        for row, matrix in zip(self.table, self.matrices, strict=True):
            row[[KIND, CODES, FLOATS, N, K]] = matrix.kind, codes, floats, matrix.padded_n, matrix.padded_k
            row[[GROUP, BIAS]] = matrix.group, floats + matrix.weights
            row[STEP] = matrix.code_bytes * LANES * CHUNK // (matrix.padded_n * matrix.padded_k)
            codes, floats = codes + matrix.code_bytes, floats + matrix.weights + matrix.padded_n
        self.codes: I8 = _aligned(codes, np.int8)
        self.floats: F32 = _aligned(floats, np.float32)

    def fill(self, number: int, data: Bytes, bias: F32 | None = None) -> None:
        """Matrix `number`, from the bytes of its rows in the file, uint8 [n, bytes], and its bias [n], else zeros."""
        matrix, row = self.matrices[number], self.table[number]
        rows = np.ascontiguousarray(data).view(np.uint8).reshape(matrix.n, -1)
        code_step, float_step = (size // (matrix.padded_n // BLOCK) for size in (matrix.code_bytes, matrix.weights))

        def pack(first: int) -> None:
            codes, floats = pack_matrix(matrix.type, rows[first : first + _PART], matrix.k)
            code_at = row[CODES] + first // BLOCK * code_step
            float_at = row[FLOATS] + first // BLOCK * float_step
            self.codes[code_at : code_at + codes.size] = codes
            self.floats[float_at : float_at + floats.size] = floats

        with ThreadPoolExecutor(threads()) as pool:
            list(pool.map(pack, range(0, matrix.n, _PART)))
        if bias is not None:
            self.floats[row[BIAS] : row[BIAS] + matrix.n] = bias


def _aligned(count: int, dtype: Any) -> Any:
    size = count * np.dtype(dtype).itemsize
    memory = np.zeros(size + 64, np.uint8)
    first = -memory.ctypes.data % 64
    return memory[first : first + size].view(dtype)


def pack_matrix(type_: GgmlType, data: Bytes, k: int) -> tuple[I8, F32]:
    """The rows of a file's tensor, uint8 [n, bytes], as codes and scales, or as float32 weights; both flat.

    Codes: [n / 32][k / 32][2] turns; scales: [n / 32][groups][32]; weights: [n / 32][k][32].
    """
    matrix = Matrix(type_, data.shape[0], k)
    if matrix.kind in (FOUR, SIX):
        codes, scales = _own_codes(matrix, data)
        return codes.reshape(-1), _in_blocks(scales)
    w = np.zeros((matrix.padded_n, matrix.padded_k), np.float32)
    w[: matrix.n, :k] = TYPES[type_].dequantize(data)
    if matrix.kind == FLOAT:
        return np.zeros(0, np.int8), _in_blocks(w)
    codes, scales = _eight_bits(w, matrix.group)
    return codes.reshape(-1), _in_blocks(scales)


def _in_blocks(values: F32) -> F32:
    """[n, m] -> [n / 32][m][32], flat"""
    n, m = values.shape
    return values.reshape(n // BLOCK, BLOCK, m).transpose(0, 2, 1).reshape(-1)


def _in_turns(values: NDArray[Any]) -> NDArray[Any]:
    """[n, k] -> [n / 32][k / 32][2][16 vectors][16 columns][2]"""
    n, k = values.shape
    return values.reshape(n // BLOCK, 2, LANES, k // TURN, 2, TURN // 2).transpose(0, 3, 1, 5, 2, 4)


def _tops(values: NDArray[Any], count: int) -> NDArray[Any]:
    """The greatest of every `count` magnitudes of [n, m], and of what is left."""
    return np.maximum.reduceat(values, np.arange(0, values.shape[1], count), axis=1)


@np.errstate(invalid="ignore", over="ignore")  # a file may hold anything; what is not finite is in the scales too
def _eight_bits(w: F32, group: int) -> tuple[I8, F32]:
    scales = _tops(np.abs(w), group)
    fit_values(w.reshape(-1), w.shape[1], group, scales.reshape(-1))
    unit = np.divide(np.float32(1), scales, out=np.zeros_like(scales), where=scales > 0)
    for i, at in enumerate(range(0, w.shape[1], group)):
        w[:, at : at + group] = np.rint(w[:, at : at + group] * unit[:, i, None])
    return np.ascontiguousarray(_in_turns(np.where(np.isfinite(w), w, 0).astype(np.int8))), scales


@np.errstate(invalid="ignore", over="ignore")
def _own_codes(matrix: Matrix, data: Bytes) -> tuple[I8, F32]:
    """Turns of the file's own codes, and the scales of their numbers."""
    n, k, run = matrix.padded_n, matrix.padded_k, TURN if matrix.kind == FOUR else TURN // 2
    q, step, offset = TYPES[matrix.type].codes_of(data)  # type: ignore[attr-defined]
    codes, steps, offsets = np.zeros((n, k), np.uint8), np.zeros((n, k // run)), np.zeros((n, k // run))
    codes[: matrix.n, : matrix.k] = q
    for whole, part in ((steps, step), (offsets, offset)):  # of each run
        whole[: matrix.n, : matrix.k // run] = part.repeat(matrix.k // run // part.shape[1], axis=1)
    scales = _code_scales(codes, steps, offsets, run, matrix.group)
    unit = np.divide(128.0, scales, out=np.zeros(scales.shape), where=scales > 0, dtype=np.float64)
    unit = unit.repeat(matrix.group // run, axis=1)[:, : steps.shape[1]]
    factors = [_wrapped(values * unit) for values in (steps, offsets)]
    if matrix.kind == FOUR:
        both = np.stack([factors[0], factors[1] + np.uint16(64)], axis=2)  # + half of what is shifted out
    else:
        both = factors[0].reshape(n, -1, 2)
    return _words(both, _in_turns(codes), matrix.kind).view(np.int8), scales


def _code_scales(codes: Bytes, steps: F64, offsets: F64, run: int, group: int) -> F32:
    """[n, groups]"""
    runs = codes.reshape(len(codes), -1, run)
    tops = _tops(np.maximum(*(np.abs(steps * q + offsets) for q in (runs.min(2), runs.max(2)))), group // run)
    scales = np.empty(tops.shape, np.float32)
    flat = (codes.view(np.int8), steps, offsets, tops)
    fit_codes(*(each.reshape(-1) for each in flat), codes.shape[1], run, group, scales.reshape(-1))
    return scales


def _wrapped(values: NDArray[Any]) -> NDArray[np.uint16]:
    """The nearest whole numbers, modulo 2**16."""
    whole = np.fmod(np.rint(values), 2**16)
    return np.where(np.isfinite(whole), whole, 0).astype(np.int64).astype(np.uint16)


def _words(both: NDArray[np.uint16], codes: Bytes, kind: int) -> Bytes:
    """Turns of 4 or 6 bits (engine.simd.codes) of `both` [n, k / 32, 2], what numbers are made with, and of codes."""
    blocks, turns = codes.shape[:2]
    codes = np.ascontiguousarray(codes).reshape(blocks, turns, 2, TURN // 2, 2 * LANES)
    words = np.empty((blocks, turns, 2, TURN_BYTES[kind] // 64, 2 * LANES, 2), np.uint8)
    first = np.ascontiguousarray(both.reshape(blocks, 2, LANES, turns, 2).transpose(0, 3, 1, 2, 4))
    words[:, :, :, 0] = first.view(np.uint8).reshape(blocks, turns, 2, 2 * LANES, 2)
    low = codes & 15
    _put(words[:, :, :, 1:5], low[..., ::2, :] | low[..., 1::2, :] << 4)
    if kind == SIX:
        high = codes >> 4
        high = high[..., ::2, :] | high[..., 1::2, :] << 2
        _put(words[:, :, :, 5:], high[..., ::2, :] | high[..., 1::2, :] << 4)
    return words


def _put(words: Bytes, values: NDArray[Any]) -> None:
    """Words of two bytes: the first value has the lower bytes of all lanes of a word, the next one the upper."""
    for place in range(2):
        words[..., place] = values[..., place::2, :]
