"""The arithmetic cloister-int-5 of a BERT in plain numpy, as engine/NUMERICS.md defines it: the same bits, slowly.

One text at a time, no tiles, no digits. Whole numbers are int64, everything else float32, each operation by
itself.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.gguf import GgmlType, read
from engine.kernels import functions
from engine.quant import to_float32
from engine.simd import gelu as gelu_of

f = np.float32
Floats = NDArray[np.float32]
ROWS, TOP, SMALL, VALUES = 32767, 8191, 127, 511
QKV = ("attn_q", "attn_k", "attn_v")
GROUPS = {"attn_q": 192, "attn_k": 192, "attn_v": 64, "attn_output": 192, "ffn_up": 384, "ffn_down": 192}
ROOM = f(1.001)
GREATEST = (2**31 - 1) // TOP
TINY = f(1e-30)
LOG2E, LOG2_TOP = f(1.4426950408889634), 12.99964
MEAN = 1


def by_lanes(x: Floats, add: Callable[[Floats, Floats], Floats] = np.add) -> Floats:
    """The sum of each row [m, n]: lane l adds the values l, l + 16 …, then 8 + 8, 4 + 4, 2 + 2, 1 + 1."""
    rows = np.zeros((x.shape[0], -(-x.shape[1] // 16) * 16), f)
    rows[:, : x.shape[1]] = x
    lanes = np.zeros((x.shape[0], 16), f)
    for i in range(0, rows.shape[1], 16):
        lanes = add(lanes, rows[:, i : i + 16])
    while lanes.shape[1] > 1:
        half = lanes.shape[1] // 2
        lanes = lanes[:, :half] + lanes[:, half:]
    return lanes[:, 0]


def in_order(a: Floats, b: Floats) -> Floats:
    """a [m, k] @ b [k, n], one sum in order of k."""
    total = np.zeros((a.shape[0], b.shape[1]), f)
    for k in range(a.shape[1]):
        total = total + a[:, k : k + 1] * b[k]
    return total


def polynomial(coefficients: tuple[Any, ...], x: Floats) -> Floats:
    p = np.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        p = p * x + c
    return p


def fma(x: Any, y: Any, z: Any) -> Floats:
    """x * y + z of float32, rounded once: the product is exact in float64; where the sum is not, it becomes the odd one
    of its two neighbours, so that rounding it again is as if the exact sum were rounded."""
    product, z = np.multiply(x, y, dtype=np.float64), np.asarray(z, np.float64)
    total = product + z
    part = total - product
    rest = (product - (total - part)) + (z - part)
    even = (total.view(np.int64) & 1 == 0) & (rest != 0)
    return np.where(even, np.nextafter(total, np.copysign(np.inf, rest)), total).astype(f)


def fused_polynomial(coefficients: tuple[Any, ...], x: Floats) -> Floats:
    p = np.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        p = fma(p, x, c)
    return p


def gelu_near(y: Floats) -> Floats:
    inside = np.clip(y, -gelu_of.END, gelu_of.END)
    return y * fma(inside, fused_polynomial(gelu_of.POWERS, inside * inside), f(0.5))


def whole_power(x: Floats) -> NDArray[np.int64]:
    """The whole numbers nearest to 2**x, of x moved as `functions.whole_power_of` says."""
    x = np.maximum(x, f(-20))
    n = np.rint(x)
    r = x - n
    p = fused_polynomial((r + functions._MONIC[0], *functions._MONIC[1:]), r)
    return np.rint(np.ldexp(p.astype(np.float64), n.astype(int) - 4)).astype(np.int64)


def exp(x: Floats) -> Floats:
    x = np.maximum(x, f(-87))
    n = np.rint(x * functions._LOG2E)
    r = (x - n * functions._LN2_HIGH) - n * functions._LN2_LOW
    p = (polynomial(functions._E, r) * r * r + r) + f(1)
    return np.ldexp(p, n.astype(int))


def gelu(x: Floats) -> Floats:
    z = x * f(np.sqrt(0.5))
    t = f(1) / (f(1) + functions._P * np.abs(z))
    erf = np.copysign(f(1) - polynomial(functions._A, t) * t * exp(f(0) - z * z), z)
    return (f(0.5) * x) * (f(1) + erf)


def numbers(x: Floats, top: int, greatest: Floats) -> NDArray[np.int64]:
    """The nearest whole numbers of x, where `greatest` becomes `top`."""
    inverse = np.divide(f(top), greatest, out=np.zeros_like(greatest), where=greatest > TINY)
    return np.rint(x * inverse).astype(np.int64)


def weight_numbers(w: Floats) -> tuple[NDArray[np.int64], Floats]:
    """w [n, k] as whole numbers, and a scale for each of the n."""
    scale = np.abs(w).max(1) / f(SMALL)
    return np.rint(w / np.where(scale > 0, scale, f(1))[:, None]).astype(np.int64), scale


def spread(x: Floats, parts: int) -> Floats:
    """[m, k] in equal parts, each with zeros up to a multiple of 16."""
    part = x.shape[1] // parts
    out = np.zeros((x.shape[0], parts, -(-part // 16) * 16), f)
    out[:, :, :part] = x.reshape(x.shape[0], parts, part)
    return out.reshape(x.shape[0], -1)


class WholeNumbers:
    """A GGUF file of architecture bert."""

    def __init__(self, path: Path) -> None:
        file = read(path)
        self.meta = file.metadata
        self.w = {name: to_float32(tensor) for name, tensor in file.tensors.items()}
        self.blocks = [f"blk.{i}" for i in range(self.meta["bert.block_count"])]
        self.floats: set[str] = set()  # parts that are executed in float32: their matrices in all layers are
        for parts in (QKV, *((part,) for part in GROUPS if part not in QKV)):
            names = [f"{block}.{part}.weight" for block in self.blocks for part in parts]
            if all(file.tensors[name].type == GgmlType.F32 for name in names):
                self.floats.update(parts)
        self.heads = int(self.meta["bert.attention.head_count"])

    def norm(self, name: str, x: Floats) -> Floats:
        size = f(x.shape[1])
        x = x - (by_lanes(x) / size)[:, None]
        factor = f(1) / np.sqrt(by_lanes(x * x) / size + f(self.meta["bert.attention.layer_norm_epsilon"]))
        return x * factor[:, None] * self.w[f"{name}.weight"] + self.w[f"{name}.bias"]

    def dense(self, block: str, part: str, x: Floats, greatest: Floats | None = None) -> Floats:
        """x becomes whole numbers by the greatest magnitude in each row, or by what is given instead."""
        w, bias = self.w[f"{block}.{part}.weight"], self.w[f"{block}.{part}.bias"]
        if part in self.floats:
            return in_order(x, w.T) + bias
        if part == "attn_output":  # groups count the places of the heads' padded values
            w, x = spread(w, self.heads), spread(x, self.heads)
        if greatest is None:
            greatest = np.abs(x).max(1, keepdims=True)
        whole, total = numbers(x, ROWS, greatest), np.zeros((x.shape[0], w.shape[0]), f)
        assert np.abs(whole).max() <= ROWS
        for at in range(0, w.shape[1], GROUPS[part]):
            w_numbers, w_scale = weight_numbers(w[:, at : at + GROUPS[part]])
            sums = whole[:, at : at + GROUPS[part]] @ w_numbers.T
            assert np.abs(sums).max() < 2**31
            total = fma(sums.astype(f), w_scale, total) if at else sums.astype(f) * w_scale
        return fma(total, greatest / f(ROWS), bias)

    def bound(self, block: str, part: str, x: Floats) -> Floats:
        """What no value of `dense` exceeds: the length of a row of x times that of the longest row of the matrix."""
        w, bias = self.w[f"{block}.{part}.weight"], self.w[f"{block}.{part}.bias"]
        squares, errors = np.zeros(len(w)), np.zeros(len(w))
        for column in w.T:
            squares += column.astype(np.float64) ** 2
        for at in range(0, w.shape[1], GROUPS[part]):
            errors += GROUPS[part] / 4 * weight_numbers(w[:, at : at + GROUPS[part]])[1].astype(np.float64) ** 2
        norm = f((np.sqrt(squares) + np.sqrt(errors)).max() * ROOM)
        most = f(np.abs(bias).max().astype(np.float64) * ROOM)
        return (np.sqrt(by_lanes(x, lambda lanes, v: fma(v, v, lanes))) * norm + most)[:, None]

    def head(self, q: Floats, k: Floats, v: Floats) -> Floats:
        """[n, depth] of a head."""
        count, factor = q.shape[0], f(1) / np.sqrt(f(q.shape[1]))
        if "attn_v" in self.floats:
            scores = in_order(q, k.T)
            e = exp((scores - scores.max(1, keepdims=True)) * factor)
            return in_order(e * (f(1) / by_lanes(e))[:, None], v)
        top = max(SMALL, min(VALUES, GREATEST // count))
        bound = (2**31 - 1) // (top * count)
        power = LOG2_TOP if bound >= TOP else bound.bit_length() - 1
        key, value = np.abs(k).max(), np.abs(v).max()
        queries = np.abs(q).max(1, keepdims=True)
        scores = numbers(q, SMALL, queries) @ numbers(k, SMALL, key).T
        scale = (queries / f(SMALL)) * ((key / f(SMALL)) * (factor * LOG2E))
        below = (scores.max(1, keepdims=True) - scores).astype(f)
        weights = whole_power(fma(below, -scale, functions.whole_power_of(power)))
        sums = weights @ numbers(v, top, value)
        assert np.abs(sums).max() < 2**31
        return sums.astype(f) * ((value / f(top)) / weights.sum(1, keepdims=True).astype(f))

    def attention(self, block: str, x: Floats) -> Floats:
        parts = (np.split(self.dense(block, part, x), self.heads, 1) for part in QKV)
        mixed = np.concatenate([self.head(*heads) for heads in zip(*parts, strict=True)], 1)
        return self.dense(block, "attn_output", mixed)

    def feed_forward(self, block: str, x: Floats) -> Floats:
        inner = self.dense(block, "ffn_up", x)
        if self.floats & {"ffn_up", "ffn_down"}:
            return self.dense(block, "ffn_down", gelu(inner))
        return self.dense(block, "ffn_down", gelu_near(inner), self.bound(block, "ffn_up", x))

    def embed(self, ids: NDArray[np.int32]) -> Floats:
        x = self.w["token_embd.weight"][ids]
        x = self.norm(
            "token_embd_norm", x + (self.w["position_embd.weight"][: len(ids)] + self.w["token_types.weight"][0])
        )
        for block in self.blocks:
            x = self.norm(f"{block}.attn_output_norm", x + self.attention(block, x))
            x = self.norm(f"{block}.layer_output_norm", x + self.feed_forward(block, x))
        pooled = x[:1]
        if self.meta["bert.pooling_type"] == MEAN:
            pooled = in_order(np.ones((1, len(x)), f), x) / f(len(x))
        if self.meta.get("cloister.normalize", True):
            pooled = pooled * (f(1) / np.sqrt(by_lanes(pooled * pooled)))[:, None]
        return pooled[0]
