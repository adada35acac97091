"""The arithmetic cloister-int-7 of a BERT in plain numpy, as engine/NUMERICS.md defines it: the same bits, slowly.

One text at a time, no tiles, no digits. Whole numbers are int64, everything else float32, each operation by
itself.
"""

import math
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
TOP, SMALL, VALUES = 8191, 127, 511
RAISED, RAISE = 0, f(0.171875)
TOPS = {RAISED: 255, 1: 127, 2: 32767}  # of raised rows, and of rows of so many digits
GROUP = 64
QKV = ("attn_q", "attn_k", "attn_v")
KINDS = {
    "qk": ("attn_q", "attn_k"),
    "v": ("attn_v",),
    "out": ("attn_output",),
    "up": ("ffn_up",),
    "down": ("ffn_down",),
}
PARTS = [part for parts in KINDS.values() for part in parts]
LOSS = 2e-4
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
    t = np.minimum(np.abs(y), gelu_of.END)
    c0, c1, c2 = (table[np.rint(4 * t).astype(int)] for table in gelu_of.TABLE)
    return fma(y + np.abs(y), f(0.5), fma(fma(c2, t, c1), t, c0))


def gelu_raised(y: Floats) -> Floats:
    return gelu_near(y) + RAISE


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


def whole_product(a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
    """a @ b, whose sums are int32: float64 holds each of them exactly, in any order, and is fast."""
    sums = a.astype(np.float64) @ b.astype(np.float64)
    assert np.abs(sums).max() < 2**31
    return sums.astype(np.int64)


def rows_of(x: Floats, kind: int) -> tuple[NDArray[np.int64], Floats]:
    """Rows [m, k] as whole numbers, and the scales of their groups [m, k / 64]."""
    groups, top = x.reshape(len(x), -1, GROUP), f(TOPS[kind])
    greatest = np.abs(groups).max(2)
    return numbers(groups, TOPS[kind], greatest[:, :, None]).reshape(x.shape), greatest / top


def columns_of(values: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Weights [n, k] as whole numbers, and the scales of their groups [n, k / 64]."""
    groups = values.reshape(len(values), -1, GROUP)
    scales = np.abs(groups).max(2) / f(SMALL)
    scales = np.where(scales > f(1e-37), scales, f(0))
    unit = np.where(scales > 0, scales, f(1))
    return np.rint(groups / unit[:, :, None]).astype(np.int64).reshape(values.shape), scales


def product(x: NDArray[np.int64], s: Floats, w: NDArray[np.int64], d: Floats, bias: Floats) -> Floats:
    """The rows x with scales s times the columns w with scales d, float32 [m, n]."""
    left, right = (each.reshape(len(each), -1, GROUP).transpose(1, 0, 2) for each in (x, w))
    sums = whole_product(left, right.transpose(0, 2, 1)).transpose(1, 2, 0)
    whole, y = sums.astype(f), np.tile(bias, (len(x), 1))
    for g in range(s.shape[1]):
        y = fma(whole[:, :, g] * d[:, g], s[:, g : g + 1], y)
    return y


def for_raised(bias: Floats, w: NDArray[np.int64], d: Floats) -> Floats:
    """The bias of rows that are raised by RAISE."""
    sums, total = w.reshape(len(w), -1, GROUP).sum(2).astype(f), np.zeros_like(bias)
    for g in range(d.shape[1]):
        total = total + sums[:, g] * d[:, g]
    return bias - RAISE * total


def padded(x: Floats) -> Floats:
    """[m, k] with zeros up to a multiple of GROUP."""
    return np.pad(x, ((0, 0), (0, -x.shape[1] % GROUP)))


def spread(x: Floats, parts: int) -> Floats:
    """[m, k] in equal parts, each with zeros up to a multiple of 16."""
    part = x.shape[1] // parts
    out = np.zeros((x.shape[0], parts, -(-part // 16) * 16), f)
    out[:, :, :part] = x.reshape(x.shape[0], parts, part)
    return out.reshape(x.shape[0], -1)


def unit(rows: Floats) -> Floats:
    """Rows of unit length."""
    return rows * (f(1) / np.sqrt(by_lanes(rows * rows)))[:, None]


class WholeNumbers:
    """A GGUF file of architecture bert; `texts` are the ids of the texts that it is calibrated with."""

    def __init__(self, path: Path, texts: list[NDArray[np.int32]]) -> None:
        file = read(path)
        self.meta = file.metadata
        self.w = {name: to_float32(tensor) for name, tensor in file.tensors.items()}
        self.blocks = [f"blk.{i}" for i in range(self.meta["bert.block_count"])]
        self.floats: set[str] = set()  # parts that are executed in float32: their matrices in all layers are
        for parts in (QKV, *((part,) for part in PARTS if part not in QKV)):
            names = [f"{block}.{part}.weight" for block in self.blocks for part in parts]
            if all(file.tensors[name].type == GgmlType.F32 for name in names):
                self.floats.update(parts)
        self.heads = int(self.meta["bert.attention.head_count"])
        self.digits = dict.fromkeys(KINDS, 2)
        self.factors: dict[str, Floats] = {}  # of what goes into the attention and the feed-forward part of each block
        self.seen: dict[str, Floats] = {}
        if len(self.floats) < len(PARTS):
            self.calibrate([ids[: self.meta["bert.context_length"]] for ids in texts])

    def calibrate(self, texts: list[NDArray[np.int32]]) -> None:
        """Smoothing by the greatest values that come, and the kinds of matrices of which one digit is enough."""
        exact = [self.looked_at(ids) for ids in texts]
        seen, loss = dict(self.seen), self.loss(exact, texts, *KINDS)
        for block in self.blocks:
            for first, parts in (("attn_q", QKV), ("ffn_up", ("ffn_up",))):
                weights = np.abs(np.concatenate([self.w[f"{block}.{part}.weight"] for part in parts])).max(0)
                top, most = seen[f"{block}.{first}"], f(1e-3)
                values, weights = (np.maximum(x, x.max() * most) for x in (top, weights))
                with np.errstate(all="ignore"):
                    factors = np.sqrt(values / weights)
                if np.isfinite(factors).all() and factors.min() > 0:
                    self.factors |= {f"{block}.{part}": factors for part in parts}
        if not self.loss(exact, texts, *KINDS) < loss:
            self.factors = {}
        exact = [self.looked_at(ids) for ids in texts]
        losses = {kind: self.loss(exact, texts, kind) for kind in KINDS}
        for kind, loss in losses.items():
            if loss <= LOSS and not self.floats & set(KINDS[kind]):
                self.digits[kind] = 1

    def loss(self, exact: list[Floats], texts: list[NDArray[np.int32]], *kinds: str) -> float:
        """1 minus the mean cosine to exact vectors, with one digit in these kinds and two in the others."""
        self.digits = {kind: 1 if kind in kinds else 2 for kind in KINDS}
        cosines = [float(by_lanes(a * self.looked_at(ids))[0]) for a, ids in zip(exact, texts, strict=True)]
        self.digits = dict.fromkeys(KINDS, 2)
        return 1 - math.fsum(cosines) / len(cosines)

    def norm(self, name: str, x: Floats) -> Floats:
        size = f(x.shape[1])
        x = x - (by_lanes(x) / size)[:, None]
        factor = f(1) / np.sqrt(by_lanes(x * x) / size + f(self.meta["bert.attention.layer_norm_epsilon"]))
        return x * factor[:, None] * self.w[f"{name}.weight"] + self.w[f"{name}.bias"]

    def dense(self, block: str, part: str, x: Floats) -> Floats:
        """x becomes whole numbers by the greatest magnitude in each group of a row."""
        w, bias = self.w[f"{block}.{part}.weight"], self.w[f"{block}.{part}.bias"]
        if part in ("attn_q", "ffn_up"):
            most = np.abs(x).max(0)
            self.seen[f"{block}.{part}"] = np.maximum(self.seen.get(f"{block}.{part}", most), most)
        if part in self.floats:
            return in_order(x, w.T) + bias
        if part == "attn_output":  # groups count the places of the heads' padded values
            w, x = spread(w, self.heads), spread(x, self.heads)
        factors = self.factors.get(f"{block}.{part}", np.ones(w.shape[1], f))
        rows, columns = rows_of(padded(x * (f(1) / factors)), self.digits_of(part)), columns_of(padded(w * factors))
        return product(*rows, *columns, bias)

    def digits_of(self, part: str) -> int:
        return next(self.digits[kind] for kind, parts in KINDS.items() if part in parts)

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
        scores = whole_product(numbers(q, SMALL, queries), numbers(k, SMALL, key).T)
        scale = (queries / f(SMALL)) * ((key / f(SMALL)) * (factor * LOG2E))
        below = (scores.max(1, keepdims=True) - scores).astype(f)
        weights = whole_power(fma(below, -scale, functions.whole_power_of(power)))
        sums = whole_product(weights, numbers(v, top, value))
        return sums.astype(f) * ((value / f(top)) / weights.sum(1, keepdims=True).astype(f))

    def attention(self, block: str, x: Floats) -> Floats:
        parts = (np.split(self.dense(block, part, x), self.heads, 1) for part in QKV)
        mixed = np.concatenate([self.head(*heads) for heads in zip(*parts, strict=True)], 1)
        return self.dense(block, "attn_output", mixed)

    def feed_forward(self, block: str, x: Floats) -> Floats:
        inner = self.dense(block, "ffn_up", x)
        if self.floats & {"ffn_up", "ffn_down"}:
            return self.dense(block, "ffn_down", gelu(inner))
        if self.digits_of("ffn_down") == 2:
            return self.dense(block, "ffn_down", gelu_near(inner))
        w, bias = self.w[f"{block}.ffn_down.weight"], self.w[f"{block}.ffn_down.bias"]
        columns = columns_of(padded(w))
        return product(*rows_of(gelu_raised(padded(inner)), RAISED), *columns, for_raised(bias, *columns))

    def states(self, ids: NDArray[np.int32]) -> Floats:
        """The last layer, [tokens, values]."""
        x = self.w["token_embd.weight"][ids]
        x = self.norm(
            "token_embd_norm", x + (self.w["position_embd.weight"][: len(ids)] + self.w["token_types.weight"][0])
        )
        for block in self.blocks:
            x = self.norm(f"{block}.attn_output_norm", x + self.attention(block, x))
            x = self.norm(f"{block}.layer_output_norm", x + self.feed_forward(block, x))
        return x

    def pooled(self, ids: NDArray[np.int32]) -> Floats:
        """The mean of the last layer, or its first token, [1, values]."""
        x = self.states(ids)
        return in_order(np.ones((1, len(x)), f), x) / f(len(x)) if self.meta["bert.pooling_type"] == MEAN else x[:1]

    def looked_at(self, ids: NDArray[np.int32]) -> Floats:
        """The same, of unit length."""
        return unit(self.pooled(ids))

    def embed(self, ids: NDArray[np.int32]) -> Floats:
        pooled = self.pooled(ids)
        return (unit(pooled) if self.meta.get("cloister.normalize", True) else pooled)[0]
