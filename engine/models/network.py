"""An encoder of any architecture: token ids in, the states of the last layer out."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from engine.errors import BadModelFile, UnsupportedModel
from engine.gguf import GgufFile
from engine.kernels.attention import Heads
from engine.kernels.matmul import aligned
from engine.kernels.rope import MAX_CONTEXT
from engine.kernels.rows import LayerNorm
from engine.models.layers import (
    FFN_ROWS,
    Scratch,
    Seen,
    Stacks,
    Tables,
    Tokens,
    Weights,
    attention_scratch,
    linear_scratch,
)
from engine.models.layers import Sizes as KernelSizes
from engine.models.stored import Arrays
from engine.models.weights import STACKS, Axis, Stack
from engine.simd import F32, I32, I64, Float


@dataclass(frozen=True)
class Sizes:
    """The sizes of an encoder; an `Axis` is padded."""

    d_model: Axis
    d_ff: Axis
    queries: Axis  # of all heads' queries; its parts are heads, or halves of heads with rotary positions
    heads: int
    layers: int
    context: int
    epsilon: np.float32

    @property
    def head_dim(self) -> int:
        """The values of a head, without padding."""
        return self.d_model.size // self.heads

    @property
    def head_places(self) -> int:
        """The places of a head, a multiple of 16."""
        return self.queries.part * self.queries.parts // self.heads

    @property
    def scale(self) -> Float:
        """The factor of scores, 1 / sqrt(head_dim)."""
        return np.float32(1) / np.sqrt(np.float32(self.head_dim))


def read_sizes(file: GgufFile, name: str, *, rotary: bool) -> Sizes:
    """The sizes of an encoder of the architecture `name`. Raises BadModelFile and UnsupportedModel."""

    def number(key: str) -> int:
        return file.require(f"{name}.{key}", int)

    d_model, d_ff, layers = number("embedding_length"), number("feed_forward_length"), number("block_count")
    heads, context = number("attention.head_count"), number("context_length")
    epsilon = np.float32(file.require(f"{name}.attention.layer_norm_epsilon", float))
    if not 0 < epsilon < 1:
        raise BadModelFile(f"{file.path}: found the layer norm epsilon {epsilon}, expected one between 0 and 1")
    parts = 2 * heads if rotary else heads
    if min(d_model, d_ff, layers, heads, context) < 1 or d_model % parts or layers > len(file.tensors):
        found = f"{layers} blocks of width {d_model} and inner width {d_ff} with {heads} heads, context {context}"
        halves = "the halves of heads" if rotary else "the heads"
        raise BadModelFile(f"{file.path}: found {found}, expected positive numbers and a width that {halves} divide")
    if rotary and context > MAX_CONTEXT:
        raise UnsupportedModel(f"{file.path}: {name}.context_length: found {context}, expected at most {MAX_CONTEXT}")
    if file.metadata.get(f"{name}.attention.causal", False) is not False:
        raise UnsupportedModel(f"{file.path}: {name}.attention.causal is set; this engine computes encoders")
    return Sizes(Axis(d_model), Axis(d_ff), Axis(d_model, parts), heads, layers, context, epsilon)


def read_base(file: GgufFile, key: str) -> float:
    """A base of rotary positions. Raises BadModelFile."""
    base = file.require(key, float)
    if not 1 <= base < np.inf:
        raise BadModelFile(f"{file.path}: {key}: found {base}, expected a number from 1 on")
    return base


@dataclass(frozen=True)
class Network:
    """An encoder: its weights as they are executed, the layers one after another."""

    sizes: Sizes
    arrays: Arrays

    NORMS: ClassVar[tuple[str, ...]]
    GATED: ClassVar[bool]  # whether the feed-forward layer has two halves, one of which is the other's gate
    COPIED: ClassVar[bool]  # whether norms have another output than their input

    def encode(self, tokens: Tokens, weights: Weights, scratch: Scratch) -> None:
        """scratch.x becomes the states of the last layer."""
        raise NotImplementedError

    def states(self, ids: I32, kinds: I32, starts: I64, scratch: Scratch) -> F32:
        """The last layer, float32 [tokens, padded d_model] in tiles (kernels/rows.py), a part of the scratch.

        ids and kinds int32 of all sequences, one after another; sequence i is ids[starts[i]:starts[i + 1]], int64.
        """
        self.encode(Tokens(ids, kinds, starts), self.weights, scratch)
        return scratch.x

    @property
    def windows(self) -> I64:
        """How far away tokens see each other in each layer, int64 [layers]; 0: the whole text."""
        return np.zeros(self.sizes.layers, np.int64)

    @property
    def exact(self) -> bool:
        """Whether attention is computed in float32, and with a file of one type everything."""
        return self.arrays["v.floats"].size > 0

    @property
    def kinds(self) -> int:
        """How many texts of a pair are told apart; 0 where the architecture has no token types."""
        return self.arrays["kinds"].size // self.sizes.d_model.padded

    @cached_property
    def weights(self) -> Weights:
        """The weights and sizes, as kernels take them."""
        sizes, arrays = self.sizes, self.arrays
        queries = sizes.queries.padded
        near = arrays.get("near angles", arrays["angles"])
        return Weights(
            sizes=KernelSizes(sizes.layers, sizes.d_model.padded, queries, sizes.d_ff.padded),
            heads=Heads(sizes.heads, sizes.head_places, queries, 0, 0, sizes.scale, np.float32(0)),
            tables=Tables(arrays["tokens"], arrays["positions"], arrays["kinds"]),
            norms=tuple(layer_norm(arrays, name, sizes) for name in self.NORMS),
            stacks=Stacks(*(Stack.of(arrays, name, sizes.layers) for name in STACKS)), windows=self.windows,
            angles=arrays["angles"], near_angles=near, exact=self.exact,
        )  # fmt: skip

    def scratch(self, tokens: int) -> Scratch:
        """The memory of one thread for blocks of up to `tokens` tokens."""
        _, width, queries, d_ff = self.weights.sizes
        rows, some = tokens + 64, FFN_ROWS + 64
        floats = any(self.arrays[f"{name}.floats"].size for name in STACKS)
        return Scratch(
            x=aligned(rows * width, np.float32), qkv=aligned(rows * 3 * queries, np.float32),
            mixed=aligned(rows * queries, np.float32),
            hidden=aligned(some * d_ff if self.GATED or floats else 0, np.float32),
            halves=aligned(some * 2 * d_ff if self.GATED else 0, np.float32),
            normed=aligned(rows * width if self.COPIED else 0, np.float32),
            products=linear_scratch(tokens, max(queries, width), FFN_ROWS, d_ff, floats=floats),
            attention=attention_scratch(tokens, self.sizes.head_places, queries, exact=self.exact),
            seen=Seen(aligned(0, np.float32), aligned(0, np.float32)),
        )  # fmt: skip


def layer_norm(arrays: Arrays, name: str, sizes: Sizes) -> LayerNorm:
    """The norm that `read_norm` made under this name."""
    weights, biases = arrays[f"{name}.weights"], arrays[f"{name}.biases"]
    return LayerNorm(weights, biases, arrays["inside"], sizes.d_model.size, sizes.epsilon)
