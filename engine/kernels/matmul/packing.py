"""Matrices in the layout that linear maps read: integers with a scale for each row and group, or float32."""

import numpy as np

from engine.codegen import (
    CHUNK,
    SMALL_TOP,
)
from engine.kernels.matmul.linear import ISA
from engine.kernels.matmul.linear_float import FLOAT_COLUMNS
from engine.simd import (
    F32,
    I8,
    I32,
    LANES,
)


def pack(values: F32, group: int) -> tuple[I8, F32]:
    """The execution layout of weights (n, k), n a multiple of 32 and k of CHUNK: operand bytes, and a scale for each
    group of k and each column, float32 [groups * n]. Groups are of at most LONGEST."""
    groups = [to_integers(values[:, k : k + group]) for k in range(0, values.shape[1], group)]
    numbers, scales = np.concatenate([q for q, _ in groups], axis=1), np.concatenate([d for _, d in groups])
    n, k = numbers.shape
    chunks = numbers.reshape(n // LANES, LANES, k // CHUNK, CHUNK)
    if ISA == "amx":
        order = chunks.reshape(*chunks.shape[:3], LANES, 4).transpose(0, 2, 3, 1, 4)
        return np.ascontiguousarray(order.astype(np.int8)).reshape(-1), scales
    order = chunks.reshape(*chunks.shape[:3], 2, 2, LANES).transpose(0, 2, 3, 5, 1, 4)
    return np.ascontiguousarray(order.astype(np.int16)).reshape(-1).view(np.int8), scales


def to_integers(values: F32) -> tuple[I32, F32]:
    """Weights (n, k) as integers within SMALL_TOP and a scale for each of the n."""
    scales = (np.abs(values).max(1, initial=0) / np.float32(SMALL_TOP)).astype(np.float32)
    return np.rint(values / _unit(scales)).astype(np.int32), scales


def _unit(scales: F32) -> F32:
    return np.where(scales > 0, scales, np.float32(1))[:, None]


def pack_float(values: F32) -> F32:
    """float32 weights (n, k), n a multiple of 32, as `linear_float` reads them: [n / 32][k][32], flat."""
    n, k = values.shape
    width = FLOAT_COLUMNS * LANES
    return np.ascontiguousarray(values.reshape(n // width, width, k).transpose(0, 2, 1)).reshape(-1)
