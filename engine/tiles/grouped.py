"""The loop in which products of encoders spend their time, on vector registers: some rows times 16 or 32 columns; and
how rows of float32 become its left operands.

Activations are integers with a scale for each row and GROUP values of k, weights integers of 8 bits with a scale for
each column and GROUP values. A sum begins with the bias, and goes on group after group:

    y = fma(float32(sum over the group) * d, s, y)

The sums of products are exact in int32. Addresses and strides are in bytes.

Rows are of one of three kinds. Their integers have a digit, ONE, or two, TWO, of 8 bits each with a sign; or they are
those of values that were RAISED, so that none is below zero: a digit without a sign.

*Bytes* (AVX-512 VNNI). An integer of a row is h, or 256 * h + l, of a raised row l. In memory they are h + 128 and l,
bytes without sign, a plane for each digit; sums of h + 128 begin with -128 times the sum of the weights. Weights are
int8 [k / 4][16 columns][4] for 16 columns after another. *Pairs* (AVX2 and SSE2). Both are int16, a row [k], weights
[k / 2][16 columns][2].

*Left operands* are made of a group of four rows at a time:

    s = max|x| / T                              T = 127 of ONE digit, 32767 of TWO, 255 of a RAISED row
    a = rint(x * (T / max|x|))                  zeros if max|x| is 1e-30 or less

A group that is not finite has the scale NaN: what is computed of the row is then NaN too, never an answer.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from engine.simd.arithmetic import emit_fma, emit_largest_of_four, emit_magnitude_bits, emit_to_i32, fma
from engine.simd.gelu import RAISE, emit_gelu, emit_gelu_raised, gelu_near
from engine.simd.vector import (
    F32X16,
    I8X64,
    I16X32,
    I32X16,
    JIT,
    LANES,
    all_i32,
    chosen,
    const,
    emit_call,
    emit_load,
    emit_splat,
    emit_store,
    loop,
    operation_of,
    prefetch_line,
    switched,
    view,
)
from engine.tiles.dots import VECTOR, broadcast, dot_bytes, dot_pairs
from engine.tiles.operands import ROW_TOP, SMALL_TOP

GROUP = 64
"""Values of k that share a scale of a row, and a scale of a column."""
RAISED, ONE, TWO = range(3)
"""Kinds of rows: of one digit without a sign, and of one digit or two, whose numbers they are."""
STORE, GELU, ADD, GELU_RAISED = range(4)
"""What becomes of a sum: it is stored, stored through GELU, added to what is there, or stored through GELU and raised,
for a RAISED row."""
MODES = (STORE, GELU, ADD, GELU_RAISED)
BYTES = {"amx", "avx512_vnni"}
"""The instruction sets whose operands are bytes."""
LINES = 2
"""Cache lines of what is multiplied next that are fetched with each group."""
_STEPS = 16  # of 32 bits of a row: a group of bytes
_FEW = 8  # of 32 bits of a row of int16: a quarter of a group


class Tile(NamedTuple):
    """The operands of a tile: numbers of 64 bits.

    `a` is the first row, `row` the bytes from one row to the next and `low` those from its first digits to its second;
    `s` are its scales, float32 [groups], `scales` the bytes to those of the next row. `w` are the weights, `panel` the
    bytes from those of 16 columns to those of the next; `d` are for each 16 columns their scales, float32 [groups][16],
    and where operands are bytes int32 [groups][16] behind them, which sums begin with. `out` is the place of the first
    value, in tiles (`kernels/rows.py`); `columns` are the bytes to those of the next 16 columns. From row `cross` on
    rows lie `jump` bytes further away. `scratch` is for tiles of AMX (`amx/grouped.py`). From `ahead` on LINES cache
    lines are fetched with each group.
    """

    a: Any
    row: Any
    low: Any
    s: Any
    scales: Any
    w: Any
    panel: Any
    d: Any
    bias: Any
    groups: Any
    out: Any
    columns: Any
    cross: Any
    jump: Any
    mode: Any
    scratch: Any
    ahead: Any


def group_tile(sizes: Sequence[int], columns: int, kind: int, isa: str) -> Any:
    """tile(rows, Tile): one of `sizes` rows of this kind (the first of them for any other number), and `columns` times
    16 columns."""
    if not JIT:
        return partial(_multiplied, columns)

    def emit(b: Any, rows: Any, *args: Any) -> None:
        switched(b, rows, {size: partial(_emit_tile, b, size, columns, kind, isa, Tile(*args)) for size in sizes})

    return operation_of(emit, 2)


def _emit_tile(b: Any, rows: int, columns: int, kind: int, isa: str, t: Tile) -> None:
    count, bytes_ = rows * columns, isa in BYTES
    size_of_d = b.mul(t.groups, const(VECTOR))
    factors = [b.add(t.d, b.mul(size_of_d, const(c * (2 if bytes_ else 1)))) for c in range(columns)]
    panels = [b.add(t.w, b.mul(t.panel, const(c))) for c in range(columns)]
    lefts = [b.add(t.a, b.mul(t.row, const(r))) for r in range(rows)]
    scales = [b.add(t.s, b.mul(t.scales, const(r))) for r in range(rows)]

    def of_group(g: Any, totals: list[Any]) -> list[Any]:
        fetch_ahead(b, t, g)
        which, k, size = b.mul(g, const(VECTOR)), b.mul(g, const(GROUP)), 1 if bytes_ else 2
        right = [b.add(panel, b.mul(k, const(LANES * size))) for panel in panels]
        left = [b.add(row, b.mul(k, const(size))) for row in lefts]
        if bytes_ and kind != RAISED:
            starts = [emit_load(b, b.add(factor, size_of_d), which, I32X16) for factor in factors]
        else:
            starts = [all_i32(0)] * columns
        sums = [starts[i % columns] for i in range(count)]
        for digit in range(2 if bytes_ and kind == TWO else 1):
            if digit:
                sums = [b.shl(value, all_i32(8)) for value in sums]
                left = [b.add(row, t.low) for row in left]
            sums = _products(b, isa, sums, left, right)
        d = [emit_load(b, factor, which) for factor in factors]
        parts = [b.fmul(b.sitofp(sums[i], F32X16), d[i % columns]) for i in range(count)]
        of_row = [emit_splat(b, emit_load(b, s, b.mul(g, const(4)), ir.FloatType())) for s in scales]
        return [emit_fma(b, parts[i], of_row[i // columns], totals[i]) for i in range(count)]

    biases = [emit_load(b, t.bias, VECTOR * c) for c in range(columns)]
    totals = loop(b, t.groups, [biases[i % columns] for i in range(count)], of_group)
    places = [out_of(b, t, i // columns, i % columns) for i in range(count)]
    switched(b, t.mode, {mode: partial(finish, b, mode, totals, places) for mode in MODES})


def fetch_ahead(b: Any, t: Tile, g: Any) -> None:
    """Fetch the share of a group of what is multiplied next."""
    for line in range(LINES):
        prefetch_line(b, b.add(t.ahead, b.mul(g, const(LINES * VECTOR))), line * VECTOR)


def _products(b: Any, isa: str, sums: list[Any], left: list[Any], right: list[Any]) -> list[Any]:
    """`sums` of each row and vector of columns plus the products of a group. Of int16 a quarter at a time: LLVM may
    order one quarter as it likes, and would need more registers than there are for two."""
    if isa in BYTES:
        return _steps(b, isa, sums, left, right, _STEPS)

    def quarter(i: Any, sums: list[Any]) -> list[Any]:
        rows = [b.add(row, b.mul(i, const(4 * _FEW))) for row in left]
        return _steps(b, isa, sums, rows, [b.add(w, b.mul(i, const(VECTOR * _FEW))) for w in right], _FEW)

    return loop(b, const(GROUP // 2 // _FEW), sums, quarter)


def _steps(b: Any, isa: str, sums: list[Any], left: list[Any], right: list[Any], count: int) -> list[Any]:
    """`sums` plus the products of some values of k, `count` times 32 bits of a row."""
    sums = list(sums)
    for step in range(count):
        weights = [emit_load(b, w, VECTOR * step, I32X16) for w in right]
        for r, row in enumerate(left):
            both = broadcast(b, isa, row, 4 * step)
            for i, w in enumerate(weights, r * len(right)):
                sums[i] = dot_bytes(b, sums[i], both, w) if isa in BYTES else dot_pairs(b, isa, sums[i], both, w)
    return sums


def out_of(b: Any, t: Tile, r: int, c: int) -> Any:
    """The address of row r and vector c of the output."""
    further = b.select(b.icmp_signed(">=", const(r), t.cross), t.jump, const(0))
    return b.add(b.add(t.out, further), b.add(b.mul(t.columns, const(c)), const(VECTOR * r)))


def finish(b: Any, mode: int, totals: Sequence[Any], places: Sequence[Any]) -> None:
    """Write vectors of sums to their places, as the mode says."""
    for y, place in zip(totals, places, strict=True):
        if mode == GELU:
            y = emit_gelu(b, y)
        elif mode == GELU_RAISED:
            y = emit_gelu_raised(b, y)
        elif mode == ADD:
            y = b.fadd(emit_load(b, place), y)
        emit_store(b, y, place)


def _multiplied(columns: int, rows: int, tile: Tile) -> None:
    t = Tile(*map(int, tile))
    k, n = t.groups * GROUP, columns * LANES
    left = np.stack([view(t.a + r * t.row, k, np.int16) for r in range(rows)]).astype(np.int64)
    right = np.concatenate([_columns(t.w + c * t.panel, k) for c in range(columns)])
    sums = (left.reshape(rows, 1, -1, GROUP) * right.reshape(n, -1, GROUP)).sum(3).astype(np.float32)
    d = np.concatenate([view(t.d + VECTOR * t.groups * c, t.groups * LANES, np.float32).reshape(-1, LANES).T
                        for c in range(columns)])  # fmt: skip
    s = np.stack([view(t.s + r * t.scales, t.groups, np.float32) for r in range(rows)])
    y = np.tile(view(t.bias, n, np.float32), (rows, 1))
    for g in range(t.groups):
        y = fma(sums[:, :, g] * d[:, g], s[:, g : g + 1], y)
    for r in range(rows):
        for c in range(columns):
            out = view(t.out + (t.jump if r >= t.cross else 0) + c * t.columns + VECTOR * r, LANES, np.float32)
            value = y[r, LANES * c : LANES * (c + 1)]
            if t.mode in (GELU, GELU_RAISED):
                value = gelu_near(value)
            out[:] = out + value if t.mode == ADD else value + RAISE if t.mode == GELU_RAISED else value


def _columns(address: int, k: int) -> NDArray[np.int64]:
    """The weights of 16 columns, [16][k]."""
    pairs: NDArray[np.int16] = view(address, LANES * k, np.int16).reshape(-1, LANES, 2)
    return pairs.transpose(1, 0, 2).reshape(LANES, k).astype(np.int64)


TOPS = {RAISED: 255, ONE: SMALL_TOP, TWO: ROW_TOP}
"""The greatest integer of each kind of rows."""
FOUR = 4
"""Rows at a time: what takes a whole vector for one row takes the same for four."""
_APART = 4 * LANES * LANES  # bytes from 16 values of a row to the next 16, in tiles (`kernels/rows.py`)
_TINY = np.float32(1e-30)


class FourRows(NamedTuple):
    """Addresses and bytes: the first 16 values of the first row, in tiles; what values are multiplied with before (but
    those of a RAISED row), float32 [GROUP]; the group of the first row of the operand, the bytes to the next row's and
    those to the second digits; the scale of that group, and the bytes to the next row's."""

    x: Any
    factors: Any
    out: Any
    row: Any
    low: Any
    scale: Any
    scales: Any


