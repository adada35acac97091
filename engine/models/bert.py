"""BERT (Devlin et al. 2018): learned positions, post-norm, exact GELU. The forward pass of one block of sequences."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from engine.errors import UnsupportedModel
from engine.gguf import GgufFile
from engine.kernels.attention import attend, work_sizes
from engine.kernels.matmul import ROWS, linear
from engine.kernels.rows import apply_gelu, layer_norm, mean_pool, normalize, quantize
from engine.models.weights import Stack, expect, read_stack, read_vectors
from engine.quant import to_float32
from engine.simd import F32, I8, I16, I32, I64, Float

POOL_MEAN, POOL_FIRST = 1, 2  # llama.cpp's numbers of pooling types

Norm = tuple[F32, F32]  # gain, shift
Matrices = tuple[I8, F32, F32]  # a Stack's weights, scales, bias


@dataclass(frozen=True)
class Bert:
    """The weights as they are executed. Vectors of all layers lie one after another."""

    width: int
    inner: int
    layers: int
    heads: int
    context: int
    epsilon: np.float32
    pooling: int
    normalized: bool
    tokens: F32  # [vocabulary * width]
    positions: F32  # [context * width], the row of token type 0 added
    first_norm: Norm
    qkv: Stack
    out: Stack
    out_norm: Norm
    up: Stack
    down: Stack
    down_norm: Norm

    def scratch(self, tokens: int) -> tuple[Any, ...]:
        """What one thread needs for blocks of up to `tokens` tokens."""
        rows = tokens + 2 * ROWS
        wide = max(self.inner, 3 * self.width)
        keys, work = work_sizes(self.context, self.width, self.heads)
        f32 = np.float32
        return (
            np.zeros(rows * self.width, f32), np.zeros(rows * wide, f32), np.zeros(rows * self.width, f32),
            np.zeros(rows * wide, np.int16), np.zeros(rows, f32), np.zeros(keys, f32), np.zeros(work, f32),
        )  # fmt: skip

    def encode(self, ids: I32, starts: I64, scratch: tuple[Any, ...], out: F32) -> None:
        """One vector a sequence into `out`, float32 [sequences * width]. ids int32 of all sequences, one after another;
        sequence i is ids[starts[i]:starts[i + 1]], int64."""
        encode(
            ids, starts, (self.width, self.inner, self.layers, self.heads), self.epsilon, self.pooling, self.normalized,
            self.tokens, self.positions, self.first_norm, self.qkv.arrays, self.out.arrays, self.out_norm,
            self.up.arrays, self.down.arrays, self.down_norm, scratch, out,
        )  # fmt: skip


def load(file: GgufFile) -> Bert:
    """Raises BadModelFile and UnsupportedModel."""
    width = file.require("bert.embedding_length", int)
    inner = file.require("bert.feed_forward_length", int)
    layers, heads = file.require("bert.block_count", int), file.require("bert.attention.head_count", int)
    context = file.require("bert.context_length", int)
    pooling = file.require("bert.pooling_type", int)
    if pooling not in (POOL_MEAN, POOL_FIRST):
        expected = f"{POOL_MEAN} (mean) or {POOL_FIRST} (first token)"
        raise UnsupportedModel(f"{file.path}: pooling type {pooling}, expected {expected}")
    if heads < 1 or width % 32 or inner % 32 or width % heads or (width // heads) % 32:
        found = f"width {width}, inner width {inner} and {heads} heads"
        raise UnsupportedModel(f"{file.path}: found {found}, expected multiples of 32, also of each head's width")
    vocabulary = len(file.require("tokenizer.ggml.tokens", list))

    def norm(name: str, count: int) -> Norm:
        names = [f"blk.{i}.{name}" for i in range(count)] if count else [name]
        gain, shift = ([f"{name}.{part}" for name in names] for part in ("weight", "bias"))
        return read_vectors(file, gain, width), read_vectors(file, shift, width)

    def stack(parts: tuple[str, ...], rows: int, columns: int) -> Stack:
        return read_stack(file, [[f"blk.{i}.{part}" for part in parts] for i in range(layers)], rows, columns)

    positions = to_float32(expect(file, "position_embd.weight", (context, width)))
    kinds = to_float32(expect(file, "token_types.weight", (None, width)))
    return Bert(
        width=width,
        inner=inner,
        layers=layers,
        heads=heads,
        context=context,
        epsilon=np.float32(file.require("bert.attention.layer_norm_epsilon", float)),
        pooling=pooling,
        normalized=bool(file.metadata.get("cloister.normalize", True)),
        tokens=to_float32(expect(file, "token_embd.weight", (vocabulary, width))).reshape(-1),
        positions=(positions + kinds[0]).reshape(-1),
        first_norm=norm("token_embd_norm", 0),
        qkv=stack(("attn_q", "attn_k", "attn_v"), width, width),
        out=stack(("attn_output",), width, width),
        out_norm=norm("attn_output_norm", layers),
        up=stack(("ffn_up",), inner, width),
        down=stack(("ffn_down",), width, inner),
        down_norm=norm("layer_output_norm", layers),
    )


@njit(nogil=True, cache=True)
def encode(
    ids: I32, starts: I64, sizes: tuple[int, int, int, int], epsilon: Float, pooling: int, normalized: bool,
    tokens: F32, positions: F32, first_norm: Norm, qkv: Matrices, out: Matrices, out_norm: Norm, up: Matrices,
    down: Matrices, down_norm: Norm, scratch: tuple[Any, ...], result: F32,
) -> None:  # fmt: skip
    """The forward pass as one compiled function: embeddings, layers, pooling. Arguments as in `Bert`."""
    width, inner, layers, heads = sizes
    x, wide, narrow, ints, scales, keys, work = scratch
    count = ids.size
    for s in range(starts.size - 1):
        for t in range(starts[s], starts[s + 1]):
            token, position = ids[t] * width, (t - starts[s]) * width
            for i in range(width):
                x[t * width + i] = tokens[token + i]
                narrow[t * width + i] = positions[position + i]
            layer_norm(x, t * width, narrow, t * width, first_norm[0], first_norm[1], 0, width, epsilon)
    for layer in range(layers):
        _project(x, count, width, qkv, layer, 3 * width, ints, scales, wide)
        for s in range(starts.size - 1):
            attend(wide, starts[s], starts[s + 1] - starts[s], width, heads, keys, work, narrow)
        _project(narrow, count, width, out, layer, width, ints, scales, wide)
        for t in range(count):
            layer_norm(x, t * width, wide, t * width, out_norm[0], out_norm[1], layer * width, width, epsilon)
        _project(x, count, width, up, layer, inner, ints, scales, wide)
        for t in range(count):
            apply_gelu(wide, t * inner, inner)
        _project(wide, count, inner, down, layer, width, ints, scales, narrow)
        for t in range(count):
            layer_norm(x, t * width, narrow, t * width, down_norm[0], down_norm[1], layer * width, width, epsilon)
    for s in range(starts.size - 1):
        pooled = starts[s + 1] - starts[s] if pooling == POOL_MEAN else 1
        mean_pool(x, starts[s] * width, pooled, width, result, s * width, width)
        if normalized:
            normalize(result, s * width, width)


@njit(nogil=True)
def _project(x: F32, count: int, k: int, stack: Matrices, layer: int, n: int, ints: I16, scales: F32, out: F32) -> None:
    """out[count, n] = x[count, k] @ weights of the layer + bias, through int16."""
    weights, weight_scales, bias = stack
    for t in range(count):
        scales[t] = quantize(x, t * k, ints, t * k, k)
    linear(ints, scales, count, k, weights, weight_scales, bias, layer, n, out)
