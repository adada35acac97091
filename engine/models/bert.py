"""BERT (Devlin et al. 2018): learned positions, post-norm, exact GELU. The forward pass of one block of sequences."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.errors import BadModelFile, UnsupportedModel
from engine.gguf import GgufFile
from engine.kernels.compiled import entry
from engine.kernels.matmul import ADD, GELU, PLAIN
from engine.kernels.places import place
from engine.kernels.rows import mean_pool, normalize
from engine.models.layers import (
    Matrices,
    Norm,
    aligned,
    attend_all,
    attention_scratch,
    linear_scratch,
    norm_rows,
    project,
    start,
    stop,
)  # fmt: skip
from engine.models.stored import Arrays, Keep
from engine.models.weights import Axis, Stack, expect, read_rows, read_stack, read_vectors
from engine.simd import F32, I32, I64, LANES, Float, add, load_f32, store_f32

POOL_MEAN, POOL_FIRST = 1, 2  # llama.cpp's numbers of pooling types
GROUP = 192  # weights of a row that share a scale
DOWN_GROUP = 128  # weights that share a scale where the input comes out of GELU and has outliers
GROUPS = {"qkv": GROUP, "out": GROUP, "up": GROUP, "down": DOWN_GROUP}
FFN_ROWS = 128  # whose inner values stay in the cache


@dataclass(frozen=True)
class Bert:
    """The weights as they are executed: widths padded (`Axis`), the layers one after another."""

    axis: Axis  # of a token's vector
    inner: int
    layers: int
    heads: Axis  # of all heads' queries
    context: int
    epsilon: np.float32
    pooling: int
    normalized: bool
    arrays: Arrays

    @property
    def width(self) -> int:
        """Values of a vector, without padding."""
        return self.axis.size

    @property
    def exact(self) -> bool:
        """Whether everything is computed in float32."""
        return self.arrays["qkv.floats"].size > 0

    def scratch(self, tokens: int) -> tuple[Any, ...]:
        """What one thread needs for blocks of up to `tokens` tokens."""
        rows, width, queries = tokens + 64, self.axis.padded, self.heads.padded
        return (
            aligned(rows * width, np.float32), aligned(rows * 3 * queries, np.float32),
            aligned(rows * queries, np.float32), aligned((FFN_ROWS + 64) * self.inner, np.float32),
            linear_scratch(max(tokens, FFN_ROWS), max(self.inner, queries, width), exact=self.exact),
            attention_scratch(tokens, self.heads.part, queries, exact=self.exact),
        )  # fmt: skip

    def encode(self, ids: I32, starts: I64, scratch: tuple[Any, ...], out: F32) -> None:
        """One vector a sequence into `out`, float32 [sequences, width]. ids int32 of all sequences, one after another;
        sequence i is ids[starts[i]:starts[i + 1]], int64."""
        arrays, part = self.arrays, self.heads.size // self.heads.parts
        padded = np.zeros(out.shape[0] * self.axis.padded, np.float32)
        sizes = (self.axis.size, self.axis.padded, self.inner, self.layers, self.heads.parts, self.heads.padded)
        scale = np.float32(1) / np.sqrt(np.float32(part))
        norms = tuple((arrays[f"{name}.gain"], arrays[f"{name}.shift"]) for name in ("first", "middle", "last"))
        stacks = tuple(Stack.of(arrays, name, group).arrays for name, group in GROUPS.items())
        encode(
            ids, starts, sizes, self.heads.part, scale, self.epsilon, self.pooling, self.normalized,
            (arrays["inside"], arrays["tokens"], arrays["positions"]), norms, stacks, scratch, padded,
        )  # fmt: skip
        out[:] = padded.reshape(out.shape[0], -1)[:, : self.axis.size]


def load(file: GgufFile, keep: Keep) -> Bert:
    """`keep` gives the arrays that a function makes, or has made before. Raises BadModelFile and UnsupportedModel."""
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
    return Bert(
        axis=narrow,
        inner=wide.padded,
        layers=layers,
        heads=by_head,
        context=context,
        epsilon=epsilon,
        pooling=pooling,
        normalized="cloister.normalize" not in file.metadata or file.require("cloister.normalize", bool),
        arrays=keep(lambda: _arrays(file, layers, context, narrow, wide, by_head)),
    )


def _arrays(file: GgufFile, layers: int, context: int, narrow: Axis, wide: Axis, by_head: Axis) -> Arrays:
    """All weights in their execution layout, by name."""
    vocabulary = len(file.require("tokenizer.ggml.tokens", list))

    def norm(name: str, tensors: list[str]) -> Arrays:
        parts = {"gain": "weight", "shift": "bias"}
        return {f"{name}.{to}": read_vectors(file, [f"{t}.{of}" for t in tensors], narrow) for to, of in parts.items()}

    def stack(name: str, parts: tuple[str, ...], rows: Axis, columns: Axis) -> Arrays:
        names = [[f"blk.{i}.{part}" for part in parts] for i in range(layers)]
        return read_stack(file, name, names, rows, columns, GROUPS[name])

    kinds = expect(file, "token_types.weight", (None, narrow.size)).shape[0]
    first_kind = read_rows(file, "token_types.weight", kinds, narrow)[: narrow.padded]
    positions = read_rows(file, "position_embd.weight", context, narrow).reshape(context, -1) + first_kind
    inside = np.zeros(narrow.padded, np.float32)
    inside[narrow.at] = 1
    return {
        "inside": inside,
        "tokens": read_rows(file, "token_embd.weight", vocabulary, narrow),
        "positions": positions.reshape(-1),
        **norm("first", ["token_embd_norm"]),
        **stack("qkv", ("attn_q", "attn_k", "attn_v"), by_head, narrow),
        **stack("out", ("attn_output",), narrow, by_head),
        **norm("middle", [f"blk.{i}.attn_output_norm" for i in range(layers)]),
        **stack("up", ("ffn_up",), wide, narrow),
        **stack("down", ("ffn_down",), narrow, wide),
        **norm("last", [f"blk.{i}.layer_output_norm" for i in range(layers)]),
    }


@entry
def encode(
    ids: I32, starts: I64, sizes: tuple[int, ...], depth: int, scale: Float, epsilon: Float, pooling: int,
    normalized: bool, tables: tuple[F32, F32, F32], norms: tuple[Norm, Norm, Norm], stacks: tuple[Matrices, ...],
    scratch: tuple[Any, ...], result: F32,
) -> None:  # fmt: skip
    """The forward pass as one compiled function: embeddings, layers, pooling. Arguments as in `Bert`."""
    size, width, inner, layers, heads, queries = sizes
    inside, tokens, positions = tables
    first_norm, middle_norm, last_norm = norms
    qkv_weights, out_weights, up, down = stacks
    x, qkv, mixed, hidden, products, attention = scratch
    count, exact = ids.size, qkv_weights[1].size > 0
    start()
    for s in range(starts.size - 1):
        for t in range(starts[s], starts[s + 1]):
            token, position = ids[t] * width, (t - starts[s]) * width
            for i in range(0, width, LANES):
                v = add(load_f32(tokens, token + i), load_f32(positions, position + i))
                store_f32(x, place(t, i, width), v)
    norm_rows(x, count, first_norm, 0, inside, size, width, epsilon, x)
    for layer in range(layers):
        project(x, 0, count, width, qkv_weights, layer, 3 * queries, PLAIN, qkv, 0, products)
        attend_all(qkv, starts, queries, heads, depth, scale, 0, exact, attention, mixed)
        project(mixed, 0, count, queries, out_weights, layer, width, ADD, x, 0, products)
        norm_rows(x, count, middle_norm, layer, inside, size, width, epsilon, x)
        for t in range(0, count, FFN_ROWS):
            rows = min(FFN_ROWS, count - t)
            project(x, t, rows, width, up, layer, inner, GELU, hidden, 0, products)
            project(hidden, 0, rows, inner, down, layer, width, ADD, x, t, products)
        norm_rows(x, count, last_norm, layer, inside, size, width, epsilon, x)
    for s in range(starts.size - 1):
        pooled = starts[s + 1] - starts[s] if pooling == POOL_MEAN else 1
        mean_pool(x, starts[s], pooled, width, result, s * width)
        if normalized:
            normalize(result, s * width, width)
    stop()