def group_rows(kind: int, isa: str) -> Any:
    """take(FourRows): four rows, the first of them a multiple of four."""
    if not JIT:
        return partial(_quantized, kind)
    return operation_of(lambda b, *args: _emit_rows(b, kind, isa, FourRows(*args)))


def _emit_rows(b: Any, kind: int, isa: str, to: FourRows) -> None:
    count = GROUP // LANES
    rows = [[emit_load(b, to.x, VECTOR * r + _APART * i) for i in range(count)] for r in range(FOUR)]
    if kind != RAISED:
        factors = [emit_load(b, to.factors, VECTOR * i) for i in range(count)]
        rows = [[b.fmul(v, factor) for v, factor in zip(row, factors, strict=True)] for row in rows]
    most = b.bitcast(emit_largest_of_four(b, *(_peak(b, row) for row in rows)), F32X16)
    most = chosen(b, most, most, [*range(FOUR)])
    top = _all(TOPS[kind])
    scales = b.fadd(b.fdiv(most, top), b.fsub(most, most))
    inverses = b.select(b.fcmp_ordered(">", most, _all(_TINY)), b.fdiv(top, most), _all(0))
    for r, row in enumerate(rows):
        scale = b.extract_element(scales, ir.Constant(ir.IntType(32), r))
        emit_store(b, scale, b.add(to.scale, b.mul(to.scales, const(r))))
        inverse, place = chosen(b, inverses, inverses, [r] * LANES), b.add(to.out, b.mul(to.row, const(r)))
        _store(b, isa, kind, place, to.low, [emit_to_i32(b, b.fmul(v, inverse)) for v in row])


