"""The loop of `sub_block_tile.py` for many rows, on AMX: the same exact sums, and the same float32 operations in the
same order.

Some sub-blocks of 32 columns become a panel once: sub-block after sub-block, of one side and of the other, quants
without their zero point, int8 [8][16 columns][4], which are two tiles, or where halves are summed by themselves four,
and behind them two slots of [2 sides][16] values of 32 bits. These hold what `emit_factors` gives; where sums are of
groups there are in the second slot of the first of two sub-blocks the pairs of their offsets, and of the group's second
sub-block -16 * dmin. With 4 bits the first slots hold, in the same sub-blocks, pairs of scales and d.

Eight rows at a time pass the panel. In a stage a sub-block, or half of one, is multiplied with both sides; the sums of
the stage before leave their tiles, and those of the one before that are finished as vectors. So neither unit waits for
the other, from the first stage of all rows to the last. Eight rows, because their totals stay in registers for both
sides, which then share what is read of a row."""

from functools import partial
from typing import Any

from llvmlite import ir

from engine.simd.arithmetic import emit_fma
from engine.simd.vector import (
    F32X16,
    I8X64,
    I16X32,
    I32X16,
    all_f32,
    all_i32,
    const,
    emit_load,
    emit_store,
    loop,
    operation_on,
    prefetch_line,
    switched,
)
from engine.tiles.amx import dot, load, starting, store, zero
from engine.tiles.dots import AHEAD, VECTOR
from engine.tiles.quantized_rows import PAIR, RECORD, SCALE, Rows
from engine.tiles.sub_block_tile import OfGroup, emit_beside, emit_group, emit_of_group
from engine.tiles.sub_blocks import (
    LAYOUTS,
    NESTED4,
    NESTED6,
    SIDES,
    SUB_BLOCK,
    VECTORS,
    emit_factors,
    emit_pair,
    emit_units,
    emit_vector,
    has_offset,
    in_halves,
    is_nested,
    side_of,
    sums_groups,
)

ROWS = 8
"""That are multiplied together."""
_QUANTS, _SUMS = VECTORS * VECTOR, ROWS * VECTOR  # bytes of a sub-block and a side, and of its sums
_SUB_BLOCK_BYTES = SIDES * (_QUANTS + 2 * VECTOR)
MOST_SUB_BLOCKS, FEW_SUB_BLOCKS = 8, 2
"""Of a panel: those of a group of NESTED, or if there are not so many left those of a chunk."""
PANEL_BYTES = MOST_SUB_BLOCKS * _SUB_BLOCK_BYTES
_NOWHERE, _KEPT = 2 * SIDES * _SUMS, 3 * SIDES * _SUMS
SUMS_BYTES = 4 * SIDES * _SUMS
"""That products need: sums of two stages, room for totals of none, and what is kept of the first halves."""
_LATER = 2  # stages from products to their vectors

