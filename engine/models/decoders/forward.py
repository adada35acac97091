"""The forward pass of every decoder as one compiled function, which all threads of a team call together.

A layer is a row of phases with barriers between. Rows are shared out, columns of products and pieces of attention
claimed as threads get to them; who computes what changes no bit.
"""

import numpy as np

from engine.kernels.attention.paged import attend
from engine.kernels.attention.paged_operands import PAGE
from engine.kernels.compiled import entry, kernel
from engine.kernels.matmul.linear import ADD, PLAIN
from engine.kernels.matmul.team import barrier, claim, share
from engine.kernels.places import place
from engine.kernels.steps import add_scaled, copy_row, keep, rms_norm, spell_out, turn_row
from engine.models.decoders.experts import mix_experts
from engine.models.decoders.gated import gated
from engine.models.decoders.matrices import AFTER, BEFORE, GATE, KEY, LAST, MIDDLE, NORMS, OUT, QUERY, VALUE
from engine.models.decoders.products import FIRST, SECOND, THIRD, Model, Scratch, Team, bring, times
from engine.models.layers import start, stop
from engine.simd import F32, I8, I32, I64, LANES, Float, load_f32, store_f32

WANTED = 64
"""Rows whose logits are computed at a time."""
_ONE, _NONE = np.float32(1), np.int64(-1)
_GAINS = len(NORMS)

Sizes = tuple[int, int, int, int, int, int, int, int, int, int, int, int]
Pages = tuple[I8, I8, F32, bool]
Rows = tuple[I32, I32, I32]
Buffers = tuple[F32, F32, F32, F32, F32, F32, F32, F32]
Chosen = tuple[I32, F32, tuple[F32, F32, F32]]  # experts of each row, their weights, and memory of `mix_experts`


@entry
def forward(
    counters: I64, thread: int, threads: int, count: int, sizes: Sizes, flags: tuple[bool, bool, bool],
    factors: tuple[Float, Float, Float, Float, Float, Float], model: Model, windows: I64, angles: tuple[F32, F32],
    rows: Rows, tiles: tuple[I64, I64], split: int, pages: Pages, page_count: int, wanted: I32, buffers: Buffers,
    chosen: Chosen, work: F32, narrow: I8, scratch: Scratch, out: F32,
) -> None:  # fmt: skip
    """out[wanted, vocab] = logits after those rows of x, the first of `buffers`, [count, width] in tiles.

    sizes: layers, matrices of a layer, width and its places, places of inner values, heads, heads of keys, places and
    values of a head, vocab, experts and those used. flags: norms of queries and keys, norms after each part, GELU.
    factors: epsilon, what queries are multiplied by, the cap of scores, what is multiplied before it is added, the
    divisor of logits and their cap. angles: `Rotation.angles` for layers without a window, and with one. rows: position
    and sequence of each, flat tables of the sequences' pages. tiles int64 [n, 4]: first row, rows, position and
    sequence of what `attend` takes at once, for each of `split` parts of the heads that share keys; of all rows, and of
    those that are wanted, which are in order. Of the last layer other rows need nothing but keys and values.
    """
    start()
    team = (counters, thread, threads)
    layers, matrices, _, width, _, heads, kv_heads, part = sizes[:8]
    epsilon, _, cap, residual, divisor, final_cap = factors
    x, normed, qkv, mixed, other = buffers[:5]
    steps, n = _GAINS * width + 2 * part, (heads + 2 * kv_heads) * part
    plain = not flags[1] and residual == _ONE  # products are added to x at once
    for layer in range(layers):
        first, gain, window, is_last = layer * matrices, layer * steps, windows[layer], layer == layers - 1
        base = layer * page_count * kv_heads
        _norm(team, x, count, sizes, model, gain + BEFORE * width, epsilon, normed)
        bring(team, normed, count, model, first + QUERY, first + VALUE + 1, scratch)
        barrier(counters, threads)
        times(team, FIRST, count, model, first + QUERY, PLAIN, qkv, n, FIRST, scratch)
        times(team, SECOND, count, model, first + KEY, PLAIN, qkv, n, heads * part, scratch)
        times(team, THIRD, count, model, first + VALUE, PLAIN, qkv, n, (heads + kv_heads) * part, scratch)
        barrier(counters, threads)
        _keep(team, count, sizes, flags[0], factors, qkv, model, gain + _GAINS * width, angles[0] if window == 0 else
              angles[1], rows, pages, base, narrow[thread])  # fmt: skip
        barrier(counters, threads)
        if is_last and not wanted.size:
            break
        _attend(team, sizes, tiles[1 if is_last else 0], split, qkv, window, cap, pages, rows[2], base, work[thread],
                mixed)  # fmt: skip
        barrier(counters, threads)
        if is_last:
            _leave(team, wanted, sizes[3], x)
            _leave(team, wanted, _places(sizes), mixed)
            count = wanted.size
            barrier(counters, threads)
        bring(team, mixed, count, model, first + OUT, first + OUT + 1, scratch)
        barrier(counters, threads)
        mode, target = (ADD, x) if plain else (PLAIN, other)
        times(team, FIRST, count, model, first + OUT, mode, target, width, FIRST, scratch)
        barrier(counters, threads)
        if not plain:
            _add(team, x, count, sizes, other, model, gain + AFTER * width, flags[1], epsilon, residual)
        _norm(team, x, count, sizes, model, gain + MIDDLE * width, epsilon, normed)
        _feed_forward(team, count, sizes, flags[2], model, first, plain, buffers, chosen, scratch)
        if not plain or sizes[10]:
            _add(team, x, count, sizes, other, model, gain + LAST * width, flags[1], epsilon, residual)
    barrier(counters, threads)
    _logits(team, wanted.size, sizes, model, layers * matrices, layers * steps, epsilon, divisor, final_cap, buffers,
            scratch, out)  # fmt: skip
    stop()


