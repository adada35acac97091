"""Matrices of a decoder in memory: quants near the size of the file, all matrices of a model in two flat arrays.

Where the file has quants in sub-blocks of 32 values (IN_SUB_BLOCKS), they and their scales stay as they are
(`sub_blocks.py`). Of other types integers are made, w / D rounded, w the values of the file, with a scale D of each
column (an output) and group along k (`fit_values`); they have eight bits (`tiles/int8.py`)."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.cpu import threads
from engine.gguf import GgmlType
from engine.kernels.matmul import aligned
from engine.quant import TYPES
from engine.quant.layout import Bytes, Quants
from engine.simd import F32, I8, I64, LANES, fma, load_f32, nearest, splat, total
from engine.simd.compiled import entry, kernel
from engine.tiles.int8 import CHUNK_BYTES, EIGHT, FLOAT, HALF
from engine.tiles.operands import CHUNK
from engine.tiles.sub_blocks import (
    CENTRED4,
    CENTRED5,
    CENTRED8,
    LAYOUTS,
    NESTED4,
    NESTED5,
    NESTED6,
    OFFSET4,
    OFFSET5,
    SIDES,
    SUB_BLOCK,
    words_of,
)

BLOCK = 2 * LANES
"""Columns that lie together, and are computed together; n is padded to a multiple of them, k of CHUNK."""
FACTS = 8
KIND, QUANTS_AT, FLOATS, N, K, GROUP, BIAS, STEP = range(FACTS)
"""What a row of the table says: the kind of quants; where the matrix begins in `quants` and in `floats`; n and k,
padded; how many values of k share a scale; where its bias begins in `floats`; bytes of CHUNK values of a block of
columns."""
IN_SUB_BLOCKS = {
    GgmlType.Q4_0: CENTRED4, GgmlType.Q4_1: OFFSET4, GgmlType.Q5_0: CENTRED5, GgmlType.Q5_1: OFFSET5,
    GgmlType.Q8_0: CENTRED8,
    GgmlType.Q4_K: NESTED4, GgmlType.Q5_K: NESTED5, GgmlType.Q6_K: NESTED6,
}  # fmt: skip
"""Types whose quants stay what they are in the file."""
_SMALL_GROUP, _GROUP = 128, 256
_OF_256 = {GgmlType.Q2_K, GgmlType.Q3_K, GgmlType.IQ4_XS}
_PART = 128  # columns that a thread makes at a time


@dataclass(frozen=True)
class MatrixShape:
    """A matrix of n outputs and k inputs, of a type of the file."""

    type: GgmlType
    n: int
    k: int

    @property
    def kind(self) -> int:
        return FLOAT if self.type == GgmlType.F32 else IN_SUB_BLOCKS.get(self.type, EIGHT)

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
        if self.type in IN_SUB_BLOCKS:
            layout = LAYOUTS[self.kind]
            return layout.group_bytes * CHUNK // (layout.sub_blocks * SUB_BLOCK)
        return CHUNK_BYTES if self.kind == EIGHT else 0

    @property
    def quant_bytes(self) -> int:
        """Bytes of all its quants, a multiple of 64."""
        return self.padded_n // BLOCK * self.padded_k // CHUNK * self.step

    @property
    def weights(self) -> int:
        """float32 values before the bias: scales, or the weights themselves."""
        if self.type in IN_SUB_BLOCKS:
            return 0
        return self.padded_n * (self.padded_k if self.kind == FLOAT else self.groups)


class Arena:
    """The memory of all matrices of a model: `quants` int8, `floats` float32, and a row of FACTS for each, `table`."""

    def __init__(self, matrices: Sequence[MatrixShape]) -> None:
        self.matrices = tuple(matrices)
        self.table: I64 = np.zeros((len(self.matrices), FACTS), np.int64)
        quants = floats = 0
        for row, matrix in zip(self.table, self.matrices, strict=True):
            row[[KIND, QUANTS_AT, FLOATS, N, K]] = matrix.kind, quants, floats, matrix.padded_n, matrix.padded_k
            row[[GROUP, BIAS, STEP]] = matrix.group, floats + matrix.weights, matrix.step
            quants, floats = quants + matrix.quant_bytes, floats + matrix.weights + matrix.padded_n
        self.quants: I8 = aligned(quants, np.int8)
        self.floats: F32 = aligned(floats, np.float32)

    def fill(self, number: int, data: Bytes, bias: F32 | None = None) -> None:
        """Matrix `number`, from the bytes of its rows in the file, uint8 [n, bytes], and its bias [n], else zeros."""
        matrix, row = self.matrices[number], self.table[number]
        rows = np.ascontiguousarray(data).view(np.uint8).reshape(matrix.n, -1)
        quant_step, float_step = (size // (matrix.padded_n // BLOCK) for size in (matrix.quant_bytes, matrix.weights))

        def pack(first: int) -> None:
            quants, floats = pack_matrix(matrix.type, rows[first : first + _PART], matrix.k)
            quant_at = row[QUANTS_AT] + first // BLOCK * quant_step
            float_at = row[FLOATS] + first // BLOCK * float_step
            self.quants[quant_at : quant_at + quants.size] = quants
            self.floats[float_at : float_at + floats.size] = floats

        with ThreadPoolExecutor(threads()) as pool:
            list(pool.map(pack, range(0, matrix.n, _PART)))
        if bias is not None:
            self.floats[row[BIAS] : row[BIAS] + matrix.n] = bias


def pack_matrix(type_: GgmlType, data: Bytes, k: int) -> tuple[I8, F32]:
    """The rows of a file's tensor, uint8 [n, bytes], as quants and scales, or as float32 weights; both flat.

    Quants: [n / 32] times the chunks or groups of 32 columns (engine.tiles.int8, .sub_blocks); scales:
    [n / 32][groups][32]; weights: [n / 32][k][32].
    """
    matrix = MatrixShape(type_, data.shape[0], k)
    if type_ in IN_SUB_BLOCKS:
        return _codes_in_runs(matrix, data), np.zeros(0, np.float32)
    w = np.zeros((matrix.padded_n, matrix.padded_k), np.float32)
    w[: matrix.n, :k] = TYPES[type_].dequantize(data)
    if matrix.kind == FLOAT:
        return np.zeros(0, np.int8), _in_blocks(w)
    quants, scales = _eight_bits(w, matrix.group)
    return quants.reshape(-1), _in_blocks(scales)


def _in_blocks(values: F32) -> F32:
    """Reorder [n, m] to [n / 32][m][32], flat."""
    n, m = values.shape
    return values.reshape(n // BLOCK, BLOCK, m).transpose(0, 2, 1).reshape(-1)


def _in_halves(values: NDArray[Any]) -> NDArray[Any]:
    """Reorder [n, k] to [n / 32][k / 32][8 lines][2 sides][2 vectors][16 columns][2]."""
    n, k = values.shape
    return values.reshape(n // BLOCK, 2, LANES, k // HALF, 2, HALF // 4, 2).transpose(0, 3, 5, 1, 6, 2, 4)


@np.errstate(invalid="ignore", over="ignore")  # a file may hold anything; what is not finite is in the scales too
def _eight_bits(w: F32, group: int) -> tuple[I8, F32]:
    scales = np.maximum.reduceat(np.abs(w), np.arange(0, w.shape[1], group), axis=1)
    fit_values(w.reshape(-1), w.shape[1], group, scales.reshape(-1))
    unit = np.divide(np.float32(1), scales, out=np.zeros_like(scales), where=scales > 0)
    for i, at in enumerate(range(0, w.shape[1], group)):
        w[:, at : at + group] = np.rint(w[:, at : at + group] * unit[:, i, None])
    return np.ascontiguousarray(_in_halves(np.where(np.isfinite(w), w, 0).astype(np.int8))), scales


def _codes_in_runs(matrix: MatrixShape, data: Bytes) -> I8:
    """Groups as `engine.tiles.sub_blocks` says."""
    found: Quants = TYPES[matrix.type].quants_of(data)  # type: ignore[attr-defined]
    layout, n, sub_blocks = LAYOUTS[matrix.kind], matrix.padded_n, matrix.padded_k // SUB_BLOCK
    blocks, groups, before, heads = (
        n // BLOCK,
        sub_blocks // layout.sub_blocks,
        SIDES * layout.unit_bytes,
        SIDES * layout.head_bytes,
    )
    out = np.empty((blocks, groups, layout.group_bytes), np.uint8)
    if found.super_scales is not None:
        units = _padded(found.super_scales, n, groups).reshape(blocks, 2, LANES, groups, -1)
        out[..., :before] = _bytes(units.transpose(0, 3, 1, 4, 2)).reshape(blocks, groups, -1)
    own = _padded(found.scales, n, sub_blocks).reshape(blocks, 2, LANES, groups, layout.sub_blocks, -1)
    quants = _padded(found.quants, n, matrix.padded_k).reshape(blocks, 2, LANES, groups, layout.sub_blocks, SUB_BLOCK)
    of_sub_blocks = np.empty((blocks, groups, layout.sub_blocks, layout.sub_block_bytes), np.uint8)
    of_sub_blocks[..., :heads] = _bytes(own.transpose(0, 3, 4, 1, 5, 2)).reshape(*of_sub_blocks.shape[:3], -1)
    words = words_of(matrix.kind, quants.transpose(0, 3, 4, 1, 2, 5))
    of_sub_blocks[..., heads:] = words.swapaxes(3, 4).reshape(*of_sub_blocks.shape[:3], -1)
    out[..., before:] = of_sub_blocks.reshape(blocks, groups, -1)
    return out.view(np.int8).reshape(-1)


def _padded(values: Any, *sizes: int) -> Any:
    """Pad [n, m, ...] with zeros to [*sizes, ...]."""
    result = np.zeros((*sizes, *values.shape[2:]), values.dtype)
    result[: values.shape[0], : values.shape[1]] = values
    return result


def _bytes(values: NDArray[Any]) -> Bytes:
    return np.ascontiguousarray(values).view(np.uint8)


# Weights w become integers, and a number times the scale d stands for its weight. The smallest d that holds the
# greatest weight has the finest steps, but a larger one may lie better for the few values that weights of few bits
# have. So d = max|w| / divisor is tried for divisors from FIRST down to LAST: with x, the weights in units of d, and
# r = x - rint(x), the error is sum(r * r) * d * d. The first of the least errors counts.


FIRST, LAST = 127, 112
_ZERO, _ONE, _TINY = np.float32(0), np.float32(1), np.float32(1e-30)


@kernel
def _first(top: float) -> Any:
    """The smallest scale; 0 where that is hardly a number any more. What is not finite stays so."""
    scale = np.float32(top / FIRST)
    return _ZERO if scale < _TINY else scale


@entry
def fit_values(values: F32, k: int, group: int, scales: F32) -> None:
    """scales [n * groups] of float32 values [n * k], flat; k is a multiple of 16. The integers are
    rint(value * (1 / d)). `scales` has the greatest magnitudes when it is called."""
    groups = (k + group - 1) // group
    for i in range(scales.size):
        at = i // groups * k + i % groups * group
        end = min(at + group, i // groups * k + k)
        top, least = np.float64(scales[i]), np.inf
        found = _first(top)
        if found > _ZERO:
            for divisor in range(FIRST, LAST - 1, -1):
                scale = np.float32(top / divisor)
                error = _error_of_values(values, at, end, scale)
                if error < least:
                    found, least = scale, error
        scales[i] = found


@kernel
def _error_of_values(values: F32, at: int, end: int, scale: Any) -> float:
    inverse, squares = splat(_ONE / scale), splat(_ZERO)
    for p in range(at, end, LANES):
        x = load_f32(values, p) * inverse
        r = x - nearest(x)
        squares = fma(r, r, squares)
    return np.float64(total(squares)) * np.float64(scale) * np.float64(scale)
