"""The products of `group_tile` on AMX: 16 rows times 32 columns, of the operands that AVX-512 VNNI has.

A group is one product of tiles, of 16 rows of 64 bytes and 16 rows of 16 columns of four; tiles are configured for it
by `start_tiles`. Its sums leave the tiles and become vectors while the next tiles are multiplied.
"""

from functools import partial
from typing import Any

from llvmlite import ir

from engine.codegen.amx import TILE, dot, load, store, zero
from engine.codegen.group_tile import GROUP, MODES, RAISED, TWO, VECTOR, Tile, fetch_ahead, finish, out_of
from engine.codegen.tiles import splat
from engine.simd.address import const, loop, pointer, switched
from engine.simd.arithmetic import emit_fma
from engine.simd.vector import LANES, f32x16, i32x16, operation_on

COLUMNS = 2
"""Vectors of 16 columns of a tile."""
SCRATCH = (2 + 1) * COLUMNS * TILE
"""Bytes that a tile needs for sums of two digits, and for totals."""
_TOTALS = 2 * COLUMNS * TILE


def group_amx(kind: int) -> Any:
    """tile(rows, *Tile): `group_tile` for up to 16 rows; the operand is readable up to the sixteenth."""

    def emit(b: Any, rows: Any, *args: Any) -> None:
        _emit(b, rows, kind, Tile(*args))

    return operation_on(emit, 1 + len(Tile._fields))


def _emit(b: Any, rows: Any, kind: int, t: Tile) -> None:
    size_of_d = b.mul(t.groups, const(VECTOR))
    factors = [b.add(t.d, b.mul(size_of_d, const(2 * c))) for c in range(COLUMNS)]
    totals = b.add(t.scratch, const(_TOTALS))
    for c in range(COLUMNS):
        bias = _load(b, t.bias, const(VECTOR * c))
        for r in range(LANES):
            b.store(bias, _at(b, totals, c, r), align=4)

    def of_group(g: Any, carried: list[Any]) -> list[Any]:
        place = b.mul(g, const(VECTOR))
        _multiply(b, g, kind, [b.add(b.add(factor, size_of_d), place) for factor in factors], t)
        _vectors(b, g, kind, [_load(b, factor, place) for factor in factors], t)
        return carried

    loop(b, t.groups, [], of_group)
    switched(b, t.mode, {mode: partial(_finish, b, mode, rows, totals, t) for mode in MODES})


def _at(b: Any, base: Any, c: int, r: int) -> Any:
    """The place of a vector of float32 [columns][16 rows][16]."""
    return pointer(b, base, const(TILE * c + VECTOR * r), f32x16.llvm)


def _load(b: Any, base: Any, offset: Any, kind: Any = f32x16) -> Any:
    return b.load(pointer(b, base, offset, kind.llvm), align=4)


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
    totals, eight = b.add(t.scratch, const(_TOTALS)), ir.Constant(i32x16.llvm, [8] * LANES)

    def value(c: int, r: int) -> Any:
        whole = _load(b, t.scratch, const(_sums_at(0, c) + VECTOR * r), i32x16)
        if kind == TWO:
            whole = b.add(b.shl(whole, eight), _load(b, t.scratch, const(_sums_at(1, c) + VECTOR * r), i32x16))
        return b.sitofp(whole, f32x16.llvm)

    for r in range(LANES):
        at = b.add(b.mul(t.scales, const(r)), b.mul(g, const(4)))
        s = splat(b, b.load(pointer(b, t.s, at, ir.FloatType()), align=4))
        for c in range(COLUMNS):
            to = _at(b, totals, c, r)
            b.store(emit_fma(b, b.fmul(value(c, r), d[c]), s, b.load(to, align=4)), to, align=4)


def _finish(b: Any, mode: int, rows: Any, totals: Any, t: Tile) -> None:
    """Write the rows that there are."""

    def row(r: Any, carried: list[Any]) -> list[Any]:
        offset = b.mul(r, const(VECTOR))
        values = [_load(b, totals, b.add(offset, const(TILE * c))) for c in range(COLUMNS)]
        places = [b.add(out_of(b, t, 0, c), offset) for c in range(COLUMNS)]
        finish(b, mode, values, places)
        return carried

    loop(b, rows, [], row)
