"""Weights as they are in the file: quants in sub-blocks of 32 values that have scales of their own.

A block has 32 columns, two sides of 16, and all values of k. In memory it is group after group along k, a group

    units of one side and of the other
    sub-block after sub-block: heads of one side and of the other; quants word by word, that of one side and that of the
    other

so that what is read lies in the order in which it is read: CPUs then fetch it from memory by themselves.

NESTED (Q4_K, Q5_K, Q6_K) has groups of 8 sub-blocks. Units are float16 d [16], and where there are offsets dmin [16]; a
head has integers, the scales a and the offsets b of the sub-block, uint8 [2][16]; of 6 bits the scales of its
first and of its last 16 values, int8. In the other kinds a sub-block is a group: there are no units, and a head is
float16 d [16], and where there are offsets (OFFSET: Q4_1, Q5_1) m [16].

    weight = (d * a) * q - (dmin * b)             NESTED of 6 bits: (d * a) * (q - 32)
    weight = d * q + m                            CENTRED (Q4_0, Q5_0, Q8_0): d * (q - 8), 16 or 128 in place of 8

Quants are words [16 columns][4] of bytes, and lead to eight vectors of the same shape: vector n has k = 4n .. 4n + 3 of
the sub-block. Byte i of word t of four has the lower 4 bits of vector t, and above them those of vector t + 4. Of 5
bits a word before these has as its bit n the highest of vector n; of 6 bits there is one before them and one behind
them, for each half of the sub-block, whose bits 2t and 2t + 1 are the highest of its vector t. Of 8 bits word n is
vector n."""

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from engine.codegen.int8_layout import SIDES
from engine.simd.address import const, pointer, view
from engine.simd.narrow import emit_load_half
from engine.simd.vector import LANES, all_i32, f32x16, i32x16

SUB_BLOCK = 32
"""Values of k in a sub-block."""
VECTORS, WORD = 8, 64


class Layout(NamedTuple):
    """Bits of a quant; what is taken from one; sub-blocks of a group; bytes of the units and of a head of one side."""

    bits: int
    zero_point: int
    sub_blocks: int
    unit_bytes: int
    head_bytes: int

    @property
    def sub_block_bytes(self) -> int:
        """A side has as many words as a quant has bits."""
        return SIDES * (self.head_bytes + self.bits * WORD)

    @property
    def group_bytes(self) -> int:
        return SIDES * self.unit_bytes + self.sub_blocks * self.sub_block_bytes


CENTRED4, OFFSET4, CENTRED5, OFFSET5, CENTRED8 = range(15, 20)
NESTED4, NESTED5, NESTED6 = range(20, 23)
"""Kinds of matrices, besides those of `engine.codegen.int8_layout`."""
LAYOUTS = {
    CENTRED4: Layout(4, 8, 1, 0, 2 * LANES), OFFSET4: Layout(4, 0, 1, 0, 4 * LANES),
    CENTRED5: Layout(5, 16, 1, 0, 2 * LANES), OFFSET5: Layout(5, 0, 1, 0, 4 * LANES),
    CENTRED8: Layout(8, 128, 1, 0, 2 * LANES),
    NESTED4: Layout(4, 0, 8, 4 * LANES, 2 * LANES), NESTED5: Layout(5, 0, 8, 4 * LANES, 2 * LANES),
    NESTED6: Layout(6, 32, 8, 2 * LANES, 2 * LANES),
}  # fmt: skip
OF_HALVES, OF_NESTED = LAYOUTS[CENTRED4].zero_point, LAYOUTS[NESTED6].zero_point
"""What sums of a record's halves are multiplied by, and -1 (`sub_block_tile.py`)."""
_I8 = ir.IntType(8)
_I8X64, _I8X16 = ir.VectorType(_I8, 64), ir.VectorType(_I8, LANES)
_I16X32 = ir.VectorType(ir.IntType(16), 32)


def is_nested(kind: int) -> bool:
    return kind >= NESTED4


def sums_groups(kind: int) -> bool:
    """Whether a group's offsets are summed as integers, of 4 bits its products as well."""
    return kind in (NESTED4, NESTED5)


def in_halves(kind: int) -> bool:
    """Whether the first and the last 16 values of a sub-block are summed by themselves."""
    return kind < NESTED4 or kind == NESTED6


def has_offset(kind: int) -> bool:
    """Whether each sub-block has an offset of its own; those of NESTED kinds are integers in units of super-blocks."""
    return kind in (OFFSET4, OFFSET5)


class Side(NamedTuple):
    """Addresses of a sub-block of a side: its head and its first word."""

    head: Any
    quants: Any


def side_of(b: Any, kind: int, sub_block: Any, side: Any) -> Side:
    """The addresses of one side of the sub-block at `sub_block`."""
    layout = LAYOUTS[kind]
    head = b.add(sub_block, b.mul(side, const(layout.head_bytes)))
    return Side(head, b.add(b.add(sub_block, const(SIDES * layout.head_bytes)), b.mul(side, const(WORD))))


def emit_vector(b: Any, kind: int, quants: Any, n: int) -> Any:
    """Vector n of a sub-block: quants, <64 x i8>."""
    if kind == CENTRED8:
        return b.bitcast(_load(b, quants, n), _I8X64)
    half, t = divmod(n, 4)
    q = _load(b, quants, _before(kind) + t)
    q = b.and_(b.lshr(q, all_i16(4)) if half else q, all_i16(0x0F0F))
    word, place, bits = _place(kind, n)
    if bits:
        q = b.or_(q, _high(b, quants, word, 4 - place, 0x1010 if bits == 1 else 0x3030))
    return b.bitcast(q, _I8X64)


