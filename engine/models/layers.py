"""Layers of encoders, compiled: linear maps, attention, norms, and what they need as named tuples."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from engine.kernels.attention import Heads, Work, attend, new_work
from engine.kernels.attention.floats import FloatWork, attend_float, new_float_work
from engine.kernels.matmul import ADD, FIRST, ISA, PLAIN, Rows, Target, aligned
from engine.kernels.matmul.encoder import BETWEEN, TOTALS, Matrix, Operand, matmul, matmul_gelu, quantize
from engine.kernels.rope import rope
from engine.kernels.rows import LayerNorm, gelu_rows, layer_norm, line_up, place
from engine.models.weights import Stack
from engine.simd import F32, I8, I32, I64, LANES, fetch, larger, load_f32, magnitude, store_f32
from engine.simd.compiled import kernel
from engine.tiles.amx import start_tiles, stop_tiles
from engine.tiles.grouped import GROUP, RAISED

FFN_ROWS = 128
"""Rows that pass the feed-forward layer together: their d_ff values stay in the cache."""
QKV_ROWS = 128
"""Rows whose queries, keys and values are made together, a multiple of 16: those of short texts stay in the cache."""


class Tokens(NamedTuple):
    """The tokens of all sequences, one after another: ids, the text of a pair that each is of, and where sequences
    begin, [sequences + 1]."""

    ids: I32
    kinds: I32
    starts: I64


class Tables(NamedTuple):
    """Vectors of tokens, positions and kinds; the latter two may be empty."""

    tokens: F32
    positions: F32
    kinds: F32


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


def linear_scratch(tokens: int, values: int, rows: int, d_ff: int, *, floats: bool) -> LinearScratch:
    """Scratch for so many tokens of up to so many values, and for so many rows of d_ff values; `floats`: if any matrix
    is float32."""
    tokens, rows = (-(-count // LANES) * LANES + LANES for count in (tokens, rows))
    most = max(tokens * values, rows * d_ff)
    return LinearScratch(
        quants=aligned(2 * most, np.int8), scales=aligned(most // GROUP, np.float32),
        lined=aligned(most if floats else 0, np.float32), totals=aligned(TOTALS, np.float32),
        operand=aligned(2 * rows * d_ff, np.int8), operand_scales=aligned(rows * d_ff // GROUP, np.float32),
        between=aligned(BETWEEN * GROUP, np.float32),
    )  # fmt: skip


def attention_scratch(tokens: int, head_dim: int, width: int, *, exact: bool) -> AttentionScratch:
    """Scratch for sequences of up to so many tokens."""
    return AttentionScratch(new_work(tokens, head_dim), new_float_work(tokens, head_dim, width, exact=exact))


@kernel
def start() -> None:
    """Prepare the CPU for products; called before the first one of a compiled function."""
    if ISA == "amx":
        start_tiles()


@kernel
def stop() -> None:
    """Give back what `start` took; called after the last product of a compiled function."""
    if ISA == "amx":
        stop_tiles()


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
def project(source: Rows, target: Target, count: int, stack: Stack, layer: int, scratch: LinearScratch) -> None:
    """`count` rows of the target = those of the source @ weights of the layer + bias, as its mode says."""
    left, matrix = _left(count, source.width, stack, scratch), matrix_of(stack, layer, source.width)
    quantize(source, matrix, left)
    matmul(left, matrix, target, scratch.totals)


@kernel
def project_qkv(source: Rows, count: int, stacks: Stacks, layer: int, n: int, out: F32, scratch: LinearScratch) -> None:
    """`count` rows of out [tokens, 3 * n]: queries, keys and values of those of the source, n of each."""
    project(source, Target(out, 3 * n, source.first, FIRST, PLAIN), count, stacks.qk, layer, scratch)
    left, matrix = _left(count, source.width, stacks.v, scratch), matrix_of(stacks.v, layer, source.width)
    if stacks.v.digits != stacks.qk.digits:
        quantize(source, matrix, left)
    matmul(left, matrix, Target(out, 3 * n, source.first, 2 * n, PLAIN), scratch.totals)


@kernel
def expand(source: Rows, hidden: Rows, count: int, stacks: Stacks, layer: int, scratch: LinearScratch) -> None:
    """GELU(`count` rows @ up + bias), for `contract`: as an operand in `scratch`, or, where one of both matrices is
    float32, as hidden[count, d_ff]."""
    up, down = stacks.up, stacks.down
    if up.floats.size or down.floats.size:
        project(source, Target(hidden.x, hidden.width, hidden.first, FIRST, PLAIN), count, up, layer, scratch)
        gelu_rows(hidden.x, count, hidden.width)
    else:
        left, matrix = _left(count, source.width, up, scratch), matrix_of(up, layer, source.width)
        quantize(source, matrix, left)
        factors, out = matrix_of(down, layer, hidden.width).factors, _inner(count, hidden.width, stacks, scratch)
        matmul_gelu(left, matrix, out, factors, scratch.between, scratch.totals)


@kernel
def contract(hidden: Rows, target: Target, count: int, stacks: Stacks, layer: int, scratch: LinearScratch) -> None:
    """`count` rows of the target += what `expand` made @ down + bias."""
    down = stacks.down
    if stacks.up.floats.size or down.floats.size:
        project(hidden, target, count, down, layer, scratch)
    else:
        left = _inner(count, hidden.width, stacks, scratch)
        bias = down.raised if left.kind == RAISED else down.bias
        matrix = Matrix(down.weights, down.scales, down.floats, bias, down.inverses, layer, down.n)
        matmul(left, matrix, target, scratch.totals)


@kernel
def matrix_of(stack: Stack, layer: int, k: int) -> Matrix:
    """The matrix of a layer, of k columns."""
    factors = stack.inverses[layer * k :]
    return Matrix(stack.weights, stack.scales, stack.floats, stack.bias, factors, layer, stack.n)


@kernel
def _left(count: int, k: int, stack: Stack, scratch: LinearScratch) -> Operand:
    """Rows for a kind of matrices."""
    return Operand(scratch.quants, scratch.scales, scratch.lined, count, k, stack.digits)


@kernel
def _inner(count: int, k: int, stacks: Stacks, scratch: LinearScratch) -> Operand:
    """The rows between both matrices of the feed-forward part: raised where they have one digit."""
    kind = np.int64(RAISED) if stacks.down.digits == 1 else stacks.down.digits
    return Operand(scratch.operand, scratch.operand_scales, scratch.lined, count, k, kind)


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
    here, last = Heads(heads.number, heads.head_dim, n, window, heads.first, heads.scale, heads.cap), 0
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
    mixed, x = Rows(scratch.mixed, FIRST, n), Target(scratch.x, sizes.d_model, FIRST, FIRST, ADD)
    project(mixed, x, count, weights.stacks.out, layer, scratch.products)


def gated_layer(glu: Callable[..., None]) -> Any:
    """A kernel feed_forward(source, count, weights, layer, scratch): x += down @ glu(up @ source), as kernels/rows.py;
    `glu` has a last argument more, whether the model is exact."""

    @kernel
    def feed_forward(source: F32, count: int, weights: Weights, layer: int, scratch: Scratch) -> None:
        d_model, d_ff, stacks = weights.sizes.d_model, weights.sizes.d_ff, weights.stacks
        halves = Target(scratch.halves, 2 * d_ff, FIRST, FIRST, PLAIN)
        notice(source, count, d_model, layer, scratch.seen.feed_forward)
        for t in range(0, count, FFN_ROWS):
            rows, x = min(FFN_ROWS, count - t), Target(scratch.x, d_model, t, FIRST, ADD)
            project(Rows(source, t, d_model), halves, rows, stacks.up, layer, scratch.products)
            glu(scratch.halves, rows, d_ff, scratch.hidden, weights.exact)
            project(Rows(scratch.hidden, FIRST, d_ff), x, rows, stacks.down, layer, scratch.products)

    return feed_forward


@kernel
def norm_rows(x: F32, count: int, norm: LayerNorm, layer: int, out: F32) -> None:
    """out[count, d_model] = layer norm of x[count, d_model], with the weights and biases of the layer; up to three rows
    more, which both have room for, are computed too."""
    width = norm.inside.size
    for t in range(0, count, 4):
        layer_norm(x, out, place(t, 0, width), norm, layer * width)


_AHEAD = 4  # tokens whose rows are fetched before they are read: the table is in no cache, and its order is random


@kernel
def look_up(text: Tokens, tables: Tables, width: int, x: F32) -> None:
    """x[tokens, width] = the row of the token + (the row of its position + the row of its kind), as far as there are
    such tables."""
    tokens, positions, of_kinds = tables
    ids, kinds, starts = text
    for s in range(starts.size - 1):
        for t in range(starts[s], starts[s + 1]):
            if t + _AHEAD < ids.size:
                _fetch_row(tokens, ids[t + _AHEAD] * width, width)
            token, position, kind = ids[t] * width, (t - starts[s]) * width, kinds[t] * width
            for i in range(0, width, LANES):
                v = load_f32(tokens, token + i)
                if positions.size:
                    v = v + (load_f32(positions, position + i) + load_f32(of_kinds, kind + i))
                elif of_kinds.size:
                    v = v + load_f32(of_kinds, kind + i)
                store_f32(x, place(t, i, width), v)


@kernel
def _fetch_row(table: F32, at: int, width: int) -> None:
    """Ask for the row that begins at table[at]: nothing changes."""
    address = np.int64(table.ctypes.data) + 4 * at
    for i in range(0, width, LANES):
        fetch(address + 4 * i)
