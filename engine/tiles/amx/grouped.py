"""The products of `group_tile` on AMX: 16 rows times 32 columns, of the operands that AVX-512 VNNI has.

A group is one product of tiles, of 16 rows of 64 bytes and 16 rows of 16 columns of four; tiles are configured for it
by `start_tiles`. Its sums leave the tiles and become vectors while the next tiles are multiplied.
"""

from functools import partial
from typing import Any

from llvmlite import ir

from engine.simd.arithmetic import emit_fma
from engine.simd.vector import (
    F32X16,
    I32X16,
    LANES,
    all_i32,
    const,
    emit_load,
    emit_splat,
    emit_store,
    loop,
    operation_of,
    switched,
)
from engine.tiles.amx import TILE, dot, load, store, zero
from engine.tiles.dots import VECTOR
from engine.tiles.grouped import GROUP, MODES, RAISED, TWO, Tile, fetch_ahead, finish, out_of

COLUMNS = 2
"""Vectors of 16 columns of a tile."""
SCRATCH = (2 + 1) * COLUMNS * TILE
"""Bytes that a tile needs for sums of two digits, and for totals."""
_TOTALS = 2 * COLUMNS * TILE


def group_amx(kind: int) -> Any:
    """tile(rows, Tile): `group_tile` for up to 16 rows; the operand is readable up to the sixteenth."""
    return operation_of(lambda b, rows, *args: _emit(b, rows, kind, Tile(*args)), 2)


def _emit(b: Any, rows: Any, kind: int, t: Tile) -> None:
    size_of_d = b.mul(t.groups, const(VECTOR))
    factors = [b.add(t.d, b.mul(size_of_d, const(2 * c))) for c in range(COLUMNS)]
    totals = b.add(t.scratch, const(_TOTALS))
    for c in range(COLUMNS):
        bias = emit_load(b, t.bias, VECTOR * c)
        for r in range(LANES):
            emit_store(b, bias, totals, TILE * c + VECTOR * r)

    def of_group(g: Any, carried: list[Any]) -> list[Any]:
        place = b.mul(g, const(VECTOR))
        _multiply(b, g, kind, [b.add(b.add(factor, size_of_d), place) for factor in factors], t)
        _vectors(b, g, kind, [emit_load(b, factor, place) for factor in factors], t)
        return carried

    loop(b, t.groups, [], of_group)
    switched(b, t.mode, {mode: partial(_finish, b, mode, rows, totals, t) for mode in MODES})


def _sums_at(digit: int, c: int) -> int:
    """Bytes to a tile of sums."""
    return TILE * (COLUMNS * digit + c)


def _multiply(b: Any, g: Any, kind: int, starts: list[Any], t: Tile) -> None:
    """The sums of a group, each digit by itself, from the tiles to their place. `starts` are the addresses of what sums
    of the first digits begin with, the same in all rows of a tile; those of raised rows begin with zeros."""
    k = b.mul(g, const(GROUP))
    left, right = b.add(t.a, k), b.add(t.w, b.mul(k, const(LANES)))
    fetch_ahead(b, t, g)
    for c in range(COLUMNS):
        load(b, 6 + c, b.add(right, b.mul(t.panel, const(c))), 0)
    for digit in range(2 if kind == TWO else 1):
        load(b, 4 + digit, b.add(left, b.mul(t.low, const(digit))), 0, t.row)
        for c in range(COLUMNS):
            tile = COLUMNS * digit + c
            if digit or kind == RAISED:
                zero(b, tile)
            else:
                load(b, tile, starts[c], 0, 0)
            dot(b, tile, 4 + digit, 6 + c, "us")
            store(b, tile, t.scratch, _sums_at(digit, c))


def _vectors(b: Any, g: Any, kind: int, d: list[Any], t: Tile) -> None:
    """totals = fma(the sums of a group times the scales of columns, the scale of the row, totals)."""
    totals = b.add(t.scratch, const(_TOTALS))

    def value(c: int, r: int) -> Any:
        whole = emit_load(b, t.scratch, _sums_at(0, c) + VECTOR * r, I32X16)
        if kind == TWO:
            whole = b.add(b.shl(whole, all_i32(8)), emit_load(b, t.scratch, _sums_at(1, c) + VECTOR * r, I32X16))
        return b.sitofp(whole, F32X16)

    for r in range(LANES):
        s = emit_splat(b, emit_load(b, t.s, b.add(b.mul(t.scales, const(r)), b.mul(g, const(4))), ir.FloatType()))
        for c in range(COLUMNS):
            at = TILE * c + VECTOR * r
            emit_store(b, emit_fma(b, b.fmul(value(c, r), d[c]), s, emit_load(b, totals, at)), totals, at)


def _finish(b: Any, mode: int, rows: Any, totals: Any, t: Tile) -> None:
    """Write the rows that there are."""

    def row(r: Any, carried: list[Any]) -> list[Any]:
        offset = b.mul(r, const(VECTOR))
        values = [emit_load(b, totals, b.add(offset, const(TILE * c))) for c in range(COLUMNS)]
        finish(b, mode, values, [b.add(out_of(b, t, 0, c), offset) for c in range(COLUMNS)])
        return carried

    loop(b, rows, [], row)
