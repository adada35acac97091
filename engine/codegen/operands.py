"""Rows of activations as the left operands of a decoder's integer products, in the order that the instruction set in
use multiplies them. Those of encoders: `group_rows.py`; of attention: `amx_operands.py` and `attention_tile.py`.

A product is cut along k into chunks of 64. A chunk of a row is stored from four vectors (k = 0..15, 16..31, 32..47,
48..63). What is multiplied with each other has its k in the same order, two or four that are multiplied together side
by side.

*AMX* multiplies int8. A number of more than 8 bits is two bytes there, x = 256 h + l, in two planes of 1024 bytes; l
has no sign. *The others* multiply int16, two at a time; so does plain Python.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from engine.simd.address import const, pointer, view
from engine.simd.vector import JIT, LANES, i32x16

CHUNK = 64
TOP, ROW_TOP, SMALL_TOP = 8191, 32767, 127
"""The greatest integer of two digits in what attention adds up, that in rows of activations, and that of one digit."""
CODED = [32 * half + 2 * pair + k for half in range(2) for pair in range(8) for k in (0, 1, 16, 17)]
"""The order of k in a chunk of rows that are multiplied with a decoder's quants on AMX (`int8_tile.digits`)."""
_I8, _I16, _I32 = ir.IntType(8), ir.IntType(16), ir.IntType(32)
_I16X32, _I8X64 = ir.VectorType(_I16, 32), ir.VectorType(_I8, 64)


class Layout(NamedTuple):
    """Where a left operand's rows lie: row r, chunk q of n chunks is at
    (r // group) * group * n * row + (r % group) * step + q * chunk bytes."""

    group: int
    row: int  # bytes of a chunk of one row, all planes
    step: int
    chunk: int


def emit_both(b: Any, low: Any, high: Any, kind: Any, bits: int) -> Any:
    """Lanes of twice the width to lanes of `kind`: low in the even ones, high in the odd ones."""
    wide = low.type
    mask = ir.Constant(wide, [(1 << bits) - 1] * wide.count)
    shift = ir.Constant(wide, [bits] * wide.count)
    return b.bitcast(b.or_(b.and_(low, mask), b.shl(high, shift)), kind)


def emit_pairs(b: Any, low: Any, high: Any) -> Any:
    return emit_both(b, low, high, _I16X32, 16)


def _one_byte(b: Any, p: Any, q: Any, plane: int) -> Any:
    """One byte of each of the int16 that `emit_pairs` has made, in the order CODED: the low ones or the high ones."""
    places = [64 * (k // 32) + 4 * (k % 16) + 2 * (k // 16 % 2) + plane for k in CODED]
    p, q = b.bitcast(p, _I8X64), b.bitcast(q, _I8X64)
    return b.shuffle_vector(p, q, ir.Constant(ir.VectorType(_I32, len(places)), places))


def _emit_row(b: Any, address: Any, second: int, v: Any) -> None:
    p, q = emit_pairs(b, v[0], v[1]), emit_pairs(b, v[2], v[3])
    for place, plane in ((0, 1), (1024, 0)):
        b.store(_one_byte(b, p, q, plane), pointer(b, address, const(place), _I8X64), align=1)


def _emit_pairs(b: Any, address: Any, second: int, v: Any) -> None:
    for half in range(2):
        value = emit_pairs(b, v[2 * half], v[2 * half + 1])
        b.store(value, pointer(b, address, const(second * half), _I16X32), align=1)


def _mean_pairs(address: int, second: int, chunk: Any) -> None:
    for half in range(2):
        pairs = chunk[32 * half : 32 * half + 32].reshape(2, LANES)
        view(address + second * half, 32, np.int16)[:] = pairs.T.reshape(-1)


def store_of(emit: Callable[..., None], second: int) -> Any:
    """store(address, v0, v1, v2, v3); `second` is the distance of the second half where there are halves."""
    if not JIT:
        return lambda address, *v: _mean_pairs(address, second, np.concatenate(v))

    @intrinsic
    def store(typing: Any, address: Any, v0: Any, v1: Any, v2: Any, v3: Any) -> Any:
        def codegen(context: Any, b: Any, sig: Any, args: Any) -> Any:
            emit(b, args[0], second, args[1:])
            return context.get_dummy_value()

        return types.void(types.intp, *[i32x16] * 4), codegen

    return store


store_pairs, store_digits = store_of(_emit_pairs, 64), store_of(_emit_row, 0)
"""A chunk of a row as int16, and as digits of AMX in the order CODED."""
