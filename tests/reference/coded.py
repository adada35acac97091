"""The whole numbers of a decoder's matrices, and their products, in plain numpy as engine/README.md defines them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.gguf import GgmlType
from engine.quant import TYPES
from engine.quant.layout import to_blocks, unpack
from engine.quant.six_bits import unpack_scales
from tests.reference.whole_numbers import ROWS, Floats, by_lanes, fma, numbers

GROUPS = {GgmlType.Q2_K: 256, GgmlType.Q3_K: 256, GgmlType.IQ4_XS: 256}
"""Values of k that share a scale; 128 of other types."""
OWN = {GgmlType.Q4_0: 8, GgmlType.Q4_1: 0, GgmlType.Q5_0: 16, GgmlType.Q5_1: 0}
"""Types whose codes stay what they are in the file, and what is taken from a code."""
NESTED = (GgmlType.Q4_K, GgmlType.Q5_K, GgmlType.Q6_K)
"""Types whose blocks of 256 stay what they are."""
DIVISORS = range(127, 111, -1)
"""Of a group's greatest magnitude, which give the scales that are tried."""
Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Own:
    """Codes of a tensor, those around a middle without it: w = step * code + offset, all [n, k]."""

    codes: Whole
    step: NDArray[np.float64]
    offset: NDArray[np.float64]


def own_codes(kind: GgmlType, data: NDArray[np.uint8]) -> Own:
    blocks = to_blocks(data, TYPES[kind].LAYOUT)  # type: ignore[attr-defined]
    q = unpack(blocks["q" if kind in (GgmlType.Q4_0, GgmlType.Q4_1) else "low"], 4, 16).astype(np.int64)
    if "high" in blocks.dtype.names:
        q = q | unpack(blocks["high"], 1, 1).astype(np.int64) << 4
    codes = q.reshape(len(data), -1) - OWN[kind]

    def spread(values: NDArray[Any]) -> NDArray[np.float64]:
        """[n, k] of values [n, blocks]"""
        return np.asarray(values, np.float64).repeat(32, 1)

    offset = spread(blocks["m"]) if OWN[kind] == 0 else np.zeros(codes.shape)
    return Own(codes, spread(blocks["d"].astype(np.float32)), offset)


@dataclass(frozen=True)
class Blocks:
    """A tensor whose runs have scales of their own: codes [n, k], those of 6 bits without their middle; the scale, and
    the offset that is taken away, of each run, float32 [n, runs]."""

    codes: Whole
    scale: Floats
    offset: Floats | None

    @staticmethod
    def of(kind: GgmlType, data: NDArray[np.uint8]) -> "Blocks":
        blocks = to_blocks(data, TYPES[kind].LAYOUT)  # type: ignore[attr-defined]
        d, n = blocks["d"].astype(np.float32)[..., None], len(data)
        if kind == GgmlType.Q6_K:
            q = unpack(blocks["low"], 4, 64) | unpack(blocks["high"], 2, 32) << 4
            return Blocks(q.astype(np.int64).reshape(n, -1) - 32, (blocks["scales"] * d).reshape(n, -1), None)
        q = unpack(blocks["q" if kind == GgmlType.Q4_K else "low"], 4, 32)
        if kind == GgmlType.Q5_K:
            q = q | unpack(blocks["high"], 1, 32) << 4
        scale, offset = unpack_scales(blocks["scales"])
        dmin = blocks["dmin"].astype(np.float32)[..., None]
        return Blocks(q.astype(np.int64).reshape(n, -1), (scale * d).reshape(n, -1), (offset * dmin).reshape(n, -1))


@np.errstate(invalid="ignore", over="ignore")
def nested_product(x: Floats, kind: GgmlType, data: NDArray[np.uint8], bias: Floats) -> Floats:
    """x [m, k] times the matrix, + bias."""
    w = Blocks.of(kind, data)
    total = np.broadcast_to(bias, (len(x), len(data))).astype(np.float32)
    for at in range(0, x.shape[1], 32):
        part = x[:, at : at + 32]
        top = np.abs(part).max(1, keepdims=True)
        a, scale = numbers(part, 127, top), top / np.float32(127)
        if w.offset is None:
            low, high = (a[:, i : i + 16] @ w.codes[:, at + i : at + i + 16].T for i in (0, 16))
            pairs = [(low, w.scale[:, at // 16]), (high, w.scale[:, at // 16 + 1])]
        else:
            sums, ones = a @ w.codes[:, at : at + 32].T, a.sum(1, keepdims=True)
            pairs = [(sums, w.scale[:, at // 32]), (-ones, w.offset[:, at // 32])]
        (first, scale1), (second, scale2) = ((whole.astype(np.float32), factor) for whole, factor in pairs)
        total = fma(fma(second, scale2, first * scale1), scale, total)
    return total


def matrix_numbers(kind: GgmlType, data: NDArray[np.uint8]) -> tuple[Whole, Floats]:
    """The rows of a tensor, uint8 [n, bytes], as whole numbers within 127 [n, k], and scales [n, groups]."""
    own = own_codes(kind, data) if kind in OWN else None
    w = TYPES[kind].dequantize(data) if own is None else own.step * own.codes + own.offset
    size, scales, whole = GROUPS.get(kind, 128), [], []
    for at in range(0, w.shape[1], size):
        part = slice(at, at + size)
        group = Group(w[:, part], own and Own(*(each[:, part] for each in vars(own).values())), OWN.get(kind, 0))
        scale = group.best_scale()
        whole.append(group.numbers(scale))
        scales.append(scale)
    found = np.concatenate(whole, axis=1)
    assert np.abs(found).max(initial=0) <= 127
    return found, np.stack(scales, axis=1)


@dataclass(frozen=True)
class Group:
    """Values of k that share a scale, of all rows; their codes where numbers are made of these, and their middle."""

    w: NDArray[Any]
    own: Own | None
    middle: int

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
            unit = 128 * inverse(scale.astype(np.float64))[:, None]
            a, b = (np.rint(part * unit).astype(np.float32) / 128 for part in (self.own.step, self.own.offset))
            b = a * np.float32(-self.middle) if self.middle else b
            x = fma((self.own.codes + self.middle).astype(np.float32), a, b)
        else:
            x = self.in_units(scale)
        r, lanes = x - np.rint(x), np.zeros((len(x), 16), np.float32)
        for at in range(0, x.shape[1], 16):
            lanes = fma(r[:, at : at + 16], r[:, at : at + 16], lanes)
        return by_lanes(lanes).astype(np.float64)

    def numbers(self, scale: Floats) -> Whole:
        if not self.own:
            return np.rint(self.in_units(scale)).astype(np.int64)
        unit = 128 * inverse(scale.astype(np.float64))[:, None]
        a, b = (np.rint(part * unit).astype(np.int64) for part in (self.own.step, self.own.offset))
        return (self.own.codes * a + b + 64) >> 7

    def in_units(self, scale: Floats) -> Floats:
        found: Floats = self.w * inverse(scale)[:, None]
        return found


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
