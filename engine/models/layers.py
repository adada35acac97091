"""Layers of encoders, compiled: linear maps, attention, norms, and what they need as named tuples."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from engine.codegen import start_tiles, stop_tiles
from engine.codegen.group_tile import GROUP, RAISED
from engine.kernels.attention.attention import Heads, Work, attend, work_sizes
from engine.kernels.attention.attention_float import FloatWork, attend_float, float_work_sizes
from engine.kernels.compiled import kernel
from engine.kernels.matmul import grouped
from engine.kernels.matmul.arguments import Target
from engine.kernels.matmul.grouped import Operand, multiply, multiply_gelu, quantize
from engine.kernels.matmul.linear import ADD, ISA, PLAIN, SUMS
from engine.kernels.matmul.linear_float import FloatLayer, linear_float
from engine.kernels.places import place
from engine.kernels.rope import rope
from engine.kernels.rows import LayerNorm, gelu_rows, layer_norm, line_up
from engine.models.lookup import Tables, Tokens
from engine.models.weights import Stack
from engine.simd import (
    F32,
    I8,
    I64,
    LANES,
    larger,
    load_f32,
    magnitude,
    store_f32,
)

FFN_ROWS = 128
"""Rows that pass the feed-forward layer together: their d_ff values stay in the cache."""
QKV_ROWS = 128
"""Rows whose queries, keys and values are made together, a multiple of 16: those of short texts stay in the cache."""
FIRST = np.int64(0)
"""The first row or column, as numba wants it: see matmul.PLAIN."""
_LINE = 64  # bytes of a cache line: a vector that crosses none is read at once


class Stacks(NamedTuple):
    """The matrices of an encoder."""

    qk: Stack
    v: Stack
    out: Stack
    up: Stack
    down: Stack


class Sizes(NamedTuple):
    """Places of a token's vector, of all queries and of the values inside the feed-forward layer."""

    layers: int
    d_model: int
    queries: int
    d_ff: int


class Weights(NamedTuple):
    """An encoder as its forward pass takes it: tables, norms and matrices; for each layer the window (0: none), and the
    angles of rotary positions for layers without a window and with one, empty if positions are learned."""

    sizes: Sizes
    heads: Heads
    tables: Tables
    norms: tuple[LayerNorm, ...]
    stacks: Stacks
    windows: I64
    angles: F32
    near_angles: F32
    exact: bool  # attention is computed in float32


class LinearScratch(NamedTuple):
    """Scratch of linear maps: rows as integers and their scales, rows as float32, totals of tiles; and, between
    `expand` and `contract`, an operand and its scales, made of a few rows of a group at a time."""

    quants: I8
    scales: F32
    lined: F32
    totals: F32
    operand: I8
    operand_scales: F32
    between: F32


class AttentionScratch(NamedTuple):
    """Scratch of attention, by integers or in float32."""

    integers: Work
    floats: FloatWork


class Seen(NamedTuple):
    """The greatest magnitudes of what goes into the attention and the feed-forward part of each layer, [layers *
    d_model]; empty where nobody wants to know."""

    attention: F32
    feed_forward: F32


class Scratch(NamedTuple):
    """Memory of one thread for a block of texts: rows in tiles, d_ff values of FFN_ROWS rows, and scratch."""

    x: F32
    qkv: F32
    mixed: F32
    hidden: F32
    halves: F32
    normed: F32
    products: LinearScratch
    attention: AttentionScratch
    seen: Seen


class Rows(NamedTuple):
    """Rows of x [tokens, width] from `first` on, a multiple of 16."""

    x: F32
    first: int | np.int64
    width: int


def aligned(count: int, dtype: Any) -> Any:
    """Zeros that begin on a cache line."""
    size = count * np.dtype(dtype).itemsize
    memory = np.zeros(size + _LINE, np.uint8)
    first = -memory.ctypes.data % _LINE
    return memory[first : first + size].view(dtype)