start_sub_blocks, start_halves = starting(ROWS, SUB_BLOCK), starting(ROWS, SUB_BLOCK // 2)


def sub_block_panel() -> Any:
    """panel(kind, quants, sub_blocks, out): so many sub-blocks of quants at an address, a group if there are groups, as
    a panel at `out`."""

    def emit(b: Any, kind: Any, quants: Any, sub_blocks: Any, out: Any) -> None:
        def of_kind(k: int) -> None:
            units = [emit_units(b, k, quants, const(side)) for side in range(SIDES)]
            first = b.add(quants, const(SIDES * LAYOUTS[k].unit_bytes))
            loop(b, sub_blocks, [], partial(_unpack, b, k, first, out, units))
            if sums_groups(k):
                _unpack_group(b, k, quants, first, out)

        switched(b, kind, {k: partial(of_kind, k) for k in LAYOUTS})

    return operation_on(emit, 4)


def _unpack(b: Any, kind: int, first: Any, out: Any, units: list[Any], i: Any, carried: list[Any]) -> list[Any]:
    """A sub-block of both sides."""
    layout = LAYOUTS[kind]
    sub_block, to = b.add(first, b.mul(i, const(layout.sub_block_bytes))), b.add(out, b.mul(i, const(_SUB_BLOCK_BYTES)))
    for line in range(0, layout.sub_block_bytes, 64):
        prefetch_line(b, sub_block, AHEAD + line, 1)
    for v in range(SIDES):
        side = side_of(b, kind, sub_block, const(v))
        for n in range(VECTORS):
            q = emit_vector(b, kind, side.quants, n)
            q = b.sub(q, ir.Constant(I8X64, [layout.zero_point] * 64)) if layout.zero_point else q
            emit_store(b, q, to, _QUANTS * v + VECTOR * n)
        for n, factor in enumerate(emit_factors(b, kind, side.head, units[v]) if kind != NESTED4 else ()):
            emit_store(b, factor, to, _factor_at(n, v))
    return carried


def _unpack_group(b: Any, kind: int, group: Any, first: Any, out: Any) -> None:
    """Write a super-block's offsets, and the scales of its sub-blocks two by two, to the panel."""
    sides = [const(v) for v in range(SIDES)]
    factors, layout = emit_of_group(b, kind, group, first, sides), LAYOUTS[kind]
    for v, side in enumerate(sides):
        pairs = {1: factors.pairs[v]}
        if kind == NESTED4:
            sub_blocks = [b.add(first, const(i * layout.sub_block_bytes)) for i in range(0, layout.sub_blocks, 2)]
            pairs[0] = [emit_pair(b, kind, sub_block, side, 0) for sub_block in sub_blocks]
            emit_store(b, factors.scales[v], out, _SUB_BLOCK_BYTES + _factor_at(0, v))
        emit_store(b, factors.offsets[v], out, _SUB_BLOCK_BYTES + _factor_at(1, v))
        for n, values in pairs.items():
            for i, value in enumerate(values):
                emit_store(b, value, out, 2 * i * _SUB_BLOCK_BYTES + _factor_at(n, v))


def _factor_at(number: int, side: int) -> int:
    """Byte of a factor of one side within a sub-block of a panel."""
    return SIDES * (_QUANTS + VECTOR * number) + VECTOR * side


def sub_block_products(kind: int, sub_blocks: int) -> Any:
    """products(a, stride, count, panel, totals, sums): to float32 [8 * count][32] at `totals` come the products of so
    many times eight rows of quantized activations, `stride` bytes from one to the next, with a panel of `sub_blocks`,
    of this kind or one that has the same but for bits of quants. Tiles are those of `start_halves`, or where halves are
    not summed by themselves of `start_sub_blocks`; `sums` are SUMS_BYTES of scratch."""

    def emit(b: Any, a: Any, stride: Any, count: Any, panel: Any, totals: Any, sums: Any) -> None:
        _Products(b, kind, sub_blocks, stride, panel, sums).emit(a, count, totals)

    return operation_on(emit, 6)


class _Products:
    """The loop over any number of rows for one panel, in which `parts` counts the products of a sub-block and a side:

    for eight in rows:
        for stage in sub-blocks * parts:
            AMX:      tiles = quantized[eight, stage] @ panel[stage], both sides
            memory:   sums[stage - 1] = tiles of the stage before
            vectors:  totals += sums[stage - 2] by their factors; for the first two those of the eight rows before
        store the totals of the eight rows before, when their last stage is added
    """

    def __init__(self, b: Any, kind: int, sub_blocks: int, stride: Any, panel: Any, sums: Any) -> None:
        self.b, self.kind, self.panel, self.sums, self.stride = b, kind, panel, sums, stride
        self.parts, self.strides = 1 + in_halves(kind), (stride, b.mul(stride, const(3)))
        self.stages = sub_blocks * self.parts

    def emit(self, a: Any, count: Any, totals: Any) -> None:
        """Vectors of the first stages, which have none before them, go nowhere."""
        b, step = self.b, self.b.shl(self.stride, const(3))
        nowhere = b.add(self.sums, const(_NOWHERE))
        nothing = all_i32(0) if self.kind == NESTED4 else all_f32(0)

        def of_rows(i: Any, carried: list[Any]) -> list[Any]:
            here, to = b.add(a, b.mul(i, step)), b.add(totals, b.mul(i, const(SIDES * _SUMS)))
            return [here, to, *self._pass(here, to, *carried)]

        last = loop(b, count, [a, nowhere, *[nothing] * (SIDES * ROWS)], of_rows)
        self._end(*last)

    def _pass(self, here: Any, to: Any, before: Any, to_before: Any, *totals: Any) -> list[Any]:
        """All stages of eight rows, with the last vectors of those before them and without their own last ones."""
        now, rows = list(totals), self._rows(before)
        for stage in range(self.stages):
            if stage == _LATER:
                self._store(to_before, rows, now)
                now, rows = self._start(to), self._rows(here)
            factors = self._factors(stage - _LATER)
            for share in range(4):  # of the vectors, two rows
                if share < SIDES:
                    self._multiply(stage, here, share)
                else:
                    self._store_sums(stage - 1, share - SIDES)
                self._add(stage - _LATER, rows, range(2 * share, 2 * share + 2), factors, now)
        return now

    def _end(self, here: Any, to: Any, *totals: Any) -> None:
        """The vectors that the last eight rows are without."""
        now, rows = list(totals), self._rows(here)
        for side in range(SIDES):
            self._store_sums(-1, side)
        for stage in range(-_LATER, 0):
            self._add(stage, rows, range(ROWS), self._factors(stage), now)
        self._store(to, rows, now)

    def _multiply(self, stage: int, a: Any, side: int) -> None:
        """The rows of quantized activations at an address, of a stage, and a side."""
        b, (sub_block, part), size = self.b, divmod(stage, self.parts), SUB_BLOCK // self.parts
        rows, columns, sums = 4 + stage % 2, 6 + side, _tile(stage, side)
        if side == 0:
            load(b, rows, a, RECORD * sub_block + size * part, self.stride)
        load(b, columns, self.panel, _SUB_BLOCK_BYTES * sub_block + _QUANTS * side + _QUANTS // self.parts * part)
        zero(b, sums)
        dot(b, sums, rows, columns)

    def _store_sums(self, stage: int, side: int) -> None:
        """Sums leave their tile."""
        store(self.b, _tile(stage, side), self.sums, _SUMS * _tile(stage, side))

    def _add(self, stage: int, rows: Rows, some: range, factors: list[list[Any]], totals: list[Any]) -> None:
        """The sums of a stage of these rows; stages below 0 are the last ones."""
        sub_block, half = divmod(stage % self.stages, self.parts)
        for r in some:
            sums = [self._read(self.sums, _SUMS * _tile(stage, v) + VECTOR * r, I32X16) for v in range(SIDES)]
            if self.kind == NESTED4:
                self._add_whole(sub_block, r, rows, sums, factors[0], totals)
            else:
                self._add_float(sub_block, half, r, rows, sums, factors, totals)

    def _add_whole(
        self, sub_block: int, r: int, rows: Rows, sums: list[Any], scales: list[Any], totals: list[Any]
    ) -> None:
        """Two sub-blocks together: those of the first one wait for those of the second."""
        b, steps = self.b, rows.pair(r, RECORD * (sub_block - 1) + PAIR) if sub_block % 2 else None
        for v, own in enumerate(sums):
            waiting, i = _KEPT + VECTOR * (SIDES * r + v), SIDES * r + v
            if steps is None:
                self._write(self.sums, waiting, b.shl(own, all_i32(16)))
                continue
            both = emit_beside(b, self._read(self.sums, waiting, I32X16), own)
            totals[i] = rows.pairs(totals[i], both, b.mul(scales[v], steps))

    def _add_float(
        self,
        sub_block: int,
        half: int,
        r: int,
        rows: Rows,
        sums: list[Any],
        factors: list[list[Any]],
        totals: list[Any],
    ) -> None:
        b, at = self.b, RECORD * sub_block
        own = rows.floats(r, at + SCALE + 4 * half) if not is_nested(self.kind) else None
        scale = rows.floats(r, at + SCALE) if own is None and half + 1 == self.parts else None
        offset = rows.offset(r, at) if has_offset(self.kind) and half else None
        for v, whole in enumerate(sums):
            waiting, i = _KEPT + VECTOR * (SIDES * r + v), SIDES * r + v
            value, factor = b.sitofp(whole, F32X16), factors[0][v] if own is None else own
            part = b.fmul(value, factor)
            if half + 1 < self.parts:  # until the other half is there
                self._write(self.sums, waiting, part)
                continue
            if half:
                part = emit_fma(b, value, factor, self._read(self.sums, waiting, F32X16))
            totals[i] = rows.scaled(totals[i], part, factors[0][v] if scale is None else scale)
            if offset is not None:
                totals[i] = rows.scaled(totals[i], offset, factors[1][v])

    def _factors(self, stage: int) -> list[list[Any]]:
        """Factors of the columns of both sides for the products of a stage."""
        sub_block, half = divmod(stage % self.stages, self.parts)
        which = (half,) if self.kind == NESTED6 else (0, 1) if has_offset(self.kind) else (0,)
        if self.kind == NESTED4:
            return [self._of_sides(sub_block // 2 * 2, 0, I16X32)]
        return [self._of_sides(sub_block, n) for n in which]

    def _of_sides(self, sub_block: int, number: int, kind: Any = F32X16) -> list[Any]:
        """A factor of a sub-block in the panel, for each side."""
        return [
            self._read(self.panel, _SUB_BLOCK_BYTES * sub_block + _factor_at(number, v), kind) for v in range(SIDES)
        ]

    def _rows(self, first: Any) -> Rows:
        return Rows(self.b, "avx512_vnni", first, self.strides, ROWS)

    def _start(self, address: Any) -> list[Any]:
        """Initial sums: the totals, or zeros for integer sums of a super-block, whose totals wait in memory."""
        if self.kind == NESTED4:
            return [all_i32(0)] * (SIDES * ROWS)
        return self._load(address, range(SIDES * ROWS))

    def _load(self, address: Any, which: range) -> list[Any]:
        return [self._read(address, VECTOR * i, F32X16) for i in which]

    def _store(self, address: Any, rows: Rows, totals: list[Any]) -> None:
        """Write the totals, after the sums of a super-block are added to them."""
        if sums_groups(self.kind):
            totals = self._group(address, rows, totals)
        for i, total in enumerate(totals):
            self._write(address, VECTOR * i, total)

    def _group(self, address: Any, rows: Rows, sums: list[Any]) -> list[Any]:
        whole, result = self.kind == NESTED4, []
        pairs = [self._of_sides(sub_block, 1, I16X32) for sub_block in range(0, MOST_SUB_BLOCKS, 2)]
        scales = self._of_sides(1, 0) if whole else ()
        factors = OfGroup(self._of_sides(1, 1), list(zip(*pairs, strict=True)), scales)
        for r in range(ROWS):
            own = range(SIDES * r, SIDES * (r + 1))
            here = [sums[i] for i in own]
            result += emit_group(rows, r, factors, here if whole else [], self._load(address, own) if whole else here)
        return result

    def _write(self, address: Any, offset: int, value: Any) -> None:
        emit_store(self.b, value, address, offset)

    def _read(self, address: Any, offset: int, kind: Any) -> Any:
        return emit_load(self.b, address, offset, kind)


def _tile(stage: int, side: int) -> int:
    """Index of the accumulator tile of a stage and a side; two stages alternate."""
    return SIDES * (stage % 2) + side
