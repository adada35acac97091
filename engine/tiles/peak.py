"""How many multiply-adds an instruction set has room for: its integer products on registers alone, again and again."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from engine.simd.vector import I32X16, JIT, LANES, chosen, emit_load, emit_store, loop, operation_on, view
from engine.tiles.amx import TILE, dot, load, store
from engine.tiles.dots import VECTOR, dot_bytes, dot_pairs

_SUMS = {"amx": 6, "avx512_vnni": 12, "avx2": 6, "portable": 3}  # enough of them that none waits for itself


class PeakLoop(NamedTuple):
    """`run(address, rounds)` on `room` bytes at an address, which hold operands and the sums after them; a round is so
    many multiply-adds.

    AMX: tiles A [16][64] and B, int8, and six sums s [16][16], int32: s += A B. The others: 16 bytes w, four times, and
    sums s of 16 int32: s += the numbers that s itself is read as, times those that w is; so each round needs the last.
    With AVX-512 VNNI both are bytes, four for each int32, those of s without sign; else int16, two for each.
    """

    run: Any
    room: int
    multiply_adds: int


def peak_loop(isa: str) -> PeakLoop:
    """The loop of an instruction set, of the instruction that multiplies most numbers."""
    sums, together = _SUMS[isa], _together(isa)
    if isa == "amx" and JIT:
        return PeakLoop(operation_on(_emit_tiles, 2), (2 + sums) * TILE, sums * 16 * 16 * 64)
    run = operation_on(partial(_emit_vectors, isa), 2) if JIT else meaning(isa)
    return PeakLoop(run, 64 * (1 + sums), together * LANES * sums)


def _together(isa: str) -> int:
    """Products that are added to one int32 at once."""
    return 4 if isa == "avx512_vnni" and JIT else 2


def _emit_tiles(b: Any, address: Any, rounds: Any) -> None:
    sums = range(_SUMS["amx"])

    def body(i: Any, carried: list[Any]) -> list[Any]:
        for tile in sums:
            dot(b, tile, 6, 7)
        return []

    for tile, place in ((6, 0), (7, 1), *((tile, 2 + tile) for tile in sums)):
        load(b, tile, address, place * TILE)
    loop(b, rounds, [], body)
    for tile in sums:
        store(b, tile, address, (2 + tile) * TILE)


def _emit_vectors(isa: str, b: Any, address: Any, rounds: Any) -> None:
    eight = emit_load(b, address, 0, ir.VectorType(ir.IntType(16), 8))
    weights = b.bitcast(chosen(b, eight, eight, [*range(8)] * 4), I32X16)

    def dot(each: Any) -> Any:
        if _together(isa) == 2:
            return dot_pairs(b, isa, each, each, weights)
        return dot_bytes(b, each, each, weights, in_order=False)

    def body(i: Any, sums: list[Any]) -> list[Any]:
        return [dot(each) for each in sums]

    starts = [emit_load(b, address, VECTOR * (1 + i), I32X16) for i in range(_SUMS[isa])]
    for i, value in enumerate(loop(b, rounds, starts, body)):
        emit_store(b, value, address, VECTOR * (1 + i))


def meaning(isa: str) -> Callable[[int, int], None]:
    """What the loop does where there are no tiles."""
    together = _together(isa)
    left, right = (np.uint8, np.int8) if together == 4 else (np.int16, np.int16)

    def run(address: int, rounds: int) -> None:
        weights = np.tile(view(address, 4 * together, right).astype(np.int32), 4)
        values = view(address + 64, LANES * _SUMS[isa], np.int32)
        for _ in range(rounds):
            products = values.view(left).reshape(-1, together * LANES) * weights
            values += products.reshape(-1, together).sum(1, dtype=np.int32)

    return run
