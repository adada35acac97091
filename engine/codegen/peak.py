"""How many multiply-adds an instruction set has room for: its integer products on registers alone, again and again."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from engine.codegen.amx import TILE
from engine.codegen.tiles import DOTS
from engine.simd.address import const, loop, pointer, view
from engine.simd.vector import JIT, LANES

_I8, _I16, _I32 = ir.IntType(8), ir.IntType(16), ir.IntType(32)
_I32X16, _I16X32, _I16X8 = ir.VectorType(_I32, LANES), ir.VectorType(_I16, 2 * LANES), ir.VectorType(_I16, 8)
_SUMS = {"amx": 6, "avx512_vnni": 12, "avx2": 6, "portable": 3}  # enough of them that none waits for itself


class PeakLoop(NamedTuple):
    """`run(address, rounds)` on `room` bytes at an address, which hold operands and the sums after them; a round is so
    many multiply-adds.

    AMX: tiles A [16][64] and B, int8, and six sums s [16][16], int32: s += A B. The others: a vector w of 8 int16, four
    times, and sums s of 16 int32: s += the pairs of s, read as int16, times those of w; so each round needs the last.
    """

    run: Any
    room: int
    multiply_adds: int


def peak_loop(isa: str) -> PeakLoop:
    """The loop of an instruction set."""
    sums = _SUMS[isa]
    if not JIT:
        return PeakLoop(_meaning(sums), 64 * (1 + sums), 2 * LANES * sums)
    if isa == "amx":
        return PeakLoop(_intrinsic(_emit_tiles), (2 + sums) * TILE, sums * 16 * 16 * 64)
    return PeakLoop(_intrinsic(_emit_pairs(isa)), 64 * (1 + sums), 2 * LANES * sums)


def _intrinsic(emit: Callable[[Any, Any, Any], None]) -> Any:
    @intrinsic
    def run(typing: Any, address: Any, rounds: Any) -> Any:
        def codegen(context: Any, b: Any, sig: Any, args: Any) -> Any:
            emit(b, *args)
            return context.get_dummy_value()

        return types.void(types.intp, types.intp), codegen

    return run


def _emit_tiles(b: Any, address: Any, rounds: Any) -> None:
    sums = range(_SUMS["amx"])

    def move(name: str, tile: int, place: int) -> None:
        _call(b, name, ir.Constant(_I8, tile), pointer(b, address, const(place * TILE), _I8), const(64))

    def body(i: Any, carried: list[Any]) -> list[Any]:
        for tile in sums:
            _call(b, "tdpbssd", *(ir.Constant(_I8, each) for each in (tile, 6, 7)))
        return []

    for tile, place in ((6, 0), (7, 1), *((tile, 2 + tile) for tile in sums)):
        move("tileloadd64", tile, place)
    loop(b, rounds, [], body)
    for tile in sums:
        move("tilestored64", tile, 2 + tile)


def _call(b: Any, name: str, *arguments: Any) -> None:
    kind = ir.FunctionType(ir.VoidType(), [value.type for value in arguments])
    b.call(cgutils.get_or_insert_function(b.module, kind, f"llvm.x86.{name}"), arguments)


def _emit_pairs(isa: str) -> Callable[[Any, Any, Any], None]:
    def emit(b: Any, address: Any, rounds: Any) -> None:
        eight = b.load(pointer(b, address, const(0), _I16X8), align=1)
        weights = b.shuffle_vector(eight, eight, ir.Constant(ir.VectorType(_I32, 32), [*range(8)] * 4))
        places = [pointer(b, address, const(64 * (1 + i)), _I32X16) for i in range(_SUMS[isa])]

        def body(i: Any, sums: list[Any]) -> list[Any]:
            return [DOTS[isa](b, each, b.bitcast(each, _I16X32), weights) for each in sums]

        for place, value in zip(places, loop(b, rounds, [b.load(p, align=1) for p in places], body), strict=True):
            b.store(value, place, align=1)

    return emit


def _meaning(sums: int) -> Callable[[int, int], None]:
    def run(address: int, rounds: int) -> None:
        weights = np.tile(view(address, 8, np.int16).astype(np.int32), 4)
        values = view(address + 64, LANES * sums, np.int32)
        for _ in range(rounds):
            products = values.view(np.int16).reshape(-1, 2 * LANES) * weights
            values += products.reshape(-1, 2).sum(1, dtype=np.int32)

    return run