def _all(value: Any) -> Any:
    return ir.Constant(ir.VectorType(ir.FloatType(), FOUR), [float(value)] * FOUR)


def _peak(b: Any, row: list[Any]) -> Any:
    """The greatest magnitudes of a row's vectors, lane by lane, as bits."""
    peak, *others = (emit_magnitude_bits(b, v) for v in row)
    for bits in others:
        peak = b.select(b.icmp_signed(">", bits, peak), bits, peak)
    return peak


def _store(b: Any, isa: str, kind: int, address: Any, low: Any, vectors: list[Any]) -> None:
    """A group of a row of this kind."""
    if isa not in BYTES:
        for i, v in enumerate(vectors):
            emit_store(b, b.trunc(v, ir.VectorType(ir.IntType(16), LANES)), address, i * 2 * LANES)
        return
    if kind != RAISED:
        high = _packed(b, [b.ashr(v, all_i32(8)) for v in vectors] if kind == TWO else vectors, "packsswb")
        emit_store(b, b.xor(high, ir.Constant(high.type, [-128] * GROUP)), address)
    if kind != ONE:
        part = [b.and_(v, all_i32(255)) for v in vectors] if kind == TWO else vectors
        emit_store(b, _packed(b, part, "packuswb"), b.add(address, low) if kind == TWO else address)


