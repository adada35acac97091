"""The forward pass of every decoder as one compiled function, which all threads of a team call together.

A layer is a row of phases with barriers between. Rows are shared out, columns of products and pieces of attention
claimed as threads get to them; who computes what changes no bit.
"""

import numpy as np

from engine.kernels.attention import Heads
from engine.kernels.attention.paged import PageTable, Tile, attend, work_of
from engine.kernels.attention.paged_operands import PAGE, write_kv
from engine.kernels.matmul import ADD, FIRST, PLAIN, SECOND, THIRD, Target
from engine.kernels.matmul.decoder import matmul, operand, quantize
from engine.kernels.matmul.operands import matrix_of
from engine.kernels.matmul.team import Team, barrier, claim, share
from engine.kernels.rope import rope_row
from engine.kernels.rows import Logits, RmsNorm, add_scaled, copy_row, place, rms_norm, write_logits
from engine.models.decoders.arguments import (
    TILE_FIRST,
    TILE_POSITION,
    TILE_ROWS,
    TILE_TABLE,
    Layer,
    Memory,
    Model,
    Step,
)
from engine.models.decoders.feed_forward import gated, mix_experts, project
from engine.models.decoders.matrices import AFTER, BEFORE, GATE, KEY, LAST, MIDDLE, NORMS, OUT, QUERY, VALUE
from engine.models.layers import start, stop
from engine.simd import F32, I8, I32, LANES, load_f32, store_f32
from engine.simd.compiled import entry, kernel

WANTED = 64
"""Rows whose logits are computed at a time."""
_ONE = np.float32(1)
_NORMS = len(NORMS)


@entry
def forward(team: Team, model: Model, step: Step, memory: Memory, out: F32) -> None:
    """out[wanted, vocab] = logits after the wanted rows of memory.x."""
    start()
    sizes, count = model.sizes, step.positions.size
    for number in range(sizes.layers):
        layer = Layer(
            number * sizes.matrices, number * sizes.norms, number * step.pages * sizes.kv_heads, model.windows[number],
            number == sizes.layers - 1,
        )  # fmt: skip
        _write_qkv(team, model, layer, step, memory)
        if layer.is_last and not step.wanted.size:
            break
        _attend(team, model, layer, step, memory)
        barrier(team)
        if layer.is_last:
            _take_wanted(team, step.wanted, sizes.row, memory.x)
            _take_wanted(team, step.wanted, sizes.mixed, memory.mixed)
            count = step.wanted.size
            barrier(team)
        _put_back(team, model, layer, count, memory)
        _feed_forward(team, model, layer, count, memory)
    barrier(team)
    _write_logits(team, model, step.wanted.size, memory, out)
    stop()


@kernel
def _norm(team: Team, model: Model, first: int, x: F32, count: int, out: F32) -> None:
    """The norm of this thread's rows, by the weights from `first` on."""
    sizes = model.sizes
    norm = RmsNorm(model.norms, sizes.d_model, sizes.row, model.rules.epsilon)
    begin, end = share(team, count)
    for t in range(begin, end):
        rms_norm(x, place(t, 0, sizes.row), norm, first, out)


@kernel
def _target(model: Model, memory: Memory) -> Target:
    """Products are added to x at once, or go to `other` where they are normed or scaled before."""
    if model.rules.post_norms or model.rules.residual_scale != _ONE:
        return Target(memory.other, model.sizes.row, FIRST, FIRST, PLAIN)
    return Target(memory.x, model.sizes.row, FIRST, FIRST, ADD)


@kernel
def _add(team: Team, model: Model, first: int, count: int, memory: Memory) -> None:
    """This thread's rows of x += other * residual_scale, normed before, by the weights from `first` on, if the
    architecture has such norms."""
    if model.rules.post_norms:
        _norm(team, model, first, memory.other, count, memory.other)
    begin, end = share(team, count)
    for t in range(begin, end):
        add_scaled(memory.x, t, model.sizes.row, memory.other, model.rules.residual_scale)


@kernel
def _write_qkv(team: Team, model: Model, layer: Layer, step: Step, memory: Memory) -> None:
    """memory.qkv = the queries, keys and values of all rows; keys and values go to the KV cache."""
    sizes, count, first = model.sizes, step.positions.size, layer.matrix
    keys, values = sizes.heads * sizes.stride, (sizes.heads + sizes.kv_heads) * sizes.stride
    qkv, left = memory.qkv, operand(memory.products, team, count)
    _norm(team, model, layer.norms + BEFORE * sizes.row, memory.x, count, memory.normed)
    quantize(team, memory.normed, model.matrices, first + QUERY, first + VALUE + 1, left)
    barrier(team)
    matmul(team, FIRST, left, matrix_of(model.matrices, first + QUERY), Target(qkv, sizes.qkv, FIRST, FIRST, PLAIN))
    matmul(team, SECOND, left, matrix_of(model.matrices, first + KEY), Target(qkv, sizes.qkv, FIRST, keys, PLAIN))
    matmul(team, THIRD, left, matrix_of(model.matrices, first + VALUE), Target(qkv, sizes.qkv, FIRST, values, PLAIN))
    barrier(team)
    for t in range(team.thread, count, team.threads):
        _write_row(model, layer, step, memory.qkv, t, memory.narrow[team.thread])
    barrier(team)


