"""What all architectures are to the engine: token ids in, the states of the last layer out."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from engine.models.layers import Matrices, Norm, aligned, attention_scratch, linear_scratch
from engine.models.lookup import Tables
from engine.models.sizes import Sizes
from engine.models.stored import Arrays
from engine.models.weights import GROUPS, Stack
from engine.simd import F32, I32, I64

FFN_ROWS = 128  # whose inner values stay in the cache


@dataclass(frozen=True)
class Network:
    """An encoder: its weights as they are executed, the layers one after another."""

    sizes: Sizes
    arrays: Arrays

    NORMS: ClassVar[tuple[str, ...]]
    GATED: ClassVar[bool]  # whether the inner values come in two halves
    COPIED: ClassVar[bool]  # whether the norms do not overwrite what they are of

    def states(self, ids: I32, kinds: I32, starts: I64, scratch: tuple[Any, ...]) -> F32:
        """The last layer, float32 [tokens, padded width] in tiles (kernels/places.py), a part of the scratch.

        ids and kinds int32 of all sequences, one after another; sequence i is ids[starts[i]:starts[i + 1]], int64.
        """
        raise NotImplementedError

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
        return self.arrays["kinds"].size // self.sizes.width.padded

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """size and padded width of a token, padded inner width, layers, heads, padded width of queries, places of a
        head."""
        sizes = self.sizes
        width, inner, queries = sizes.width, sizes.inner.padded, sizes.queries.padded
        return width.size, width.padded, inner, sizes.layers, sizes.heads, queries, sizes.head

    @cached_property
    def tables(self) -> Tables:
        return self.arrays["tokens"], self.arrays["positions"], self.arrays["kinds"]

    @cached_property
    def norms(self) -> tuple[Norm, ...]:
        return tuple((self.arrays[f"{name}.gain"], self.arrays[f"{name}.shift"]) for name in self.NORMS)

    @cached_property
    def stacks(self) -> tuple[Matrices, ...]:
        return tuple(Stack.of(self.arrays, name).arrays for name in GROUPS)

    def scratch(self, tokens: int) -> tuple[Any, ...]:
        """What one thread needs for blocks of up to `tokens` tokens: states, queries to values, what attention mixes,
        inner values, their two halves, normed states; for products; for attention."""
        _, width, inner, _, _, queries, head = self.shape
        rows, some = tokens + 64, FFN_ROWS + 64
        floats = any(self.arrays[f"{name}.floats"].size for name in GROUPS)
        return (
            aligned(rows * width, np.float32), aligned(rows * 3 * queries, np.float32),
            aligned(rows * queries, np.float32), aligned(some * inner if self.GATED or floats else 0, np.float32),
            aligned(some * 2 * inner if self.GATED else 0, np.float32),
            aligned(rows * width if self.COPIED else 0, np.float32),
            linear_scratch(tokens, max(queries, width), FFN_ROWS, inner, floats=floats),
            attention_scratch(tokens, head, queries, exact=self.exact),
        )  # fmt: skip
