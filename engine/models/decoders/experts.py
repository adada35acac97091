"""A feed-forward part of experts: a router chooses some for each row, whose answers are added by their weights.

One expert after the other takes all of its rows, so that a row's sum is in the order of the experts.
"""

import numpy as np

from engine.kernels.compiled import kernel
from engine.kernels.functions import exp
from engine.kernels.matmul.linear import PLAIN
from engine.kernels.matmul.team import barrier, share
from engine.kernels.places import place
from engine.kernels.steps import copy_row
from engine.models.decoders.gated import gated
from engine.models.decoders.matrices import GATE, ROUTER
from engine.models.decoders.products import FIRST, Model, Scratch, Team, bring, times
from engine.simd import F32, I32, LANES, Float, fma, largest, load_f32, splat, store_f32

_ZERO, _ONE, _NOTHING = np.float32(0), np.float32(1), np.float32(-3e38)


@kernel
def mix_experts(
    team: Team, count: int, width: int, inner: int, experts: int, used: int, gelu: bool, model: Model, first: int,
    normed: F32, gates: F32, ups: F32, mixed: F32, own: tuple[F32, F32, F32], chosen: tuple[I32, F32],
    scratch: Scratch,
) -> None:  # fmt: skip
    """mixed[count, width] = what the experts make of normed; each thread's share of it. The matrices of the layer
    begin at `first`. `own`: scores, rows of an expert, its answers. `chosen` [count, used]: experts, their weights."""
    scores, gathered, answers = own
    counters, thread, threads = team
    bring(team, normed, count, model, first + ROUTER, first + ROUTER + 1, scratch)
    barrier(counters, threads)
    room = (experts + 2 * LANES - 1) // (2 * LANES) * 2 * LANES
    times(team, FIRST, count, model, first + ROUTER, PLAIN, scores, room, FIRST, scratch)
    barrier(counters, threads)
    for t in range(thread, count, threads):
        _choose(scores, t, room, experts, used, chosen)
    begin, end = share(thread, threads, count)
    for t in range(begin, end):
        for i in range(0, width, LANES):
            store_f32(mixed, place(t, i, width), splat(_ZERO))
    barrier(counters, threads)
    for expert in range(experts):
        rows = _gather(thread, threads, count, width, used, expert, normed, chosen[0], gathered)
        if rows:
            gate = first + GATE + 3 * expert
            gated(team, rows, width, inner, gelu, model, gate, gathered, gates, ups, PLAIN, answers, scratch)
            _scatter(thread, threads, count, width, used, expert, answers, chosen, mixed)


@kernel
def _choose(scores: F32, t: int, room: int, experts: int, used: int, chosen: tuple[I32, F32]) -> None:
    """The experts of row t with the greatest scores, the first ones of equals, and the softmax of their scores: that of
    all scores, over the sum of theirs. NaN if any score is."""
    numbers, weights = chosen
    whole, at = _ZERO, t * used
    for i in range(experts):
        whole += _value(scores, t, i, room)
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
        weights[at + i] = largest(exp(splat(weights[at + i] - greatest))) + (whole - whole)
        total += weights[at + i]
    for i in range(used):
        weights[at + i] = weights[at + i] / total


@kernel
def _value(x: F32, t: int, i: int, n: int) -> Float:
    """x[t, i] of x [tokens, n] in tiles."""
    return x[place(t, i // LANES * LANES, n) + i % LANES]


@kernel
def _rank(expert: int, t: int, used: int, numbers: I32) -> int:
    """Where the expert stands among those of row t; -1: nowhere."""
    for i in range(used):
        if numbers[t * used + i] == expert:
            return i
    return -1


@kernel
def _gather(
    thread: int, threads: int, count: int, width: int, used: int, expert: int, x: F32, numbers: I32, out: F32
) -> int:
    """Rows of x that the expert has, one after another in out: this thread's share. How many there are."""
    total, rows = 0, 0
    for t in range(count):
        total += _rank(expert, t, used, numbers) >= 0
    first, end = share(thread, threads, total)
    for t in range(count):
        if _rank(expert, t, used, numbers) >= 0:
            if first <= rows < end:
                copy_row(x, t, width, out, rows)
            rows += 1
    return total


@kernel
def _scatter(
    thread: int, threads: int, count: int, width: int, used: int, expert: int, answers: F32, chosen: tuple[I32, F32],
    out: F32,
) -> None:  # fmt: skip
    """out += the expert's answers by their weights, in this thread's share of rows."""
    numbers, weights = chosen
    (first, end), rows = share(thread, threads, count), 0
    for t in range(count):
        rank = _rank(expert, t, used, numbers)
        if rank >= 0:
            if first <= t < end:
                weight = splat(weights[t * used + rank])
                for i in range(0, width, LANES):
                    at = place(t, i, width)
                    store_f32(out, at, fma(load_f32(answers, place(rows, i, width)), weight, load_f32(out, at)))
            rows += 1
