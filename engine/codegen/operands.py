"""Integers as the operands of integer products, in the order that the instruction set in use multiplies them.

A product is cut along k into chunks of 64. `store_row` writes one chunk of a left operand's row from four vectors
(k = 0..15, 16..31, 32..47, 48..63); `store_columns` writes the k = r, r + 16, r + 32 and r + 48 of 16 columns of a
right operand. What is multiplied with each other has its k in the same order, two or four that are multiplied together
side by side.

*AMX* multiplies int8. A number of up to 8 bits is one digit there, a wider one is two bytes, x = 256 h + l, in two
planes of 1024 bytes. In rows of activations, which `store_row` keeps in order of k as weights are, l has no sign. Nor
have both bytes of attention's weights, which are never negative; l of its values is in -128..127, for one of two
factors may have a sign. *The others* multiply int16, two at a time; so does plain Python.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from engine.codegen.tiles import DOTS
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


def _both(b: Any, low: Any, high: Any, kind: Any, bits: int) -> Any:
    """Lanes of twice the width to lanes of `kind`: low in the even ones, high in the odd ones."""
    wide = low.type
    mask = ir.Constant(wide, [(1 << bits) - 1] * wide.count)
    shift = ir.Constant(wide, [bits] * wide.count)
    return b.bitcast(b.or_(b.and_(low, mask), b.shl(high, shift)), kind)


def _pairs(b: Any, low: Any, high: Any) -> Any:
    return _both(b, low, high, _I16X32, 16)


def _bytes(b: Any, low: Any, high: Any) -> Any:
    return _both(b, low, high, _I8X64, 8)


def _emit_digits(b: Any, address: Any, second: int, v: Any) -> None:
    """Two planes, 1024 bytes apart."""
    _emit_planes(b, address, _split(b, _pairs(b, v[0], v[1])), _split(b, _pairs(b, v[2], v[3])))


def _split(b: Any, x: Any) -> tuple[Any, Any]:
    eight = ir.Constant(_I16X32, [8] * 32)
    high = b.ashr(b.add(x, ir.Constant(_I16X32, [128] * 32)), eight)
    return high, b.sub(x, b.shl(high, eight))


def _one_byte(b: Any, p: Any, q: Any, plane: int, order: Sequence[int]) -> Any:
    """One byte of each of the int16 that `_pairs` has made, of the k of `order`: the low ones or the high ones."""
    places = [64 * (k // 32) + 4 * (k % 16) + 2 * (k // 16 % 2) + plane for k in order]
    p, q = b.bitcast(p, _I8X64), b.bitcast(q, _I8X64)
    return b.shuffle_vector(p, q, ir.Constant(ir.VectorType(_I32, len(places)), places))


def _emit_row(b: Any, address: Any, second: int, v: Any, order: Sequence[int] = range(CHUNK)) -> None:
    p, q = _pairs(b, v[0], v[1]), _pairs(b, v[2], v[3])
    for place, plane in ((0, 1), (1024, 0)):
        b.store(_one_byte(b, p, q, plane, order), pointer(b, address, const(place), _I8X64), align=1)


def emit_half_row(b: Any, address: Any, low: Any, high: Any) -> None:
    """Half a chunk of a left operand's row on AMX, of two vectors."""
    p = _pairs(b, low, high)
    for place, plane in ((0, 1), (1024, 0)):
        half = _one_byte(b, p, p, plane, range(CHUNK // 2))
        b.store(half, pointer(b, address, const(place), half.type), align=1)


def _byte(b: Any, p: Any, q: Any, plane: int) -> Any:
    """The low or the high bytes of two vectors of int16, in turns."""
    order = [source + 2 * i + plane for i in range(32) for source in (0, 64)]
    return b.shuffle_vector(b.bitcast(p, _I8X64), b.bitcast(q, _I8X64), ir.Constant(ir.VectorType(_I32, 64), order))


def _emit_planes(b: Any, address: Any, *halves: tuple[Any, Any]) -> None:
    for plane, (low, high) in enumerate(zip(*halves, strict=True)):
        b.store(_bytes(b, low, high), pointer(b, address, const(1024 * plane), _I8X64), align=1)


def _emit_small(b: Any, address: Any, second: int, v: Any) -> None:
    b.store(_bytes(b, _pairs(b, v[0], v[1]), _pairs(b, v[2], v[3])), pointer(b, address, const(0), _I8X64), align=1)


def _emit_pairs(b: Any, address: Any, second: int, v: Any) -> None:
    for half in range(2):
        value = _pairs(b, v[2 * half], v[2 * half + 1])
        b.store(value, pointer(b, address, const(second * half), _I16X32), align=1)


def _emit_weights(isa: str) -> Callable[..., Any]:
    """Emit the store of the lanes' low halves; two neighbours are added at once to the lanes of `share`."""

    def emit(b: Any, address: Any, share: Any, v: Any) -> Any:
        pairs = _pairs(b, v[0], v[1]), _pairs(b, v[2], v[3])
        if isa == "amx":
            for place, plane in ((0, 1), (1024, 0)):
                b.store(_byte(b, *pairs, plane), pointer(b, address, const(place), _I8X64), align=1)
        else:
            for half, x in enumerate(pairs):
                b.store(x, pointer(b, address, const(64 * half), _I16X32), align=1)
        for x in pairs:
            share = DOTS["avx512_vnni" if isa == "amx" else isa](b, share, x, ir.Constant(_I16X32, [1] * 32))
        return share

    return emit


def _mean_pairs(address: int, second: int, chunk: Any) -> None:
    for half in range(2):
        pairs = chunk[32 * half : 32 * half + 32].reshape(2, LANES)
        view(address + second * half, 32, np.int16)[:] = pairs.T.reshape(-1)


def _store(emit: Callable[..., None], second: int) -> Any:
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


def _store_weights(isa: str) -> Any:
    """store(address, share, v0, v1, v2, v3): a chunk of a row of numbers from 0 to TOP, the low halves of the lanes;
    returns `share` plus, in any order of the lanes, their sum."""
    if not JIT:

        def meaning(address: int, share: Any, *v: Any) -> Any:
            whole = np.array(v) & 0xFFFF
            _mean_pairs(address, 64, whole.reshape(-1))
            return share + whole.sum(0, dtype=np.int32)

        return meaning
    emit = _emit_weights(isa)

    @intrinsic
    def store(typing: Any, address: Any, share: Any, v0: Any, v1: Any, v2: Any, v3: Any) -> Any:
        def codegen(context: Any, b: Any, sig: Any, args: Any) -> Any:
            return emit(b, args[0], args[1], args[2:])

        return i32x16(types.intp, *[i32x16] * 5), codegen

    return store


def _store_part() -> Any:
    """store(address, v, odd): 16 numbers of a chunk of a row, whose halves are of two vectors; the even one first."""
    if not JIT:

        def meaning(address: int, v: Any, odd: bool) -> None:
            view(address, 32, np.int16)[int(odd) :: 2] = v

        return meaning

    @intrinsic
    def store(typing: Any, address: Any, v: Any, odd: Any) -> Any:
        def codegen(context: Any, b: Any, sig: Any, args: Any) -> Any:
            address, v, odd = args
            at, sixteen = pointer(b, address, const(0), i32x16.llvm), ir.Constant(i32x16.llvm, [16] * LANES)
            before = b.and_(b.load(at, align=1), ir.Constant(i32x16.llvm, [0xFFFF] * LANES))
            b.store(b.select(odd, b.or_(before, b.shl(v, sixteen)), v), at, align=1)
            return context.get_dummy_value()

        return types.void(types.intp, i32x16, types.boolean), codegen

    return store


class Operands(NamedTuple):
    """How one kind of instruction takes its operands: wide numbers, of two digits, and small ones, of one."""

    wide: Layout
    small: Layout
    chunk: int  # bytes of a right operand's chunk of 16 columns of wide numbers
    small_chunk: int
    store_row: Any
    store_columns: Any
    store_small_row: Any
    store_weights: Any
    store_part: Any  # where no tile of a product is as wide as half a chunk
    store_int8_row: Any  # that of a product with quants


def operands(isa: str) -> Operands:
    """The operands of an instruction set."""
    if isa == "amx":
        digits, columns, small = (_store(emit, 0) for emit in (_emit_row, _emit_digits, _emit_small))
        wide, one = Layout(16, 128, 64, 2048), Layout(16, 64, 64, 1024)
        coded = _store(partial(_emit_row, order=CODED), 0)
        return Operands(wide, one, 2048, 1024, digits, columns, small, _store_weights(isa), None, coded)
    row, columns = _store(_emit_pairs, 64), _store(_emit_pairs, 1024)
    pairs = Layout(1, 128, 0, 128)
    return Operands(pairs, pairs, 2048, 2048, row, columns, row, _store_weights(isa), _store_part(), row)
