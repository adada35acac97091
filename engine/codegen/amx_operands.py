"""The numbers of attention as operands of AMX, which multiplies int8, in chunks of 64 along k.

A number of up to 8 bits is one digit, a wider one is two bytes, x = 256 h + l, in two planes of 1024 bytes. Weights are
never negative, and neither of their bytes has a sign; l of values is in -128..127, since one of two factors may have a
sign. Four that are multiplied together lie side by side.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from engine.codegen.operands import Layout, emit_both, emit_pairs, store_of
from engine.codegen.tiles import DOTS
from engine.simd.address import const, pointer
from engine.simd.vector import i32x16

SMALL = Layout(16, 64, 64, 1024)
"""Where rows of queries lie, which have one digit."""
VALUE_CHUNK, KEY_CHUNK = 2048, 1024
"""Bytes of a right operand's chunk of 16 columns, of two digits and of one."""
_I8, _I16, _I32 = ir.IntType(8), ir.IntType(16), ir.IntType(32)
_I16X32, _I8X64 = ir.VectorType(_I16, 32), ir.VectorType(_I8, 64)


def _bytes(b: Any, low: Any, high: Any) -> Any:
    return emit_both(b, low, high, _I8X64, 8)


def _emit_columns(b: Any, address: Any, second: int, v: Any) -> None:
    halves = _split(b, emit_pairs(b, v[0], v[1])), _split(b, emit_pairs(b, v[2], v[3]))
    for plane, (low, high) in enumerate(zip(*halves, strict=True)):
        b.store(_bytes(b, low, high), pointer(b, address, const(1024 * plane), _I8X64), align=1)


def _split(b: Any, x: Any) -> tuple[Any, Any]:
    eight = ir.Constant(_I16X32, [8] * 32)
    high = b.ashr(b.add(x, ir.Constant(_I16X32, [128] * 32)), eight)
    return high, b.sub(x, b.shl(high, eight))


def _emit_row(b: Any, address: Any, second: int, v: Any) -> None:
    four = _bytes(b, emit_pairs(b, v[0], v[1]), emit_pairs(b, v[2], v[3]))
    b.store(four, pointer(b, address, const(0), _I8X64), align=1)


def _byte(b: Any, p: Any, q: Any, plane: int) -> Any:
    """The low or the high bytes of two vectors of int16, in turns."""
    order = [source + 2 * i + plane for i in range(32) for source in (0, 64)]
    return b.shuffle_vector(b.bitcast(p, _I8X64), b.bitcast(q, _I8X64), ir.Constant(ir.VectorType(_I32, 64), order))


@intrinsic
def store_weights(typing: Any, address: Any, share: Any, v0: Any, v1: Any, v2: Any, v3: Any) -> Any:
    """store_weights(address, share, v0, v1, v2, v3): a chunk of a row of numbers from 0 to TOP, the low halves of the
    lanes; returns `share` plus, in any order of the lanes, their sum."""

    def codegen(context: Any, b: Any, sig: Any, args: Any) -> Any:
        address, share, *v = args
        pairs = emit_pairs(b, v[0], v[1]), emit_pairs(b, v[2], v[3])
        for place, plane in ((0, 1), (1024, 0)):
            b.store(_byte(b, *pairs, plane), pointer(b, address, const(place), _I8X64), align=1)
        for x in pairs:
            share = DOTS["avx512_vnni"](b, share, x, ir.Constant(_I16X32, [1] * 32))
        return share

    return i32x16(types.intp, *[i32x16] * 5), codegen


store_columns, store_small_row = store_of(_emit_columns, 0), store_of(_emit_row, 0)
"""store_columns(address, v0, v1, v2, v3): the k = r, r + 16, r + 32 and r + 48 of 16 columns of wide numbers.
store_small_row: a chunk of a row of small ones (k = 0..15, 16..31, 32..47, 48..63)."""
