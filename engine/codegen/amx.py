"""AMX: products of tiles of 16 x 64 int8, and what a thread needs before its first one.

Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18. The process needs the
kernel's permission first (`engine.cpu`).
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from engine.simd.address import const, pointer

TILE = 1024  # bytes of a tile: 16 rows of 64
_I8, _I64 = ir.IntType(8), ir.IntType(64)


def _call(b: Any, name: str, *arguments: Any) -> None:
    kind = ir.FunctionType(ir.VoidType(), [value.type for value in arguments])
    b.call(cgutils.get_or_insert_function(b.module, kind, f"llvm.x86.{name}"), arguments)


def zero(b: Any, tile: int) -> None:
    _call(b, "tilezero", ir.Constant(_I8, tile))


def load(b: Any, tile: int, address: Any, offset: int, stride: Any = 64) -> None:
    _call(b, "tileloadd64", ir.Constant(_I8, tile), pointer(b, address, const(offset), _I8), _wide(stride))


def store(b: Any, tile: int, address: Any, offset: int, stride: Any = 64) -> None:
    _call(b, "tilestored64", ir.Constant(_I8, tile), pointer(b, address, const(offset), _I8), _wide(stride))


def dot(b: Any, total: int, rows: int, columns: int, kind: str = "ss") -> None:
    """total[16, 16] += rows[16, 64] @ columns[64, 16], int8 into int32; of kind "us" the rows have no sign."""
    _call(b, f"tdpb{kind}d", *(ir.Constant(_I8, tile) for tile in (total, rows, columns)))


def _wide(value: Any) -> Any:
    return const(value) if isinstance(value, int) else value


def starting(rows: int, size: int) -> Any:
    """An operation that gives this thread tiles for products of `rows` rows of `size` bytes: 0 to 3 for sums, 4 and 5
    for rows, 6 and 7 for columns. What tiles hold is lost."""

    @intrinsic
    def start(typing: Any) -> Any:
        def codegen(context: Any, b: Any, sig: Any, args: Any) -> Any:
            config = cgutils.alloca_once_value(b, ir.Constant(ir.ArrayType(_I8, 64), bytearray(_config(rows, size))))
            _call(b, "ldtilecfg", b.bitcast(config, _I8.as_pointer()))
            return context.get_dummy_value()

        return types.void(), codegen

    return start


def _config(rows: int, size: int) -> bytes:
    """Palette 1; bytes in a row and rows of each of eight tiles."""
    return bytes(
        [1, *[0] * 15, *[64, 0] * 4, *[size, 0] * 2, *[64, 0] * 2, *[0] * 16, *[rows] * 6, *[size // 4] * 2, *[0] * 8]
    )


start_tiles = starting(16, 64)
"""Give this thread eight tiles of 16 rows of 64 bytes; before the first product of a compiled function."""


@intrinsic
def stop_tiles(typing: Any) -> Any:
    """Give the tiles back, so that the kernel has nothing to save."""

    def codegen(context: Any, b: Any, sig: Any, args: Any) -> Any:
        _call(b, "tilerelease")
        return context.get_dummy_value()

    return types.void(), codegen


def _step(name: str, addresses: int, emit: Any) -> Any:
    """An operation on the tiles of this thread, given addresses; what a tile holds lasts from one to the next."""

    def codegen(context: Any, b: Any, sig: Any, args: Any) -> Any:
        emit(b, *args)
        return context.get_dummy_value()

    names = ", ".join(f"a{i}" for i in range(addresses))
    scope: dict[str, Any] = {"signature": types.void(*[types.intp] * addresses), "codegen": codegen}
    exec(f"def {name}(typing, {names}): return signature, codegen", scope)
    return intrinsic(scope[name])


def _emit_clear(b: Any) -> None:
    for tile in range(6):
        zero(b, tile)


def _emit_wide(b: Any, a: Any, w: Any, w_next: Any) -> None:
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


def _emit_keep_four(b: Any, out: Any) -> None:
    for tile in range(4):
        store(b, tile, out, tile * TILE)


def _emit_keep_six(b: Any, out: Any) -> None:
    for tile in range(6):
        store(b, tile, out, tile * TILE)


def _emit_small(b: Any, a: Any, w: Any, w_step: Any) -> None:
    """Tiles 0 to 3: one digit of 16 rows times four tiles of columns, `w_step` bytes apart."""
    load(b, 4, a, 0)
    for tile in range(4):
        load(b, 5 + tile % 3, b.add(w, b.mul(w_step, const(tile))), 0)
        dot(b, tile, 4, 5 + tile % 3)


clear_tiles = _step("clear_tiles", 0, _emit_clear)
multiply_wide = _step("multiply_wide", 3, _emit_wide)
multiply_small = _step("multiply_small", 3, _emit_small)
keep_four = _step("keep_four", 1, _emit_keep_four)
keep_six = _step("keep_six", 1, _emit_keep_six)
