"""The loop in which products of rows and codes spend their time, and what makes other codes of codes.

`coded_tile(kinds, sizes, isa)` multiplies rows with 32 columns right from the codes: exact int32 sums for each group
along k, and then `total = fma(sum, factor of the group and column, total)`. `unpack(isa, digits=...)` makes the
numbers, or what AMX multiplies, once for many rows.

Rows are whole numbers of 16 bits, pairs as `operands.store_row` makes them: chunk after chunk of 64 along k, in each of
them the rows, 128 bytes each. Addresses and strides are in bytes.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from engine.simd.address import const, loop, pointer, view
from engine.simd.amx import prefetch_line
from engine.simd.arithmetic import emit_fma, fma
from engine.simd.codes import (
    CHUNK_BYTES,
    CODES,
    EIGHT,
    VECTORS,
    WHOLE,
    WORD_BYTES,
    emit_numbers,
    numbers_at,
)
from engine.simd.tiles import broadcast_pair, dot_in_order
from engine.simd.vector import JIT, LANES, f32x16

ROW_BYTES = 128  # of a chunk
_AHEAD = 8192  # bytes from codes in use to those that are asked for: what the CPU fetches by itself ends at each page
_FACTORS_AHEAD = 1024  # the same of factors
_SIDE = 2  # vectors of columns that lie side by side
_WIDE = {"avx512_vnni": 2}  # of them, those that are multiplied together: as many as there are registers for, or 1
_WAYS = 8  # sums that are made at the same time, at least: a product needs the one before it in its sum
_I8, _I32 = ir.IntType(8), ir.IntType(32)
_I32X16, _I8X64 = ir.VectorType(_I32, LANES), ir.VectorType(_I8, 64)
_VECTOR = 4 * LANES  # bytes of 16 factors or totals


def coded_tile(kinds: Sequence[int], sizes: Sequence[int], isa: str) -> Any:
    """tile(kind, rows, a, chunk, steps, codes, group, factors, out): to float32 [rows][32] at `out`, which are -0 at
    first, come `steps` chunks of the rows, `chunk` bytes from one to the next, times 32 columns of codes; groups are of
    `group` chunks, their factors [groups][32]. `kind` is one of `kinds`, and `rows` one of `sizes`."""
    if not JIT:
        return _meaning
    wide = _WIDE.get(isa, 1)

    def emit(b: Any, kind: Any, rows: Any, *args: Any) -> None:
        done = b.append_basic_block("done")
        cases = [(k, r) for k in kinds for r in sizes]
        blocks = [b.append_basic_block(f"codes{k}rows{r}") for k, r in cases]
        switch = b.switch(b.add(b.mul(kind, const(256)), rows), blocks[0])
        for (k, r), block in zip(cases, blocks, strict=True):
            switch.add_case(const(256 * k + r), block)
            b.position_at_end(block)
            loop(b, const(_SIDE // wide), [], partial(_emit_tile, b, k, r, wide, isa, args))
            b.branch(done)
        b.position_at_end(done)

    return operation_on(emit, 9)


def _emit_tile(
    b: Any, kind: int, rows: int, wide: int, isa: str, args: tuple[Any, ...], vector: Any, carried: list[Any]
) -> list[Any]:  # fmt: skip
    """The totals of `wide` vectors; `vector` times so many come before them."""
    a, chunk, steps, codes, group, factors, out = args
    ways, size, chains = max(1, _WAYS // (rows * wide)), CHUNK_BYTES[kind], rows * wide
    zeros = [ir.Constant(_I32X16, [0] * LANES)] * (chains * ways)
    sides = [b.add(b.mul(vector, const(wide)), const(v)) for v in range(wide)]
    factors, out = (b.add(at, b.mul(sides[0], const(_VECTOR))) for at in (factors, out))

    def of_group(g: Any, totals: list[Any]) -> list[Any]:
        first = b.mul(g, group)
        of_columns = b.add(factors, b.mul(g, const(_SIDE * _VECTOR)))
        for line in range(0, wide * _VECTOR, 64):
            prefetch_line(b, of_columns, _FACTORS_AHEAD + line, 1)
        left, right = b.add(a, b.mul(first, chunk)), b.add(codes, b.mul(first, const(size)))

        def of_turn(i: Any, sums: list[Any]) -> list[Any]:
            step, half = b.ashr(i, const(1)), b.and_(i, const(1))
            rows_at = b.add(left, b.add(b.mul(step, chunk), b.mul(half, const(4 * VECTORS))))
            turn = b.add(right, b.mul(step, const(size))), half
            return _emit_turn(b, kind, rows, isa, rows_at, turn, sides, list(sums))

        sums = loop(b, b.mul(_smaller(b, group, b.sub(steps, first)), const(2)), zeros, of_turn)
        scale = [b.load(pointer(b, of_columns, const(_VECTOR * v), f32x16.llvm), align=4) for v in range(wide)]
        whole = [b.sitofp(added(b, sums[ways * i : ways * i + ways]), f32x16.llvm) for i in range(chains)]
        return [emit_fma(b, s, scale[i % wide], totals[i]) for i, s in enumerate(whole)]

    groups = b.sdiv(b.add(steps, b.sub(group, const(1))), group)
    places = [const(_VECTOR * (_SIDE * (i // wide) + i % wide)) for i in range(chains)]
    totals = [b.load(pointer(b, out, place, f32x16.llvm), align=4) for place in places]
    for place, total in zip(places, loop(b, groups, totals, of_group), strict=True):
        b.store(total, pointer(b, out, place, f32x16.llvm), align=4)
    return carried


def _emit_turn(
    b: Any, kind: int, rows: int, isa: str, a: Any, turn: tuple[Any, Any], sides: list[Any], sums: list[Any]
) -> list[Any]:  # fmt: skip
    """`sums` of each row and vector, several of them, plus products; `turn`: its chunk, and which half of it."""
    wide = len(sides)
    ways = len(sums) // (rows * wide)
    if kind != WHOLE:
        _ask_for(b, kind, *turn, sides[0], wide)
    numbers = [emit_numbers(b, isa, kind, *turn, side) for side in sides]
    for i, weights in enumerate(_one_ahead(zip(*numbers, strict=True))):
        for r in range(rows):
            both = broadcast_pair(b, isa, a, ROW_BYTES * r + 4 * weights[0][0])
            for v, (_, w) in enumerate(weights):
                to = ways * (wide * r + v) + i % ways
                sums[to] = dot_in_order(b, isa, sums[to], both, w)
    return sums


def _one_ahead(values: Iterator[Any]) -> Iterator[Any]:
    """The same values, each after the next one is made: numbers are ready when products need them."""
    value = next(values)
    for following in values:
        yield value
        value = following
    yield value


def _ask_for(b: Any, kind: int, chunk: Any, half: Any, side: Any, sides: int) -> None:
    """As many lines as `sides` of a turn have, some way behind it."""
    size = CHUNK_BYTES[kind] // 4
    at = b.add(chunk, b.add(b.mul(half, const(2 * size)), b.mul(side, const(size))))
    for line in range(0, sides * size, 64):
        prefetch_line(b, at, _AHEAD + line, 1)


def _smaller(b: Any, x: Any, y: Any) -> Any:
    return b.select(b.icmp_signed("<", x, y), x, y)


def added(b: Any, values: list[Any]) -> Any:
    """Their sum."""
    total = values[0]
    for value in values[1:]:
        total = b.add(total, value)
    return total


def unpack(isa: str, *, digits: bool) -> Any:
    """unpack(kind, codes, side, turns, out, step): the numbers of so many turns of one side of chunks, `step` bytes
    from one to the next: WHOLE; or as digits, int8 [8][16 columns][4], where k has the order of `operands.CODED`."""
    if not JIT:
        return _unpack_digits if digits else _unpack_whole
    store = _store_digits if digits else _store_whole

    def emit(b: Any, kind: Any, *args: Any) -> None:
        done = b.append_basic_block("done")
        blocks = {each: b.append_basic_block(f"codes{each}") for each in (*CODES, EIGHT)}
        switch = b.switch(kind, blocks[EIGHT])
        for each, block in blocks.items():
            switch.add_case(const(each), block)
            b.position_at_end(block)
            _emit_turns(b, isa, each, store, *args)
            b.branch(done)
        b.position_at_end(done)

    return operation_on(emit, 6)


def _emit_turns(
    b: Any, isa: str, kind: int, store: Callable[..., None], codes: Any, side: Any, turns: Any, out: Any, step: Any
) -> None:  # fmt: skip
    def turn(i: Any, carried: list[Any]) -> list[Any]:
        chunk, half = b.add(codes, b.mul(b.ashr(i, const(1)), const(CHUNK_BYTES[kind]))), b.and_(i, const(1))
        _ask_for(b, kind, chunk, half, side, 1)
        store(b, isa, kind, chunk, half, side, b.add(out, b.mul(i, step)))
        return carried

    loop(b, turns, [], turn)


def _store_whole(b: Any, isa: str, kind: int, chunk: Any, half: Any, side: Any, out: Any) -> None:
    for p, value in emit_numbers(b, isa, kind, chunk, half, side):
        b.store(value, pointer(b, out, const(64 * p), value.type), align=1)


def _store_digits(b: Any, isa: str, kind: int, chunk: Any, half: Any, side: Any, out: Any) -> None:
    """Of two vectors of numbers, one after the other, the first places and then the second ones: four of k side by
    side."""
    size = WORD_BYTES[EIGHT]
    numbers = dict(emit_numbers(b, isa, kind, chunk, half, side)) if kind != EIGHT else None
    here = b.add(chunk, b.add(b.mul(half, const(2 * size)), b.mul(side, const(size))))
    for i in range(VECTORS // 2):
        digits = _mixed(b, numbers[2 * i], numbers[2 * i + 1]) if numbers else _mixed_bytes(b, here, 64 * i)
        b.store(digits, pointer(b, out, const(64 * i), _I8X64), align=1)


def _mixed(b: Any, even: Any, odd: Any) -> Any:
    low, eight = (ir.Constant(even.type, [value] * even.type.count) for value in (0xFF, 8))
    return b.bitcast(b.or_(b.and_(even, low), b.shl(odd, eight)), _I8X64)


def _mixed_bytes(b: Any, codes: Any, offset: int) -> Any:
    both = b.load(pointer(b, codes, const(offset), _I8X64), align=1)
    order = [32 * (i % 2) + 2 * (i // 4) + i // 2 % 2 for i in range(64)]
    return b.shuffle_vector(both, both, ir.Constant(ir.VectorType(_I32, 64), order))


def operation_on(emit: Callable[..., None], count: int) -> Any:
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
    size, width = CHUNK_BYTES[kind], _SIDE * LANES
    total = view(out, rows * width, np.float32).reshape(rows, width).copy()
    for g, first in enumerate(range(0, steps, group)):
        count = min(group, steps - first)
        left = _rows_at(a + first * chunk, chunk, count, rows)
        right = [numbers_at(kind, codes + first * size, side, 2 * count) for side in range(_SIDE)]
        sums = np.concatenate([(left * part).sum((1, 3), dtype=np.int32) for part in right], axis=1)
        total = fma(sums.astype(np.float32), view(factors + 4 * g * width, width, np.float32), total)
    view(out, rows * width, np.float32)[:] = total.reshape(-1)


def _rows_at(a: int, chunk: int, steps: int, rows: int) -> NDArray[np.int32]:
    """[rows][32 * steps pairs][1][2]"""
    found = [view(a + i * chunk, rows * ROW_BYTES // 2, np.int16).reshape(rows, -1, 1, 2) for i in range(steps)]
    return np.concatenate(found, axis=1).astype(np.int32)


def _unpack_whole(kind: int, codes: int, side: int, turns: int, out: int, step: int) -> None:
    for i, numbers in enumerate(numbers_at(kind, codes, side, turns).reshape(turns, -1)):
        view(out + i * step, numbers.size, np.int16)[:] = numbers


def _unpack_digits(kind: int, codes: int, side: int, turns: int, out: int, step: int) -> None:
    for i, numbers in enumerate(numbers_at(kind, codes, side, turns).reshape(turns, VECTORS // 2, 2, LANES, 2)):
        view(out + i * step, numbers.size, np.int8)[:] = numbers.transpose(0, 2, 3, 1).reshape(-1)
