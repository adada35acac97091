"""ModernBERT (Warner et al. 2024): rotary positions, norms before each part, windows in most layers, and GeGLU."""

from dataclasses import dataclass

import numpy as np

from engine.errors import BadModelFile, UnsupportedModel
from engine.gguf import GgufFile
from engine.kernels import rope
from engine.kernels.rows import geglu, geglu_near
from engine.models.layers import Scratch, Tokens, Weights, attend_layer, gated_layer, look_up, norm_rows, start, stop
from engine.models.network import Network, Sizes, read_base
from engine.models.stored import Arrays
from engine.models.weights import KeepSmoothed, Several, Smoothing, read_norm, read_qkv, read_stack, read_tables
from engine.simd import F32, I64
from engine.simd.compiled import entry, kernel

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

    def encode(self, tokens: Tokens, weights: Weights, scratch: Scratch) -> None:
        encode(tokens, weights, scratch)


def load(file: GgufFile, sizes: Sizes, keep: KeepSmoothed) -> ModernBert:
    """`keep` gives the arrays that a function makes, or has made before. Raises BadModelFile and UnsupportedModel."""
    every, window = file.require(f"{_KEY}_pattern", int), file.require(_KEY, int)
    if every < 1:
        raise BadModelFile(f"{file.path}: {_KEY}_pattern: found {every}, expected a positive number")
    if window < 2:
        raise UnsupportedModel(f"{file.path}: {_KEY}: found {window}, expected at least 2")
    if "blk.0.attn_norm.weight" in file.tensors:
        raise UnsupportedModel(f"{file.path}: found blk.0.attn_norm.weight, expected no such norm in the first layer")
    bases = [read_base(file, f"modern-bert.rope.freq_base{ending}") for ending in ("", "_swa")]
    return ModernBert(
        sizes, keep(lambda smoothing: _arrays(file, sizes, smoothing, bases)), every, min(window // 2, sizes.context)
    )


def _arrays(file: GgufFile, sizes: Sizes, smoothing: Smoothing, bases: list[float]) -> Arrays:
    """All weights in their execution layout, by name."""
    d_model, d_ff, queries = sizes.d_model, sizes.d_ff, sizes.queries
    blocks = [f"blk.{i}" for i in range(sizes.layers)]

    def norm(name: str, tensors: list[str]) -> Arrays:
        return read_norm(file, name, tensors, d_model, biased=False)

    qkv, out, up, down = (
        [[f"{block}.{part}"] for block in blocks] for part in ("attn_qkv", "attn_output", "ffn_up", "ffn_down")
    )
    arrays = {
        **read_tables(file, d_model, positions=0, kinds=False),
        **norm("first", ["token_embd_norm"]),
        **norm("before", [f"{block}.attn_norm" for block in blocks[1:]]),
        **read_qkv(file, smoothing, qkv, Several(queries, 3), d_model, queries, biased=False),
        **read_stack(file, smoothing, "out", out, d_model, queries, biased=False),
        **norm("middle", [f"{block}.ffn_norm" for block in blocks]),
        **read_stack(file, smoothing, "up", up, Several(d_ff, 2), d_model, biased=False),
        **read_stack(file, smoothing, "down", down, d_model, d_ff, biased=False),
        **norm("last", ["output_norm"]),
    }
    angles, near = (rope.table(sizes.context, sizes.head_dim, base, queries.part) for base in bases)
    return {**arrays, "angles": angles, "near angles": near}


@kernel
def _glu(halves: F32, rows: int, n: int, out: F32, exact: bool) -> None:
    if exact:
        geglu(halves, halves, n, 2 * n, 0, rows, n, out)
    else:
        geglu_near(halves, halves, n, 2 * n, 0, rows, n, out)


feed_forward = gated_layer(_glu)


@entry
def encode(tokens: Tokens, weights: Weights, scratch: Scratch) -> None:
    """The forward pass as one compiled function."""
    x, normed, count = scratch.x, scratch.normed, tokens.ids.size
    first, before, middle, last = weights.norms
    start()
    look_up(tokens, weights.tables, weights.sizes.d_model, x)
    norm_rows(x, count, first, 0, x)
    for layer in range(weights.sizes.layers):
        source = normed if layer else x
        if layer:
            norm_rows(x, count, before, layer - 1, normed)
        attend_layer(tokens, source, weights, layer, scratch)
        norm_rows(x, count, middle, layer, normed)
        feed_forward(normed, count, weights, layer, scratch)
    norm_rows(x, count, last, 0, x)
    stop()
