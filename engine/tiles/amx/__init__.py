"""AMX: products of tiles of 16 x 64 int8, and what a thread needs before its first one.

Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18. The process needs the
kernel's permission first (`engine.cpu`).
"""

from functools import partial
from typing import Any

from llvmlite import ir
from numba.core import cgutils

from engine.simd.vector import const, emit_call, operation_on, pointer

TILE = 1024  # bytes of a tile: 16 rows of 64
_I8 = ir.IntType(8)


def _call(b: Any, name: str, *arguments: Any) -> None:
    tiles = (ir.Constant(_I8, each) if isinstance(each, int) else each for each in arguments)
    emit_call(b, *tiles, name=f"x86.{name}", result=ir.VoidType())


def zero(b: Any, tile: int) -> None:
    _call(b, "tilezero", tile)


def load(b: Any, tile: int, address: Any, offset: int, stride: Any = 64) -> None:
    stride = const(stride) if isinstance(stride, int) else stride
    _call(b, "tileloadd64", tile, pointer(b, address, const(offset), _I8), stride)


def store(b: Any, tile: int, address: Any, offset: int) -> None:
    _call(b, "tilestored64", tile, pointer(b, address, const(offset), _I8), const(64))


def dot(b: Any, total: int, rows: int, columns: int, kind: str = "ss") -> None:
    """total[16, 16] += rows[16, 64] @ columns[64, 16], int8 into int32; of kind "us" the rows have no sign."""
    _call(b, f"tdpb{kind}d", total, rows, columns)


def starting(rows: int, size: int) -> Any:
    """An operation that gives this thread tiles for products of `rows` rows of `size` bytes: 0 to 3 for sums, 4 and 5
    for rows, 6 and 7 for columns. What tiles hold is lost."""
    # palette 1; bytes in a row and rows of each of eight tiles
    sizes, counts = [*[64, 0] * 4, *[size, 0] * 2, *[64, 0] * 2], [*[rows] * 6, *[size // 4] * 2]
    config = bytearray([1, *[0] * 15, *sizes, *[0] * 16, *counts, *[0] * 8])

    def emit(b: Any) -> None:
        place = cgutils.alloca_once_value(b, ir.Constant(ir.ArrayType(_I8, len(config)), config))
        _call(b, "ldtilecfg", b.bitcast(place, _I8.as_pointer()))

    return operation_on(emit, 0)


def _clear(b: Any) -> None:
    for tile in range(6):
        zero(b, tile)


def _multiply_wide(b: Any, a: Any, w: Any, w_next: Any) -> None:
    """Rows without sign. Tiles 0, 1: high times high; 2, 3: high times low and low times high; 4, 5: low times low."""
    products = (  # offset in a, columns, offset in these, sum
        (0, w, 0, 0), (0, w_next, 0, 1), (0, w, TILE, 2), (0, w_next, TILE, 3),
        (TILE, w_next, TILE, 5), (TILE, w, TILE, 4), (TILE, w, 0, 2), (TILE, w_next, 0, 3),
    )  # fmt: skip
    for number, (row, columns, offset, total) in enumerate(products):
        if number % 4 == 0:
            load(b, 6, a, row)
        if number != 4:  # the tile is still there
            load(b, 7, columns, offset)
        dot(b, total, 6, 7, "us")


def _multiply_small(b: Any, a: Any, w: Any, w_step: Any) -> None:
    """Tiles 0 to 3: one digit of 16 rows times four tiles of columns, `w_step` bytes apart."""
    load(b, 4, a, 0)
    for tile in range(4):
        load(b, 5 + tile % 3, b.add(w, b.mul(w_step, const(tile))), 0)
        dot(b, tile, 4, 5 + tile % 3)


def _keep(count: int, b: Any, out: Any) -> None:
    for tile in range(count):
        store(b, tile, out, tile * TILE)


start_tiles = starting(16, 64)
"""Give this thread eight tiles of 16 rows of 64 bytes; before the first product of a compiled function."""
stop_tiles = operation_on(partial(_call, name="tilerelease"), 0)
"""Give the tiles back, so that the kernel has nothing to save."""
clear_tiles = operation_on(_clear, 0)
multiply_wide, multiply_small = operation_on(_multiply_wide, 3), operation_on(_multiply_small, 3)
keep_four, keep_six = operation_on(partial(_keep, 4), 1), operation_on(partial(_keep, 6), 1)
"""Operations on the tiles of this thread, given addresses; what a tile holds lasts from one to the next."""
