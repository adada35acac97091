"""The arguments of a decoder's forward pass: named tuples of arrays and numbers, as compiled code takes them."""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.kernels.attention.paged import Work
from engine.kernels.attention.paged_operands import PAGE, KvCache
from engine.kernels.matmul.operands import Matrices, Scratch
from engine.models.decoders.shape import Shape
from engine.simd import F32, I8, I32, I64, Float

TILE_FIRST, TILE_ROWS, TILE_POSITION, TILE_TABLE = range(4)
"""Columns of `Step.tiles`: first row, rows, position of the first, and where its sequence's table begins."""


class Sizes(NamedTuple):
    """The sizes of a decoder; rows of values are padded to places."""

    layers: int
    matrices: int  # of a layer
    norms: int  # places of the weights of a layer's norms
    d_model: int  # values of a token's vector
    row: int  # places of d_model values
    d_ff: int  # places
    heads: int
    kv_heads: int
    head_dim: int  # values of a head
    stride: int  # places of a head among queries, keys and values, which are `qkv` places
    qkv: int
    mixed: int  # places of the head_dim values of all heads
    vocab: int
    logits: int  # places of `vocab` values
    experts: int
    experts_used: int


class Rules(NamedTuple):
    """The rules in which architectures differ."""

    qk_norm: bool  # queries and keys are normed
    post_norms: bool  # what attention and the feed-forward layer add is normed
    gelu: bool  # else SiLU
    epsilon: Float
    query_scale: Float
    score_cap: Float  # tanh(score) * cap; 0: none
    residual_scale: Float
    logit_divisor: Float
    logit_cap: Float


class Model(NamedTuple):
    """A decoder's matrices and the weights of its norms; for each layer the window, 0: none; and `Rotation.angles` for
    layers without a window and with one."""

    matrices: Matrices
    norms: F32
    windows: I64
    angles: F32
    near_angles: F32
    sizes: Sizes
    rules: Rules


class Layer(NamedTuple):
    """Where a layer's weights and pages begin."""

    matrix: int
    norms: int
    head: int  # in the KV cache
    window: int
    is_last: bool  # of which only the wanted rows need more than keys and values


class Step(NamedTuple):
    """The rows of a step: positions, where the tables of their sequences begin in `tables`, and the rows whose logits
    are wanted, in order.

    tiles int64 [n, 4]: what attention computes at once, for each of `split` groups of the heads that share keys;
    `wanted_tiles` only for the wanted rows.
    """

    positions: I32
    table_starts: I32
    tables: I32
    wanted: I32
    tiles: I64
    wanted_tiles: I64
    split: int
    cache: KvCache
    pages: int  # of the cache


class Experts(NamedTuple):
    """Memory for experts: those chosen for each row [rows, experts_used] and their weights; scores of the router; the
    rows of one expert and its answers."""

    chosen: I32
    weights: F32
    scores: F32
    rows: F32
    answers: F32


class Memory(NamedTuple):
    """Memory of a step: rows in tiles (`rows.place`), then what each thread needs."""

    x: F32
    normed: F32
    qkv: F32
    mixed: F32
    other: F32  # what is normed or scaled before it is added to x
    gates: F32
    ups: F32
    logits: F32
    experts: Experts
    attention: Work  # of each thread
    narrow: I8  # [threads, 64]
    products: Scratch


Kind = Literal["float16", "int8"]
_BYTES: dict[str, int] = {"float16": 2, "int8": 1}


class Pages:
    """`count` pages of every layer: keys [layer][page][head][stride][PAGE], values [layer][page][head][PAGE][stride].

    Memory is the system's until it is written. ValueError for another kind.
    """

    def __init__(self, count: int, shape: Shape, kind: Kind = "float16") -> None:
        if kind not in _BYTES:
            raise ValueError(f"keys and values are float16 or int8, not {kind!r:.40}")
        self.count, self.kind, self._shape = count, kind, shape
        parts = (shape.layers, count, shape.kv_heads)
        self._keys: NDArray[Any] = np.zeros((*parts, PAGE * shape.head_stride * _BYTES[kind]), np.int8)
        self._values: NDArray[Any] = np.zeros(self._keys.shape, np.int8)  # zeros_like would write it
        self._scales: F32 = np.zeros((*parts, 2 * PAGE), np.float32)

    @property
    def cache(self) -> KvCache:
        """The pages as kernels take them."""
        keys, values = self._keys.reshape(-1), self._values.reshape(-1)
        return KvCache(keys, values, self._scales.reshape(-1), self.kind == "int8", self._shape.head_stride)

    @property
    def bytes_per_page(self) -> int:
        return self._shape.layers * self._shape.kv_heads * 2 * PAGE * (self._shape.head_stride * _BYTES[self.kind] + 4)

    def copy(self, source: int, target: int) -> None:
        """Page `target` becomes as page `source` is."""
        for array in (self._keys, self._values, self._scales):
            array[:, target] = array[:, source]