def _high(b: Any, quants: Any, word: int, up: int, mask: int) -> Any:
    q = _load(b, quants, word)
    q = b.shl(q, all_i16(up)) if up > 0 else b.lshr(q, all_i16(-up)) if up < 0 else q
    return b.and_(q, all_i16(mask))


def _load(b: Any, quants: Any, word: int) -> Any:
    return b.load(pointer(b, quants, const(SIDES * WORD * word), _I16X32), align=1)


def all_i16(value: int) -> Any:
    """A vector of one number."""
    return ir.Constant(_I16X32, [value] * 32)


def emit_pair(b: Any, kind: int, sub_block: Any, side: Any, which: int) -> Any:
    """The scales (0) or the offsets (1) of a sub-block at an address and of that behind it as pairs of int16, <32 x
    i16>, that of the second sub-block in front."""
    layout = LAYOUTS[kind]
    at = b.add(sub_block, b.add(b.mul(side, const(layout.head_bytes)), const(which * LANES)))
    first, second = (
        b.zext(b.load(pointer(b, at, const(n * layout.sub_block_bytes), _I8X16), align=1), i32x16.llvm)
        for n in range(2)
    )
    return b.bitcast(b.or_(b.shl(first, all_i32(16)), second), _I16X32)


def emit_units(b: Any, kind: int, group: Any, side: Any) -> list[Any]:
    """d and, where there are offsets, dmin, of the 16 columns; none where sub-blocks have no units."""
    size = LAYOUTS[kind].unit_bytes
    return _halves(b, b.add(group, b.mul(side, const(size))), size)


def _halves(b: Any, at: Any, size: int) -> list[Any]:
    return [emit_load_half(b, b.add(at, const(i))) for i in range(0, size, 2 * LANES)]


def emit_factors(b: Any, kind: int, head: Any, units: list[Any]) -> list[Any]:
    """d * a, of 6 bits of both halves; or d, and where there are offsets -m / 8, since a record has -8 times its
    sums."""
    if not units:
        found = _halves(b, head, LAYOUTS[kind].head_bytes)
        return [found[0], *(b.fmul(m, ir.Constant(f32x16.llvm, [-1 / OF_HALVES] * LANES)) for m in found[1:])]
    widen, places = (b.sext, (0, LANES)) if kind == NESTED6 else (b.zext, (0,))
    parts = [b.load(pointer(b, head, const(i), _I8X16), align=1) for i in places]
    return [b.fmul(b.sitofp(widen(part, i32x16.llvm), f32x16.llvm), units[0]) for part in parts]


def sub_block_at(kind: int, quants: int, sub_block: int, side: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The quants of one side of sub-block number `sub_block`, less their zero point [16 columns][32], and what
    `emit_factors` gives [1 or 2][16], or where sums are of groups a, b, d and dmin [4][16]."""
    layout = LAYOUTS[kind]
    group = quants + sub_block // layout.sub_blocks * layout.group_bytes
    at = group + SIDES * layout.unit_bytes + sub_block % layout.sub_blocks * layout.sub_block_bytes
    words = view(at + SIDES * layout.head_bytes, SIDES * layout.bits * WORD, np.uint8).reshape(-1, SIDES, LANES, 4)[
        :, side
    ]
    head, units = at + side * layout.head_bytes, group + side * layout.unit_bytes
    if layout.unit_bytes:
        whole = view(head, 2 * LANES, np.int8 if kind == NESTED6 else np.uint8).reshape(2, LANES).astype(np.float32)
        own = _halves_at(units, layout.unit_bytes)
        factors = np.concatenate([whole, own]) if sums_groups(kind) else whole * own
    else:
        factors = _halves_at(head, layout.head_bytes)
        factors[1:] *= np.float32(-1 / OF_HALVES)
    return quants_in(kind, words).astype(np.int32) - layout.zero_point, factors


def _halves_at(address: int, size: int) -> NDArray[np.float32]:
    halves: NDArray[np.float32] = view(address, size // 2, np.float16).astype(np.float32).reshape(-1, LANES)
    return halves


def quants_in(kind: int, words: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Unpack words, uint8 [..., words, 16, 4], to quants, uint8 [..., 16, 32]."""
    low = words[..., _lower(kind), :, :]
    q = np.concatenate([low & 15, low >> 4], axis=-3) if kind != CENTRED8 else words
    for n in range(VECTORS):
        word, place, bits = _place(kind, n)
        if bits:
            q[..., n, :, :] |= (words[..., word, :, :] >> place & (1 << bits) - 1) << 4
    return q.swapaxes(-3, -2).reshape(*q.shape[:-3], LANES, SUB_BLOCK)


def words_of(kind: int, quants: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The inverse of `codes_in`."""
    q = quants.reshape(*quants.shape[:-1], VECTORS, 4).swapaxes(-3, -2)
    if kind == CENTRED8:
        return q
    words = np.zeros((*q.shape[:-3], LAYOUTS[kind].bits, LANES, 4), np.uint8)
    words[..., _lower(kind), :, :] = q[..., :4, :, :] & 15 | q[..., 4:, :, :] << 4
    for n in range(VECTORS):
        word, place, bits = _place(kind, n)
        if bits:
            words[..., word, :, :] |= q[..., n, :, :] >> 4 << place
    return words


def _before(kind: int) -> int:
    """Words before those of the lower 4 bits."""
    return int(LAYOUTS[kind].bits > 4)


def _lower(kind: int) -> slice:
    return slice(_before(kind), _before(kind) + 4)


def _place(kind: int, n: int) -> tuple[int, int, int]:
    """Where the bits of vector n above 4 are, if it has 5 or 6: word, lowest bit, how many."""
    if LAYOUTS[kind].bits == 6:
        return 5 * (n // 4), 2 * (n % 4), 2
    return 0, n, int(LAYOUTS[kind].bits == 5)
