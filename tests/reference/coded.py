"""The whole numbers of a decoder's matrices, and their products, in plain numpy as engine/README.md defines them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.gguf import GgmlType
from engine.quant import TYPES
from engine.quant.layout import to_blocks, unpack
from engine.quant.six_bits import scale_and_offset, unpack_scales
from tests.reference.whole_numbers import ROWS, Floats, by_lanes, fma, numbers

GROUPS = {GgmlType.Q2_K: 256, GgmlType.Q3_K: 256, GgmlType.Q4_K: 256, GgmlType.Q5_K: 256, GgmlType.Q6_K: 256,
          GgmlType.IQ4_XS: 256}  # fmt: skip
"""Values of k that share a scale; 128 of other types."""
OWN = {GgmlType.Q4_0: 8, GgmlType.Q4_1: 0, GgmlType.Q4_K: 0, GgmlType.Q5_0: 16, GgmlType.Q5_1: 0, GgmlType.Q5_K: 0,
       GgmlType.Q6_K: 32}  # fmt: skip
"""Types whose codes stay what they are in the file, and what is taken from a code."""
SHIFTS = {GgmlType.Q4_K: (9, 6), GgmlType.Q5_K: (9, 6), GgmlType.Q6_K: (12, 12)}
"""Types whose runs have whole numbers for their steps and offsets, times units of the block: bits of a unit below 1."""
DIVISORS = range(127, 111, -1)
"""Of a group's greatest magnitude, which give the scales that are tried."""
Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Own:
    """Codes of a tensor, those around a middle without it: w = step * code + offset, all [n, k]. Where step is
    parts[0] * units[0] and offset parts[1] * units[1], these too."""

    codes: Whole
    step: NDArray[np.float64]
    offset: NDArray[np.float64]
    parts: NDArray[np.float64]
    units: NDArray[np.float64]


def own_codes(kind: GgmlType, data: NDArray[np.uint8]) -> Own:
    blocks = to_blocks(data, TYPES[kind].LAYOUT)  # type: ignore[attr-defined]
    field = {GgmlType.Q4_0: "q", GgmlType.Q4_1: "q", GgmlType.Q4_K: "q"}.get(kind, "low")
    plane = {GgmlType.Q6_K: 64}.get(kind, 32 if kind in SHIFTS else 16)
    q = unpack(blocks[field], 4, plane).astype(np.int64)
    if kind == GgmlType.Q6_K:
        q = q | unpack(blocks["high"], 2, 32).astype(np.int64) << 4
    elif "high" in blocks.dtype.names:
        q = q | unpack(blocks["high"], 1, 32 if kind == GgmlType.Q5_K else 1).astype(np.int64) << 4
    codes = q.reshape(len(data), -1) - OWN[kind]

    def spread(values: NDArray[Any]) -> NDArray[np.float64]:
        """[n, k] of values [n, blocks, ...]"""
        flat = np.asarray(values, np.float64).reshape(len(data), -1)
        return flat.repeat(codes.shape[1] // flat.shape[1], 1)

    d, nothing = blocks["d"].astype(np.float32), np.zeros(codes.shape)
    if kind == GgmlType.Q6_K:
        step = d[..., None] * blocks["scales"].astype(np.float32)
        return Own(codes, spread(step), nothing, np.stack([spread(blocks["scales"]), nothing]),
                   np.stack([spread(d), nothing]))  # fmt: skip
    if kind in SHIFTS:
        step, offset = scale_and_offset(blocks)
        parts = np.stack([spread(each) for each in unpack_scales(blocks["scales"])])
        return Own(codes, spread(step), spread(offset), parts, np.stack([spread(d), -spread(blocks["dmin"])]))
    offset = spread(blocks["m"]) if OWN[kind] == 0 else nothing
    return Own(codes, spread(d), offset, np.stack([nothing, nothing]), np.stack([nothing, nothing]))


def matrix_numbers(kind: GgmlType, data: NDArray[np.uint8]) -> tuple[Whole, Floats]:
    """The rows of a tensor, uint8 [n, bytes], as whole numbers within 127 [n, k], and scales [n, groups]."""
    own = own_codes(kind, data) if kind in OWN else None
    w = TYPES[kind].dequantize(data) if own is None else own.step * own.codes + own.offset
    size, scales, whole = GROUPS.get(kind, 128), [], []
    for at in range(0, w.shape[1], size):
        part = slice(at, at + size)
        group = Group(
            w[:, part],
            own and Own(*(each[..., part] for each in vars(own).values())),
            SHIFTS.get(kind),
            OWN.get(kind, 0),
        )
        scale = group.best_scale()
        whole.append(group.numbers(scale))
        scales.append(scale)
    found = np.concatenate(whole, axis=1)
    assert np.abs(found).max(initial=0) <= 127
    return found, np.stack(scales, axis=1)


@dataclass(frozen=True)
class Group:
    """Values of k that share a scale, of all rows; their codes where numbers are made of these, how units are kept, and
    the middle of the codes."""

    w: NDArray[Any]
    own: Own | None
    shifts: tuple[int, int] | None
    middle: int

    def best_scale(self) -> Floats:
        """The first of those with the least error."""
        top = np.abs(self.w).max(1).astype(np.float64)
        if self.own and self.shifts:
            units = np.abs(self.own.units[:, :, 0])
            least = [u * (127 * 128 * 2**shift / 32767) for u, shift in zip(units, self.shifts, strict=True)]
            top = np.maximum(top, np.maximum(*least))
        tried = np.array([(top / divisor).astype(np.float32) for divisor in DIVISORS])
        tried[:, tried[0] < np.float32(1e-30)] = 0
        errors = np.array([self.squares(scale) * scale.astype(np.float64) ** 2 for scale in tried])
        best: Floats = np.take_along_axis(tried, errors.argmin(0)[None], 0)[0]
        return best

    def squares(self, scale: Floats) -> NDArray[np.float64]:
        """The sum of what rounding takes away, in units of the scale."""
        if self.own:
            unit = 128 * inverse(scale.astype(np.float64))[:, None]
            a, b = (
                np.rint(each * unit).astype(np.float32) / np.float32(128) for each in (self.own.step, self.own.offset)
            )
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
        a, b = self.factors(self.own, 128 * inverse(scale.astype(np.float64))[:, None])
        return (self.own.codes * a + b + 64) >> 7

    def in_units(self, scale: Floats) -> Floats:
        found: Floats = self.w * inverse(scale)[:, None]
        return found

    def factors(self, own: Own, unit: NDArray[np.float64]) -> tuple[Whole, Whole]:
        """A and B of each value."""
        if not self.shifts:
            return np.rint(own.step * unit).astype(np.int64), np.rint(own.offset * unit).astype(np.int64)
        a, b = (
            (part.astype(np.int64) * np.rint(u * unit * 2**shift).astype(np.int64) + 2 ** (shift - 1)) >> shift
            for part, u, shift in zip(own.parts, own.units, self.shifts, strict=True)
        )
        return a, b


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
