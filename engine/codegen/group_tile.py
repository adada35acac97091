"""The loop in which products of encoders spend their time, on vector registers: some rows times 16 or 32 columns.

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
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from engine.codegen.tiles import DOTS, splat
from engine.simd.address import const, loop, pointer, prefetch_line, switched, view
from engine.simd.arithmetic import emit_fma, fma
from engine.simd.gelu import RAISE, emit_gelu, emit_gelu_raised, gelu_near
from engine.simd.vector import JIT, LANES, f32x16, operation_on

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
VECTOR = 4 * LANES  # bytes of 16 float32
_STEPS = 16  # of 32 bits of a row: a group of bytes
_FEW = 8  # of 32 bits of a row of int16: a quarter of a group
_I32, _F32 = ir.IntType(32), ir.FloatType()
_I32X16, _I16X32 = ir.VectorType(_I32, LANES), ir.VectorType(ir.IntType(16), 2 * LANES)


class Tile(NamedTuple):
    """The operands of a tile: numbers of 64 bits.

    `a` is the first row, `row` the bytes from one row to the next and `low` those from its first digits to its second;
    `s` are its scales, float32 [groups], `scales` the bytes to those of the next row. `w` are the weights, `panel` the
    bytes from those of 16 columns to those of the next; `d` are for each 16 columns their scales, float32 [groups][16],
    and where operands are bytes int32 [groups][16] behind them, which sums begin with. `out` is the place of the first
    value, in tiles (`places.py`); `columns` are the bytes to those of the next 16 columns. From row `cross` on rows lie
    `jump` bytes further away. `scratch` is for tiles of AMX (`group_amx.py`). From `ahead` on LINES cache lines are
    fetched with each group.
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
    """tile(rows, *Tile): one of `sizes` rows of this kind (the first of them for any other number), and `columns` times
    16 columns."""
    if not JIT:
        return partial(_meaning, columns)

    def emit(b: Any, rows: Any, *args: Any) -> None:
        switched(b, rows, {size: partial(_emit, b, size, columns, kind, isa, Tile(*args)) for size in sizes})

    return operation_on(emit, 1 + len(Tile._fields))


def _emit(b: Any, rows: int, columns: int, kind: int, isa: str, t: Tile) -> None:
    count, bytes_ = rows * columns, isa in BYTES
    size_of_d = b.mul(t.groups, const(VECTOR))
    factors = [b.add(t.d, b.mul(size_of_d, const(c * (2 if bytes_ else 1)))) for c in range(columns)]
    panels = [b.add(t.w, b.mul(t.panel, const(c))) for c in range(columns)]
    lefts = [b.add(t.a, b.mul(t.row, const(r))) for r in range(rows)]
    scales = [b.add(t.s, b.mul(t.scales, const(r))) for r in range(rows)]
    biases = [_load(b, t.bias, const(VECTOR * c), f32x16.llvm) for c in range(columns)]

    def of_group(g: Any, totals: list[Any]) -> list[Any]:
        fetch_ahead(b, t, g)
        which, k, size = b.mul(g, const(VECTOR)), b.mul(g, const(GROUP)), 1 if bytes_ else 2
        right = [b.add(panel, b.mul(k, const(LANES * size))) for panel in panels]
        left = [b.add(row, b.mul(k, const(size))) for row in lefts]
        if bytes_ and kind != RAISED:
            starts = [_load(b, b.add(factor, size_of_d), which, _I32X16) for factor in factors]
        else:
            starts = [ir.Constant(_I32X16, [0] * LANES)] * columns
        sums = [starts[i % columns] for i in range(count)]
        for digit in range(2 if bytes_ and kind == TWO else 1):
            if digit:
                sums = [b.shl(value, ir.Constant(_I32X16, [8] * LANES)) for value in sums]
                left = [b.add(row, t.low) for row in left]
            sums = _products(b, isa, sums, left, right)
        d = [_load(b, factor, which, f32x16.llvm) for factor in factors]
        parts = [b.fmul(b.sitofp(sums[i], f32x16.llvm), d[i % columns]) for i in range(count)]
        of_row = [splat(b, _load(b, s, b.mul(g, const(4)), _F32)) for s in scales]
        return [emit_fma(b, parts[i], of_row[i // columns], totals[i]) for i in range(count)]

    totals = loop(b, t.groups, [biases[i % columns] for i in range(count)], of_group)
    places = [out_of(b, t, i // columns, i % columns) for i in range(count)]
    switched(b, t.mode, {mode: partial(finish, b, mode, totals, places) for mode in MODES})


def fetch_ahead(b: Any, t: Tile, g: Any) -> None:
    """Fetch the share of a group of what is multiplied next."""
    for line in range(LINES):
        prefetch_line(b, b.add(t.ahead, b.mul(g, const(LINES * VECTOR))), line * VECTOR)


def _load(b: Any, base: Any, offset: Any, kind: Any) -> Any:
    return b.load(pointer(b, base, offset, kind), align=4)


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
        weights = [_load(b, w, const(VECTOR * step), _I32X16) for w in right]
        for r, row in enumerate(left):
            both = _broadcast(b, isa, row, 4 * step)
            for c, w in enumerate(weights):
                sums[r * len(right) + c] = _dot(b, isa, sums[r * len(right) + c], both, w)
    return sums


def _broadcast(b: Any, isa: str, address: Any, offset: int) -> Any:
    """32 bits at an address, in all lanes. With AVX-512 they are read where this is written, and nothing is moved past
    it, nor past `_dot`, so that few values are in registers at a time."""
    if isa not in BYTES:
        return splat(b, b.load(pointer(b, address, const(offset), _I32), align=1))
    kind = ir.FunctionType(_I32X16, [address.type])
    return b.asm(kind, f"vpbroadcastd {offset}($1), $0", "=v,r,~{memory}", [address], True)


def _dot(b: Any, isa: str, total: Any, a: Any, w: Any) -> Any:
    """16 lanes of `total` plus products of four bytes or of two int16 of both."""
    if isa not in BYTES:
        return DOTS[isa](b, total, b.bitcast(a, _I16X32), b.bitcast(w, _I16X32))
    kind = ir.FunctionType(_I32X16, [_I32X16] * 3)
    return b.asm(kind, "vpdpbusd $3, $2, $0", "=v,0,v,v", [total, a, w], True)


def out_of(b: Any, t: Tile, r: int, c: int) -> Any:
    """The address of row r and vector c of the output."""
    further = b.select(b.icmp_signed(">=", const(r), t.cross), t.jump, const(0))
    return b.add(b.add(t.out, further), b.add(b.mul(t.columns, const(c)), const(VECTOR * r)))


def finish(b: Any, mode: int, totals: Sequence[Any], places: Sequence[Any]) -> None:
    """Write vectors of sums to their places, as the mode says."""
    for y, place in zip(totals, places, strict=True):
        to = pointer(b, place, const(0), f32x16.llvm)
        if mode == GELU:
            y = emit_gelu(b, y)
        elif mode == GELU_RAISED:
            y = emit_gelu_raised(b, y)
        elif mode == ADD:
            y = b.fadd(b.load(to, align=4), y)
        b.store(y, to, align=4)


def _meaning(columns: int, rows: int, *args: int) -> None:
    t = Tile(*(int(arg) for arg in args))
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
