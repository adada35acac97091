"""The loops in which products of rows and codes spend their time.

`few_tile(kind, rows, isa)` multiplies a few rows with 16 columns right from the codes. `panel_tile(rows, columns,
isa)` multiplies rows with a panel that `unpack(kind)` has made of them, once for all rows. Both keep exact int32 sums
for each group along k, and then `total = fma(sum, factor of the group and column, total)`.

Rows are whole numbers of 16 bits, pairs as `operands.store_row` makes them: chunk after chunk of 64 along k, in each of
them the rows, 128 bytes each. Addresses and strides are in bytes.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from engine.simd.address import const, loop, pointer, view
from engine.simd.arithmetic import emit_fma, fma
from engine.simd.codes import TURN_BYTES, VECTORS, emit_numbers, numbers_at
from engine.simd.tiles import DOTS, splat
from engine.simd.vector import JIT, LANES, f32x16

ROW_BYTES = 128  # of a chunk
_FLOAT, _I32, _I8 = ir.FloatType(), ir.IntType(32), ir.IntType(8)
_I32X16, _I16X32, _I8X64 = ir.VectorType(_I32, LANES), ir.VectorType(ir.IntType(16), 32), ir.VectorType(_I8, 64)
_NOTHING = ir.Constant(f32x16.llvm, [-0.0] * LANES)  # fma(x, y, -0) is x * y, also where that is -0
_FACTORS = 4 * 2 * LANES  # bytes from the factors of a group to those of the next: of 32 columns


def _pair(b: Any, a: Any, row: int, vector: int) -> Any:
    """Two values of a row, in all lanes."""
    at = pointer(b, a, const(ROW_BYTES * row + 4 * vector), _I32)
    return b.bitcast(splat(b, b.load(at, align=1)), _I16X32)


def _zeros(count: int) -> list[Any]:
    return [ir.Constant(_I32X16, [0] * LANES)] * count


def _smaller(b: Any, x: Any, y: Any) -> Any:
    return b.select(b.icmp_signed("<", x, y), x, y)


def few_tile(kind: int, rows: int, isa: str) -> Any:
    """tile(a, chunk, steps, codes, group, factors, out): float32 [rows][16] at `out`, the totals of `steps` chunks of
    all rows, `chunk` bytes from one to the next, times 16 columns of codes; groups are of `group` chunks, their factors
    [groups][32]."""
    if not JIT:
        return _few_meaning(kind, rows)
    ways = max(1, 4 // rows)  # sums of each row, for a product needs the one before it
    dot = DOTS[isa]

    def multiply(b: Any, a: Any, codes: Any, sums: list[Any]) -> list[Any]:
        for half in range(2):
            numbers = emit_numbers(b, kind, b.add(codes, const(half * TURN_BYTES[kind])))
            for p, w in enumerate(numbers):
                for r in range(rows):
                    i = ways * r + p % ways
                    sums[i] = dot(b, sums[i], _pair(b, a, r, half * VECTORS + p), w)
        return sums

    def emit(b: Any, a: Any, chunk: Any, steps: Any, codes: Any, group: Any, factors: Any, out: Any) -> None:
        groups = b.sdiv(b.add(steps, b.sub(group, const(1))), group)

        def of_group(g: Any, totals: list[Any]) -> list[Any]:
            first = b.mul(g, group)
            left, right = b.add(a, b.mul(first, chunk)), b.add(codes, b.mul(first, const(2 * TURN_BYTES[kind])))
            factor = b.load(pointer(b, factors, b.mul(g, const(_FACTORS)), f32x16.llvm), align=4)

            def of_chunk(i: Any, sums: list[Any]) -> list[Any]:
                here = b.add(right, b.mul(i, const(2 * TURN_BYTES[kind])))
                return multiply(b, b.add(left, b.mul(i, chunk)), here, list(sums))

            sums = loop(b, _smaller(b, group, b.sub(steps, first)), _zeros(rows * ways), of_chunk)
            return [emit_fma(b, b.sitofp(_added(b, sums[ways * r : ways * r + ways]), f32x16.llvm), factor, total)
                    for r, total in enumerate(totals)]  # fmt: skip

        for r, total in enumerate(loop(b, groups, [_NOTHING] * rows, of_group)):
            b.store(total, pointer(b, out, const(64 * r), f32x16.llvm), align=4)

    return _tile(emit, 7)


def _added(b: Any, values: list[Any]) -> Any:
    total = values[0]
    for value in values[1:]:
        total = b.add(total, value)
    return total


def panel_tile(rows: int, columns: int, isa: str) -> Any:
    """tile(a, chunk, steps, panel, factors, totals): of one group of `steps` chunks, `chunk` bytes from one to the
    next; panel int16 [32 * steps][columns][16][2], factors float32 [columns][16], totals float32 [rows][columns][16],
    to which is added."""
    if not JIT:
        return _panel_meaning(rows, columns)
    dot = DOTS[isa]

    def emit(b: Any, a: Any, chunk: Any, steps: Any, panel: Any, factors: Any, totals: Any) -> None:
        def of_chunk(i: Any, sums: list[Any]) -> list[Any]:
            sums, left = list(sums), b.add(a, b.mul(i, chunk))
            right = b.add(panel, b.mul(i, const(2 * VECTORS * 64 * columns)))
            for p in range(2 * VECTORS):
                weights = [
                    b.load(pointer(b, right, const(64 * (columns * p + c)), _I16X32), align=64) for c in range(columns)
                ]
                for r in range(rows):
                    both = _pair(b, left, r, p)
                    for c in range(columns):
                        sums[columns * r + c] = dot(b, sums[columns * r + c], both, weights[c])
            return sums

        sums = loop(b, steps, _zeros(rows * columns), of_chunk)
        for i, total in enumerate(sums):
            at = pointer(b, totals, const(64 * i), f32x16.llvm)
            factor = b.load(pointer(b, factors, const(64 * (i % columns)), f32x16.llvm), align=4)
            b.store(emit_fma(b, b.sitofp(total, f32x16.llvm), factor, b.load(at, align=4)), at, align=4)

    return _tile(emit, 6)


def unpack(kind: int, *, digits: bool) -> Any:
    """unpack(codes, steps, out, stride): the numbers of 16 columns and `steps` chunks. As pairs: int16 [16][2], the
    vectors `stride` bytes apart. As digits: int8 [16 steps][16][4], in order of k; `stride` is not looked at."""
    if not JIT:
        return _unpack_meaning(kind, digits)

    def emit(b: Any, codes: Any, steps: Any, out: Any, stride: Any) -> None:
        def turn(i: Any, carried: list[Any]) -> list[Any]:
            numbers = emit_numbers(b, kind, b.add(codes, b.mul(i, const(TURN_BYTES[kind]))))
            if digits:
                _store_digits(b, numbers, b.add(out, b.mul(i, const(VECTORS * 32))))
            else:
                for p, value in enumerate(numbers):
                    at = b.mul(stride, b.add(b.mul(i, const(VECTORS)), const(p)))
                    b.store(value, pointer(b, out, at, _I16X32), align=64)
            return []

        loop(b, b.mul(steps, const(2)), [], turn)

    return _tile(emit, 4)


def _store_digits(b: Any, numbers: list[Any], out: Any) -> None:
    """Four values of k side by side: those of the vectors' first places, then those of their second ones."""
    for j in range(0, VECTORS, 4):
        for which in range(2):
            order = [4 * (i // 4) + 2 * which for i in range(64)]
            lanes = [_chosen_byte(b, value, order) for value in numbers[j : j + 4]]
            mixed = b.or_(_at(b, lanes, 0), _at(b, lanes, 1))
            mixed = b.or_(mixed, b.or_(_at(b, lanes, 2), _at(b, lanes, 3)))
            b.store(mixed, pointer(b, out, const(64 * (4 * which + j // 4)), _I8X64), align=1)


def _chosen_byte(b: Any, value: Any, order: list[int]) -> Any:
    value = b.bitcast(value, _I8X64)
    return b.shuffle_vector(value, value, ir.Constant(ir.VectorType(_I32, 64), order))


def _at(b: Any, lanes: list[Any], place: int) -> Any:
    """The bytes of one vector, where they belong among four."""
    return b.and_(lanes[place], ir.Constant(_I8X64, [-1 if i % 4 == place else 0 for i in range(64)]))


def _tile(emit: Callable[..., None], count: int) -> Any:
    """An operation on `count` addresses and numbers, that gives nothing back."""

    def codegen(context: Any, b: Any, sig: Any, args: Any) -> Any:
        emit(b, *args)
        return context.get_dummy_value()

    names = ", ".join(f"a{i}" for i in range(count))
    scope: dict[str, Any] = {"signature": types.void(*[types.intp] * count), "codegen": codegen}
    exec(f"def tile(typing, {names}): return signature, codegen", scope)
    return intrinsic(scope["tile"])


def _rows_at(a: int, chunk: int, steps: int, rows: int) -> NDArray[np.int32]:
    """[rows][32 * steps pairs][1][2]"""
    found = [view(a + i * chunk, rows * ROW_BYTES // 2, np.int16).reshape(rows, -1, 1, 2) for i in range(steps)]
    return np.concatenate(found, axis=1).astype(np.int32)


def _add_group(left: NDArray[np.int32], right: NDArray[np.int32], factor: Any, total: Any) -> Any:
    sums = (left * right).sum((1, 3), dtype=np.int32)
    return fma(sums.astype(np.float32), factor, total)


def _few_meaning(kind: int, rows: int) -> Callable[..., None]:
    def tile(a: int, chunk: int, steps: int, codes: int, group: int, factors: int, out: int) -> None:
        total = np.full((rows, LANES), -0.0, np.float32)
        for g, first in enumerate(range(0, steps, group)):
            count = min(group, steps - first)
            right = numbers_at(kind, codes + 2 * first * TURN_BYTES[kind], 2 * count)
            factor = view(factors + g * _FACTORS, LANES, np.float32)
            total = _add_group(_rows_at(a + first * chunk, chunk, count, rows), right, factor, total)
        view(out, rows * LANES, np.float32)[:] = total.reshape(-1)

    return tile


def _panel_meaning(rows: int, columns: int) -> Callable[..., None]:
    def tile(a: int, chunk: int, steps: int, panel: int, factors: int, totals: int) -> None:
        right = view(panel, 64 * steps * columns * LANES, np.int16).reshape(-1, columns * LANES, 2).astype(np.int32)
        total = view(totals, rows * columns * LANES, np.float32).reshape(rows, -1)
        total[:] = _add_group(_rows_at(a, chunk, steps, rows), right, view(factors, columns * LANES, np.float32), total)

    return tile


def _unpack_meaning(kind: int, digits: bool) -> Callable[..., None]:
    def unpack(codes: int, steps: int, out: int, stride: int) -> None:
        numbers = numbers_at(kind, codes, 2 * steps)
        if digits:
            turns = numbers.reshape(2 * steps, 4, 4, LANES, 2).transpose(0, 4, 1, 3, 2)
            view(out, turns.size, np.int8)[:] = turns.reshape(-1)
            return
        for p, value in enumerate(numbers):
            view(out + p * stride, 2 * LANES, np.int16)[:] = value.reshape(-1)

    return unpack
