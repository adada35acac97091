"""An encoder of any architecture: token ids in, the states of the last layer out."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from engine.kernels.attention.attention import Heads
from engine.kernels.rows import LayerNorm
from engine.models.layers import FFN_ROWS, Scratch, Seen, Stacks, Weights, aligned, attention_scratch, linear_scratch
from engine.models.layers import Sizes as KernelSizes
from engine.models.lookup import Tables, Tokens
from engine.models.sizes import Sizes
from engine.models.stored import Arrays
from engine.models.weights import STACKS, Stack
from engine.simd import F32, I32, I64


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
        """The last layer, float32 [tokens, padded d_model] in tiles (kernels/places.py), a part of the scratch.

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
            heads=Heads(sizes.heads, sizes.head_places, queries, sizes.scale, 0),
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
