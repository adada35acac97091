"""Products of a group of k on AMX, and between them the vectors of the group before the last: two units that work at
once.

A group's sums leave their tiles where the next group's products begin, each tile just before it is cleared. Stores of
all four at a group's end would cost it as much as a product each, and vectors of what was just stored would wait.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from engine.codegen.amx import TILE, dot, load, store, zero
from engine.codegen.operands import emit_half_row
from engine.codegen.tiles import splat
from engine.simd.address import const, pointer, prefetch_line
from engine.simd.arithmetic import emit_fma, emit_to_i32
from engine.simd.gelu import emit_gelu
from engine.simd.vector import LANES, f32x16, i32x16

NOTHING, BEGIN, CONTINUE, END, END_GELU, END_ADD, ALL, ALL_GELU, ALL_ADD = range(9)
"""What becomes of old sums: there are none; they are the first of several, some of the middle, or the
last (stored, through GELU to an operand, or added to what is there), or the only ones (the same)."""
_F32 = ir.FloatType()
_PLANE = 2 * TILE
_MORE = (CONTINUE, END, END_GELU, END_ADD)


def amx_group(steps: int, lines: int = 0) -> Any:
    """group(kind, a, w, w_next, near, far, sums, old, factors, totals, scale, inverse, bias, out): all but `kind` are
    addresses.

    The tiles' sums, int32 [2 digits][2][16][16], of the group before go to `sums`; the tiles then hold those of `steps`
    chunks of 16 rows at a times 32 columns at w and w_next, narrow. The vectors of `old`, such sums too, times
    factors[32] as `kind` says, go into totals float32 [2][16][16] or, with scale[16] and bias[32], into out,
    [2][16][16] as well; what goes through GELU, times inverse[16], becomes 32 columns of a left operand at out. Without
    steps there are no products. With each product the next cache line from `far` on is fetched into the second cache,
    and the next `lines` from `near` on into the first.
    """

    @intrinsic
    def group(
        typing: Any, kind: Any, a: Any, w: Any, w_next: Any, near: Any, far: Any, sums: Any, old: Any, factors: Any,
        totals: Any, scale: Any, inverse: Any, bias: Any, out: Any,
    ) -> Any:  # fmt: skip
        def codegen(context: Any, b: Any, sig: Any, args: Any) -> Any:
            kind, a, w, w_next, near, far, sums, *finish = args
            done = b.append_basic_block("done")
            blocks = [b.append_basic_block(f"kind{i}") for i in range(9)]
            switch = b.switch(kind, blocks[0])
            for i, block in enumerate(blocks):
                switch.add_case(const(i), block)
                b.position_at_end(block)
                fetch = partial(_fetch, b, near, far, lines)
                _multiply(b, steps, a, w, w_next, fetch, sums, _vectors(b, i, *finish) if i else [])
                b.branch(done)
            b.position_at_end(done)
            return context.get_dummy_value()

        return types.void(*[types.intp] * 14), codegen

    return group


def _fetch(b: Any, near: Any, far: Any, lines: int, number: int) -> None:
    prefetch_line(b, far, 64 * number)
    for line in range(lines * number, lines * number + lines):
        prefetch_line(b, near, 64 * line, 1)


def _multiply(
    b: Any, steps: int, a: Any, w: Any, w_next: Any, fetch: Callable[[int], None], sums: Any,
    vectors: list[Callable[[], None]],
) -> None:  # fmt: skip
    """The tiles of `amx.multiply_narrow`, with a share of the vectors after each product."""
    if not steps:
        for tile in range(4):
            store(b, tile, sums, tile * TILE)
        for vector in vectors:
            vector()
    done = 0
    for number in range(4 * steps):
        p, product = divmod(number, 4)
        row, column = divmod(product, 2)
        if column == 0:
            load(b, 4 + row, a, 2 * TILE * p + TILE * row)
        if row == 0:
            load(b, 6 + column, (w, w_next)[column], TILE * p)
        if p == 0:
            store(b, product, sums, product * TILE)
            zero(b, product)
        dot(b, product, 4 + row, 6 + column, ("ss", "us")[row])
        fetch(number)
        due = len(vectors) * (number + 1) // (4 * steps)
        for vector in vectors[done:due]:
            vector()
        done = due


def _vectors(
    b: Any, kind: int, old: Any, factors: Any, totals: Any, scale: Any, inverse: Any, bias: Any, out: Any
) -> list[Callable[[], None]]:
    """What emits each vector of the old sums; two at a time where they become half a chunk of an operand."""

    def read(base: Any, offset: int, vector: Any = f32x16) -> Any:
        return b.load(pointer(b, base, const(offset), vector.llvm), align=4)

    def of_row(base: Any, r: int) -> Any:
        return splat(b, b.load(pointer(b, base, const(4 * r), _F32), align=4))

    @cache
    def factor(c: int) -> Any:
        """Read once: what is stored between might be the factors, as far as LLVM knows."""
        return read(factors, 64 * c)

    def value(c: int, r: int) -> Any:
        at, eight = TILE * c + 64 * r, ir.Constant(i32x16.llvm, [8] * LANES)
        whole = b.add(b.shl(read(old, at, i32x16), eight), read(old, _PLANE + at, i32x16))
        y = b.sitofp(whole, f32x16.llvm)
        y = emit_fma(b, y, factor(c), read(totals, at)) if kind in _MORE else b.fmul(y, factor(c))
        return y if kind in (BEGIN, CONTINUE) else emit_fma(b, y, of_row(scale, r), read(bias, 64 * c))

    def finish(c: int, r: int) -> None:
        at, y = TILE * c + 64 * r, value(c, r)
        if kind in (END_ADD, ALL_ADD):
            y = b.fadd(read(out, at), y)
        to = totals if kind in (BEGIN, CONTINUE) else out
        b.store(y, pointer(b, to, const(at), f32x16.llvm), align=4)

    def through(r: int) -> None:
        top = of_row(inverse, r)
        whole = (emit_to_i32(b, b.fmul(emit_gelu(b, value(c, r)), top)) for c in range(2))
        emit_half_row(b, b.add(out, const(64 * r)), *whole)

    if kind in (END_GELU, ALL_GELU):
        return [partial(through, r) for r in range(LANES)]
    return [partial(finish, c, r) for c in range(2) for r in range(LANES)]
