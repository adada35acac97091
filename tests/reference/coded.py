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
OWN = {GgmlType.Q4_0: 8, GgmlType.Q4_1: 0, GgmlType.Q4_K: 0, GgmlType.Q5_0: 16, GgmlType.Q6_K: 32}
"""Types whose codes stay what they are in the file, and what is taken from a code."""
Whole = NDArray[np.int64]


def own_codes(kind: GgmlType, data: NDArray[np.uint8]) -> tuple[Whole, Floats, Floats]:
    """Of each row, float64 but for the codes: w = step * code + offset, all [n, k]."""
    blocks = to_blocks(data, TYPES[kind].LAYOUT)  # type: ignore[attr-defined]
    offset = np.zeros(1)
    if kind == GgmlType.Q4_K:
        q = unpack(blocks["q"], 4, 32)
        step, offset = scale_and_offset(blocks)
    elif kind == GgmlType.Q6_K:
        q = unpack(blocks["low"], 4, 64) | unpack(blocks["high"], 2, 32) << 4
        step = blocks["d"].astype(np.float32)[..., None] * blocks["scales"].astype(np.float32)
    else:
        q = unpack(blocks["low" if kind == GgmlType.Q5_0 else "q"], 4, 16)
        if kind == GgmlType.Q5_0:
            q = q | unpack(blocks["high"], 1, 1) << 4
        step = blocks["d"]
        offset = blocks["m"] if kind == GgmlType.Q4_1 else offset
    codes = q.reshape(len(data), -1).astype(np.int64) - OWN[kind]
    step, offset = (np.asarray(each, np.float64).reshape(-1, each.size // len(data) or 1) for each in (step, offset))
    return codes, step.repeat(codes.shape[1] // step.shape[1], 1), offset.repeat(codes.shape[1] // offset.shape[1], 1)


def matrix_numbers(kind: GgmlType, data: NDArray[np.uint8]) -> tuple[Whole, Floats]:
    """The rows of a tensor, uint8 [n, bytes], as whole numbers within 127 [n, k], and scales [n, groups]."""
    if kind in OWN:
        codes, step, offset = own_codes(kind, data)
        w = step * codes + offset
        if kind in (GgmlType.Q4_0, GgmlType.Q4_1, GgmlType.Q4_K):  # there a code is not taken from
            offset, codes = offset - OWN[kind] * step, codes + OWN[kind]
    else:
        w = TYPES[kind].dequantize(data)
    size, scales, whole = GROUPS.get(kind, 128), [], []
    for at in range(0, w.shape[1], size):
        part = slice(at, at + size)
        scale = (np.abs(w[:, part]).max(1) / 127).astype(np.float32)
        scale[scale < np.float32(1e-30)] = 0
        unit = np.where(scale > 0, scale, np.float32(np.inf))[:, None]
        if kind in OWN:
            a, b = (
                np.rint(each[:, part] * (128 / unit.astype(np.float64))).astype(np.int64) for each in (step, offset)
            )
            whole.append((codes[:, part] * a + b + 64) >> 7)
        else:
            whole.append(np.rint(w[:, part] / unit).astype(np.int64))
        scales.append(scale)
    found = np.concatenate(whole, axis=1)
    assert np.abs(found).max(initial=0) <= 127
    return found, np.stack(scales, axis=1)


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
