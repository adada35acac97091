"""The arguments of a decoder's forward pass: named tuples of arrays and numbers, as compiled code takes them."""

from typing import NamedTuple

from engine.kernels.attention.paged_operands import KvCache
from engine.kernels.matmul.arguments import Matrices, Scratch
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
    """Memory of a step: rows in tiles (kernels/places.py), then what each thread needs."""

    x: F32
    normed: F32
    qkv: F32
    mixed: F32
    other: F32  # what is normed or scaled before it is added to x
    gates: F32
    ups: F32
    logits: F32
    experts: Experts
    attention: F32  # [threads, ...]
    narrow: I8  # [threads, 64]
    products: Scratch