def linear_scratch(tokens: int, values: int, rows: int, d_ff: int, *, floats: bool) -> LinearScratch:
    """Scratch for so many tokens of up to so many values, and for so many rows of d_ff values; `floats`: if any matrix
    is float32."""
    tokens, rows = (-(-count // LANES) * LANES + LANES for count in (tokens, rows))
    most = max(tokens * values, rows * d_ff)
    return LinearScratch(
        aligned(2 * most, np.int8), aligned(most // GROUP, np.float32), aligned(most if floats else 0, np.float32),
        aligned(max(2 * SUMS, grouped.TOTALS), np.float32), aligned(2 * rows * d_ff, np.int8),
        aligned(rows * d_ff // GROUP, np.float32), aligned(grouped.BETWEEN * GROUP, np.float32),
    )  # fmt: skip


def attention_scratch(tokens: int, head_dim: int, width: int, *, exact: bool) -> AttentionScratch:
    """Scratch for sequences of up to so many tokens."""
    sizes = work_sizes(tokens, head_dim)
    names = ("queries", "keys", "values", "weights")
    queries, keys, values, weights = (aligned(sizes[name], np.int8) for name in names)
    scores, scales = aligned(sizes["scores"], np.int32), aligned(sizes["scales"], np.float32)
    integers = Work(
        queries, keys, values, weights if weights.size else scores.view(np.int8), scores, scales,
        aligned(sizes["sums"], np.int32), aligned(sizes["rows"], np.int32),
    )  # fmt: skip
    floats = (*float_work_sizes(tokens, head_dim), (tokens + LANES) * 3 * width, (tokens + LANES) * width)
    return AttentionScratch(integers, FloatWork(*(aligned(size if exact else 0, np.float32) for size in floats)))


@kernel
def start() -> None:
    """Prepare the CPU for products; called before the first one of a compiled function."""
    if ISA == "amx":
        start_tiles()


@kernel
def stop() -> None:
    """Give back what `start` took; called after the last product of a compiled function."""
    if ISA == "amx":
        stop_tiles()  # type: ignore[call-arg]


@kernel
def notice(x: F32, count: int, width: int, layer: int, greatest: F32) -> None:
    """Take the magnitudes of x [count, width] into those of a layer, if anybody wants to know them."""
    for i in range(0, width if greatest.size else 0, LANES):
        at = layer * width + i
        peak = load_f32(greatest, at)
        for t in range(count):
            peak = larger(magnitude(load_f32(x, place(t, i, width))), peak)
        store_f32(greatest, at, peak)


@kernel
def project(
    source: Rows, target: Rows, count: int, stack: Stack, layer: int, mode: int, scratch: LinearScratch
) -> None:
    """`count` rows of the target = those of the source @ weights of the layer + bias, or are added (matmul.ADD)."""
    _take(source, count, stack, layer, scratch)
    _multiply(count, source.width, stack, layer, mode, target, FIRST, scratch)


@kernel
def project_qkv(source: Rows, count: int, stacks: Stacks, layer: int, n: int, out: F32, scratch: LinearScratch) -> None:
    """`count` rows of out [tokens, 3 * n]: queries, keys and values of those of the source, n of each."""
    target = Rows(out, source.first, 3 * n)
    _take(source, count, stacks.qk, layer, scratch)
    _multiply(count, source.width, stacks.qk, layer, PLAIN, target, FIRST, scratch)
    if stacks.v.digits != stacks.qk.digits:
        _take(source, count, stacks.v, layer, scratch)
    _multiply(count, source.width, stacks.v, layer, PLAIN, target, 2 * n, scratch)


@kernel
def expand(source: Rows, hidden: Rows, count: int, stacks: Stacks, layer: int, scratch: LinearScratch) -> None:
    """GELU(`count` rows @ up + bias), for `contract`: as an operand in `scratch`, or, where one of both matrices is
    float32, as hidden[count, d_ff]."""
    up = stacks.up
    if up.floats.size or stacks.down.floats.size:
        project(source, hidden, count, up, layer, PLAIN, scratch)
        gelu_rows(hidden.x, count, hidden.width)
    else:
        _take(source, count, up, layer, scratch)
        left, out = _left(count, source.width, up, scratch), _inner(count, hidden.width, stacks, scratch)
        factors = stacks.down.inverses[layer * hidden.width :]
        multiply_gelu(left, _matrix(up, layer), out, scratch.between, factors, scratch.totals)


@kernel
def contract(hidden: Rows, target: Rows, count: int, stacks: Stacks, layer: int, scratch: LinearScratch) -> None:
    """`count` rows of the target += what `expand` made @ down + bias."""
    down = stacks.down
    if stacks.up.floats.size or down.floats.size:
        project(hidden, target, count, down, layer, ADD, scratch)
    else:
        left, to = _inner(count, hidden.width, stacks, scratch), Target(target.x, target.width, FIRST, ADD)
        bias = down.raised if left.kind == RAISED else down.bias
        matrix = grouped.Layer(down.weights, down.scales, bias, layer, down.n)
        multiply(left, matrix, to, target.first, scratch.totals)


@kernel
def _matrix(stack: Stack, layer: int) -> grouped.Layer:
    """The matrix of a layer, of integers."""
    return grouped.Layer(stack.weights, stack.scales, stack.bias, layer, stack.n)


@kernel
def _left(count: int, k: int, stack: Stack, scratch: LinearScratch) -> Operand:
    """The rows that were taken for this kind of matrices."""
    return Operand(scratch.quants, scratch.scales, count, k, stack.digits)


@kernel
def _inner(count: int, k: int, stacks: Stacks, scratch: LinearScratch) -> Operand:
    """The rows between both matrices of the feed-forward part: raised where they have one digit."""
    kind = np.int64(RAISED) if stacks.down.digits == 1 else stacks.down.digits
    return Operand(scratch.operand, scratch.operand_scales, count, k, kind)


@kernel
def _take(source: Rows, count: int, stack: Stack, layer: int, scratch: LinearScratch) -> None:
    """`count` rows as the left operand of the matrix of a layer."""
    if stack.floats.size:
        line_up(source.x, source.first, count, source.width, scratch.lined)
    else:
        left, factors = _left(count, source.width, stack, scratch), stack.inverses[layer * source.width :]
        quantize(source.x, source.first, factors, left)


@kernel
def _multiply(
    count: int, k: int, stack: Stack, layer: int, mode: int, target: Rows, column: int, scratch: LinearScratch
) -> None:
    """`count` rows of the target, the columns from `column` on = what was taken @ weights + bias."""
    to = Target(target.x, target.width, column, mode)
    if stack.floats.size:
        matrix = FloatLayer(stack.floats, stack.bias, layer, stack.n)
        linear_float(scratch.lined, count, k, matrix, to, target.first, scratch.totals)
    else:
        multiply(_left(count, k, stack, scratch), _matrix(stack, layer), to, target.first, scratch.totals)


@kernel
def attend_all(qkv: F32, starts: I64, heads: Heads, exact: bool, scratch: AttentionScratch, out: F32) -> None:
    """Attention of every sequence: out[tokens, width] of qkv [tokens, 3 * width]; in float32 if `exact`."""
    width, floats = heads.width, scratch.floats
    for s in range(starts.size - 1):
        first, count = starts[s], starts[s + 1] - starts[s]
        if exact:
            line_up(qkv, first, count, 3 * width, floats.lined)
            attend_float(floats.lined, count, heads, floats, floats.mixed)
            for t in range(count):
                for i in range(0, width, LANES):
                    store_f32(out, place(first + t, i, width), load_f32(floats.mixed, t * width + i))
        else:
            attend(qkv, first, count, heads, scratch.integers, out)


@kernel
def attend_layer(tokens: Tokens, source: F32, weights: Weights, layer: int, scratch: Scratch) -> None:
    """x += the output of a layer's attention to `source`."""
    sizes, heads, qkv, count = weights.sizes, weights.heads, scratch.qkv, tokens.ids.size
    notice(source, count, sizes.d_model, layer, scratch.seen.attention)
    n, window = sizes.queries, weights.windows[layer]
    here, last = Heads(heads.number, heads.head_dim, n, heads.scale, window), 0
    for t in range(0, count, QKV_ROWS):
        rows, first = min(QKV_ROWS, count - t), last
        project_qkv(Rows(source, t, sizes.d_model), rows, weights.stacks, layer, n, qkv, scratch.products)
        while last + 1 < tokens.starts.size and tokens.starts[last + 1] <= t + rows:
            last += 1
        starts = tokens.starts[first : last + 1]  # of texts that have all of their rows now
        if weights.angles.size:
            angles, half = weights.near_angles if window else weights.angles, heads.head_dim // 2
            rope(qkv, starts, 3 * n, FIRST, heads.number, half, angles)
            rope(qkv, starts, 3 * n, n, heads.number, half, angles)
        attend_all(qkv, starts, here, weights.exact, scratch.attention, scratch.mixed)
    mixed, x = Rows(scratch.mixed, FIRST, n), Rows(scratch.x, FIRST, sizes.d_model)
    project(mixed, x, count, weights.stacks.out, layer, ADD, scratch.products)


def gated_layer(glu: Callable[..., None]) -> Any:
    """A kernel feed_forward(source, count, weights, layer, scratch): x += down @ glu(up @ source), as kernels/glu.py;
    `glu` has a last argument more, whether the model is exact."""

    @kernel
    def feed_forward(source: F32, count: int, weights: Weights, layer: int, scratch: Scratch) -> None:
        d_model, d_ff, stacks = weights.sizes.d_model, weights.sizes.d_ff, weights.stacks
        halves, hidden = Rows(scratch.halves, FIRST, 2 * d_ff), Rows(scratch.hidden, FIRST, d_ff)
        notice(source, count, d_model, layer, scratch.seen.feed_forward)
        for t in range(0, count, FFN_ROWS):
            rows = min(FFN_ROWS, count - t)
            project(Rows(source, t, d_model), halves, rows, stacks.up, layer, PLAIN, scratch.products)
            glu(scratch.halves, rows, d_ff, scratch.hidden, weights.exact)
            project(hidden, Rows(scratch.x, t, d_model), rows, stacks.down, layer, ADD, scratch.products)

    return feed_forward


@kernel
def norm_rows(x: F32, count: int, norm: LayerNorm, layer: int, out: F32) -> None:
    """out[count, d_model] = layer norm of x[count, d_model], with the weights and biases of the layer; up to three rows
    more, which both have room for, are computed too."""
    width = norm.inside.size
    for t in range(0, count, 4):
        layer_norm(x, out, place(t, 0, width), norm, layer * width)
