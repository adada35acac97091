"""The whole numbers of a decoder's matrices, and their products, in plain numpy as engine/README.md defines them."""

import numpy as np
from numpy.typing import NDArray

from engine.gguf import GgmlType
from engine.quant import TYPES
from engine.quant.layout import to_blocks, unpack
from engine.quant.six_bits import scale_and_offset
from tests.reference.whole_numbers import ROWS, Floats, fma, numbers

GROUPS = {GgmlType.Q2_K: 256, GgmlType.Q3_K: 256, GgmlType.Q4_K: 256, GgmlType.Q5_K: 256, GgmlType.Q6_K: 256,
          GgmlType.IQ4_XS: 256}  # fmt: skip
"""Values of k that share a scale; 128 of other types."""
Whole = NDArray[np.int64]


def four_bits(kind: GgmlType, data: NDArray[np.uint8]) -> tuple[Whole, Floats, Floats]:
    """Of each row: the codes of the file [n, k], and the step and the offset of each 32 [n, k / 32]."""
    blocks = to_blocks(data, TYPES[kind].LAYOUT)  # type: ignore[attr-defined]
    n = data.shape[0]
    if kind == GgmlType.Q4_K:
        step, offset = scale_and_offset(blocks)
    else:
        step = blocks["d"].astype(np.float32)
        offset = blocks["m"].astype(np.float32) if kind == GgmlType.Q4_1 else np.float32(-8) * step
    q = unpack(blocks["q"], 4, 32 if kind == GgmlType.Q4_K else 16)
    return q.reshape(n, -1).astype(np.int64), step.reshape(n, -1), offset.reshape(n, -1)


def matrix_numbers(kind: GgmlType, data: NDArray[np.uint8]) -> tuple[Whole, Floats]:
    """The rows of a tensor, uint8 [n, bytes], as whole numbers within 127 [n, k], and scales [n, groups]."""
    w, size = TYPES[kind].dequantize(data), GROUPS.get(kind, 128)
    whole, scales = np.zeros(w.shape, np.int64), []
    for at in range(0, w.shape[1], size):
        part = w[:, at : at + size]
        scale = np.abs(part).max(1) / np.float32(127)
        scale[scale < np.float32(1e-30)] = 0
        scales.append(scale)
        unit = np.where(scale > 0, scale, np.float32(np.inf))[:, None]
        if kind not in (GgmlType.Q4_0, GgmlType.Q4_1, GgmlType.Q4_K):
            whole[:, at : at + size] = np.rint(part / unit)
            continue
        q, step, offset = four_bits(kind, data)
        for i in range(at, min(at + size, w.shape[1]), 32):
            inverse = 1 / unit[:, 0].astype(np.float64)
            a, b = (np.rint(each[:, i // 32].astype(np.float64) * inverse * 128)[:, None] for each in (step, offset))
            whole[:, i : i + 32] = (q[:, i : i + 32] * a.astype(np.int64) + b.astype(np.int64) + 64) >> 7
    assert np.abs(whole).max(initial=0) <= 127
    return whole, np.stack(scales, axis=1)


def coded_product(x: Floats, whole: Whole, scales: Floats, size: int, bias: Floats) -> Floats:
    """x [m, k] times the matrix, + bias."""
    top = np.abs(x).max(1, keepdims=True)
    a, total = numbers(x, ROWS, top), np.zeros((x.shape[0], whole.shape[0]), np.float32)
    for g, at in enumerate(range(0, x.shape[1], size)):
        sums = a[:, at : at + size] @ whole[:, at : at + size].T
        assert np.abs(sums).max() < 2**31
        part = sums.astype(np.float32)
        total = fma(part, scales[:, g], total) if at else part * scales[:, g]
    return fma(total, top / np.float32(ROWS), bias)
