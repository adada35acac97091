"""The whole numbers of a decoder's matrices, and their products, in plain numpy as engine/NUMERICS.md defines them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.gguf import GgmlType
from engine.quant import TYPES
from engine.quant.layout import to_blocks, unpack, unpack_scales
from tests.reference.whole_numbers import Floats, by_lanes, fma, numbers

ROW_TOP = 32767  # the greatest integer in a row of activations
GROUPS = {GgmlType.Q2_K: 256, GgmlType.Q3_K: 256, GgmlType.IQ4_XS: 256}
"""Values of k that share a scale; 128 of other types."""
NESTED = (GgmlType.Q4_K, GgmlType.Q5_K, GgmlType.Q6_K)
IN_SUB_BLOCKS = (GgmlType.Q4_0, GgmlType.Q4_1, GgmlType.Q5_0, GgmlType.Q5_1, GgmlType.Q8_0, *NESTED)
"""Types whose codes stay what they are."""
DIVISORS = range(127, 111, -1)
"""Of a group's greatest magnitude, which give the scales that are tried."""
HALVES = slice(0, 16), slice(16, 32)
Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Codes:
    """Of a tensor: codes [n, k], without their middle; the scale of each run, float32 [n, runs], of Q6_K of each half;
    and what is added in a run, if anything is. Of Q4_K and Q5_K these are whole numbers, and d and dmin float32
    [n, groups]."""

    codes: Whole
    scale: Any
    offset: Any = None
    d: Any = None
    dmin: Any = None

    @staticmethod
    def of(kind: GgmlType, data: NDArray[np.uint8]) -> "Codes":
        blocks = to_blocks(data, TYPES[kind].LAYOUT)  # type: ignore[attr-defined]
        d, n, names = blocks["d"].astype(np.float32)[..., None], len(data), blocks.dtype.names
        if kind == GgmlType.Q8_0:
            return Codes(blocks["q"].astype(np.int64).reshape(n, -1), d[..., 0])
        run = {GgmlType.Q6_K: 64, GgmlType.Q4_K: 32, GgmlType.Q5_K: 32}.get(kind, 16)
        q = unpack(blocks["q" if "q" in names else "low"], 4, run).astype(np.int64)
        if kind == GgmlType.Q6_K:
            q = q | unpack(blocks["high"], 2, 32).astype(np.int64) << 4
            return Codes(q.reshape(n, -1) - 32, (blocks["scales"] * d).reshape(n, -1))
        if "high" in names:
            q = q | unpack(blocks["high"], 1, 1 if run == 16 else 32).astype(np.int64) << 4
        if "dmin" in names:
            scale, offset = (each.astype(np.int64).reshape(n, -1) for each in unpack_scales(blocks["scales"]))
            return Codes(q.reshape(n, -1), scale, offset, d[..., 0], blocks["dmin"].astype(np.float32))
        middle = {GgmlType.Q4_0: 8, GgmlType.Q5_0: 16}.get(kind, 0)
        return Codes(q.reshape(n, -1) - middle, d[..., 0], None if middle else blocks["m"].astype(np.float32))


@np.errstate(invalid="ignore", over="ignore")
def run_product(x: Floats, kind: GgmlType, data: NDArray[np.uint8], bias: Floats) -> Floats:
    """x [m, k] times the matrix, + bias."""
    w = Codes.of(kind, data)
    total = np.broadcast_to(bias, (len(x), len(data))).astype(np.float32)
    if kind in NESTED:
        for group in range(x.shape[1] // 256):
            total = add_group(total, x[:, 256 * group : 256 * group + 256], kind, w, group)
        return total
    for run in range(x.shape[1] // 32):
        here = slice(32 * run, 32 * run + 32)
        total = add_halves(total, x[:, here], w.codes[:, here], w, run)
    return total


def add_group(total: Floats, x: Floats, kind: GgmlType, w: Codes, group: int) -> Floats:
    """Eight runs, whose scales are whole numbers of one."""
    a, steps, scale = in_steps(x)
    runs = [(8 * group + i, a[:, 32 * i : 32 * i + 32], steps[:, i, None]) for i in range(8)]
    if kind == GgmlType.Q6_K:
        for run, here, step in runs:
            codes = w.codes[:, 32 * run : 32 * run + 32]
            low, high = (here[:, half] @ codes[:, half].T for half in HALVES)
            part = weighed(low, high, w.scale[:, 2 * run], w.scale[:, 2 * run + 1])
            total = fma(part, scale * step.astype(np.float32), total)
        return total
    d, dmin = w.d[:, group], w.dmin[:, group] * np.float32(-16)
    sums = [here @ w.codes[:, 32 * run : 32 * run + 32].T for run, here, _ in runs]
    offsets = sum(w.offset[:, run] * ((step * here.sum(1, keepdims=True) + 8) // 16) for run, here, step in runs)
    if kind == GgmlType.Q4_K:
        whole = sum(w.scale[:, run] * step * own for (run, _, step), own in zip(runs, sums, strict=True))
        assert np.abs(sums).max() < 2**15
        assert np.abs(whole).max() < 2**31
        return fma(fma(offsets.astype(np.float32), dmin, whole.astype(np.float32) * d), scale, total)
    for (run, _, step), own in zip(runs, sums, strict=True):
        part = own.astype(np.float32) * (d * w.scale[:, run].astype(np.float32))
        total = fma(part, scale * step.astype(np.float32), total)
    return fma(offsets.astype(np.float32) * dmin, scale, total)


def in_steps(x: Floats) -> tuple[Whole, Whole, Floats]:
    """x [m, 256] as whole numbers [m, 256]; of each 32 the scale in steps [m, 8] of one [m, 1]."""
    f, of_side = np.float32, np.float32(127 / 2167)
    runs = x.reshape(-1, 32)
    sides = f(0.5) * (by_lanes(np.abs(runs)) + np.abs(by_lanes(runs)))
    least = np.maximum(np.abs(runs).max(1), sides * of_side).reshape(-1, 8)
    top = least.max(1, keepdims=True)
    wanted = least * np.divide(f(127), top, out=np.zeros_like(top), where=top > f(1e-30))
    steps = np.minimum(np.ceil(wanted), 127).astype(np.int64)
    scale = top / f(127) / f(127)
    own = (scale * steps.astype(f)).repeat(32, 1)
    a = np.rint(x * np.divide(f(1), own, out=np.zeros_like(own), where=own > 0)).astype(np.int64)
    return a, steps, scale


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
    a, total = numbers(x, ROW_TOP, top), np.zeros((x.shape[0], whole.shape[0]), np.float32)
    for g, at in enumerate(range(0, x.shape[1], size)):
        sums = a[:, at : at + size] @ whole[:, at : at + size].T
        assert np.abs(sums).max() < 2**31
        part = sums.astype(np.float32)
        total = fma(part, scales[:, g], total) if at else part * scales[:, g]
    return fma(total, top / np.float32(ROW_TOP), bias)
