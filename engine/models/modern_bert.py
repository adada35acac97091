"""ModernBERT (Warner et al. 2024): rotary positions, norms before each part, windows in most layers, and GeGLU."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.errors import BadModelFile, UnsupportedModel
from engine.gguf import GgufFile
from engine.kernels import rope
from engine.kernels.compiled import entry
from engine.kernels.glu import geglu, geglu_near
from engine.kernels.matmul.linear import ADD, PLAIN
from engine.models.layers import FIRST, Matrices, Norm, attend_all, norm_rows, project, project_qkv, start, stop
from engine.models.lookup import Tables, look_up, read_tables
from engine.models.network import FFN_ROWS, Network
from engine.models.sizes import Sizes, read_base
from engine.models.stored import Arrays, Keep
from engine.models.weights import Several, read_norm, read_qkv, read_stack
from engine.simd import F32, I32, I64, Float

ROTARY = True
_KEY = "modern-bert.attention.sliding_window"


@dataclass(frozen=True)
class ModernBert(Network):
    """Layers 0, every, 2 * every … see the whole text, in the others tokens see those up to `window` places away."""

    every: int
    window: int

    NORMS = ("first", "before", "middle", "last")
    GATED, COPIED = True, True

    @property
    def windows(self) -> I64:
        return np.where(np.arange(self.sizes.layers) % self.every, self.window, 0)

    def states(self, ids: I32, kinds: I32, starts: I64, scratch: tuple[Any, ...]) -> F32:
        encode(
            ids, kinds, starts, self.shape, self.every, self.window, self.sizes.scale, self.sizes.epsilon, self.exact,
            self.arrays["inside"], self.tables, (self.arrays["angles"], self.arrays["near angles"]), self.norms,
            self.stacks, scratch,
        )  # fmt: skip
        x: F32 = scratch[0]
        return x


def load(file: GgufFile, sizes: Sizes, keep: Keep) -> ModernBert:
    """`keep` gives the arrays that a function makes, or has made before. Raises BadModelFile and UnsupportedModel."""
    every, window = file.require(f"{_KEY}_pattern", int), file.require(_KEY, int)
    if every < 1:
        raise BadModelFile(f"{file.path}: {_KEY}_pattern: found {every}, expected a positive number")
    if window < 2:
        raise UnsupportedModel(f"{file.path}: {_KEY}: found {window}, expected at least 2")
    if "blk.0.attn_norm.weight" in file.tensors:
        raise UnsupportedModel(f"{file.path}: found blk.0.attn_norm.weight, expected no such norm in the first layer")
    bases = [read_base(file, f"modern-bert.rope.freq_base{ending}") for ending in ("", "_swa")]
    return ModernBert(sizes, keep(lambda: _arrays(file, sizes, bases)), every, min(window // 2, sizes.context))


def _arrays(file: GgufFile, sizes: Sizes, bases: list[float]) -> Arrays:
    """All weights in their execution layout, by name."""
    width, inner, queries = sizes.width, sizes.inner, sizes.queries
    blocks = [f"blk.{i}" for i in range(sizes.layers)]

    def norm(name: str, tensors: list[str]) -> Arrays:
        return read_norm(file, name, tensors, width, biased=False)

    qkv, out, up, down = (
        [[f"{block}.{part}"] for block in blocks] for part in ("attn_qkv", "attn_output", "ffn_up", "ffn_down")
    )
    arrays = {
        **read_tables(file, width, positions=0, kinds=False),
        **norm("first", ["token_embd_norm"]),
        **norm("before", [f"{block}.attn_norm" for block in blocks[1:]]),
        **read_qkv(file, qkv, Several(queries, 3), width, queries, biased=False),
        **read_stack(file, "out", out, width, queries, biased=False),
        **norm("middle", [f"{block}.ffn_norm" for block in blocks]),
        **read_stack(file, "up", up, Several(inner, 2), width, biased=False),
        **read_stack(file, "down", down, width, inner, biased=False),
        **norm("last", ["output_norm"]),
    }
    angles, near = (rope.table(sizes.context, sizes.depth, base, queries.part) for base in bases)
    return {**arrays, "angles": angles, "near angles": near}


@entry
def encode(
    ids: I32, kinds: I32, starts: I64, shape: tuple[int, ...], every: int, window: int, scale: Float, epsilon: Float,
    exact: bool, inside: F32, tables: Tables, angles: tuple[F32, F32], norms: tuple[Norm, Norm, Norm, Norm],
    stacks: tuple[Matrices, ...], scratch: tuple[Any, ...],
) -> None:  # fmt: skip
    """The forward pass as one compiled function. Arguments as in `Network` and `ModernBert`."""
    size, width, inner, layers, heads, queries, depth = shape
    first_norm, before_norm, middle_norm, last_norm = norms
    queries_keys, values, out_weights, up, down = stacks
    x, qkv, mixed, hidden, halves, normed, products, attention = scratch
    count = ids.size
    start()
    look_up(ids, kinds, starts, tables, width, x)
    norm_rows(x, count, first_norm, 0, inside, size, width, epsilon, x)
    for layer in range(layers):
        source = normed if layer else x
        if layer:
            norm_rows(x, count, before_norm, layer - 1, inside, size, width, epsilon, normed)
        project_qkv(source, count, width, queries_keys, values, layer, queries, qkv, products)
        turned, sight = (angles[1], window) if layer % every else (angles[0], 0)
        rope.turn(qkv, starts, 3 * queries, 0, heads, depth // 2, turned)
        rope.turn(qkv, starts, 3 * queries, queries, heads, depth // 2, turned)
        attend_all(qkv, starts, queries, heads, depth, scale, sight, exact, attention, mixed)
        project(mixed, FIRST, count, queries, out_weights, layer, width, ADD, x, FIRST, products)
        norm_rows(x, count, middle_norm, layer, inside, size, width, epsilon, normed)
        for t in range(0, count, FFN_ROWS):
            rows = min(FFN_ROWS, count - t)
            project(normed, t, rows, width, up, layer, 2 * inner, PLAIN, halves, FIRST, products)
            if exact:
                geglu(halves, rows, inner, hidden)
            else:
                geglu_near(halves, rows, inner, hidden)
            project(hidden, FIRST, rows, inner, down, layer, width, ADD, x, t, products)
    norm_rows(x, count, last_norm, 0, inside, size, width, epsilon, x)
    stop()