@kernel
def _write_row(model: Model, layer: Layer, step: Step, qkv: F32, t: int, narrow: I8) -> None:
    """Norm and rotate the queries and keys of a row, and write its keys and values to the KV cache."""
    sizes, rules = model.sizes, model.rules
    stride, half, head = sizes.stride, sizes.stride // 2, place(t, 0, sizes.qkv)
    of_head = stride * LANES  # from one head to the next
    if rules.qk_norm:
        norm, weights = RmsNorm(model.norms, sizes.head_dim, stride, rules.epsilon), layer.norms + _NORMS * sizes.row
        for i in range(sizes.heads + sizes.kv_heads):
            rms_norm(qkv, head + i * of_head, norm, weights if i < sizes.heads else weights + stride, qkv)
    position = np.int64(step.positions[t])
    angles = model.angles if layer.window == 0 else model.near_angles
    key = head + sizes.heads * of_head
    rope_row(qkv, head, sizes.heads, half, angles, 2 * half * position, rules.query_scale)
    rope_row(qkv, key, sizes.kv_heads, half, angles, 2 * half * position, _ONE)
    page = np.int64(step.tables[step.table_starts[t] + position // PAGE])
    for i in range(sizes.kv_heads):
        to = layer.head + page * sizes.kv_heads + i
        value = key + (sizes.kv_heads + i) * of_head
        write_kv(qkv, key + i * of_head, value, step.cache, to, position % PAGE, narrow)


@kernel
def _attend(team: Team, model: Model, layer: Layer, step: Step, memory: Memory) -> None:
    """memory.mixed = attention of all rows, or of the wanted ones in the last layer: piece by piece."""
    sizes, work = model.sizes, work_of(memory.attention, team.thread)
    tiles = step.wanted_tiles if layer.is_last else step.tiles
    group = sizes.heads // sizes.kv_heads
    each = (group + step.split - 1) // step.split
    total = tiles.shape[0] * sizes.kv_heads * step.split
    while True:
        piece = claim(team, FIRST, SECOND)
        if piece >= total:
            return
        kv_head, first = piece // step.split % sizes.kv_heads, piece % step.split * each
        some = min(each, group - first)
        if some > 0:
            at = tiles[piece // (sizes.kv_heads * step.split)]
            tile = Tile(memory.qkv, sizes.qkv, at[TILE_FIRST], at[TILE_ROWS], at[TILE_POSITION])
            heads = Heads(
                some, sizes.head_dim, sizes.mixed, layer.window, kv_head * group + first, _ONE, model.rules.score_cap
            )
            table = PageTable(step.tables[at[TILE_TABLE] :], layer.head + kv_head, sizes.kv_heads)
            attend(tile, heads, step.cache, table, work, memory.mixed)


@kernel
def _take_wanted(team: Team, wanted: I32, n: int, x: F32) -> None:
    """The wanted rows, which are in order, become the first ones of x[count, n]: this thread's columns of them."""
    first, end = share(team, n // LANES)
    for t in range(wanted.size):
        if wanted[t] != t:
            for i in range(first * LANES, end * LANES, LANES):
                store_f32(x, place(t, i, n), load_f32(x, place(int(wanted[t]), i, n)))


@kernel
def _put_back(team: Team, model: Model, layer: Layer, count: int, memory: Memory) -> None:
    """x += what attention made @ the output matrix."""
    target = _target(model, memory)
    project(team, model, layer.matrix + OUT, count, memory.mixed, memory, target)
    if target.mode == PLAIN:
        _add(team, model, layer.norms + AFTER * model.sizes.row, count, memory)


@kernel
def _feed_forward(team: Team, model: Model, layer: Layer, count: int, memory: Memory) -> None:
    """x += what the feed-forward layer, or its experts, make of x."""
    sizes, target = model.sizes, _target(model, memory)
    _norm(team, model, layer.norms + MIDDLE * sizes.row, memory.x, count, memory.normed)
    if sizes.experts:
        mix_experts(team, model, layer, count, memory)
    else:
        gated(team, model, layer.matrix + GATE, count, memory.normed, memory, target)
    if sizes.experts or target.mode == PLAIN:
        _add(team, model, layer.norms + LAST * sizes.row, count, memory)


@kernel
def _write_logits(team: Team, model: Model, rows: int, memory: Memory, out: F32) -> None:
    """out[rows, vocab] = logits of the rows of x, which are normed and multiplied WANTED at a time."""
    sizes, x, normed, logits = model.sizes, memory.x, memory.normed, memory.logits
    matrix, norm = sizes.layers * sizes.matrices, sizes.layers * sizes.norms
    rules = Logits(model.rules.logit_divisor, model.rules.logit_cap)
    left, right = share(team, sizes.logits // LANES)
    for first in range(0, rows, WANTED):
        count = min(WANTED, rows - first)
        begin, end = share(team, count)
        for t in range(begin, end):
            copy_row(x, first + t, sizes.row, normed, t)
        _norm(team, model, norm, normed, count, normed)
        project(team, model, matrix, count, normed, memory, Target(logits, sizes.logits, FIRST, FIRST, PLAIN))
        write_logits(logits, sizes.logits, count, left * LANES, min(right * LANES, sizes.vocab), rules,
                     out[first * sizes.vocab :], sizes.vocab)  # fmt: skip
        barrier(team)
