"""The loop in which products of quantized rows (`quantized_rows.py`) and quants (`sub_blocks.py`) take their time.

Sums of products are exact. NESTED with 4 and 5 bits: group after group, with 4 bits

    A = sum of a * m * (sum of q * x), int32;        B = sum of b * h, int32
    part = fma(float32(B), -16 * dmin, float32(A) * d),        total = fma(part, S, total)

Sums of q * x are within 32767, so those of two sub-blocks are multiplied as one pair of int16. With 5 bits they are
not: sub-block after sub-block, and then for the group,

    total = fma(float32(sum of q * x) * (d * a), s, total),        total = fma(float32(B) * (-16 * dmin), S, total)

With 6 bits, sub-block after sub-block,

    part = fma(float32(last sum of (q - 32) * x), d * last a, float32(first sum) * (d * a)),
    total = fma(part, s, total)

In the other kinds rows have a scale for 16 values:

    part = fma(float32(last sum of (q - zero point) * x), s2, float32(first sum) * s1),
    total = fma(part, d, total)

and then, where there are offsets, total = fma(t, -m / 8, total) with t made as a part is, of -8 * sums of x.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import cgutils

from engine.simd.arithmetic import emit_fma, emit_sum
from engine.simd.vector import (
    F32X16,
    I16X32,
    I32X16,
    JIT,
    all_f32,
    all_i32,
    const,
    loop,
    operation_on,
    pointer,
    prefetch_line,
    switched,
)
from engine.tiles.dots import AHEAD, VECTOR, asks_ahead
from engine.tiles.quantized_rows import GROUP, HALVES, OF_OFFSETS, PAIR, RECORD, SCALE, Rows
from engine.tiles.sub_blocks import (
    LAYOUTS,
    NESTED4,
    NESTED6,
    OF_HALVES,
    SIDES,
    VECTORS,
    WORD,
    Side,
    emit_factors,
    emit_pair,
    emit_units,
    emit_vector,
    has_offset,
    in_halves,
    is_nested,
    multiply_sub_blocks,
    side_of,
    sums_groups,
)

_WIDE = {"avx512_vnni": 2}  # vectors of columns that are multiplied together: as many as there are registers for, or 1
_FEW = 4  # totals that stay in registers; more of them would be in the way of sums
_MOST_HALVES = 12  # sums of halves at the same time: those of first halves then stay in registers beside them
_WAYS = 4  # sums that are made at the same time, at least: a product needs the one before it in its sum


def sub_block_tile(sizes: Sequence[int], isa: str) -> Any:
    """tile(kind, rows, a, stride, sub_blocks, quants, out): to float32 [rows][32] at `out` come the products of so many
    rows of quantized activations, `stride` bytes from one to the next, with 32 columns of so many sub-blocks, whole
    groups. `rows` is one of `sizes_of` the kind."""
    if not JIT:
        return multiply_sub_blocks
    wide = _WIDE.get(isa, 1)

    def emit(b: Any, kind: Any, rows: Any, *args: Any) -> None:
        def tile(of: int, size: int) -> None:
            loop(b, const(SIDES // wide), [], partial(_Tile(b, isa, of, size, wide).emit, *args))

        cases = {256 * of + size: partial(tile, of, size) for of in LAYOUTS for size in sizes_of(of, sizes, isa)}
        switched(b, b.add(b.mul(kind, const(256)), rows), cases)

    return operation_on(emit, 7)


def sizes_of(kind: int, sizes: Sequence[int], isa: str) -> tuple[int, ...]:
    """The sizes, in rows, for which a tile of this kind exists."""
    wide = _WIDE.get(isa, 1)
    return tuple(size for size in sizes if not in_halves(kind) or size * wide <= _MOST_HALVES)


def emit_joined(b: Any, both: Any) -> Any:
    """first * 2**16 + second, both within int16, as pairs of int16, the second in front."""
    bias = all_i32(0x8000)  # gives back what a second one below 0 has borrowed from the first
    return b.bitcast(b.xor(b.add(both, bias), bias), I16X32)


def emit_beside(b: Any, first: Any, second: Any) -> Any:
    """Pairs of int16, the second in front, of first * 2**16 and second in two vectors."""
    return b.bitcast(b.or_(first, b.and_(second, all_i32(0xFFFF))), I16X32)


class OfGroup(NamedTuple):
    """Factors of some sides of columns in a super-block: -16 * dmin; the offsets of sub-blocks two by two; and d, where
    products are summed as integers too."""

    offsets: Sequence[Any]
    pairs: Sequence[Sequence[Any]]
    scales: Sequence[Any] = ()


def emit_of_group(b: Any, kind: int, group: Any, first: Any, sides: Sequence[Any]) -> OfGroup:
    """Read the factors of a super-block from its address and that of its first sub-block."""
    layout, times = LAYOUTS[kind], all_f32(-OF_OFFSETS)
    units = [emit_units(b, kind, group, side) for side in sides]
    sub_blocks = [b.add(first, const(i * layout.sub_block_bytes)) for i in range(0, layout.sub_blocks, 2)]
    pairs = [[emit_pair(b, kind, sub_block, side, 1) for sub_block in sub_blocks] for side in sides]
    return OfGroup([b.fmul(dmin, times) for _, dmin in units], pairs, [d for d, _ in units])


def emit_group(rows: Rows, r: int, factors: OfGroup, wholes: Sequence[Any], totals: Sequence[Any]) -> list[Any]:
    """The totals of row r, whose quantized activations begin with those of a group, and of each side, with what the
    group adds: its offsets, and products where there are `wholes`, the sums of them."""
    b, sums = rows.b, [all_i32(0) for _ in totals]
    for i in range(len(factors.pairs[0])):
        h = rows.pair(r, RECORD * (2 * i + 1) + PAIR)
        sums = [rows.pairs(sum_, own[i], h) for sum_, own in zip(sums, factors.pairs, strict=True)]
    scale, result = rows.floats(r, GROUP), []
    for v, total in enumerate(totals):
        part, offset = b.sitofp(sums[v], F32X16), factors.offsets[v]
        if wholes:
            part = emit_fma(b, part, offset, b.fmul(b.sitofp(wholes[v], F32X16), factors.scales[v]))
        else:
            part = b.fmul(part, offset)
        result.append(emit_fma(b, part, scale, total))
    return result


class _Tile:
    """The loop over rows of one number and `wide` sides of quants of one kind:

    for group in groups of sub-blocks:
        for sub_block in group:
            sums[r, v] = the exact sum of quants[v] * x[r], of the whole sub-block or of either half
            totals[r, v] (or of a group: A[r, v], int32) += sums[r, v] by the scales of sub-block and row
        of a group with offsets, or of 4 and 5 bits:
            totals[r, v] = fma(part of A and B, the row's scale, totals[r, v])
    """

    def __init__(self, b: Any, isa: str, kind: int, rows: int, wide: int) -> None:
        self.b, self.isa, self.kind, self.rows, self.wide, self.layout = b, isa, kind, rows, wide, LAYOUTS[kind]
        self.chains = [(r, v) for r in range(rows) for v in range(wide)]
        self.kept = len(self.chains) <= _FEW

    def emit(
        self, a: Any, stride: Any, sub_blocks: Any, quants: Any, out: Any, vector: Any, carried: list[Any]
    ) -> list[Any]:  # fmt: skip
        b, layout = self.b, self.layout
        self.sides = [b.add(b.mul(vector, const(self.wide)), const(v)) for v in range(self.wide)]
        self.strides = stride, b.mul(stride, const(3))
        out = b.add(out, b.mul(self.sides[0], const(VECTOR)))
        self.totals = [pointer(b, out, const(VECTOR * (SIDES * r + v)), F32X16) for r, v in self.chains]

        def of_group(g: Any, totals: list[Any]) -> list[Any]:
            group = b.add(quants, b.mul(g, const(layout.group_bytes)))
            first = b.add(group, const(SIDES * layout.unit_bytes))
            left = b.add(a, b.mul(g, const(layout.sub_blocks * RECORD)))
            if self.kind == NESTED4:
                places = self._room()
                return self._group(group, first, left, totals, self._pairs(first, left, places), places)
            totals = self._all_sub_blocks(group, first, left, totals)
            return self._group(group, first, left, totals) if sums_groups(self.kind) else totals

        starts = [b.load(place, align=4) for place in self.totals] if self.kept else []
        groups = b.sdiv(sub_blocks, const(layout.sub_blocks))
        for total, place in zip(loop(b, groups, starts, of_group), self.totals, strict=False):
            b.store(total, place, align=4)
        return carried

    def _all_sub_blocks(self, group: Any, first: Any, left: Any, totals: list[Any]) -> list[Any]:
        """The totals after a group's sub-blocks."""
        b, layout = self.b, self.layout
        units = [emit_units(b, self.kind, group, side) for side in self.sides]

        def of_sub_block(i: Any, totals: list[Any]) -> list[Any]:
            sub_block = b.add(first, b.mul(i, const(layout.sub_block_bytes)))
            return self._sub_block(self._rows(left, i), self._sides(sub_block), units, totals)

        if layout.sub_blocks == 1:
            return of_sub_block(const(0), totals)
        return loop(b, const(layout.sub_blocks), list(totals), of_sub_block)

    def _sub_block(self, rows: Rows, sides: list[Side], units: list[list[Any]], totals: list[Any]) -> list[Any]:
        b = self.b
        factors = [emit_factors(b, self.kind, side.head, each) for side, each in zip(sides, units, strict=True)]
        parts = self._halves(rows, sides, factors) if in_halves(self.kind) else self._whole(rows, sides, factors)
        scales, offsets = self._of_rows(lambda r: rows.floats(r, SCALE)), self._of_rows(rows.offset)
        result = []
        for i, ((_, v), part) in enumerate(zip(self.chains, parts, strict=True)):
            total = self._at(totals, i, self.totals)
            total = emit_fma(b, part, next(scales) if is_nested(self.kind) else factors[v][0], total)
            if has_offset(self.kind):
                total = emit_fma(b, next(offsets), factors[v][1], total)
            result += self._keep(total, self.totals[i])
        return result

    def _room(self) -> list[Any]:
        """Places for integers of all chains."""
        room = cgutils.alloca_once(self.b, ir.ArrayType(I32X16, len(self.chains)))
        return [self.b.gep(room, [const(0), const(i)]) for i in range(len(self.chains))]

    def _pairs(self, first: Any, left: Any, places: list[Any]) -> list[Any]:
        """Sums of a group's products as integers."""
        b, layout = self.b, self.layout

        def of_pair(i: Any, wholes: list[Any]) -> list[Any]:
            sub_block = b.add(first, b.mul(i, const(2 * layout.sub_block_bytes)))
            both: list[Any] = []
            rows = self._rows(left, b.shl(i, const(1)))
            for n in range(2):
                starts = [b.shl(each, all_i32(16)) for each in both]
                sides = self._sides(b.add(sub_block, const(n * layout.sub_block_bytes)))
                both = self._sums(rows, sides, range(VECTORS), starts, n * RECORD)
            scales, result = [emit_pair(b, self.kind, sub_block, side, 0) for side in self.sides], []
            steps = self._of_rows(lambda r: rows.pair(r, PAIR))
            for i, ((_, v), step) in enumerate(zip(self.chains, steps, strict=True)):
                whole = rows.pairs(self._at(wholes, i, places), emit_joined(b, both[i]), b.mul(scales[v], step))
                result += self._keep(whole, places[i])
            return result

        starts = [start for place in places for start in self._keep(all_i32(0), place)]
        return loop(b, const(layout.sub_blocks // 2), starts, of_pair)

    def _group(
        self, group: Any, first: Any, left: Any, totals: list[Any], wholes: Sequence[Any] = (),
        places: Sequence[Any] = (),
    ) -> list[Any]:  # fmt: skip
        """The totals with what is summed over a group: `wholes`, where there are places for them, and offsets."""
        rows, result = self._rows(left, const(0)), []
        factors = emit_of_group(self.b, self.kind, group, first, self.sides)
        for r in range(self.rows):
            own = range(r * self.wide, (r + 1) * self.wide)
            sums = [self._at(wholes, i, places) for i in own] if places else []
            after = emit_group(rows, r, factors, sums, [self._at(totals, i, self.totals) for i in own])
            for i, total in zip(own, after, strict=True):
                result += self._keep(total, self.totals[i])
        return result

    def _at(self, values: Sequence[Any], i: int, places: Sequence[Any]) -> Any:
        """The total of a chain: in a register if there are few chains, else in memory."""
        return values[i] if self.kept else self.b.load(places[i], align=4)

    def _keep(self, value: Any, place: Any) -> list[Any]:
        if self.kept:
            return [value]
        self.b.store(value, place, align=4)
        return []

    def _rows(self, left: Any, sub_block: Any) -> Rows:
        """The rows at an address, from a sub-block on."""
        return Rows(self.b, self.isa, self.b.add(left, self.b.mul(sub_block, const(RECORD))), self.strides, self.rows)

    def _sides(self, sub_block: Any) -> list[Side]:
        return [side_of(self.b, self.kind, sub_block, side) for side in self.sides]

    def _of_rows(self, read: Callable[[int], Any]) -> Iterator[Any]:
        """Yield for each chain a value of its row; each row is read once."""
        for r in range(self.rows):
            value = read(r)
            for _ in range(self.wide):
                yield value

    def _whole(self, rows: Rows, sides: list[Side], factors: list[list[Any]]) -> Iterator[Any]:
        """Yield for each chain the term that a sub-block adds to it, but for the last factor."""
        for each, (_, v) in zip(self._sums(rows, sides, range(VECTORS), []), self.chains, strict=True):
            yield self._scaled(each, factors[v][0])

    def _halves(self, rows: Rows, sides: list[Side], factors: list[list[Any]]) -> Iterator[Any]:
        """Yield for each chain the term that a sub-block adds to it, where both halves have scales of their own."""
        b, scales = self.b, [self._scales_of_half(rows, factors, half) for half in range(2)]
        firsts = [self._scaled(*each) for each in zip(self._half(rows, sides, 0), scales[0], strict=True)]
        seconds = [b.sitofp(each, F32X16) for each in self._half(rows, sides, 1)]
        for first, second, scale in zip(firsts, seconds, scales[1], strict=True):
            yield emit_fma(b, second, scale, first)

    def _scales_of_half(self, rows: Rows, factors: list[list[Any]], half: int) -> Iterator[Any]:
        """Yield for each chain the scale of the first or the last 16 values."""
        if self.kind == NESTED6:
            return (factors[v][half] for _, v in self.chains)
        return self._of_rows(lambda r: rows.floats(r, SCALE + 4 * half))

    def _scaled(self, whole: Any, factor: Any) -> Any:
        return self.b.fmul(self.b.sitofp(whole, F32X16), factor)

    def _half(self, rows: Rows, sides: list[Side], half: int) -> list[Any]:
        if not self.layout.zero_point:
            return self._sums(rows, sides, range(4 * half, 4 * half + 4), [])
        starts = list(self._of_rows(lambda r: rows.ints(r, HALVES + 4 * half)))
        if not is_nested(self.kind) and self.layout.zero_point > OF_HALVES:  # a power of two times as much
            shift = all_i32((self.layout.zero_point // OF_HALVES).bit_length() - 1)
            starts = [self.b.shl(start, shift) for start in starts]
        return self._sums(rows, sides, range(4 * half, 4 * half + 4), starts)

    def _sums(self, rows: Rows, sides: list[Side], vectors: range, starts: list[Any], at: int = 0) -> list[Any]:
        """Integer sums of each chain over these vectors, of rows `at` bytes on, from its start or 0."""
        ways, zero = max(1, _WAYS // len(self.chains)), all_i32(0)
        sums = [[start, *[zero] * (ways - 1)] for start in starts or [zero] * len(self.chains)]
        following = [emit_vector(self.b, self.kind, side.quants, vectors[0]) for side in sides]
        for n in vectors:
            self._expect(sides[0].quants, n)
            weights = [rows.weights(each) for each in following]
            if n + 1 in vectors:  # made before products need them
                following = [emit_vector(self.b, self.kind, side.quants, n + 1) for side in sides]
            for r in range(self.rows):
                x = rows.numbers(r, at + 4 * n)
                for v in range(self.wide):
                    chain = sums[self.wide * r + v]
                    chain[n % ways] = rows.dot(chain[n % ways], weights[v], x)
        return [emit_sum(self.b, chain) for chain in sums]

    def _expect(self, quants: Any, n: int) -> None:
        """The quants that many rows will need are asked for bit by bit, lest products wait for room to ask."""
        if asks_ahead(self.rows, self.isa):
            lines = range(0, self.layout.sub_block_bytes, WORD)
            for line in lines[n * len(lines) // VECTORS : (n + 1) * len(lines) // VECTORS]:
                prefetch_line(self.b, quants, AHEAD + line, 1)
