"""Rows of activations as bytes, and how they are read where they are multiplied with quants in sub-blocks
(`sub_block_tile.py`).

A row is a record of 52 bytes for each sub-block of 32 values: numbers x within 127, int8, and five more of 32 bits, at
SCALE, PAIR, HALVES and GROUP.

For NESTED eight sub-blocks have one scale S at GROUP, float32, and each of them an integer m of it, within 127: s =
S * m is at SCALE. The m of two sub-blocks are in the record of the first of them at PAIR, int16, that of the second
sub-block in front; in the record of the second h = (m * (sum of x) + 8) // 16. At HALVES there is -32 * sum of x of the
first and of the last 16 values, int32. Sums of the numbers of either sign are within SIDE_TOP, so those of 15 times as
much are int16.

For the other kinds there are two scales at SCALE, s1 of the first 16 values, s2 of the last ones, and -8 * sums.
"""

from typing import Any

from llvmlite import ir

from engine.simd.arithmetic import emit_fma
from engine.simd.vector import F32X16, I16X32, I32X16, all_i16, const, emit_instruction, emit_load, emit_splat
from engine.tiles.dots import dot_bytes, dot_pairs

RECORD = 52
SCALE, PAIR, HALVES, GROUP = 32, 36, 40, 48
"""Where in a record its scale lies, or that of the first half and behind it the last one's; what two sub-blocks have
beside their numbers; multiples of sums of both halves, -32 or -8 times; and the scale of its group."""
SIDE_TOP = (2**15 - 1) // 15
"""Of the sum of a sub-block's numbers of either sign."""
OF_OFFSETS = 16
"""What h is divided by, so that it is int16, and what offsets are multiplied by in its place."""


class Rows:
    """Records of one sub-block, and products with them. With AVX-512 these are read and made where they are written:
    LLVM moves them together, and then has too few registers."""

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
        x, eight = b.bitcast(x, I16X32), all_i16(8)
        return b.ashr(b.shl(x, eight), eight), b.ashr(x, eight)

    def floats(self, r: int, offset: int) -> Any:
        return self.b.bitcast(self.ints(r, offset), F32X16)

    def offset(self, r: int, sub_block: int = 0) -> Any:
        """The factor of the columns' offsets: the sum of the sub-block `sub_block` bytes on, in units of the row's
        scales."""
        b, first = self.b, sub_block + HALVES
        sums = [b.sitofp(self.ints(r, first + 4 * half), F32X16) for half in range(2)]
        scales = [self.floats(r, sub_block + SCALE + 4 * half) for half in range(2)]
        return emit_fma(b, sums[1], scales[1], b.fmul(sums[0], scales[0]))

    def pair(self, r: int, offset: int) -> Any:
        """Two int16 of row r in all lanes."""
        return self.b.bitcast(self.ints(r, offset), I16X32)

    def ints(self, r: int, offset: int) -> Any:
        """32 bits of row r in all lanes."""
        b, four, (one, three) = self.b, self.fours[r // 4], self.strides
        index, times = [(None, 0), (one, 1), (one, 2), (three, 1)][r % 4]
        if not self.vnni:
            at = four if index is None else b.add(four, b.mul(index, const(times)))
            return emit_splat(b, emit_load(b, at, offset, ir.IntType(32)))
        address, values = (f"{offset}($1)", [four]) if index is None else (f"{offset}($1,$2,{times})", [four, index])
        kind = ir.FunctionType(I32X16, [value.type for value in values])
        return b.asm(kind, f"vpbroadcastd {address}, $0", f"=v{',r' * len(values)},~{{memory}}", values, True)

    def scaled(self, total: Any, part: Any, scale: Any) -> Any:
        """fma(part, scale, total) with AVX-512."""
        return emit_instruction(self.b, "vfmadd231ps $3, $2, $0", F32X16, total, part, scale, in_order=True)

    def weights(self, q: Any) -> Any:
        """Return a vector of quants in the form that `dot` takes."""
        b = self.b
        if self.vnni:
            return b.bitcast(q, I32X16)
        q = b.bitcast(q, I16X32)
        return b.and_(q, all_i16(255)), b.lshr(q, all_i16(8))

    def dot(self, total: Any, weights: Any, x: Any) -> Any:
        """Add the products of four unsigned quants and four integers of a row to each lane of the total."""
        if self.vnni:
            return dot_bytes(self.b, total, weights, x)
        for w, part in zip(weights, x, strict=True):
            total = dot_pairs(self.b, self.isa, total, part, w)
        return total

    def pairs(self, total: Any, left: Any, right: Any) -> Any:
        """Add the products of two pairs of int16 to each lane of the total."""
        return dot_pairs(self.b, self.isa, total, left, right, in_order=True)
