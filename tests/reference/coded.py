"""The whole numbers of a decoder's matrices, and their products, in plain numpy as engine/README.md defines them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.gguf import GgmlType
from engine.quant import TYPES
from engine.quant.layout import to_blocks, unpack
from engine.quant.six_bits import scale_and_offset
from tests.reference.whole_numbers import ROWS, Floats, by_lanes, fma, numbers

GROUPS = {GgmlType.Q2_K: 256, GgmlType.Q3_K: 256, GgmlType.Q4_K: 256, GgmlType.Q5_K: 256, GgmlType.Q6_K: 256,
          GgmlType.IQ4_XS: 256}  # fmt: skip
"""Values of k that share a scale; 128 of other types."""
OWN = {GgmlType.Q4_0: 8, GgmlType.Q4_1: 0, GgmlType.Q4_K: 0, GgmlType.Q5_0: 16, GgmlType.Q6_K: 32}
"""Types whose codes stay what they are in the file, and what is taken from a code."""
DIVISORS = range(127, 111, -1)
"""Of a group's greatest magnitude, which give the scales that are tried."""
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
        codes, step, offset = np.zeros(w.shape, np.int64), np.zeros(w.shape), np.zeros(w.shape)
    size, scales, whole = GROUPS.get(kind, 128), [], []
    for at in range(0, w.shape[1], size):
        part = slice(at, at + size)
        group = Group(kind in OWN, *(each[:, part] for each in (w, codes, step, offset)))
        scale = group.best_scale()
        whole.append(group.numbers(scale))
        scales.append(scale)
    found = np.concatenate(whole, axis=1)
    assert np.abs(found).max(initial=0) <= 127
    return found, np.stack(scales, axis=1)


@dataclass(frozen=True)
class Group:
    """Values of k that share a scale, of all rows; whether numbers are made of codes, the values, and their codes."""

    own: bool
    w: NDArray[Any]
    codes: Whole
    step: NDArray[np.float64]
    offset: NDArray[np.float64]

    def best_scale(self) -> Floats:
        """The first of those with the least error."""
        top = np.abs(self.w).max(1).astype(np.float64)
        tried = np.array([(top / divisor).astype(np.float32) for divisor in DIVISORS])
        tried[:, tried[0] < np.float32(1e-30)] = 0
        errors = np.array([self.squares(scale) * scale.astype(np.float64) ** 2 for scale in tried])
        best: Floats = np.take_along_axis(tried, errors.argmin(0)[None], 0)[0]
        return best

    def squares(self, scale: Floats) -> NDArray[np.float64]:
        """The sum of what rounding takes away, in units of the scale."""
        if self.own:
            a, b = (each.astype(np.float32) / np.float32(128) for each in self.factors(scale))
            x = fma(self.codes.astype(np.float32), a, b)
        else:
            x = self.in_units(scale)
        r, lanes = x - np.rint(x), np.zeros((len(x), 16), np.float32)
        for at in range(0, x.shape[1], 16):
            lanes = fma(r[:, at : at + 16], r[:, at : at + 16], lanes)
        return by_lanes(lanes).astype(np.float64)

    def numbers(self, scale: Floats) -> Whole:
        if not self.own:
            return np.rint(self.in_units(scale)).astype(np.int64)
        a, b = self.factors(scale)
        return (self.codes * a + b + 64) >> 7

    def in_units(self, scale: Floats) -> Floats:
        found: Floats = self.w * inverse(scale)[:, None]
        return found

    def factors(self, scale: Floats) -> tuple[Whole, Whole]:
        """A and B of each value."""
        unit = 128 * inverse(scale.astype(np.float64))[:, None]
        return np.rint(self.step * unit).astype(np.int64), np.rint(self.offset * unit).astype(np.int64)


def inverse(scale: NDArray[Any]) -> NDArray[Any]:
    """In its type; 0 of 0."""
    return np.divide(1, scale, out=np.zeros_like(scale), where=scale > 0)


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
