"""Matrices of a decoder in memory: codes near the size of the file, all matrices of a model in two flat arrays.

What a code means is in `engine.simd.codes`; here codes and scales are made from the tensors of a file. The whole
numbers of a matrix are w / D rounded, w the values of the file, with a scale D of each column (an output) and group
along k (`kernels/scales.py`). Eight bits hold any of them. Where the file has codes q of 4 to 6 bits (OWN), they stay,
and numbers are made of them with A = rint(step / D * 128) and B = rint(offset / D * 128), where w = step * q + offset
in a run of 32 values or, of 6 bits, 16. Blocks of 256 have whole numbers for their runs, which stay too, and units for
all of them: U = rint(unit / D * 128 * 2**shift), with a shift that leaves few groups whose U would need more than 16
bits; these get a greater D.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.cpu import threads
from engine.gguf import GgmlType
from engine.kernels.scales import F64, FIRST, UNIT, fit_codes, fit_values
from engine.quant import TYPES
from engine.quant.base import Bytes, Codes
from engine.simd import CHUNK, CODES, EIGHT, F32, FLOAT, I8, I64, LANES
from engine.simd.codes import (
    CENTRED4,
    CENTRED5,
    CHUNK_BYTES,
    NESTED4,
    NESTED5,
    NESTED6,
    OFFSET4,
    OFFSET5,
    OFFSET_SHIFT,
    SCALE_SHIFT,
    SHIFT6,
    TURN,
    UNIT_BYTES,
    words_of,
)

BLOCK = 2 * LANES
"""Columns that lie together, and are computed together; n is padded to a multiple of them, k of CHUNK."""
FACTS = 9
KIND, CODES_AT, FLOATS, N, K, GROUP, BIAS, STEP, UNITS = range(FACTS)
"""What a row of the table says: the kind of codes; where the matrix begins in `codes` and in `floats`; n and k, padded;
how many values of k share a scale; where its bias begins in `floats`; bytes of CHUNK values of a block of columns, and
of what lies before each group of them."""
OWN = {
    GgmlType.Q4_0: CENTRED4, GgmlType.Q4_1: OFFSET4, GgmlType.Q4_K: NESTED4,
    GgmlType.Q5_0: CENTRED5, GgmlType.Q5_1: OFFSET5, GgmlType.Q5_K: NESTED5, GgmlType.Q6_K: NESTED6,
}  # fmt: skip
"""Types whose codes stay what they are in the file."""
_SMALL_GROUP, _GROUP = 128, 256
_OF_256 = {
    GgmlType.Q2_K, GgmlType.Q3_K, GgmlType.Q4_K, GgmlType.Q5_K, GgmlType.Q6_K, GgmlType.IQ4_XS,
}  # fmt: skip
_MOST = 32767
_PART = 128  # columns that a thread makes at a time


@dataclass(frozen=True)
class Matrix:
    """A matrix of n outputs and k inputs, of a type of the file."""

    type: GgmlType
    n: int
    k: int

    @property
    def kind(self) -> int:
        return FLOAT if self.type == GgmlType.F32 else OWN.get(self.type, EIGHT)

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
        return CHUNK_BYTES.get(self.kind, 0)

    @property
    def units(self) -> int:
        """Bytes before each group of a block of columns."""
        return UNIT_BYTES.get(self.kind, 0)

    @property
    def code_bytes(self) -> int:
        """A multiple of 64."""
        return self.padded_n // BLOCK * (self.padded_k // CHUNK * self.step + self.groups * self.units)

    @property
    def weights(self) -> int:
        """float32 values before the bias: scales, or the weights themselves."""
        return self.padded_n * (self.padded_k if self.kind == FLOAT else self.groups)


class Arena:
    """The memory of all matrices of a model: `codes` int8, `floats` float32, and a row of FACTS for each, `table`."""

    def __init__(self, matrices: Sequence[Matrix]) -> None:
        self.matrices = tuple(matrices)
        self.table: I64 = np.zeros((len(self.matrices), FACTS), np.int64)
        codes = floats = 0
        for row, matrix in zip(self.table, self.matrices, strict=True):
            row[[KIND, CODES_AT, FLOATS, N, K]] = matrix.kind, codes, floats, matrix.padded_n, matrix.padded_k
            row[[GROUP, BIAS, STEP, UNITS]] = matrix.group, floats + matrix.weights, matrix.step, matrix.units
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

    Codes: [n / 32] times the groups of 32 columns (engine.simd.codes); scales: [n / 32][groups][32]; weights:
    [n / 32][k][32].
    """
    matrix = Matrix(type_, data.shape[0], k)
    if matrix.kind in CODES:
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
    """Groups of the file's own codes, and the scales of their numbers."""
    own: Codes = TYPES[matrix.type].codes_of(data)  # type: ignore[attr-defined]
    code, n, k = CODES[matrix.kind], matrix.padded_n, matrix.padded_k
    run, shifts = matrix.k // own.step.shape[1], [SHIFT6, SHIFT6] if code.middle else [SCALE_SHIFT, OFFSET_SHIFT]
    codes = _padded(own.codes, n, k)
    steps, offsets = (_padded(each.astype(np.float64), n, k // run) for each in (own.step, own.offset))
    units = None if own.units is None else _padded(own.units.astype(np.float64), n, matrix.groups)
    scales = _code_scales(matrix, codes, steps, offsets, _tops_of_units(units, shifts))
    inverse = np.divide(UNIT, scales, out=np.zeros(scales.shape), where=scales > 0, dtype=np.float64)
    words = words_of(code.bits, _in_turns(codes ^ np.uint8(code.middle)))
    if units is None:
        of_runs = inverse.repeat(matrix.group // run, axis=1)[:, : k // run, None]
        heads = _wrapped(np.stack([steps, offsets], axis=2) * of_runs)
        return _groups_of(matrix, heads[..., :1] if code.middle else heads, words, None), scales
    heads, units = _padded(own.parts, n, k // run), units * inverse[..., None] * [2**shift for shift in shifts]
    if code.middle:  # two runs in a turn, and nothing for offsets
        heads, units = heads[..., :1].reshape(n, -1, 2), units[..., :1].repeat(2, axis=2)
    return _groups_of(matrix, heads, words, _wrapped(units)), scales


def _padded(values: Any, *sizes: int) -> Any:
    """Zeros behind [n, m, ...]: [*sizes, ...]"""
    result = np.zeros((*sizes, *values.shape[2:]), values.dtype)
    result[: values.shape[0], : values.shape[1]] = values
    return result


def _tops_of_units(units: F64 | None, shifts: Sequence[int]) -> F64 | None:
    """[n, groups]: the greatest value that a group must hold at least, for its units to be within 16 bits."""
    if units is None:
        return None
    tops: F64 = (np.abs(units) * [FIRST * UNIT * 2**shift / _MOST for shift in shifts]).max(2)
    return tops


def _code_scales(matrix: Matrix, codes: Bytes, steps: F64, offsets: F64, least: F64 | None) -> F32:
    """[n, groups]"""
    run, group = codes.shape[1] // steps.shape[1], matrix.group
    runs = codes.reshape(len(codes), -1, run)
    tops = _tops(np.maximum(*(np.abs(steps * q + offsets) for q in (runs.min(2), runs.max(2)))), group // run)
    tops = tops if least is None else np.maximum(tops, least)
    scales = np.empty(tops.shape, np.float32)
    flat = [each.reshape(-1) for each in (codes.view(np.int8), steps, offsets, tops)]
    fit_codes(*flat, codes.shape[1], run, group, CODES[matrix.kind].middle, scales.reshape(-1))
    return scales


def _wrapped(values: NDArray[Any]) -> NDArray[np.uint16]:
    """The nearest whole numbers, modulo 2**16."""
    whole = np.fmod(np.rint(values), 2**16)
    return np.where(np.isfinite(whole), whole, 0).astype(np.int64).astype(np.uint16)


def _groups_of(
    matrix: Matrix, heads: NDArray[Any], words: NDArray[np.uint16], units: NDArray[np.uint16] | None
) -> I8:  # fmt: skip
    """Memory of `heads` [n, k / 32, ...], words [n / 32, k / 32, 2, bits, 16, 2] and units [n, groups, 2], or none."""
    blocks, head, before = len(words), 4 * CODES[matrix.kind].head, matrix.units
    groups = matrix.groups if before else 1
    out = np.empty((blocks, groups, matrix.code_bytes // (blocks * groups)), np.uint8)
    if units is not None:
        of_sides = units.reshape(blocks, 2, LANES, -1, 2).transpose(0, 3, 1, 2, 4)
        out[:, :, :before] = _bytes(of_sides).reshape(blocks, groups, before)
    chunks = np.empty((blocks, matrix.padded_k // CHUNK, matrix.step), np.uint8)
    of_turns = heads.reshape(blocks, 2, LANES, chunks.shape[1], 2, -1).transpose(0, 3, 1, 4, 2, 5)
    chunks[..., :head] = _bytes(of_turns).reshape(*chunks.shape[:2], -1)
    chunks[..., head:] = _bytes(words).reshape(*chunks.shape[:2], -1)
    out[:, :, before:] = chunks.reshape(blocks, groups, -1)
    return out.view(np.int8)


def _bytes(values: NDArray[Any]) -> Bytes:
    return np.ascontiguousarray(values).view(np.uint8)
