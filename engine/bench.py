"""Work whose cost is known, to be timed by the caller: what this CPU can do at most, and what a model takes of it.

The engine reads no clock. Each function here prepares the work of one thread; threads that work together prepare their
own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from engine.engine import Model
from engine.kernels.attention import Heads, head_products
from engine.kernels.matmul import ADD, FIRST, ISA, PLAIN, Rows, Target, aligned
from engine.kernels.matmul.encoder import LAYOUT
from engine.models import Network
from engine.models.layers import (
    FFN_ROWS,
    QKV_ROWS,
    Scratch,
    Weights,
    attend_all,
    contract,
    expand,
    project,
    project_qkv,
    start,
    stop,
)
from engine.models.stored import Arrays
from engine.simd import F32, I8, I32, I64, LANES, load_i32, no_i32, total_i32
from engine.simd.compiled import entry
from engine.tiles.operands import CHUNK
from engine.tiles.peak import peak_loop

READ_BYTES = 2**28  # what one thread reads at a time: more than a core's caches hold
_PEAK = peak_loop(ISA)
_PEAK_RUN = _PEAK.run
_ROUNDS = 10_000
_QUERIES, _ATTENTION, _OUT, _UP, _DOWN = 1, 2, 4, 8, 16
_ROWS = LANES if ISA == "amx" else 1  # that a product computes whether they are there or not
_MATRICES = _QUERIES | _OUT | _UP | _DOWN
PARTS = {
    "queries, keys, values": _QUERIES,
    "attention output": _OUT,
    "FFN up": _UP,
    "FFN down": _DOWN,
    "all matrix products": _MATRICES,
    "attention": _ATTENTION,
}
"""The parts of a forward pass that can be done by themselves."""


@dataclass(frozen=True)
class Work:
    """Something that one thread can do any number of times, and what one time takes."""

    name: str
    run: Callable[[int], None]  # so many times
    multiply_adds: int = 0  # that the result needs
    executed: int = 0  # integer multiply-adds of the CPU for them: of every digit, and of padding; 0 in float32
    read_bytes: int = 0  # of memory that no core's cache holds


def peak() -> Work:
    """The integer products of the instruction set in use, on registers alone: of bytes where it multiplies them, else
    of int16. Where bytes are multiplied, products of int16 have half of it."""
    data = np.random.default_rng(0).integers(-128, 128, _PEAK.room).astype(np.int8)
    count = _ROUNDS * _PEAK.multiply_adds
    return Work("peak", lambda times: _run_peak(data, times * _ROUNDS), count, count)


def reading(size: int = READ_BYTES) -> Work:
    """Reading memory from its first byte to its last."""
    data = np.ones(size // 4, np.int32)  # zeros would all be the same page
    return Work("reading", lambda times: _read(data, times), read_bytes=data.nbytes)


def passes(model: Model, tokens: int) -> list[Work]:
    """The forward pass of one text of so many tokens, and each of its PARTS over all layers."""
    network, random = model._network, np.random.default_rng(0)
    scratch = network.scratch(max(tokens, CHUNK))
    for values in (scratch.x, scratch.qkv, scratch.mixed, scratch.hidden, scratch.halves, scratch.normed):
        values[:] = random.standard_normal(values.size)
    sums = aligned(scratch.x.size, np.float32)
    run = partial(_run_parts, network, tokens, scratch, sums)
    return [_whole(network, tokens)] + [
        Work(name, partial(run, parts), **_cost(network, tokens, parts)) for name, parts in PARTS.items()
    ]


def _whole(network: Network, tokens: int) -> Work:
    ids, starts = np.zeros(tokens, np.int32), np.array([0, tokens])
    scratch = network.scratch(max(tokens, CHUNK))

    def run(times: int) -> None:
        for _ in range(times):
            network.states(ids, ids, starts, scratch)

    return Work("forward pass", run, **_cost(network, tokens, _MATRICES | _ATTENTION))


def _run_parts(network: Network, tokens: int, scratch: Scratch, sums: F32, parts: int, times: int) -> None:
    starts = np.array([0, tokens])
    _parts(parts, times, starts, network.weights, network.GATED, scratch, sums)


@entry
def _parts(parts: int, times: int, starts: I64, weights: Weights, gated: bool, scratch: Scratch, sums: F32) -> None:
    """These parts as they follow each other in a forward pass; what they add goes to `sums`, so that nothing grows."""
    sizes, stacks, heads, products, count = weights.sizes, weights.stacks, weights.heads, scratch.products, starts[1]
    d_model, queries = sizes.d_model, sizes.queries
    out, mixed = Target(sums, d_model, FIRST, FIRST, ADD), Rows(scratch.mixed, FIRST, queries)
    hidden, halves = (
        Rows(scratch.hidden, FIRST, sizes.d_ff),
        Target(scratch.halves, 2 * sizes.d_ff, FIRST, FIRST, PLAIN),
    )
    start()
    for _ in range(times):
        for layer in range(sizes.layers):
            for t in range(0, count if parts & _QUERIES else 0, QKV_ROWS):
                rows, some = min(QKV_ROWS, count - t), Rows(scratch.x, t, d_model)
                project_qkv(some, rows, stacks, layer, queries, scratch.qkv, products)
            if parts & _ATTENTION:
                window = weights.windows[layer]
                here = Heads(heads.number, heads.head_dim, queries, window, heads.first, heads.scale, heads.cap)
                attend_all(scratch.qkv, starts, here, weights.exact, scratch.attention, scratch.mixed)
            if parts & _OUT:
                project(mixed, out, count, stacks.out, layer, products)
            for t in range(0, count, FFN_ROWS):
                rows, some = min(FFN_ROWS, count - t), Rows(scratch.x, t, d_model)
                to = Target(sums, d_model, t, FIRST, ADD)
                if parts & _UP and gated:
                    project(some, halves, rows, stacks.up, layer, products)
                elif parts & _UP:
                    expand(some, hidden, rows, stacks, layer, products)
                if parts & _DOWN and gated:
                    project(hidden, to, rows, stacks.down, layer, products)
                elif parts & _DOWN:
                    contract(hidden, to, rows, stacks, layer, products)
    stop()


@entry
def _run_peak(data: I8, rounds: int) -> None:
    start()
    _PEAK_RUN(data.ctypes.data, rounds)
    stop()


@entry
def _read(data: I32, times: int) -> Any:
    a, b, c, d = no_i32(), no_i32(), no_i32(), no_i32()
    for _ in range(times):
        for i in range(0, data.size, 4 * LANES):
            a, b = a + load_i32(data, i), b + load_i32(data, i + LANES)
            c, d = c + load_i32(data, i + 2 * LANES), d + load_i32(data, i + 3 * LANES)
    return total_i32(a + b + (c + d))


def _cost(network: Network, tokens: int, parts: int) -> dict[str, int]:
    """The multiply-adds and bytes read of some parts of one pass, as arguments of Work."""
    sizes, layers, halves = network.sizes, network.sizes.layers, 2 if network.GATED else 1
    width, queries, inner = sizes.d_model, sizes.queries, sizes.d_ff
    shapes = {  # the part, n * k, and both padded
        "qk": (_QUERIES, 2 * queries.size * width.size, 2 * queries.padded * width.padded),
        "v": (_QUERIES, queries.size * width.size, queries.padded * width.padded),
        "out": (_OUT, width.size * queries.size, width.padded * queries.padded),
        "up": (_UP, halves * inner.size * width.size, halves * inner.padded * width.padded),
        "down": (_DOWN, width.size * inner.size, width.padded * inner.padded),
    }
    needed = executed = read = 0
    for name, (part, size, padded) in shapes.items():
        if parts & part:
            digits = int(network.arrays[f"{name}.digits"][0]) if LAYOUT == "bytes" else 1  # int16 holds both
            needed += layers * tokens * size
            executed += layers * _up(tokens, _ROWS) * padded * digits
            read += _bytes(network.arrays, name)
    if parts & _ATTENTION:
        needed += sum(2 * _seen(tokens, int(window)) * queries.size for window in network.windows)
        executed += layers * sizes.heads * head_products(tokens, sizes.head_places)
    return {"multiply_adds": needed, "executed": 0 if network.exact else executed, "read_bytes": read}


def _seen(tokens: int, window: int) -> int:
    """Pairs of a token and one that it sees."""
    if not window:
        return tokens**2
    return sum(min(tokens, t + window + 1) - max(0, t - window) for t in range(tokens))


def _up(count: int, step: int) -> int:
    return -(-count // step) * step


def _bytes(arrays: Arrays, name: str) -> int:
    return sum(arrays[f"{name}.{part}"].nbytes for part in ("weights", "floats", "scales", "bias"))
