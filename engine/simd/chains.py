"""Tiles of float32 products whose sums are chains of `fma` in order: one rounding a step, the same on every machine."""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from engine.simd.address import const, loop, pointer, view
from engine.simd.arithmetic import emit_fma, fma
from engine.simd.tiles import splat
from engine.simd.vector import JIT, LANES, f32x16

_F32 = ir.FloatType()
_F32X16 = f32x16.llvm


def chain_tile(most: int, columns: int, *, begins: bool, unroll: int = 1) -> Any:
    """out[r, n] = fma over k in order of a[r, k] * b[k, n], from 0 if it `begins`, else from out[r, n].

    Called as tile(rows, a, lda, b, ldb, turns, out, ldo): up to `most` rows; addresses and strides in bytes, float32;
    `columns` counts vectors of 16, k is turns * unroll, at least 1.
    """
    if not JIT:
        return _meaning(columns, begins, unroll)

    @intrinsic
    def tile(typing: Any, rows: Any, a: Any, lda: Any, m: Any, ldm: Any, turns: Any, out: Any, ldo: Any) -> Any:
        def codegen(context: Any, b: Any, sig: Any, args: Any) -> Any:
            done = b.append_basic_block("done")
            cases = [b.append_basic_block(f"rows{rows}") for rows in range(1, most + 1)]
            switch = b.switch(args[0], cases[0])
            for rows, case in enumerate(cases, 1):
                switch.add_case(const(rows), case)
                b.position_at_end(case)
                _emit_tile(b, rows, columns, begins, unroll, *args[1:])
                b.branch(done)
            b.position_at_end(done)
            return context.get_dummy_value()

        i = types.intp
        return types.void(i, i, i, i, i, i, i, i), codegen

    return tile


def _emit_tile(
    b: Any, rows: int, columns: int, begins: bool, unroll: int, a: Any, lda: Any, m: Any, ldm: Any, turns: Any,
    out: Any, ldo: Any,
) -> None:  # fmt: skip
    places = [
        pointer(b, out, b.add(b.mul(ldo, const(r)), const(64 * c)), _F32X16)
        for r in range(rows) for c in range(columns)
    ]  # fmt: skip
    zero = ir.Constant(_F32X16, [0.0] * LANES)
    starts = [zero if begins else b.load(place, align=4) for place in places]
    body = _body(b, a, lda, m, ldm, rows, columns, unroll)
    for place, value in zip(places, loop(b, turns, starts, body), strict=True):
        b.store(value, place, align=4)


def _body(
    b: Any, a: Any, lda: Any, m: Any, ldm: Any, rows: int, columns: int, unroll: int
) -> Callable[[Any, list[Any]], list[Any]]:
    def body(turn: Any, sums: list[Any]) -> list[Any]:
        for step in range(unroll):
            k = b.add(b.mul(turn, const(unroll)), const(step))
            row = b.add(m, b.mul(k, ldm))
            right = [b.load(pointer(b, row, const(64 * c), _F32X16), align=4) for c in range(columns)]
            left = [
                splat(b, b.load(pointer(b, a, b.add(b.mul(lda, const(r)), b.mul(k, const(4))), _F32), align=4))
                for r in range(rows)
            ]
            sums = [emit_fma(b, left[i // columns], right[i % columns], each) for i, each in enumerate(sums)]
        return sums

    return body


def _meaning(columns: int, begins: bool, unroll: int) -> Callable[..., None]:
    def tile(rows: int, a: int, lda: int, m: int, ldm: int, turns: int, out: int, ldo: int) -> None:
        width, depth = columns * LANES, turns * unroll
        left = np.array([view(a + r * lda, depth, np.float32) for r in range(rows)])
        places = [view(out + r * ldo, width, np.float32) for r in range(rows)]
        total = np.zeros((rows, width), np.float32) if begins else np.array(places)
        for k in range(depth):
            total = fma(left[:, k : k + 1], view(m + k * ldm, width, np.float32), total)
        for place, value in zip(places, total, strict=True):
            place[:] = value

    return tile
