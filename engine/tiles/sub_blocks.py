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

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from engine.simd.arithmetic import fma
from engine.simd.memory import emit_load_half
from engine.simd.vector import F32X16, I8X64, I16X32, I32X16, LANES, all_f32, all_i16, all_i32, const, emit_load, view
from engine.tiles.quantized_rows import GROUP, OF_OFFSETS, PAIR, RECORD, SCALE

SIDES = 2
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
"""Kinds of matrices, besides those of `engine.tiles.int8`."""
LAYOUTS = {
    CENTRED4: Layout(4, 8, 1, 0, 2 * LANES), OFFSET4: Layout(4, 0, 1, 0, 4 * LANES),
    CENTRED5: Layout(5, 16, 1, 0, 2 * LANES), OFFSET5: Layout(5, 0, 1, 0, 4 * LANES),
    CENTRED8: Layout(8, 128, 1, 0, 2 * LANES),
    NESTED4: Layout(4, 0, 8, 4 * LANES, 2 * LANES), NESTED5: Layout(5, 0, 8, 4 * LANES, 2 * LANES),
    NESTED6: Layout(6, 32, 8, 2 * LANES, 2 * LANES),
}  # fmt: skip
OF_HALVES, OF_NESTED = LAYOUTS[CENTRED4].zero_point, LAYOUTS[NESTED6].zero_point
"""What sums of a record's halves are multiplied by, and -1 (`sub_block_tile.py`)."""
_I8X16 = ir.VectorType(ir.IntType(8), LANES)


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
        return b.bitcast(_load(b, quants, n), I8X64)
    half, t = divmod(n, 4)
    q = _load(b, quants, _before(kind) + t)
    q = b.and_(b.lshr(q, all_i16(4)) if half else q, all_i16(0x0F0F))
    word, place, bits = _place(kind, n)
    if bits:
        q = b.or_(q, _high(b, quants, word, 4 - place, 0x1010 if bits == 1 else 0x3030))
    return b.bitcast(q, I8X64)


def _high(b: Any, quants: Any, word: int, up: int, mask: int) -> Any:
    q = _load(b, quants, word)
    q = b.shl(q, all_i16(up)) if up > 0 else b.lshr(q, all_i16(-up)) if up < 0 else q
    return b.and_(q, all_i16(mask))


def _load(b: Any, quants: Any, word: int) -> Any:
    return emit_load(b, quants, SIDES * WORD * word, I16X32)


def emit_pair(b: Any, kind: int, sub_block: Any, side: Any, which: int) -> Any:
    """The scales (0) or the offsets (1) of a sub-block at an address and of that behind it as pairs of int16, <32 x
    i16>, that of the second sub-block in front."""
    layout = LAYOUTS[kind]
    at = b.add(sub_block, b.add(b.mul(side, const(layout.head_bytes)), const(which * LANES)))
    first, second = (b.zext(emit_load(b, at, n * layout.sub_block_bytes, _I8X16), I32X16) for n in range(2))
    return b.bitcast(b.or_(b.shl(first, all_i32(16)), second), I16X32)


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
        return [found[0], *(b.fmul(m, all_f32(-1 / OF_HALVES)) for m in found[1:])]
    widen, places = (b.sext, (0, LANES)) if kind == NESTED6 else (b.zext, (0,))
    parts = [emit_load(b, head, i, _I8X16) for i in places]
    return [b.fmul(b.sitofp(widen(part, I32X16), F32X16), units[0]) for part in parts]


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


SubBlocks = Sequence[tuple[NDArray[np.int32], NDArray[np.float32]]]
_SUB_BLOCK_HALVES = slice(SUB_BLOCK // 2), slice(SUB_BLOCK // 2, SUB_BLOCK)


# The arithmetic of `sub_block_tile.py` in numpy: its meaning, and what runs without a compiler.


def multiply_sub_blocks(kind: int, rows: int, a: int, stride: int, sub_blocks: int, quants: int, out: int) -> None:
    """A tile as `sub_block_tile` makes it."""
    total = view(out, rows * SIDES * LANES, np.float32).reshape(rows, -1).copy()
    for side in range(SIDES):
        columns = slice(side * LANES, (side + 1) * LANES)
        for first in range(0, sub_blocks, LAYOUTS[kind].sub_blocks):
            own = range(first, first + LAYOUTS[kind].sub_blocks)
            factors = [sub_block_at(kind, quants, sub_block, side) for sub_block in own]
            quantized = [
                np.stack([view(a + r * stride + sub_block * RECORD, RECORD, np.int8) for r in range(rows)])
                for sub_block in own
            ]
            add = _add_group if sums_groups(kind) else _add_sub_block
            total[:, columns] = add(kind, total[:, columns], quantized, factors)
    view(out, total.size, np.float32)[:] = total.reshape(-1)


def _add_group(kind: int, total: Any, quantized: Sequence[NDArray[np.int8]], sub_blocks: SubBlocks) -> Any:
    """Add a super-block of quants of 4 or 5 bits (NESTED4, NESTED5)."""
    known, (d, dmin) = np.stack(quantized)[..., SUB_BLOCK:], sub_blocks[0][1][2:]
    pairs = known.view(np.int16)[..., (PAIR - SUB_BLOCK) // 2 : (PAIR - SUB_BLOCK) // 2 + 2].astype(np.int32)
    scales = known.view(np.float32)[..., (SCALE - SUB_BLOCK) // 4, None]
    whole, offsets = np.zeros(total.shape, np.int32), np.zeros(total.shape, np.int32)
    for i, (record, (q, (a, b, *_))) in enumerate(zip(quantized, sub_blocks, strict=True)):
        sums, first = record[:, :SUB_BLOCK].astype(np.int32) @ q.T, i // 2 * 2
        steps, sums_of_row = (pairs[first + n, :, 1 - i % 2, None] for n in range(2))
        whole += a.astype(np.int32) * steps * sums
        offsets += b.astype(np.int32) * sums_of_row
        if kind != NESTED4:
            total = fma(sums.astype(np.float32) * (d * a), scales[i], total)
    times = dmin * np.float32(-OF_OFFSETS)
    if kind == NESTED4:
        part = fma(offsets.astype(np.float32), times, whole.astype(np.float32) * d)
    else:
        part = offsets.astype(np.float32) * times
    return fma(part, known[0].view(np.float32)[:, (GROUP - SUB_BLOCK) // 4, None], total)


def _add_sub_block(kind: int, total: Any, quantized: Sequence[NDArray[np.int8]], sub_blocks: SubBlocks) -> Any:
    """Add sub-blocks whose halves are summed by themselves."""
    for record, (q, factors) in zip(quantized, sub_blocks, strict=True):
        x, known = record[:, :SUB_BLOCK].astype(np.int32), record[:, SUB_BLOCK:].copy().view(np.float32).T[:, :, None]
        first, second = ((x[:, half] @ q[:, half].T).astype(np.float32) for half in _SUB_BLOCK_HALVES)
        if is_nested(kind):
            total = fma(fma(second, factors[1], first * factors[0]), known[0], total)
            continue
        total = fma(fma(second, known[1], first * known[0]), factors[0], total)
        if has_offset(kind):
            low, high = known.view(np.int32)[2:4].astype(np.float32)
            total = fma(fma(high, known[1], low * known[0]), factors[1], total)
    return total
