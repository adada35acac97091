"""Products of a group of k on AMX, and between them the vectors of the group before the last: two units that work at
once.

A group's sums leave their tiles where the next group's products begin, each tile just before it is cleared. Stores of
all four at a group's end would cost it as much as a product each, and vectors of what was just stored would wait.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

from llvmlite import ir

from engine.simd.arithmetic import emit_fma
from engine.simd.vector import (
    F32X16,
    I32X16,
    LANES,
    Integer,
    all_i32,
    emit_load,
    emit_splat,
    emit_store,
    operation_of,
    prefetch_line,
    switched,
)
from engine.tiles.amx import TILE, dot, load, store, zero

_KINDS = range(7)
NOTHING, BEGIN, CONTINUE, END, END_ADD, ALL, ALL_ADD = _KINDS
"""Kinds of old sums: there are none; they are the first of several groups, some of the middle, or the last (stored, or
added to what is there), or those of the only group (with the same two ends)."""
_PLANE = 2 * TILE
_MORE = (CONTINUE, END, END_ADD)


class Products(NamedTuple):
    """Addresses of a group's products: 16 rows, the two halves of 32 columns, what is fetched into the first cache and
    into the second, and the place of the sums that are in the tiles until then."""

    a: Integer
    w: Integer
    w_next: Integer
    near: Integer
    far: Integer
    sums: Integer


class Finish(NamedTuple):
    """The rest of a group's work: what becomes of its sums, and the addresses of factors[32], totals float32
    [2][16][16], scale[16], bias[32] and the output, float32 [2][16][16]."""

    kind: Integer
    factors: Integer
    totals: Integer
    scale: Integer
    bias: Integer
    out: Integer


def amx_group(steps: int, lines: int) -> Any:
    """The operation group(products: Products, old: address, finish: Finish), of integers of 64 bits alone.

    The tiles' sums, int32 [2 digits][2][16][16], of the group before go to `products.sums`; the tiles then hold those
    of `steps` chunks of 16 rows at `a` times 32 columns at w and w_next. The sums at `old`, times factors, go into
    totals or, with scale and bias, into out, as `finish.kind` says. With each product the next cache line from `far` on
    is fetched into the second cache, and the next `lines` from `near` on into the first.

        for p in range(steps), product in (a's high, a's low) x (w, w_next):
            if p == 0: sums[product] = tile[product]; tile[product] = 0
            tile[product] += a[p, product] @ w[p, product]
            fetch(near, far)
            the next share of: for row, half in old:
                y = (256 * old[high] + old[low]) * factors (+ totals, unless the first group)
                totals = y, or, of the last group: out = [out +] y * scale + bias
    """

    def emit(b: Any, *args: Any) -> None:
        count = len(Products._fields)
        at, old, finish = Products(*args[:count]), args[count], Finish(*args[count + 1 :])
        switched(b, finish.kind, {i: partial(_multiply, b, steps, lines, at, i, old, finish) for i in _KINDS})

    return operation_of(emit, 3)


def _fetch(b: Any, at: Products, lines: int, number: int) -> None:
    prefetch_line(b, at.far, 64 * number)
    for line in range(lines * number, lines * number + lines):
        prefetch_line(b, at.near, 64 * line, 1)


def _multiply(b: Any, steps: int, lines: int, at: Products, kind: int, old: Any, finish: Finish) -> None:
    """Tiles 0, 1: high digits of 16 rows times two tiles of columns; 2, 3: low digits. After each product a share of
    the vectors."""
    vectors = _vectors(b, kind, old, finish) if kind else []
    if not steps:
        for tile in range(4):
            store(b, tile, at.sums, tile * TILE)
        for vector in vectors:
            vector()
    done = 0
    for number in range(4 * steps):
        p, product = divmod(number, 4)
        row, column = divmod(product, 2)
        if column == 0:
            load(b, 4 + row, at.a, 2 * TILE * p + TILE * row)
        if row == 0:
            load(b, 6 + column, (at.w, at.w_next)[column], TILE * p)
        if p == 0:
            store(b, product, at.sums, product * TILE)
            zero(b, product)
        dot(b, product, 4 + row, 6 + column, ("ss", "us")[row])
        _fetch(b, at, lines, number)
        due = len(vectors) * (number + 1) // (4 * steps)
        for vector in vectors[done:due]:
            vector()
        done = due


def _vectors(b: Any, kind: int, old: Any, end: Finish) -> list[Callable[[], None]]:
    """Functions that each emit a vector of the old sums."""

    def of_row(base: Any, r: int) -> Any:
        return emit_splat(b, emit_load(b, base, 4 * r, ir.FloatType()))

    @cache
    def factor(c: int) -> Any:
        """Read once: what is stored between might be the factors, as far as LLVM knows."""
        return emit_load(b, end.factors, 64 * c)

    def value(c: int, r: int) -> Any:
        at = TILE * c + 64 * r
        whole = b.add(b.shl(emit_load(b, old, at, I32X16), all_i32(8)), emit_load(b, old, _PLANE + at, I32X16))
        y = b.sitofp(whole, F32X16)
        y = emit_fma(b, y, factor(c), emit_load(b, end.totals, at)) if kind in _MORE else b.fmul(y, factor(c))
        return y if kind in (BEGIN, CONTINUE) else emit_fma(b, y, of_row(end.scale, r), emit_load(b, end.bias, 64 * c))

    def finish(c: int, r: int) -> None:
        at, y = TILE * c + 64 * r, value(c, r)
        if kind in (END_ADD, ALL_ADD):
            y = b.fadd(emit_load(b, end.out, at), y)
        emit_store(b, y, end.totals if kind in (BEGIN, CONTINUE) else end.out, at)

    return [partial(finish, c, r) for c in range(2) for r in range(LANES)]
