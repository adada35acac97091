"""Integer sums of a super-block, two sub-blocks at a time (`sub_block_tile.py`), on all instruction sets."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from llvmlite import ir

from engine.codegen.quantized_rows import GROUP, OF_OFFSETS, PAIR, RECORD, Rows
from engine.codegen.sub_blocks import LAYOUTS, emit_pair, emit_units
from engine.simd.address import const
from engine.simd.arithmetic import emit_fma
from engine.simd.vector import LANES, all_i32, f32x16

_F32X16, _I16X32 = f32x16.llvm, ir.VectorType(ir.IntType(16), 2 * LANES)


def emit_joined(b: Any, both: Any) -> Any:
    """first * 2**16 + second, both within int16, as pairs of int16, the second in front."""
    bias = all_i32(0x8000)  # gives back what a second one below 0 has borrowed from the first
    return b.bitcast(b.xor(b.add(both, bias), bias), _I16X32)


def emit_beside(b: Any, first: Any, second: Any) -> Any:
    """Pairs of int16, the second in front, of first * 2**16 and second in two vectors."""
    return b.bitcast(b.or_(first, b.and_(second, all_i32(0xFFFF))), _I16X32)


class OfGroup(NamedTuple):
    """Factors of some sides of columns in a super-block: -16 * dmin; the offsets of sub-blocks two by two; and d, where
    products are summed as integers too."""

    offsets: Sequence[Any]
    pairs: Sequence[Sequence[Any]]
    scales: Sequence[Any] = ()


def emit_of_group(b: Any, kind: int, group: Any, first: Any, sides: Sequence[Any]) -> OfGroup:
    """Read the factors of a super-block from its address and that of its first sub-block."""
    layout, times = LAYOUTS[kind], ir.Constant(_F32X16, [-OF_OFFSETS] * LANES)
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
        part, offset = b.sitofp(sums[v], _F32X16), factors.offsets[v]
        if wholes:
            part = emit_fma(b, part, offset, b.fmul(b.sitofp(wholes[v], _F32X16), factors.scales[v]))
        else:
            part = b.fmul(part, offset)
        result.append(emit_fma(b, part, scale, total))
    return result
