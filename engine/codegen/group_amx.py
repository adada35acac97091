"""The products of `group_tile` on AMX: 16 rows times 32 columns, of the operands that AVX-512 VNNI has.

Half a group is one product of tiles, of 16 rows of 32 bytes and 8 rows of 16 columns; tiles are configured for it by
`starting(16, HALF)`. Its sums leave the tiles and become vectors while the next tiles are multiplied.
"""

from functools import partial
from typing import Any

from llvmlite import ir

from engine.codegen.amx import TILE, dot, load, store, zero
from engine.codegen.group_tile import ADD, GELU, GROUP, HALF, STORE, VECTOR, Tile, fetch_ahead, finish, out_of
from engine.codegen.tiles import splat
from engine.simd.address import const, loop, pointer, switched
from engine.simd.arithmetic import emit_fma
from engine.simd.vector import LANES, f32x16, i32x16, operation_on

COLUMNS = 2
"""Vectors of 16 columns of a tile."""
SCRATCH = (2 * 2 + 1) * COLUMNS * TILE
"""Bytes that a tile needs for sums of two halves, of two digits each, and for totals."""
_TOTALS = 2 * 2 * COLUMNS * TILE


def group_amx(digits: int) -> Any:
    """tile(rows, *Tile): `group_tile` for up to 16 rows; the operand is readable up to the sixteenth."""

    def emit(b: Any, rows: Any, *args: Any) -> None:
        _emit(b, rows, digits, Tile(*args))

    return operation_on(emit, 1 + len(Tile._fields))


def _emit(b: Any, rows: Any, digits: int, t: Tile) -> None:
    half_of_d = b.mul(t.groups, const(2 * VECTOR))
    factors = [b.add(t.d, b.mul(half_of_d, const(2 * c))) for c in range(COLUMNS)]
    totals = b.add(t.scratch, const(_TOTALS))
    for c in range(COLUMNS):
        bias = _load(b, t.bias, const(VECTOR * c))
        for r in range(LANES):
            b.store(bias, _at(b, totals, c, r), align=4)

    def of_group(g: Any, carried: list[Any]) -> list[Any]:
        for half in range(2):
            place = b.add(b.mul(g, const(2 * VECTOR)), const(VECTOR * half))
            starts = [b.add(b.add(factor, half_of_d), place) for factor in factors]
            _multiply(b, g, half, digits, starts, t)
        _vectors(b, g, digits, factors, t)
        return carried

    loop(b, t.groups, [], of_group)
    switched(b, t.mode, {mode: partial(_finish, b, mode, rows, totals, t) for mode in (STORE, GELU, ADD)})


def _at(b: Any, base: Any, c: int, r: int) -> Any:
    """The place of a vector of float32 [columns][16 rows][16]."""
    return pointer(b, base, const(TILE * c + VECTOR * r), f32x16.llvm)


def _load(b: Any, base: Any, offset: Any, kind: Any = f32x16) -> Any:
    return b.load(pointer(b, base, offset, kind.llvm), align=4)


def _sums_at(digit: int, half: int, c: int) -> int:
    """Bytes to a tile of sums."""
    return TILE * (COLUMNS * (2 * half + digit) + c)


def _multiply(b: Any, g: Any, half: int, digits: int, starts: list[Any], t: Tile) -> None:
    """The sums of half a group, each digit by itself, from the tiles to their place. `starts` are the addresses of what
    sums of the first digits begin with, the same in all rows of a tile."""
    k = b.add(b.mul(g, const(GROUP)), const(HALF * half))
    left, right = b.add(t.a, k), b.add(t.w, b.mul(k, const(LANES)))
    fetch_ahead(b, t, g, half)
    for c in range(COLUMNS):
        load(b, 6 + c, b.add(right, b.mul(t.panel, const(c))), 0)
    for digit in range(digits):
        load(b, 4 + digit, b.add(left, b.mul(t.low, const(digit))), 0, t.row)
        for c in range(COLUMNS):
            tile = COLUMNS * digit + c
            if digit:
                zero(b, tile)
            else:
                load(b, tile, starts[c], 0, 0)
            dot(b, tile, 4 + digit, 6 + c, "us")
            store(b, tile, t.scratch, _sums_at(digit, half, c))


def _vectors(b: Any, g: Any, digits: int, factors: list[Any], t: Tile) -> None:
    """totals = fma(the sums of a group times the scales of columns, the scale of the row, totals)."""
    totals, eight = b.add(t.scratch, const(_TOTALS)), ir.Constant(i32x16.llvm, [8] * LANES)
    places = [b.add(b.mul(g, const(2 * VECTOR)), const(VECTOR * half)) for half in range(2)]
    d = [[_load(b, factor, place) for place in places] for factor in factors]

    def value(c: int, r: int, half: int) -> Any:
        whole = _load(b, t.scratch, const(_sums_at(0, half, c) + VECTOR * r), i32x16)
        if digits == 2:
            low = _load(b, t.scratch, const(_sums_at(1, half, c) + VECTOR * r), i32x16)
            whole = b.add(b.shl(whole, eight), low)
        return b.sitofp(whole, f32x16.llvm)

    for r in range(LANES):
        at = b.add(b.mul(t.scales, const(r)), b.mul(g, const(4)))
        s = splat(b, b.load(pointer(b, t.s, at, ir.FloatType()), align=4))
        for c in range(COLUMNS):
            part = emit_fma(b, value(c, r, 1), d[c][1], b.fmul(value(c, r, 0), d[c][0]))
            to = _at(b, totals, c, r)
            b.store(emit_fma(b, part, s, b.load(to, align=4)), to, align=4)


def _finish(b: Any, mode: int, rows: Any, totals: Any, t: Tile) -> None:
    """Write the rows that there are."""

    def row(r: Any, carried: list[Any]) -> list[Any]:
        offset = b.mul(r, const(VECTOR))
        values = [_load(b, totals, b.add(offset, const(TILE * c))) for c in range(COLUMNS)]
        places = [b.add(out_of(b, t, 0, c), offset) for c in range(COLUMNS)]
        finish(b, mode, values, places)
        return carried

    loop(b, rows, [], row)
