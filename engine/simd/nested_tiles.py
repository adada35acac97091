"""The loop in which products of rows of bytes with nested codes (`nested.py`) spend their time.

A row is a record of 48 bytes for each run of 32 values: the numbers x within 127, int8; their scale s and the negative
of their sum, float32; and -32 times the sum of the first and of the last 16, int32. Run after run, with exact sums,

    part = fma(-sum of x, dmin * b, float32(sum of q * x) * (d * a)),        total = fma(part, s, total)

With 6 bits a part is of two sums of (q - 32) * x, that of the first half of the run times its d * a, and
the last half's in place of -sum of x and dmin * b.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir

from engine.simd.address import const, loop, pointer, view
from engine.simd.amx import prefetch_line
from engine.simd.arithmetic import emit_fma, fma
from engine.simd.coded_tiles import added, operation_on
from engine.simd.nested import (
    BITS,
    CODE_BYTES,
    GROUP_BYTES,
    MIDDLE,
    NESTED6,
    RUN,
    RUN_BYTES,
    RUNS,
    UNIT_BYTES,
    VECTORS,
    Side,
    all_i16,
    emit_factors,
    emit_units,
    emit_vector,
    run_at,
    side_of,
    units_at,
)
from engine.simd.tiles import DOTS, splat
from engine.simd.vector import JIT, LANES, f32x16, i32x16

RECORD = 48
SCALE, NEGATIVE, HALVES = 32, 36, 40
"""Where in a record its scale lies, the negative of its sum, and what halves begin with."""
_WIDE = {"avx512_vnni": 2}  # vectors of columns that are multiplied together: as many as there are registers for, or 1
AHEAD = 8192  # bytes from codes in use to those that are asked for: what the CPU fetches by itself ends at each page
_FEW = 4  # totals that stay in registers; more of them would be in the way of sums
_WAYS = 4  # sums that are made at the same time, at least: a product needs the one before it in its sum
_SIDES, _VECTOR = 2, 4 * LANES
_HALF_RUNS = slice(RUN // 2), slice(RUN // 2, RUN)
_I16X32, _I32X16, _F32X16 = ir.VectorType(ir.IntType(16), 32), i32x16.llvm, f32x16.llvm


def nested_tile(sizes: Sequence[int], isa: str) -> Any:
    """tile(kind, rows, a, stride, groups, codes, out): to float32 [rows][32] at `out` come the products of so many rows
    of records, `stride` bytes from one to the next, with 32 columns of so many groups; behind them parts of sums are
    kept, so that `out` has room for twice as many rows. `rows` is one of `sizes`."""
    if not JIT:
        return _meaning
    wide = _WIDE.get(isa, 1)

    def emit(b: Any, kind: Any, rows: Any, *args: Any) -> None:
        done = b.append_basic_block("done")
        cases = [(k, r) for k in BITS for r in sizes]
        blocks = [b.append_basic_block(f"nested{k}rows{r}") for k, r in cases]
        switch = b.switch(b.add(b.mul(kind, const(256)), rows), blocks[0])
        for (k, r), block in zip(cases, blocks, strict=True):
            switch.add_case(const(256 * k + r), block)
            b.position_at_end(block)
            loop(b, const(_SIDES // wide), [], partial(_Tile(b, isa, k, r, wide).emit, *args))
            b.branch(done)
        b.position_at_end(done)

    return operation_on(emit, 7)


class _Tile:
    """Rows of one number times `wide` sides of codes of one kind."""

    def __init__(self, b: Any, isa: str, kind: int, rows: int, wide: int) -> None:
        self.b, self.isa, self.kind, self.rows, self.wide = b, isa, kind, rows, wide
        self.chains = [(r, v) for r in range(rows) for v in range(wide)]
        self.kept = len(self.chains) <= _FEW

    def emit(
        self, a: Any, stride: Any, groups: Any, codes: Any, out: Any, vector: Any, carried: list[Any]
    ) -> list[Any]:  # fmt: skip
        b, sides = self.b, [self.b.add(self.b.mul(vector, const(self.wide)), const(v)) for v in range(self.wide)]
        self.out, strides = b.add(out, b.mul(sides[0], const(_VECTOR))), (stride, b.mul(stride, const(3)))

        def of_group(g: Any, totals: list[Any]) -> list[Any]:
            group = b.add(codes, b.mul(g, const(GROUP_BYTES[self.kind])))
            units = [emit_units(b, self.kind, group, side) for side in sides]
            first, left = b.add(group, const(2 * UNIT_BYTES[self.kind])), b.add(a, b.mul(g, const(RUNS * RECORD)))

            def of_run(i: Any, totals: list[Any]) -> list[Any]:
                run = b.add(first, b.mul(i, const(RUN_BYTES[self.kind])))
                rows = Rows(b, self.isa, b.add(left, b.mul(i, const(RECORD))), strides, self.rows)
                return self._run(rows, [side_of(b, self.kind, run, side) for side in sides], units, totals)

            return loop(b, const(RUNS), list(totals), of_run)

        starts = [self._load(chain) for chain in self.chains] if self.kept else []
        for chain, total in zip(self.chains, loop(b, groups, starts, of_group), strict=False):
            self._store(chain, total)
        return carried

    def _run(self, rows: "Rows", sides: list[Side], units: list[list[Any]], totals: list[Any]) -> list[Any]:
        b = self.b
        for line in range(0, self.wide * CODE_BYTES[self.kind], 64):
            prefetch_line(b, sides[0].codes, AHEAD + line, 1)
        prefetch_line(b, sides[0].head, AHEAD, 1)
        factors = [emit_factors(b, self.kind, side.head, each) for side, each in zip(sides, units, strict=True)]
        if self.kind == NESTED6:
            parts = self._scaled(self._half(rows, sides, 0), factors)
            if not self.kept:  # there are no registers for them
                for chain, part in zip(self.chains, parts, strict=True):
                    self._store(chain, part, self.rows)
            seconds = [b.sitofp(each, _F32X16) for each in self._half(rows, sides, 1)]
        else:
            parts, seconds = self._scaled(self._sums(rows, sides, range(VECTORS), []), factors), []
        result = []
        for i, (r, v) in enumerate(self.chains):
            kept = self.kept or self.kind != NESTED6
            part = parts[i] if kept else self._load((r, v), self.rows)
            second = seconds[i] if seconds else rows.floats(r, NEGATIVE)
            part = emit_fma(b, second, factors[v][1], part)
            total = emit_fma(b, part, rows.floats(r, SCALE), totals[i] if self.kept else self._load((r, v)))
            if self.kept:
                result.append(total)
            else:
                self._store((r, v), total)
        return result

    def _half(self, rows: "Rows", sides: list[Side], half: int) -> list[Any]:
        starts = [rows.ints(r, HALVES + 4 * half) for r in range(self.rows)]
        return self._sums(rows, sides, range(4 * half, 4 * half + 4), starts)

    def _scaled(self, sums: list[Any], factors: list[list[Any]]) -> list[Any]:
        b = self.b
        return [b.fmul(b.sitofp(each, _F32X16), factors[v][0]) for each, (_, v) in zip(sums, self.chains, strict=True)]

    def _sums(self, rows: "Rows", sides: list[Side], vectors: range, starts: list[Any]) -> list[Any]:
        """Of each chain, of these vectors; each row begins with its start, or 0."""
        ways, zero = max(1, _WAYS // len(self.chains)), ir.Constant(_I32X16, [0] * LANES)
        sums = [[starts[r] if starts else zero, *[zero] * (ways - 1)] for r, _ in self.chains]
        following = [emit_vector(self.b, self.kind, side.codes, vectors[0]) for side in sides]
        for n in vectors:
            weights = [rows.weights(each) for each in following]
            if n + 1 in vectors:  # made before products need them
                following = [emit_vector(self.b, self.kind, side.codes, n + 1) for side in sides]
            for r in range(self.rows):
                x = rows.numbers(r, 4 * n)
                for v in range(self.wide):
                    chain = sums[self.wide * r + v]
                    chain[n % ways] = rows.dot(chain[n % ways], weights[v], x)
        return [added(self.b, chain) for chain in sums]

    def _at(self, chain: tuple[int, int], behind: int) -> Any:
        place = _VECTOR * (_SIDES * (chain[0] + behind) + chain[1])
        return pointer(self.b, self.out, const(place), _F32X16)

    def _load(self, chain: tuple[int, int], behind: int = 0) -> Any:
        return self.b.load(self._at(chain, behind), align=4)

    def _store(self, chain: tuple[int, int], value: Any, behind: int = 0) -> None:
        self.b.store(value, self._at(chain, behind), align=4)


class Rows:
    """Records of one run, and products with them. With AVX-512 these are read and made where they are written: LLVM
    moves them together, and then has too few registers."""

    def __init__(self, b: Any, isa: str, first: Any, strides: tuple[Any, Any], rows: int) -> None:
        self.b, self.isa, self.vnni, self.strides = b, isa, isa == "avx512_vnni", strides
        self.fours = [first]
        while len(self.fours) < (rows + 3) // 4:
            self.fours.append(b.add(self.fours[-1], b.shl(strides[0], const(2))))

    def numbers(self, r: int, offset: int) -> Any:
        """Four of row r in all lanes; without VNNI the even ones and the odd ones as int16."""
        b, x = self.b, self.ints(r, offset)
        if self.vnni:
            return x
        x, eight = b.bitcast(x, _I16X32), all_i16(8)
        return b.ashr(b.shl(x, eight), eight), b.ashr(x, eight)

    def floats(self, r: int, offset: int) -> Any:
        return self.b.bitcast(self.ints(r, offset), _F32X16)

    def ints(self, r: int, offset: int) -> Any:
        """32 bits of row r in all lanes."""
        b, four, (one, three) = self.b, self.fours[r // 4], self.strides
        index, times = [(None, 0), (one, 1), (one, 2), (three, 1)][r % 4]
        if not self.vnni:
            at = four if index is None else b.add(four, b.mul(index, const(times)))
            return splat(b, b.load(pointer(b, at, const(offset), ir.IntType(32)), align=1))
        address, values = (f"{offset}($1)", [four]) if index is None else (f"{offset}($1,$2,{times})", [four, index])
        kind = ir.FunctionType(_I32X16, [value.type for value in values])
        return b.asm(kind, f"vpbroadcastd {address}, $0", f"=v{',r' * len(values)},~{{memory}}", values, True)

    def scaled(self, total: Any, part: Any, scale: Any) -> Any:
        """fma(part, scale, total) with AVX-512."""
        kind = ir.FunctionType(_F32X16, [_F32X16] * 3)
        return self.b.asm(kind, "vfmadd231ps $3, $2, $0", "=v,0,v,v", [total, part, scale], True)

    def weights(self, q: Any) -> Any:
        """A vector as `dot` takes it."""
        b = self.b
        if self.vnni:
            return b.bitcast(q, _I32X16)
        q = b.bitcast(q, _I16X32)
        return b.and_(q, all_i16(255)), b.lshr(q, all_i16(8))

    def dot(self, total: Any, weights: Any, x: Any) -> Any:
        """In each lane total + four codes, without sign, times four numbers."""
        b = self.b
        if not self.vnni:
            for w, part in zip(weights, x, strict=True):
                total = DOTS[self.isa](b, total, part, w)
            return total
        kind = ir.FunctionType(_I32X16, [_I32X16] * 3)
        return b.asm(kind, "vpdpbusd $3, $2, $0", "=v,0,v,v", [total, weights, x], True)


def _meaning(kind: int, rows: int, a: int, stride: int, groups: int, codes: int, out: int) -> None:
    total = view(out, rows * _SIDES * LANES, np.float32).reshape(rows, -1).copy()
    for side in range(_SIDES):
        part = total[:, side * LANES : (side + 1) * LANES]
        for run in range(groups * RUNS):
            group = codes + run // RUNS * GROUP_BYTES[kind]
            q, head = run_at(kind, group + 2 * UNIT_BYTES[kind] + run % RUNS * RUN_BYTES[kind], side)
            factors = head * units_at(kind, group, side)
            records = np.stack([view(a + r * stride + run * RECORD, RECORD, np.int8) for r in range(rows)])
            x, (scale, negative) = (
                records[:, :RUN].astype(np.int32),
                records.view(np.float32).T[RUN // 4 : RUN // 4 + 2],
            )
            if kind == NESTED6:
                first, second = ((x[:, half] @ (q[:, half] - MIDDLE).T).astype(np.float32) for half in _HALF_RUNS)
            else:
                first, second = (x @ q.T).astype(np.float32), negative[:, None]
            part[:] = fma(fma(second, factors[1], first * factors[0]), scale[:, None], part)
    view(out, total.size, np.float32)[:] = total.reshape(-1)
