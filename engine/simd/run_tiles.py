"""The loop in which products of rows of bytes with codes in runs (`runs.py`) spend their time.

A row is a record of 48 bytes for each run of 32 values: numbers x within 127, int8, and four more of 32 bits, at SCALE,
NEGATIVE and HALVES. Sums of products are exact. Run after run, with 4 or 5 bits of NESTED,

    s, float32; -sum of x, float32; of the first and the last 16 values -32 * sum of x, int32
    part = fma(-sum of x, dmin * b, float32(sum of q * x) * (d * a)),        total = fma(part, s, total)

With 6 bits a part is of two sums of (q - 32) * x, that of the first 16 values times their d * a, and the last ones'
in place of -sum of x and dmin * b. In the other kinds rows have a scale for 16 values, at SCALE and behind it:

    s1, s2, float32; of the first and the last 16 values -8 * sum of x, int32
    part = fma(float32(last sum of (q - middle) * x), s2, float32(first sum) * s1),        total = fma(part, d, total)

and then, where there are offsets, total = fma(t, -m / 8, total) with t made as a part is, of -8 * sums of x.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir

from engine.simd.address import const, loop, pointer, switched, view
from engine.simd.amx import prefetch_line
from engine.simd.arithmetic import emit_fma, emit_sum, fma
from engine.simd.codes import SIDES
from engine.simd.runs import (
    CODES,
    NESTED6,
    OF_HALVES,
    RUN,
    VECTORS,
    WORD,
    Side,
    all_i16,
    emit_factors,
    emit_units,
    emit_vector,
    has_offset,
    in_halves,
    is_nested,
    run_at,
    side_of,
)
from engine.simd.tiles import DOTS, splat
from engine.simd.vector import JIT, LANES, f32x16, i32x16, operation_on

RECORD = 48
SCALE, NEGATIVE, HALVES = 32, 36, 40
"""Where in a record its scale lies, or that of the first half and behind it the last one's; the negative of its sum;
and multiples of sums of both halves, -32 or -8 times."""
_WIDE = {"avx512_vnni": 2}  # vectors of columns that are multiplied together: as many as there are registers for, or 1
AHEAD = 4096  # bytes from codes in use to those that are asked for: what the CPU fetches by itself ends at each page
_FEW_ROWS = {"avx512_vnni": 4}  # that wait for nothing but memory, or 1: the CPU alone then fetches codes sooner
_FEW = 4  # totals that stay in registers; more of them would be in the way of sums
_MOST_HALVES = 12  # sums of halves at the same time: those of first halves then stay in registers beside them
_WAYS = 4  # sums that are made at the same time, at least: a product needs the one before it in its sum
_VECTOR = 4 * LANES
_HALF_RUNS = slice(RUN // 2), slice(RUN // 2, RUN)
_I16X32, _I32X16, _F32X16 = ir.VectorType(ir.IntType(16), 32), i32x16.llvm, f32x16.llvm


def run_tile(sizes: Sequence[int], isa: str) -> Any:
    """tile(kind, rows, a, stride, runs, codes, out): to float32 [rows][32] at `out` come the products of so many rows
    of records, `stride` bytes from one to the next, with 32 columns of so many runs, whole groups. `rows` is one of
    `sizes_of` the kind."""
    if not JIT:
        return _meaning
    wide = _WIDE.get(isa, 1)

    def emit(b: Any, kind: Any, rows: Any, *args: Any) -> None:
        def tile(of: int, size: int) -> None:
            loop(b, const(SIDES // wide), [], partial(_Tile(b, isa, of, size, wide).emit, *args))

        cases = {256 * of + size: partial(tile, of, size) for of in CODES for size in sizes_of(of, sizes, isa)}
        switched(b, b.add(b.mul(kind, const(256)), rows), cases)

    return operation_on(emit, 7)


def sizes_of(kind: int, sizes: Sequence[int], isa: str) -> tuple[int, ...]:
    """Those of the sizes that there are for a kind."""
    wide = _WIDE.get(isa, 1)
    return tuple(size for size in sizes if not in_halves(kind) or size * wide <= _MOST_HALVES)


def asks_ahead(rows: int, isa: str) -> bool:
    """Whether a tile of so many rows asks for codes itself."""
    return rows > _FEW_ROWS.get(isa, 1)


class _Tile:
    """Rows of one number times `wide` sides of codes of one kind."""

    def __init__(self, b: Any, isa: str, kind: int, rows: int, wide: int) -> None:
        self.b, self.isa, self.kind, self.rows, self.wide, self.code = b, isa, kind, rows, wide, CODES[kind]
        self.chains = [(r, v) for r in range(rows) for v in range(wide)]
        self.kept = len(self.chains) <= _FEW

    def emit(
        self, a: Any, stride: Any, runs: Any, codes: Any, out: Any, vector: Any, carried: list[Any]
    ) -> list[Any]:  # fmt: skip
        b, code = self.b, self.code
        sides = [b.add(b.mul(vector, const(self.wide)), const(v)) for v in range(self.wide)]
        self.out, strides = b.add(out, b.mul(sides[0], const(_VECTOR))), (stride, b.mul(stride, const(3)))

        def of_group(g: Any, totals: list[Any]) -> list[Any]:
            group = b.add(codes, b.mul(g, const(code.group_bytes)))
            units = [emit_units(b, self.kind, group, side) for side in sides]
            first = b.add(group, const(SIDES * code.unit_bytes))
            left = b.add(a, b.mul(g, const(code.runs * RECORD)))

            def of_run(i: Any, totals: list[Any]) -> list[Any]:
                run = b.add(first, b.mul(i, const(code.run_bytes)))
                rows = Rows(b, self.isa, b.add(left, b.mul(i, const(RECORD))), strides, self.rows)
                return self._run(rows, [side_of(b, self.kind, run, side) for side in sides], units, totals)

            if code.runs == 1:
                return of_run(const(0), totals)
            return loop(b, const(code.runs), list(totals), of_run)

        starts = [self._load(chain) for chain in self.chains] if self.kept else []
        groups = b.sdiv(runs, const(code.runs))
        for chain, total in zip(self.chains, loop(b, groups, starts, of_group), strict=False):
            self._store(chain, total)
        return carried

    def _run(self, rows: "Rows", sides: list[Side], units: list[list[Any]], totals: list[Any]) -> list[Any]:
        b = self.b
        factors = [emit_factors(b, self.kind, side.head, each) for side, each in zip(sides, units, strict=True)]
        parts = self._halves(rows, sides, factors) if in_halves(self.kind) else self._whole(rows, sides, factors)
        scales, offsets = self._of_rows(lambda r: rows.floats(r, SCALE)), self._of_rows(rows.offset)
        result = []
        for i, (chain, part) in enumerate(zip(self.chains, parts, strict=True)):
            total, own = totals[i] if self.kept else self._load(chain), factors[chain[1]]
            total = emit_fma(b, part, next(scales) if is_nested(self.kind) else own[0], total)
            if has_offset(self.kind):
                total = emit_fma(b, next(offsets), own[1], total)
            if self.kept:
                result.append(total)
            else:
                self._store(chain, total)
        return result

    def _of_rows(self, read: Callable[[int], Any]) -> Iterator[Any]:
        """For each chain what is read of its row, once."""
        for r in range(self.rows):
            value = read(r)
            for _ in range(self.wide):
                yield value

    def _whole(self, rows: "Rows", sides: list[Side], factors: list[list[Any]]) -> Iterator[Any]:
        """Of each chain, what a run adds to it but for the last factor."""
        sums = self._sums(rows, sides, range(VECTORS), [])
        firsts = [self._scaled(each, factors[v][0]) for each, (_, v) in zip(sums, self.chains, strict=True)]
        negatives = self._of_rows(lambda r: rows.floats(r, NEGATIVE))
        for first, (_, v), negative in zip(firsts, self.chains, negatives, strict=True):
            yield emit_fma(self.b, negative, factors[v][1], first)

    def _halves(self, rows: "Rows", sides: list[Side], factors: list[list[Any]]) -> Iterator[Any]:
        """The same of sums of both halves, which have scales of their own."""
        b, scales = self.b, [self._scales_of_half(rows, factors, half) for half in range(2)]
        firsts = [self._scaled(*each) for each in zip(self._half(rows, sides, 0), scales[0], strict=True)]
        seconds = [b.sitofp(each, _F32X16) for each in self._half(rows, sides, 1)]
        for first, second, scale in zip(firsts, seconds, scales[1], strict=True):
            yield emit_fma(b, second, scale, first)

    def _scales_of_half(self, rows: "Rows", factors: list[list[Any]], half: int) -> Iterator[Any]:
        """For each chain."""
        if self.kind == NESTED6:
            return (factors[v][half] for _, v in self.chains)
        return self._of_rows(lambda r: rows.floats(r, SCALE + 4 * half))

    def _scaled(self, whole: Any, factor: Any) -> Any:
        return self.b.fmul(self.b.sitofp(whole, _F32X16), factor)

    def _half(self, rows: "Rows", sides: list[Side], half: int) -> list[Any]:
        starts = [rows.ints(r, HALVES + 4 * half) for r in range(self.rows)] if self.code.middle else []
        if not is_nested(self.kind) and self.code.middle > OF_HALVES:  # a power of two times as much
            shift = ir.Constant(_I32X16, [(self.code.middle // OF_HALVES).bit_length() - 1] * LANES)
            starts = [self.b.shl(start, shift) for start in starts]
        return self._sums(rows, sides, range(4 * half, 4 * half + 4), starts)

    def _sums(self, rows: "Rows", sides: list[Side], vectors: range, starts: list[Any]) -> list[Any]:
        """Of each chain, of these vectors; each row begins with its start, or 0."""
        ways, zero = max(1, _WAYS // len(self.chains)), ir.Constant(_I32X16, [0] * LANES)
        sums = [[starts[r] if starts else zero, *[zero] * (ways - 1)] for r, _ in self.chains]
        following = [emit_vector(self.b, self.kind, side.codes, vectors[0]) for side in sides]
        for n in vectors:
            self._expect(sides[0].codes, n)
            weights = [rows.weights(each) for each in following]
            if n + 1 in vectors:  # made before products need them
                following = [emit_vector(self.b, self.kind, side.codes, n + 1) for side in sides]
            for r in range(self.rows):
                x = rows.numbers(r, 4 * n)
                for v in range(self.wide):
                    chain = sums[self.wide * r + v]
                    chain[n % ways] = rows.dot(chain[n % ways], weights[v], x)
        return [emit_sum(self.b, chain) for chain in sums]

    def _expect(self, codes: Any, n: int) -> None:
        """The codes that many rows will need are asked for bit by bit, lest products wait for room to ask."""
        if asks_ahead(self.rows, self.isa):
            lines = range(0, self.code.run_bytes, WORD)
            for line in lines[n * len(lines) // VECTORS : (n + 1) * len(lines) // VECTORS]:
                prefetch_line(self.b, codes, AHEAD + line, 1)

    def _at(self, chain: tuple[int, int]) -> Any:
        place = _VECTOR * (SIDES * chain[0] + chain[1])
        return pointer(self.b, self.out, const(place), _F32X16)

    def _load(self, chain: tuple[int, int]) -> Any:
        return self.b.load(self._at(chain), align=4)

    def _store(self, chain: tuple[int, int], value: Any) -> None:
        self.b.store(value, self._at(chain), align=4)


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

    def offset(self, r: int, run: int = 0) -> Any:
        """What offsets of columns are multiplied with, for the record so many bytes on."""
        b, first = self.b, run + HALVES
        sums = [b.sitofp(self.ints(r, first + 4 * half), _F32X16) for half in range(2)]
        scales = [self.floats(r, run + SCALE + 4 * half) for half in range(2)]
        return emit_fma(b, sums[1], scales[1], b.fmul(sums[0], scales[0]))

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


def _meaning(kind: int, rows: int, a: int, stride: int, runs: int, codes: int, out: int) -> None:
    total = view(out, rows * SIDES * LANES, np.float32).reshape(rows, -1).copy()
    for side in range(SIDES):
        columns = slice(side * LANES, (side + 1) * LANES)
        for run in range(runs):
            q, factors = run_at(kind, codes, run, side)
            records = np.stack([view(a + r * stride + run * RECORD, RECORD, np.int8) for r in range(rows)])
            x, known = records[:, :RUN].astype(np.int32), records[:, RUN:].view(np.float32).T[:, :, None]
            first, second = ((x[:, half] @ q[:, half].T).astype(np.float32) for half in _HALF_RUNS)
            if not is_nested(kind):
                part = fma(second, known[1], first * known[0])
                total[:, columns] = fma(part, factors[0], total[:, columns])
                if has_offset(kind):
                    first, second = known.view(np.int32)[2:].astype(np.float32)
                    part = fma(second, known[1], first * known[0])
                    total[:, columns] = fma(part, factors[1], total[:, columns])
                continue
            if kind != NESTED6:
                first, second = (x @ q.T).astype(np.float32), known[1]
            part = fma(second, factors[1], first * factors[0])
            total[:, columns] = fma(part, known[0], total[:, columns])
    view(out, total.size, np.float32)[:] = total.reshape(-1)
