"""BERT (Devlin et al. 2018): learned positions, post-norm, exact GELU. The forward pass of one block of sequences."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from engine.errors import BadModelFile, UnsupportedModel
from engine.gguf import GgufFile
from engine.kernels.attention import attend, work_sizes
from engine.kernels.matmul import ROWS, linear
from engine.kernels.rows import apply_gelu, layer_norm, mean_pool, normalize, quantize
from engine.models.weights import Axis, Stack, expect, read_rows, read_stack, read_vectors
from engine.simd import F32, I8, I16, I32, I64, Float

POOL_MEAN, POOL_FIRST = 1, 2  # llama.cpp's numbers of pooling types

Norm = tuple[F32, F32]  # gain, shift
Matrices = tuple[I8, F32, F32]  # a Stack's weights, scales, bias


@dataclass(frozen=True)
class Bert:
    """The weights as they are executed: widths padded to multiples of 32 (`Axis`), the layers one after another."""

    axis: Axis  # of a token's vector
    inner: int
    layers: int
    heads: Axis  # of all heads' queries
    context: int
    epsilon: np.float32
    pooling: int
    normalized: bool
    inside: F32  # [width]: 1 in the vector, 0 in the padding
    tokens: F32  # [vocabulary * width]
    positions: F32  # [context * width], the row of token type 0 added
    first_norm: Norm
    qkv: Stack
    out: Stack
    out_norm: Norm
    up: Stack
    down: Stack
    down_norm: Norm

    @property
    def width(self) -> int:
        """Values of a vector, without padding."""
        return self.axis.size

    def scratch(self, tokens: int) -> tuple[Any, ...]:
        """What one thread needs for blocks of up to `tokens` tokens."""
        rows = tokens + 2 * ROWS
        narrow = max(self.axis.padded, self.heads.padded)
        wide = max(self.inner, 3 * self.heads.padded, narrow)
        keys, work = work_sizes(self.context, self.heads.padded, self.heads.parts)
        f32 = np.float32
        return (
            np.zeros(rows * self.axis.padded, f32), np.zeros(rows * wide, f32), np.zeros(rows * narrow, f32),
            np.zeros(rows * wide, np.int16), np.zeros(rows, f32), np.zeros(keys, f32), np.zeros(work, f32),
        )  # fmt: skip

    def encode(self, ids: I32, starts: I64, scratch: tuple[Any, ...], out: F32) -> None:
        """One vector a sequence into `out`, float32 [sequences, width]. ids int32 of all sequences, one after another;
        sequence i is ids[starts[i]:starts[i + 1]], int64."""
        padded = np.zeros(out.shape[0] * self.axis.padded, np.float32)
        sizes = (self.axis.size, self.axis.padded, self.inner, self.layers, *self._head_sizes)
        encode(
            ids, starts, sizes, self.epsilon, self.pooling, self.normalized, self.inside, self.tokens, self.positions,
            self.first_norm, self.qkv.arrays, self.out.arrays, self.out_norm, self.up.arrays, self.down.arrays,
            self.down_norm, scratch, padded,
        )  # fmt: skip
        out[:] = padded.reshape(out.shape[0], -1)[:, : self.axis.size]

    @property
    def _head_sizes(self) -> tuple[int, int, int]:
        """Heads, width of all padded, width of one without padding."""
        return self.heads.parts, self.heads.padded, self.heads.size // self.heads.parts


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
    epsilon = np.float32(file.require("bert.attention.layer_norm_epsilon", float))
    if not 0 < epsilon < 1:
        raise BadModelFile(f"{file.path}: found the layer norm epsilon {epsilon}, expected one between 0 and 1")
    if min(width, inner, layers, heads, context) < 1 or width % heads or layers > len(file.tensors):
        found = f"{layers} blocks of width {width} and inner width {inner} with {heads} heads, context {context}"
        raise BadModelFile(f"{file.path}: found {found}, expected positive numbers and a width that the heads divide")
    if file.metadata.get("bert.attention.causal", False) is not False:
        raise UnsupportedModel(f"{file.path}: bert.attention.causal is set; this engine computes encoders")
    narrow, wide, by_head = Axis(width), Axis(inner), Axis(width, heads)
    vocabulary = len(file.require("tokenizer.ggml.tokens", list))

    def norm(name: str, count: int) -> Norm:
        names = [f"blk.{i}.{name}" for i in range(count)] if count else [name]
        gain, shift = ([f"{name}.{part}" for name in names] for part in ("weight", "bias"))
        return read_vectors(file, gain, narrow), read_vectors(file, shift, narrow)

    def stack(parts: tuple[str, ...], rows: Axis, columns: Axis) -> Stack:
        return read_stack(file, [[f"blk.{i}.{part}" for part in parts] for i in range(layers)], rows, columns)

    kinds = expect(file, "token_types.weight", (None, width)).shape[0]
    first_kind = read_rows(file, "token_types.weight", kinds, narrow)[: narrow.padded]
    positions = read_rows(file, "position_embd.weight", context, narrow).reshape(context, -1) + first_kind
    inside = np.zeros(narrow.padded, np.float32)
    inside[narrow.at] = 1
    return Bert(
        axis=narrow,
        inner=wide.padded,
        layers=layers,
        heads=by_head,
        context=context,
        epsilon=epsilon,
        pooling=pooling,
        normalized="cloister.normalize" not in file.metadata or file.require("cloister.normalize", bool),
        inside=inside,
        tokens=read_rows(file, "token_embd.weight", vocabulary, narrow),
        positions=positions.reshape(-1),
        first_norm=norm("token_embd_norm", 0),
        qkv=stack(("attn_q", "attn_k", "attn_v"), by_head, narrow),
        out=stack(("attn_output",), narrow, by_head),
        out_norm=norm("attn_output_norm", layers),
        up=stack(("ffn_up",), wide, narrow),
        down=stack(("ffn_down",), narrow, wide),
        down_norm=norm("layer_output_norm", layers),
    )


@njit(nogil=True, cache=True)
def encode(
    ids: I32, starts: I64, sizes: tuple[int, ...], epsilon: Float, pooling: int, normalized: bool, inside: F32,
    tokens: F32, positions: F32, first_norm: Norm, qkv: Matrices, out: Matrices, out_norm: Norm, up: Matrices,
    down: Matrices, down_norm: Norm, scratch: tuple[Any, ...], result: F32,
) -> None:  # fmt: skip
    """The forward pass as one compiled function: embeddings, layers, pooling. Arguments as in `Bert`."""
    size, width, inner, layers, heads, queries, depth = sizes
    x, wide, narrow, ints, scales, keys, work = scratch
    count = ids.size
    for s in range(starts.size - 1):
        for t in range(starts[s], starts[s + 1]):
            token, position = ids[t] * width, (t - starts[s]) * width
            for i in range(width):
                x[t * width + i] = tokens[token + i]
                narrow[t * width + i] = positions[position + i]
    _norm(x, narrow, count, first_norm, 0, inside, size, width, epsilon)
    for layer in range(layers):
        _project(x, count, width, qkv, layer, 3 * queries, ints, scales, wide)
        for s in range(starts.size - 1):
            attend(wide, starts[s], starts[s + 1] - starts[s], queries, heads, depth, keys, work, narrow)
        _project(narrow, count, queries, out, layer, width, ints, scales, wide)
        _norm(x, wide, count, out_norm, layer, inside, size, width, epsilon)
        _project(x, count, width, up, layer, inner, ints, scales, wide)
        for t in range(count):
            apply_gelu(wide, t * inner, inner)
        _project(wide, count, inner, down, layer, width, ints, scales, narrow)
        _norm(x, narrow, count, down_norm, layer, inside, size, width, epsilon)
    for s in range(starts.size - 1):
        pooled = starts[s + 1] - starts[s] if pooling == POOL_MEAN else 1
        mean_pool(x, starts[s] * width, pooled, width, result, s * width, width)
        if normalized:
            normalize(result, s * width, width)


@njit(nogil=True)
def _norm(
    x: F32, y: F32, count: int, norm: Norm, layer: int, inside: F32, size: int, width: int, epsilon: Float
) -> None:
    """x[count, width] = layer norm of x + y, with the gain and shift of the layer."""
    for t in range(count):
        layer_norm(x, t * width, y, t * width, norm[0], norm[1], layer * width, inside, size, width, epsilon)


@njit(nogil=True)
def _project(x: F32, count: int, k: int, stack: Matrices, layer: int, n: int, ints: I16, scales: F32, out: F32) -> None:
    """out[count, n] = x[count, k] @ weights of the layer + bias, through int16."""
    weights, weight_scales, bias = stack
    for t in range(count):
        scales[t] = quantize(x, t * k, ints, t * k, k)
    linear(ints, scales, count, k, weights, weight_scales, bias, layer, n, out)
