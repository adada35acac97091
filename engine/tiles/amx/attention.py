"""The numbers of attention as operands of AMX, which multiplies int8, in chunks of 64 along k.

A number of up to 8 bits is one digit, a wider one is two bytes, x = 256 h + l, in two planes of 1024 bytes. Weights are
never negative, and neither of their bytes has a sign; l of values is in -128..127, since one of two factors may have a
sign. Four that are multiplied together lie side by side.
"""

from typing import Any

from numba import types

from engine.simd.memory import emit_pairs
from engine.simd.vector import I8X64, I16X32, JIT, all_i16, chosen, emit_store, i32x16, operation, operation_on
from engine.tiles.dots import dot_pairs
from engine.tiles.operands import mean_pairs

ROW_STEP, ROW_CHUNK = 64, 1024
"""Bytes from a query to the next and from its chunk to the next: 16 rows of one digit lie together."""
VALUE_CHUNK, KEY_CHUNK = 2048, 1024
"""Bytes of a right operand's chunk of 16 columns, of two digits and of one."""


def _pairs(b: Any, v: Any) -> list[Any]:
    return [b.bitcast(emit_pairs(b, *v[i : i + 2]), I16X32) for i in (0, 2)]


def _bytes(b: Any, low: Any, high: Any) -> Any:
    """The lowest 8 bits of each, those of `low` before those of `high`."""
    return b.bitcast(b.or_(b.and_(low, all_i16(255)), b.shl(high, all_i16(8))), I8X64)


def _emit_columns(b: Any, address: Any, *v: Any) -> None:
    pairs = _pairs(b, v)
    high = [b.ashr(b.add(x, all_i16(128)), all_i16(8)) for x in pairs]
    low = [b.sub(x, b.shl(h, all_i16(8))) for x, h in zip(pairs, high, strict=True)]
    emit_store(b, _bytes(b, *high), address)
    emit_store(b, _bytes(b, *low), address, 1024)


def _emit_row(b: Any, address: Any, *v: Any) -> None:
    emit_store(b, _bytes(b, *_pairs(b, v)), address)


def _emit_weights(b: Any, address: Any, share: Any, *v: Any) -> Any:
    pairs = _pairs(b, v)
    low, high = (b.bitcast(x, I8X64) for x in pairs)
    for offset, plane in ((0, 1), (1024, 0)):  # the high bytes of both in turns, then the low ones
        order = [source + 2 * i + plane for i in range(32) for source in (0, 64)]
        emit_store(b, chosen(b, low, high, order), address, offset)
    for x in pairs:
        share = dot_pairs(b, "avx512_vnni", share, x, all_i16(1))
    return share


store_columns, store_row = (operation_on(emit, 1, 4) if JIT else mean_pairs for emit in (_emit_columns, _emit_row))
"""store_columns(address, v0, v1, v2, v3): the k = r, r + 16, r + 32 and r + 48 of 16 columns of wide numbers.
store_row: a chunk of a row of small ones (k = 0..15, 16..31, 32..47, 48..63)."""
store_weights = operation(i32x16(types.intp, *[i32x16] * 5), _emit_weights, lambda *values: values[1])
"""store_weights(address, share, v0, v1, v2, v3): a chunk of a row of numbers from 0 to TOP, the low halves of lanes; it
gives `share` plus, in any order of the lanes, their sum. Compiled with AMX alone."""