def _packed(b: Any, vectors: list[Any], to_bytes: str) -> Any:
    """Four vectors of integers as bytes, one after another, with AVX-512; `to_bytes` is the instruction that makes them
    of int16. It and its like take four values of each vector in turns, and these are put in order."""
    low, high = (_pack(b, "packssdw", I16X32, *vectors[i : i + 2]) for i in (0, 2))
    mixed = b.bitcast(_pack(b, to_bytes, I8X64, low, high), I32X16)
    return b.bitcast(chosen(b, mixed, mixed, [4 * (i % 4) + i // 4 for i in range(LANES)]), I8X64)


def _pack(b: Any, name: str, result: Any, *vectors: Any) -> Any:
    return emit_call(b, *vectors, name=f"x86.avx512.{name}.512", result=result)


def _quantized(kind: int, rows: FourRows) -> None:
    to = FourRows(*map(int, rows))
    factors = np.float32(1) if kind == RAISED else view(to.factors, GROUP, np.float32)
    top = np.float32(TOPS[kind])
    for r in range(FOUR):
        parts = [view(to.x + VECTOR * r + _APART * i, LANES, np.float32) for i in range(GROUP // LANES)]
        x = np.concatenate(parts) * factors
        most = np.abs(x).view(np.int32).max().view(np.float32)
        view(to.scale + r * to.scales, 1, np.float32)[:] = most / top + (most - most)
        inverse = top / most if most > _TINY else np.float32(0)
        view(to.out + r * to.row, GROUP, np.int16)[:] = np.rint(x * inverse).astype(np.int32)
