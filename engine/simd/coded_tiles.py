"""The loop in which products of rows and codes spend their time, and what makes other codes of codes.

`coded_tile(kinds, sizes, isa)` multiplies rows with 16 columns right from the codes: exact int32 sums for each group
along k, and then `total = fma(sum, factor of the group and column, total)`. `unpack(digits=...)` makes codes of 8 bits,
or what AMX multiplies, once for many rows.

Rows are whole numbers of 16 bits, pairs as `operands.store_row` makes them: chunk after chunk of 64 along k, in each of
them the rows, 128 bytes each. Addresses and strides are in bytes.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from engine.simd.address import const, loop, pointer, view
from engine.simd.amx import prefetch_line
from engine.simd.arithmetic import emit_fma, fma
from engine.simd.codes import EIGHT, FOUR, TURN_BYTES, VECTORS, emit_numbers, numbers_at
from engine.simd.tiles import dot_of_pair
from engine.simd.vector import JIT, LANES, f32x16

ROW_BYTES = 128  # of a chunk
_AHEAD = 6144  # bytes from the codes in use to those that are fetched: what the CPU fetches by itself ends at each page
_WAYS = 8  # sums that are made at the same time, at least: a product needs the one before it in its sum
_I8, _I32 = ir.IntType(8), ir.IntType(32)
_I32X16, _I8X32, _I8X64 = ir.VectorType(_I32, LANES), ir.VectorType(_I8, 32), ir.VectorType(_I8, 64)
_NOTHING = ir.Constant(f32x16.llvm, [-0.0] * LANES)  # fma(x, y, -0) is x * y, also where that is -0
_FACTORS = 4 * 2 * LANES  # bytes from the factors of a group to those of the next: of 32 columns


def coded_tile(kinds: Sequence[int], sizes: Sequence[int], isa: str) -> Any:
    """tile(kind, rows, a, chunk, steps, codes, group, factors, out): float32 [rows][16] at `out`, the totals of `steps`
    chunks of the rows, `chunk` bytes from one to the next, times 16 columns of codes; groups are of `group` chunks,
    their factors [groups][32]. `kind` is one of `kinds`, and `rows` one of `sizes`."""
    if not JIT:
        return _meaning

    def emit(b: Any, kind: Any, rows: Any, *args: Any) -> None:
        done = b.append_basic_block("done")
        cases = [(k, r) for k in kinds for r in sizes]
        blocks = [b.append_basic_block(f"codes{k}rows{r}") for k, r in cases]
        switch = b.switch(b.add(b.mul(kind, const(256)), rows), blocks[0])
        for (k, r), block in zip(cases, blocks, strict=True):
            switch.add_case(const(256 * k + r), block)
            b.position_at_end(block)
            _emit_tile(b, k, r, isa, *args)
            b.branch(done)
        b.position_at_end(done)

    return _operation(emit, 9)


def _emit_tile(
    b: Any, kind: int, rows: int, isa: str, a: Any, chunk: Any, steps: Any, codes: Any, group: Any, factors: Any,
    out: Any,
) -> None:  # fmt: skip
    ways, size = max(1, _WAYS // rows), TURN_BYTES[kind]
    zeros = [ir.Constant(_I32X16, [0] * LANES)] * (rows * ways)

    def of_group(g: Any, totals: list[Any]) -> list[Any]:
        first = b.mul(g, group)
        left, right = b.add(a, b.mul(first, chunk)), b.add(codes, b.mul(first, const(2 * size)))

        def of_turn(i: Any, sums: list[Any]) -> list[Any]:
            half = b.add(b.mul(b.ashr(i, const(1)), chunk), b.mul(b.and_(i, const(1)), const(4 * VECTORS)))
            return _emit_turn(b, kind, rows, isa, b.add(left, half), b.add(right, b.mul(i, const(size))), list(sums))

        sums = loop(b, b.mul(_smaller(b, group, b.sub(steps, first)), const(2)), zeros, of_turn)
        factor = b.load(pointer(b, factors, b.mul(g, const(_FACTORS)), f32x16.llvm), align=4)
        whole = [_added(b, sums[ways * r : ways * r + ways]) for r in range(rows)]
        return [emit_fma(b, b.sitofp(s, f32x16.llvm), factor, t) for s, t in zip(whole, totals, strict=True)]

    groups = b.sdiv(b.add(steps, b.sub(group, const(1))), group)
    for r, total in enumerate(loop(b, groups, [_NOTHING] * rows, of_group)):
        b.store(total, pointer(b, out, const(64 * r), f32x16.llvm), align=4)


def _emit_turn(b: Any, kind: int, rows: int, isa: str, a: Any, codes: Any, sums: list[Any]) -> list[Any]:
    """`sums` of each row, several of them, plus products."""
    ways = len(sums) // rows
    for line in range(0, TURN_BYTES[kind], 64):
        prefetch_line(b, codes, _AHEAD + line, 1)
    for p, w in enumerate(emit_numbers(b, kind, codes)):
        for r in range(rows):
            i = ways * r + p % ways
            sums[i] = dot_of_pair(b, isa, sums[i], a, ROW_BYTES * r + 4 * p, w)
    return sums


def _smaller(b: Any, x: Any, y: Any) -> Any:
    return b.select(b.icmp_signed("<", x, y), x, y)


def _added(b: Any, values: list[Any]) -> Any:
    total = values[0]
    for value in values[1:]:
        total = b.add(total, value)
    return total


def unpack(*, digits: bool) -> Any:
    """unpack(kind, codes, steps, out): the numbers of 16 columns and `steps` chunks, 1024 bytes for each. As codes of 8
    bits; or as digits: int8 [16 steps][16 columns][4], where k has the order of `operands.CODED`."""
    if not JIT:
        return _unpack_digits if digits else _unpack_eight
    store = _store_digits if digits else _store_eight

    def emit(b: Any, kind: Any, codes: Any, steps: Any, out: Any) -> None:
        done = b.append_basic_block("done")
        blocks = {each: b.append_basic_block(f"codes{each}") for each in TURN_BYTES}
        switch = b.switch(kind, blocks[FOUR])
        for each, block in blocks.items():
            switch.add_case(const(each), block)
            b.position_at_end(block)
            _emit_turns(b, each, codes, steps, out, store)
            b.branch(done)
        b.position_at_end(done)

    return _operation(emit, 4)


def _emit_turns(b: Any, kind: int, codes: Any, steps: Any, out: Any, store: Callable[..., None]) -> None:
    def turn(i: Any, carried: list[Any]) -> list[Any]:
        here = b.add(codes, b.mul(i, const(TURN_BYTES[kind])))
        for line in range(0, TURN_BYTES[kind], 64):
            prefetch_line(b, here, _AHEAD + line, 1)
        store(b, kind, here, b.add(out, b.mul(i, const(VECTORS * 32))))
        return carried

    loop(b, b.mul(steps, const(2)), [], turn)


def _store_eight(b: Any, kind: int, codes: Any, out: Any) -> None:
    for p, value in enumerate(emit_numbers(b, kind, codes)):
        b.store(b.trunc(value, _I8X32), pointer(b, out, const(32 * p), _I8X32), align=1)


def _store_digits(b: Any, kind: int, codes: Any, out: Any) -> None:
    """Of two vectors of numbers, one after the other, the first places and then the second ones: four of k side by
    side."""
    numbers = None if kind == EIGHT else list(emit_numbers(b, kind, codes))
    for i in range(VECTORS // 2):
        digits = _mixed(b, *numbers[2 * i : 2 * i + 2]) if numbers else _mixed_bytes(b, codes, 64 * i)
        b.store(digits, pointer(b, out, const(64 * i), _I8X64), align=1)


def _mixed(b: Any, even: Any, odd: Any) -> Any:
    low, eight = (ir.Constant(even.type, [value] * even.type.count) for value in (0xFF, 8))
    return b.bitcast(b.or_(b.and_(even, low), b.shl(odd, eight)), _I8X64)


def _mixed_bytes(b: Any, codes: Any, offset: int) -> Any:
    both = b.load(pointer(b, codes, const(offset), _I8X64), align=1)
    order = [32 * (i % 2) + 2 * (i // 4) + i // 2 % 2 for i in range(64)]
    return b.shuffle_vector(both, both, ir.Constant(ir.VectorType(_I32, 64), order))


def _operation(emit: Callable[..., None], count: int) -> Any:
    """An operation on `count` addresses and numbers, that gives nothing back."""

    def codegen(context: Any, b: Any, sig: Any, args: Any) -> Any:
        emit(b, *args)
        return context.get_dummy_value()

    names = ", ".join(f"a{i}" for i in range(count))
    scope: dict[str, Any] = {"signature": types.void(*[types.intp] * count), "codegen": codegen}
    exec(f"def operation(typing, {names}): return signature, codegen", scope)
    return intrinsic(scope["operation"])


def _meaning(
    kind: int, rows: int, a: int, chunk: int, steps: int, codes: int, group: int, factors: int, out: int
) -> None:
    total = np.full((rows, LANES), -0.0, np.float32)
    for g, first in enumerate(range(0, steps, group)):
        count = min(group, steps - first)
        left = _rows_at(a + first * chunk, chunk, count, rows)
        right = numbers_at(kind, codes + 2 * first * TURN_BYTES[kind], 2 * count)
        sums = (left * right).sum((1, 3), dtype=np.int32)
        total = fma(sums.astype(np.float32), view(factors + g * _FACTORS, LANES, np.float32), total)
    view(out, rows * LANES, np.float32)[:] = total.reshape(-1)


def _rows_at(a: int, chunk: int, steps: int, rows: int) -> NDArray[np.int32]:
    """[rows][32 * steps pairs][1][2]"""
    found = [view(a + i * chunk, rows * ROW_BYTES // 2, np.int16).reshape(rows, -1, 1, 2) for i in range(steps)]
    return np.concatenate(found, axis=1).astype(np.int32)


def _unpack_eight(kind: int, codes: int, steps: int, out: int) -> None:
    numbers = numbers_at(kind, codes, 2 * steps)
    view(out, numbers.size, np.int8)[:] = numbers.reshape(-1)


def _unpack_digits(kind: int, codes: int, steps: int, out: int) -> None:
    turns = numbers_at(kind, codes, 2 * steps).reshape(2 * steps, VECTORS // 2, 2, LANES, 2)
    view(out, turns.size, np.int8)[:] = turns.transpose(0, 1, 3, 4, 2).reshape(-1)
