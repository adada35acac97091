"""Matrices of a decoder in memory: codes near the size of the file, all matrices of a model in two flat arrays.

What a code means is in `engine.simd.codes`; here codes and scales are made from the tensors of a file. The whole
numbers of a matrix are w / D rounded, D = max|w| / 127 of each column (an output) and group along k, w the float32
values of the file. Eight bits hold any of them. Where the file has 4 bits (Q4_0, Q4_1, Q4_K) the code is the file's own
q, and numbers are made of it with A = rint(step / D * 128) and B = rint(offset / D * 128) for each 32 values
w = step * q + offset.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.gguf import GgmlType
from engine.quant import TYPES
from engine.quant.base import Bytes
from engine.simd import CHUNK, EIGHT, F32, FLOAT, FOUR, I8, I64, LANES, SMALL_TOP, TURN, TURN_BYTES

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
_TINY = np.float32(1e-30)
_PART = 1024  # columns that are made at a time


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
        return FOUR if self.type in _FOUR_BITS else EIGHT

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
        data = np.ascontiguousarray(data).view(np.uint8).reshape(matrix.n, -1)
        code_step, float_step = (size // (matrix.padded_n // BLOCK) for size in (matrix.code_bytes, matrix.weights))
        for first in range(0, matrix.n, _PART):
            codes, floats = pack_matrix(matrix.type, data[first : first + _PART], matrix.k)
            block = first // BLOCK
            code_at, float_at = row[CODES] + block * code_step, row[FLOATS] + block * float_step
            self.codes[code_at : code_at + codes.size] = codes
            self.floats[float_at : float_at + floats.size] = floats
        if bias is not None:
            self.floats[row[BIAS] : row[BIAS] + matrix.n] = bias


def _aligned(count: int, dtype: Any) -> Any:
    size = count * np.dtype(dtype).itemsize
    memory = np.zeros(size + 64, np.uint8)
    first = -memory.ctypes.data % 64
    return memory[first : first + size].view(dtype)


def pack_matrix(type_: GgmlType, data: Bytes, k: int) -> tuple[I8, F32]:
    """The rows of a file's tensor, uint8 [n, bytes], as codes and scales, or as float32 weights; both flat.

    Codes: [n / 16][k / 32] turns; scales: [n / 32][groups][32]; weights: [n / 32][k][32].
    """
    matrix = Matrix(type_, data.shape[0], k)
    w = np.zeros((matrix.padded_n, matrix.padded_k), np.float32)
    w[: matrix.n, :k] = TYPES[type_].dequantize(data)
    if matrix.kind == FLOAT:
        return np.zeros(0, np.int8), w.reshape(-1, BLOCK, w.shape[1]).transpose(0, 2, 1).reshape(-1)
    scales = group_scales(w, matrix.group)
    codes = _four_bits(matrix, data, scales) if matrix.kind == FOUR else _eight_bits(w, scales, matrix.group)
    return codes.reshape(-1), scales.reshape(-1, BLOCK, scales.shape[1]).transpose(0, 2, 1).reshape(-1)


def group_scales(w: F32, group: int) -> F32:
    """float32 [n, groups]: max|w| / 127 of each; 0 where that is hardly a number any more, NaN where w has one."""
    tops = [np.abs(w[:, at : at + group]).max(1) for at in range(0, w.shape[1], group)]
    scales = np.stack(tops, axis=1) / np.float32(SMALL_TOP)
    return np.where(scales < _TINY, np.float32(0), scales).astype(np.float32)


def _inverse(scales: NDArray[Any]) -> Any:
    return np.divide(1, scales, out=np.zeros_like(scales), where=scales > 0)


def _eight_bits(w: F32, scales: F32, group: int) -> I8:
    unit = np.where(scales > 0, scales, np.float32(np.inf))
    numbers = np.concatenate(
        [np.rint(w[:, at : at + group] / unit[:, i, None]) for i, at in enumerate(range(0, w.shape[1], group))], axis=1
    )
    return np.ascontiguousarray(_in_turns(numbers.astype(np.int8)))


def _in_turns(values: NDArray[Any]) -> NDArray[Any]:
    """[n, k] -> [n / 16][k / 32][16 vectors][16 columns][2]"""
    n, k = values.shape
    return values.reshape(n // LANES, LANES, k // TURN, 2, TURN // 2).transpose(0, 2, 4, 1, 3)


def _four_bits(matrix: Matrix, data: Bytes, scales: F32) -> I8:
    n, k = matrix.padded_n, matrix.padded_k
    q, step, offset = TYPES[matrix.type].codes_of(data)  # type: ignore[attr-defined]
    inverse = np.repeat(_inverse(scales.astype(np.float64)), matrix.group // TURN, axis=1)[: matrix.n, : step.shape[1]]
    both = np.zeros((n, k // TURN, 2), np.int64)
    for place, values in enumerate((step, offset)):
        both[: matrix.n, : step.shape[1], place] = np.rint(values.astype(np.float64) * inverse * 128)
    both[..., 1] += 64  # half of what is shifted out
    codes = np.zeros((n, k), np.uint16)
    codes[: matrix.n, : q.shape[1]] = q
    words = np.zeros((n // LANES, k // TURN, 5, LANES, 2), np.uint16)
    words[:, :, 0] = both.astype(np.uint16).reshape(n // LANES, LANES, -1, 2).transpose(0, 2, 1, 3)
    turns = _in_turns(codes).reshape(n // LANES, k // TURN, 4, 4, LANES, 2)
    for i in range(4):
        words[:, :, 1:] |= turns[:, :, :, i] << (4 * i)
    return words.view(np.int8)
