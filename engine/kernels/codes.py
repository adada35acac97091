"""Matrices of a decoder in memory: codes near the size of the file, all matrices of a model in two flat arrays.

What a code means is in `engine.simd.codes` and `engine.simd.nested`; here codes and scales are made from the tensors of
a file. Blocks of 256 whose runs have scales of their own stay as they are (NESTED). The whole numbers of the other
matrices are w / D rounded, w the values of the file, with a scale D of each column (an output) and group along k
(`kernels/scales.py`). Eight bits hold any of them. Where the file has codes q of 4 or 5 bits (OWN), they stay, and
numbers are made of them with A = rint(step / D * 128) and B = rint(offset / D * 128), where w = step * q + offset in a
run of 32 values.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.cpu import threads
from engine.gguf import GgmlType
from engine.kernels.scales import F64, UNIT, fit_codes, fit_values
from engine.quant import TYPES
from engine.quant.base import Bytes, Codes, Nested
from engine.simd import CHUNK, CODES, EIGHT, F32, FLOAT, I8, I64, LANES
from engine.simd.codes import CENTRED4, CENTRED5, CHUNK_BYTES, OFFSET4, OFFSET5, TURN, words_of
from engine.simd.nested import GROUP_BYTES, NESTED4, NESTED5, NESTED6, RUN, RUN_BYTES, RUNS, UNIT_BYTES
from engine.simd.nested import words_of as nested_words_of

BLOCK = 2 * LANES
"""Columns that lie together, and are computed together; n is padded to a multiple of them, k of CHUNK."""
FACTS = 8
KIND, CODES_AT, FLOATS, N, K, GROUP, BIAS, STEP = range(FACTS)
"""What a row of the table says: the kind of codes; where the matrix begins in `codes` and in `floats`; n and k, padded;
how many values of k share a scale; where its bias begins in `floats`; bytes of CHUNK values of a block of columns."""
NESTED = {GgmlType.Q4_K: NESTED4, GgmlType.Q5_K: NESTED5, GgmlType.Q6_K: NESTED6}
OWN = {GgmlType.Q4_0: CENTRED4, GgmlType.Q4_1: OFFSET4, GgmlType.Q5_0: CENTRED5, GgmlType.Q5_1: OFFSET5}
"""Types whose codes stay what they are in the file."""
_SMALL_GROUP, _GROUP = 128, 256
_OF_256 = {GgmlType.Q2_K, GgmlType.Q3_K, GgmlType.IQ4_XS, *NESTED}
_PART = 128  # columns that a thread makes at a time


@dataclass(frozen=True)
class Matrix:
    """A matrix of n outputs and k inputs, of a type of the file."""

    type: GgmlType
    n: int
    k: int

    @property
    def kind(self) -> int:
        return FLOAT if self.type == GgmlType.F32 else (OWN | NESTED).get(self.type, EIGHT)

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
    def groups(self) -> int:
        return -(-self.padded_k // self.group)

    @property
    def step(self) -> int:
        """Bytes of CHUNK values of a block of columns."""
        if self.type in NESTED:
            return GROUP_BYTES[self.kind] // (_GROUP // CHUNK)
        return CHUNK_BYTES.get(self.kind, 0)

    @property
    def code_bytes(self) -> int:
        """A multiple of 64."""
        return self.padded_n // BLOCK * self.padded_k // CHUNK * self.step

    @property
    def weights(self) -> int:
        """float32 values before the bias: scales, or the weights themselves."""
        if self.type in NESTED:
            return 0
        return self.padded_n * (self.padded_k if self.kind == FLOAT else self.groups)


class Arena:
    """The memory of all matrices of a model: `codes` int8, `floats` float32, and a row of FACTS for each, `table`."""

    def __init__(self, matrices: Sequence[Matrix]) -> None:
        self.matrices = tuple(matrices)
        self.table: I64 = np.zeros((len(self.matrices), FACTS), np.int64)
        codes = floats = 0
        for row, matrix in zip(self.table, self.matrices, strict=True):
            row[[KIND, CODES_AT, FLOATS, N, K]] = matrix.kind, codes, floats, matrix.padded_n, matrix.padded_k
            row[[GROUP, BIAS, STEP]] = matrix.group, floats + matrix.weights, matrix.step
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
            code_at = row[CODES_AT] + first // BLOCK * code_step
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

    Codes: [n / 32] times the chunks or groups of 32 columns (engine.simd.codes, .nested); scales:
    [n / 32][groups][32]; weights: [n / 32][k][32].
    """
    matrix = Matrix(type_, data.shape[0], k)
    if type_ in NESTED:
        return _nested_codes(matrix, data), np.zeros(0, np.float32)
    if type_ in OWN:
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
    """The file's own codes with what makes numbers of them, and the scales of the numbers."""
    own: Codes = TYPES[matrix.type].codes_of(data)  # type: ignore[attr-defined]
    code, n, k = CODES[matrix.kind], matrix.padded_n, matrix.padded_k
    codes = _padded(own.codes, n, k)
    steps, offsets = (_padded(each.astype(np.float64), n, k // TURN) for each in (own.step, own.offset))
    scales = _code_scales(matrix, codes, steps, offsets)
    inverse = np.divide(UNIT, scales, out=np.zeros(scales.shape), where=scales > 0, dtype=np.float64)
    of_runs = inverse.repeat(matrix.group // TURN, axis=1)[:, : k // TURN, None]
    heads = _wrapped(np.stack([steps, offsets], axis=2) * of_runs)[..., : 1 if code.middle else 2]
    words = words_of(code.bits, _in_turns(codes ^ np.uint8(code.middle)))
    blocks, size = n // BLOCK, 4 * code.head
    chunks = np.empty((blocks, k // CHUNK, matrix.step), np.uint8)
    of_turns = heads.reshape(blocks, 2, LANES, chunks.shape[1], 2, -1).transpose(0, 3, 1, 4, 2, 5)
    chunks[..., :size] = _bytes(of_turns).reshape(*chunks.shape[:2], -1)
    chunks[..., size:] = _bytes(words).reshape(*chunks.shape[:2], -1)
    return chunks.view(np.int8), scales


def _nested_codes(matrix: Matrix, data: Bytes) -> I8:
    """Groups as `engine.simd.nested` says."""
    found: Nested = TYPES[matrix.type].nested_of(data)  # type: ignore[attr-defined]
    kind, n, groups = matrix.kind, matrix.padded_n, matrix.padded_k // _GROUP
    blocks, before, heads = n // BLOCK, 2 * UNIT_BYTES[kind], BLOCK * 2
    units = _padded(found.units, n, groups).reshape(blocks, 2, LANES, groups, -1)
    scales = _padded(found.scales, n, groups * RUNS).reshape(blocks, 2, LANES, groups, RUNS, 2)
    codes = _padded(found.codes, n, groups * _GROUP).reshape(blocks, 2, LANES, groups, RUNS, RUN)
    out = np.empty((blocks, groups, GROUP_BYTES[kind]), np.uint8)
    out[..., :before] = _bytes(units.transpose(0, 3, 1, 4, 2)).reshape(blocks, groups, -1)
    runs = out[..., before:].reshape(blocks, groups, RUNS, RUN_BYTES[kind])
    runs[..., :heads] = _bytes(scales.transpose(0, 3, 4, 1, 5, 2)).reshape(*runs.shape[:3], -1)
    runs[..., heads:] = nested_words_of(kind, codes.transpose(0, 3, 4, 1, 2, 5)).reshape(*runs.shape[:3], -1)
    out[..., before:] = runs.reshape(blocks, groups, -1)
    return out.view(np.int8).reshape(-1)


def _padded(values: Any, *sizes: int) -> Any:
    """Zeros behind [n, m, ...]: [*sizes, ...]"""
    result = np.zeros((*sizes, *values.shape[2:]), values.dtype)
    result[: values.shape[0], : values.shape[1]] = values
    return result


def _code_scales(matrix: Matrix, codes: Bytes, steps: F64, offsets: F64) -> F32:
    """[n, groups]"""
    runs = codes.reshape(len(codes), -1, TURN)
    tops = _tops(np.maximum(*(np.abs(steps * q + offsets) for q in (runs.min(2), runs.max(2)))), matrix.group // TURN)
    scales = np.empty(tops.shape, np.float32)
    flat = [each.reshape(-1) for each in (codes.view(np.int8), steps, offsets, tops)]
    fit_codes(*flat, codes.shape[1], TURN, matrix.group, CODES[matrix.kind].middle, scales.reshape(-1))
    return scales


def _wrapped(values: NDArray[Any]) -> NDArray[np.uint16]:
    """The nearest whole numbers, modulo 2**16."""
    whole = np.fmod(np.rint(values), 2**16)
    return np.where(np.isfinite(whole), whole, 0).astype(np.int64).astype(np.uint16)


def _bytes(values: NDArray[Any]) -> Bytes:
    return np.ascontiguousarray(values).view(np.uint8)
