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
        return PeakLoop(_intrinsic(_emit_tiles), (2 + sums) * TILE, sums * 16 * 16 * 64)
    run = _intrinsic(_emit_vectors(isa)) if JIT else meaning(isa)
    return PeakLoop(run, 64 * (1 + sums), together * LANES * sums)


def _together(isa: str) -> int:
    """Products that are added to one int32 at once."""
    return 4 if isa == "avx512_vnni" and JIT else 2


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


def _emit_vectors(isa: str) -> Callable[[Any, Any, Any], None]:
    def emit(b: Any, address: Any, rounds: Any) -> None:
        eight = b.load(pointer(b, address, const(0), _I16X8), align=1)
        weights = b.shuffle_vector(eight, eight, ir.Constant(ir.VectorType(_I32, 32), [*range(8)] * 4))
        places = [pointer(b, address, const(64 * (1 + i)), _I32X16) for i in range(_SUMS[isa])]

        def dot(each: Any) -> Any:
            if _together(isa) == 2:
                return DOTS[isa](b, each, b.bitcast(each, _I16X32), weights)
            kind = ir.FunctionType(_I32X16, [_I32X16] * 3)
            return b.asm(kind, "vpdpbusd $3, $2, $0", "=v,0,v,v", [each, each, b.bitcast(weights, _I32X16)], False)

        def body(i: Any, sums: list[Any]) -> list[Any]:
            return [dot(each) for each in sums]

        for place, value in zip(places, loop(b, rounds, [b.load(p, align=1) for p in places], body), strict=True):
            b.store(value, place, align=1)

    return emit


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
