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
NESTED = (GgmlType.Q4_K, GgmlType.Q5_K, GgmlType.Q6_K)
RUNS = (GgmlType.Q4_0, GgmlType.Q4_1, GgmlType.Q5_0, GgmlType.Q5_1, GgmlType.Q8_0, *NESTED)
"""Types whose codes stay what they are."""
DIVISORS = range(127, 111, -1)
"""Of a group's greatest magnitude, which give the scales that are tried."""
HALVES = slice(0, 16), slice(16, 32)
Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Codes:
    """Of a tensor: codes [n, k], without their middle; the scale of each run, float32 [n, runs], of Q6_K of each half;
    and what is added in a run, if anything is."""

    codes: Whole
    scale: Floats
    offset: Floats | None

    @staticmethod
    def of(kind: GgmlType, data: NDArray[np.uint8]) -> "Codes":
        blocks = to_blocks(data, TYPES[kind].LAYOUT)  # type: ignore[attr-defined]
        d, n, names = blocks["d"].astype(np.float32)[..., None], len(data), blocks.dtype.names
        if kind == GgmlType.Q8_0:
            return Codes(blocks["q"].astype(np.int64).reshape(n, -1), d[..., 0], None)
        run = {GgmlType.Q6_K: 64, GgmlType.Q4_K: 32, GgmlType.Q5_K: 32}.get(kind, 16)
        q = unpack(blocks["q" if "q" in names else "low"], 4, run).astype(np.int64)
        if kind == GgmlType.Q6_K:
            q = q | unpack(blocks["high"], 2, 32).astype(np.int64) << 4
            return Codes(q.reshape(n, -1) - 32, (blocks["scales"] * d).reshape(n, -1), None)
        if "high" in names:
            q = q | unpack(blocks["high"], 1, 1 if run == 16 else 32).astype(np.int64) << 4
        if "dmin" in names:
            scale, offset = unpack_scales(blocks["scales"])
            dmin = blocks["dmin"].astype(np.float32)[..., None]
            return Codes(q.reshape(n, -1), (scale * d).reshape(n, -1), -(offset * dmin).reshape(n, -1))
        middle = {GgmlType.Q4_0: 8, GgmlType.Q5_0: 16}.get(kind, 0)
        return Codes(q.reshape(n, -1) - middle, d[..., 0], None if middle else blocks["m"].astype(np.float32))


@np.errstate(invalid="ignore", over="ignore")
def run_product(x: Floats, kind: GgmlType, data: NDArray[np.uint8], bias: Floats) -> Floats:
    """x [m, k] times the matrix, + bias."""
    w, add = Codes.of(kind, data), add_nested if kind in NESTED else add_halves
    total = np.broadcast_to(bias, (len(x), len(data))).astype(np.float32)
    for run in range(x.shape[1] // 32):
        here = slice(32 * run, 32 * run + 32)
        total = add(total, x[:, here], w.codes[:, here], w, run)
    return total


def add_nested(total: Floats, x: Floats, codes: Whole, w: Codes, run: int) -> Floats:
    """One scale for all of x."""
    top = np.abs(x).max(1, keepdims=True)
    a, scale = numbers(x, 127, top), top / np.float32(127)
    if w.offset is None:
        low, high = (a[:, half] @ codes[:, half].T for half in HALVES)
        part = weighed(low, high, w.scale[:, 2 * run], w.scale[:, 2 * run + 1])
    else:
        part = weighed(a @ codes.T, a.sum(1, keepdims=True), w.scale[:, run], w.offset[:, run])
    return fma(part, scale, total)


def add_halves(total: Floats, x: Floats, codes: Whole, w: Codes, run: int) -> Floats:
    """A scale for each half of x."""
    tops = [np.abs(x[:, half]).max(1, keepdims=True) for half in HALVES]
    halves = [numbers(x[:, half], 127, top) for half, top in zip(HALVES, tops, strict=True)]
    scales = [top / np.float32(127) for top in tops]
    sums = (a @ codes[:, half].T for a, half in zip(halves, HALVES, strict=True))
    total = fma(weighed(*sums, *scales), w.scale[:, run], total)
    if w.offset is not None:
        total = fma(weighed(*(a.sum(1, keepdims=True) for a in halves), *scales), w.offset[:, run], total)
    return total


def weighed(first: Whole, second: Whole, scale1: Floats, scale2: Floats) -> Floats:
    """Two sums with their scales."""
    return fma(second.astype(np.float32), scale2, first.astype(np.float32) * scale1)


def matrix_numbers(kind: GgmlType, data: NDArray[np.uint8]) -> tuple[Whole, Floats]:
    """The rows of a tensor, uint8 [n, bytes], as whole numbers within 127 [n, k], and scales [n, groups]."""
    w = TYPES[kind].dequantize(data)
    size, scales, whole = GROUPS.get(kind, 128), [], []
    for at in range(0, w.shape[1], size):
        part = w[:, at : at + size]
        scale = best_scale(part)
        whole.append(np.rint(in_units(part, scale)).astype(np.int64))
        scales.append(scale)
    found = np.concatenate(whole, axis=1)
    assert np.abs(found).max(initial=0) <= 127
    return found, np.stack(scales, axis=1)


def best_scale(w: Floats) -> Floats:
    """Of each row of a group the first of those with the least error."""
    top = np.abs(w).max(1).astype(np.float64)
    tried = np.array([(top / divisor).astype(np.float32) for divisor in DIVISORS])
    tried[:, tried[0] < np.float32(1e-30)] = 0
    errors = np.array([squares(w, scale) * scale.astype(np.float64) ** 2 for scale in tried])
    best: Floats = np.take_along_axis(tried, errors.argmin(0)[None], 0)[0]
    return best


def squares(w: Floats, scale: Floats) -> NDArray[np.float64]:
    """The sum of what rounding takes away, in units of the scale."""
    x = in_units(w, scale)
    r, lanes = x - np.rint(x), np.zeros((len(x), 16), np.float32)
    for at in range(0, x.shape[1], 16):
        lanes = fma(r[:, at : at + 16], r[:, at : at + 16], lanes)
    return by_lanes(lanes).astype(np.float64)


def in_units(w: Floats, scale: Floats) -> Floats:
    found: Floats = w * inverse(scale)[:, None]
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
