"""Rows times a decoder's matrices, and its feed-forward layer: gated, down(f(gate x) * (up x)), f SiLU or GELU; or of
experts, some of which a router chooses for each row, and whose answers are added by their weights.

One expert after the other takes all of its rows, so that a row's sum is in the order of the experts.
"""

import numpy as np

from engine.kernels.functions import exp
from engine.kernels.matmul import FIRST, PLAIN, SECOND, Target
from engine.kernels.matmul.decoder import matmul, operand, quantize
from engine.kernels.matmul.operands import matrix_of
from engine.kernels.matmul.team import Team, barrier, share
from engine.kernels.rows import copy_row, geglu_tanh, place, swiglu
from engine.models.decoders.arguments import Experts, Layer, Memory, Model, Sizes
from engine.models.decoders.matrices import GATE, ROUTER
from engine.simd import F32, I32, LANES, Float, fma, largest, load_f32, splat, store_f32
from engine.simd.compiled import kernel

_ZERO, _ONE, _NOTHING = np.float32(0), np.float32(1), np.float32(-3e38)


@kernel
def project(team: Team, model: Model, number: int, count: int, x: F32, memory: Memory, target: Target) -> None:
    """The target's first `count` rows = x[count, k] @ a matrix, as its mode says; threads wait until it is there."""
    left = operand(memory.products, team, count)
    quantize(team, x, model.matrices, number, number + 1, left)
    barrier(team)
    matmul(team, FIRST, left, matrix_of(model.matrices, number), target)
    barrier(team)


@kernel
def gated(team: Team, model: Model, gate: int, count: int, x: F32, memory: Memory, target: Target) -> None:
    """The target's first `count` rows = what the feed-forward layer makes of x [count, d_model]; each thread's share of
    them. Its matrices are gate, gate + 1 (up) and gate + 2 (down)."""
    d_ff, gates, ups, left = model.sizes.d_ff, memory.gates, memory.ups, operand(memory.products, team, count)
    quantize(team, x, model.matrices, gate, gate + 2, left)
    barrier(team)
    matmul(team, FIRST, left, matrix_of(model.matrices, gate), Target(gates, d_ff, FIRST, FIRST, PLAIN))
    matmul(team, SECOND, left, matrix_of(model.matrices, gate + 1), Target(ups, d_ff, FIRST, FIRST, PLAIN))
    barrier(team)
    first, end = share(team, count)
    if model.rules.gelu:
        geglu_tanh(gates, ups, FIRST, d_ff, first, end, d_ff, gates)
    else:
        swiglu(gates, ups, FIRST, d_ff, first, end, d_ff, gates)
    project(team, model, gate + 2, count, gates, memory, target)


@kernel
def mix_experts(team: Team, model: Model, layer: Layer, count: int, memory: Memory) -> None:
    """memory.other[count, d_model] = what the experts make of memory.normed; each thread's share of it."""
    sizes, experts, out = model.sizes, memory.experts, memory.other
    room = (sizes.experts + 2 * LANES - 1) // (2 * LANES) * 2 * LANES
    scores, answers = (
        Target(experts.scores, room, FIRST, FIRST, PLAIN),
        Target(experts.answers, sizes.row, FIRST, FIRST, PLAIN),
    )
    project(team, model, layer.matrix + ROUTER, count, memory.normed, memory, scores)
    for t in range(team.thread, count, team.threads):
        _choose(experts, t, room, sizes.experts, sizes.experts_used)
    begin, end = share(team, count)
    for t in range(begin, end):
        for i in range(0, sizes.row, LANES):
            store_f32(out, place(t, i, sizes.row), splat(_ZERO))
    barrier(team)
    for expert in range(sizes.experts):
        rows = _gather(team, sizes, count, expert, memory.normed, experts)
        if rows:
            gated(team, model, layer.matrix + GATE + 3 * expert, rows, experts.rows, memory, answers)
            _scatter(team, sizes, count, expert, experts, out)


@kernel
def _choose(memory: Experts, t: int, room: int, experts: int, used: int) -> None:
    """The experts of row t with the greatest scores, the first ones of equals, and the softmax of their scores: that of
    all scores, over the sum of theirs. NaN if any score is."""
    numbers, weights, scores = memory.chosen, memory.weights, memory.scores
    every, at = _ZERO, t * used
    for i in range(experts):
        every += _value(scores, t, i, room)
    for i in range(used):
        best, found = _NOTHING, 0
        for expert in range(experts):
            score, taken = _value(scores, t, expert, room), False
            for j in range(i):
                taken = taken or numbers[at + j] == expert
            if not taken and score > best:
                best, found = score, expert
        numbers[at + i], weights[at + i] = found, best
    greatest, total = weights[at], _ZERO
    for i in range(used):
        weights[at + i] = largest(exp(splat(weights[at + i] - greatest))) + (every - every)
        total += weights[at + i]
    for i in range(used):
        weights[at + i] = weights[at + i] / total


@kernel
def _value(x: F32, t: int, i: int, n: int) -> Float:
    """x[t, i] of x [tokens, n] in tiles."""
    return x[place(t, i // LANES * LANES, n) + i % LANES]


@kernel
def _rank(expert: int, t: int, used: int, numbers: I32) -> int:
    """The rank of the expert among those of row t; -1: none."""
    for i in range(used):
        if numbers[t * used + i] == expert:
            return i
    return -1


@kernel
def _gather(team: Team, sizes: Sizes, count: int, expert: int, x: F32, memory: Experts) -> int:
    """Copy this thread's share of the rows of x that the expert has, one after another; returns how many it has."""
    total, rows, used = 0, 0, sizes.experts_used
    for t in range(count):
        total += _rank(expert, t, used, memory.chosen) >= 0
    first, end = share(team, total)
    for t in range(count):
        if _rank(expert, t, used, memory.chosen) >= 0:
            if first <= rows < end:
                copy_row(x, t, sizes.row, memory.rows, rows)
            rows += 1
    return total


@kernel
def _scatter(team: Team, sizes: Sizes, count: int, expert: int, memory: Experts, out: F32) -> None:
    """out += the expert's answers by their weights, in this thread's share of rows."""
    (first, end), rows, used = share(team, count), 0, sizes.experts_used
    for t in range(count):
        rank = _rank(expert, t, used, memory.chosen)
        if rank >= 0:
            if first <= t < end:
                weight = splat(memory.weights[t * used + rank])
                for i in range(0, sizes.row, LANES):
                    at, answer = place(t, i, sizes.row), load_f32(memory.answers, place(rows, i, sizes.row))
                    store_f32(out, at, fma(answer, weight, load_f32(out, at)))
            rows += 1