@kernel
def _norm(team: Team, x: F32, count: int, sizes: Sizes, model: Model, gain: int, epsilon: Float, out: F32) -> None:
    """The norms of this thread's rows."""
    _, thread, threads = team
    first, end = share(thread, threads, count)
    for t in range(first, end):
        rms_norm(x, t, FIRST, sizes[3], sizes[2], sizes[3], model[3], gain, epsilon, out)


@kernel
def _add(
    team: Team, x: F32, count: int, sizes: Sizes, other: F32, model: Model, gain: int, normed: bool, epsilon: Float,
    factor: Float,
) -> None:  # fmt: skip
    """This thread's rows of x += other * factor, after a norm if it is `normed`."""
    _, thread, threads = team
    first, end = share(thread, threads, count)
    for t in range(first, end):
        if normed:
            rms_norm(other, t, FIRST, sizes[3], sizes[2], sizes[3], model[3], gain, epsilon, other)
        add_scaled(x, t, sizes[3], other, factor)


@kernel
def _keep(
    team: Team, count: int, sizes: Sizes, normed: bool, factors: tuple[Float, Float, Float, Float, Float, Float],
    qkv: F32, model: Model, gain: int, angles: F32, rows: Rows, pages: Pages, base: int, narrow: I8,
) -> None:  # fmt: skip
    """Queries and keys are normed and turned, keys and values go to their pages: row by row."""
    _, thread, threads = team
    heads, kv_heads, part, depth = sizes[5], sizes[6], sizes[7], sizes[8]
    positions, places, half, n = rows[0], rows[1], part // 2, (heads + 2 * kv_heads) * part
    for t in range(thread, count, threads):
        if normed:
            for head in range(heads + kv_heads):
                at = gain if head < heads else gain + part
                rms_norm(qkv, t, head * part, n, depth, part, model[3], at, factors[0], qkv)
        position = np.int64(positions[t])
        turn_row(qkv, t, n, FIRST, heads, half, angles, 2 * half * position, factors[1])
        turn_row(qkv, t, n, heads * part, kv_heads, half, angles, 2 * half * position, _ONE)
        index = base + np.int64(rows[2][places[t] + position // PAGE]) * kv_heads
        for head in range(kv_heads):
            key, value = (heads + head) * part, (heads + kv_heads + head) * part
            keep(qkv, t, n, key, value, part, pages, index + head, position % PAGE, narrow)


@kernel
def _attend(
    team: Team, sizes: Sizes, tiles: I64, split: int, qkv: F32, window: int, cap: Float, pages: Pages, tables: I32,
    base: int, work: F32, out: F32,
) -> None:  # fmt: skip
    """Attention, piece by piece."""
    counters, _, _ = team
    heads, kv_heads, part, depth = sizes[5], sizes[6], sizes[7], sizes[8]
    group = heads // kv_heads
    each = (group + split - 1) // split
    width, n = _places(sizes), (heads + 2 * kv_heads) * part
    total = tiles.shape[0] * kv_heads * split
    while True:
        piece = claim(counters, FIRST, SECOND)
        if piece >= total:
            return
        tile, kv_head, first = piece // (kv_heads * split), piece // split % kv_heads, piece % split * each
        some = min(each, group - first)
        if some > 0:
            head, table = kv_head * group + first, tables[tiles[tile, 3] :]
            attend(qkv, n, tiles[tile, 0], tiles[tile, 1], tiles[tile, 2], head, some, part, depth, window, cap, pages,
                   table, base + kv_head, kv_heads, work, out, width)  # fmt: skip


@kernel
def _places(sizes: Sizes) -> int:
    """Of a row that attention makes."""
    return (sizes[5] * sizes[8] + 63) // 64 * 64


@kernel
def _leave(team: Team, wanted: I32, n: int, x: F32) -> None:
    """The wanted rows, which are in order, become the first ones of x[count, n]: this thread's columns of them."""
    _, thread, threads = team
    first, end = share(thread, threads, n // LANES)
    for t in range(wanted.size):
        if wanted[t] != t:
            for i in range(first * LANES, end * LANES, LANES):
                store_f32(x, place(t, i, n), load_f32(x, place(int(wanted[t]), i, n)))


@kernel
def _feed_forward(
    team: Team, count: int, sizes: Sizes, gelu: bool, model: Model, first: int, plain: bool, buffers: Buffers,
    chosen: Chosen, scratch: Scratch,
) -> None:  # fmt: skip
    """Added to x if `plain` and there are no experts, else in `other`."""
    width, inner, experts, used = sizes[3], sizes[4], sizes[10], sizes[11]
    x, normed, _, _, other, gates, ups, _ = buffers
    if experts:
        mix_experts(team, count, width, inner, experts, used, gelu, model, first, normed, gates, ups, other,
                    chosen[2], (chosen[0], chosen[1]), scratch)  # fmt: skip
        return
    mode, out = (ADD, x) if plain else (PLAIN, other)
    gated(team, count, width, inner, gelu, model, first + GATE, normed, gates, ups, mode, out, scratch)


@kernel
def _logits(
    team: Team, rows: int, sizes: Sizes, model: Model, row: int, gain: int, epsilon: Float, divisor: Float, cap: Float,
    buffers: Buffers, scratch: Scratch, out: F32,
) -> None:  # fmt: skip
    """WANTED rows at a time are normed and multiplied."""
    counters, thread, threads = team
    width, vocab = sizes[3], sizes[9]
    x, normed, logits = buffers[0], buffers[1], buffers[7]
    places = (vocab + 2 * LANES - 1) // (2 * LANES) * 2 * LANES
    left, right = share(thread, threads, places // LANES)
    for first in range(0, rows, WANTED):
        count = min(WANTED, rows - first)
        begin, end = share(thread, threads, count)
        for t in range(begin, end):
            copy_row(x, first + t, width, normed, t)
        _norm(team, normed, count, sizes, model, gain, epsilon, normed)
        bring(team, normed, count, model, row, row + 1, scratch)
        barrier(counters, threads)
        times(team, FIRST, count, model, row, PLAIN, logits, places, FIRST, scratch)
        barrier(counters, threads)
        spell_out(logits, left * LANES, min(right * LANES, vocab), count, places, divisor, cap, out[first * vocab :],
                  vocab)  # fmt: skip
        barrier(counters, threads)
