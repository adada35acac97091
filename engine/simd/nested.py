"""Weights in blocks of 256 whose runs have scales of their own (Q4_K, Q5_K, Q6_K), as they are in the file.

A group is 256 values of k of 32 columns, two sides of 16. A run is 32 values of k. In memory a group is

    units: of one side and of the other, float16 d [16], and where there are offsets dmin [16]
    run after run: heads of both sides, [2][16] bytes, codes of one side, codes of the other

A head has the scales a and the offsets b of the run, uint8; of 6-bit codes the scales of its first and of its last 16
values, int8. Codes are words [16 columns][4] of bytes, and lead to eight vectors of the same shape: vector n has
k = 4n .. 4n + 3 of the run. Byte i of word t has the lower 4 bits of vector t, and above them those of vector t + 4.
Then, of 5 bits, a word whose bit n is the highest of vector n; of 6 bits two words, one for each half of the run, whose
bits 2t and 2t + 1 are the highest of its vector t.

    weight = (d * a) * q - (dmin * b)             of 6 bits: (d * a) * (q - 32)
"""

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from engine.simd.address import const, pointer, view
from engine.simd.narrow import emit_load_half
from engine.simd.vector import LANES, f32x16, i32x16

RUN, RUNS = 32, 8
"""Values of k in a run; runs in a group."""
NESTED4, NESTED5, NESTED6 = 20, 21, 22
"""Kinds of matrices, besides those of `engine.simd.codes`."""
BITS = {NESTED4: 4, NESTED5: 5, NESTED6: 6}
MIDDLE = 32
"""What is taken from a code of 6 bits."""
VECTORS = 8
HEAD, WORD = 2 * LANES, 64
CODE_BYTES = {kind: WORD * bits for kind, bits in BITS.items()}
"""Of a run of one side."""
RUN_BYTES = {kind: 2 * (HEAD + size) for kind, size in CODE_BYTES.items()}
UNIT_BYTES = {NESTED4: 2 * LANES * 2, NESTED5: 2 * LANES * 2, NESTED6: LANES * 2}
"""Of one side of a group."""
GROUP_BYTES = {kind: 2 * UNIT_BYTES[kind] + RUNS * RUN_BYTES[kind] for kind in BITS}
_I8 = ir.IntType(8)
_I8X64, _I8X16 = ir.VectorType(_I8, 64), ir.VectorType(_I8, LANES)
_I16X32 = ir.VectorType(ir.IntType(16), 32)


class Side(NamedTuple):
    """Addresses of a run of a side: its head and its codes."""

    head: Any
    codes: Any


def side_of(b: Any, kind: int, run: Any, side: Any) -> Side:
    """Of a run at an address."""
    head = b.add(run, b.mul(side, const(HEAD)))
    return Side(head, b.add(b.add(run, const(2 * HEAD)), b.mul(side, const(CODE_BYTES[kind]))))


def emit_vector(b: Any, kind: int, codes: Any, n: int) -> Any:
    """Vector n of a run: codes, <64 x i8>."""
    half, t = divmod(n, 4)
    q = _load(b, codes, WORD * t)
    q = b.and_(b.lshr(q, all_i16(4)) if half else q, all_i16(0x0F0F))
    if kind == NESTED5:
        q = b.or_(q, _high(b, codes, 4, 4 - n, 0x1010))
    if kind == NESTED6:
        q = b.or_(q, _high(b, codes, 4 + half, 4 - 2 * t, 0x3030))
    return b.bitcast(q, _I8X64)


def _high(b: Any, codes: Any, word: int, up: int, mask: int) -> Any:
    q = _load(b, codes, WORD * word)
    q = b.shl(q, all_i16(up)) if up > 0 else b.lshr(q, all_i16(-up)) if up < 0 else q
    return b.and_(q, all_i16(mask))


def _load(b: Any, address: Any, offset: int) -> Any:
    return b.load(pointer(b, address, const(offset), _I16X32), align=1)


def all_i16(value: int) -> Any:
    """A vector of one number."""
    return ir.Constant(_I16X32, [value] * 32)


def emit_units(b: Any, kind: int, group: Any, side: Any) -> list[Any]:
    """d and, where there are offsets, dmin, of the 16 columns."""
    at = b.add(group, b.mul(side, const(UNIT_BYTES[kind])))
    return [emit_load_half(b, b.add(at, const(i))) for i in range(0, UNIT_BYTES[kind], 2 * LANES)]


def emit_factors(b: Any, kind: int, head: Any, units: list[Any]) -> list[Any]:
    """d * a and dmin * b; of 6 bits d * a of both halves."""
    widen = b.sext if kind == NESTED6 else b.zext
    parts = [b.load(pointer(b, head, const(i), _I8X16), align=1) for i in (0, LANES)]
    floats = [b.sitofp(widen(part, i32x16.llvm), f32x16.llvm) for part in parts]
    return [b.fmul(part, unit) for part, unit in zip(floats, (units[0], units[-1]), strict=True)]


def run_at(kind: int, run: int, side: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The codes of a side of the run at an address [16 columns][32], and its head [2][16]."""
    head = view(run + side * HEAD, HEAD, np.int8 if kind == NESTED6 else np.uint8).astype(np.float32)
    codes = view(run + 2 * HEAD + side * CODE_BYTES[kind], CODE_BYTES[kind], np.uint8).reshape(-1, LANES, 4)
    return codes_in(kind, codes).astype(np.int32), head.reshape(2, LANES)


def units_at(kind: int, group: int, side: int) -> NDArray[np.float32]:
    """Of a side of the group at an address [2][16]: d and dmin; of 6 bits d twice."""
    units = view(group + side * UNIT_BYTES[kind], UNIT_BYTES[kind] // 2, np.float16).astype(np.float32)
    return np.resize(units.reshape(-1, LANES), (2, LANES))


def codes_in(kind: int, words: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Words uint8 [..., words, 16, 4] -> codes uint8 [..., 16, 32]"""
    low = words[..., :4, :, :]
    q = np.concatenate([low & 15, low >> 4], axis=-3)
    for n in range(VECTORS):
        word, place, bits = _place(kind, n)
        if bits:
            q[..., n, :, :] |= (words[..., word, :, :] >> place & (1 << bits) - 1) << 4
    return q.swapaxes(-3, -2).reshape(*q.shape[:-3], LANES, RUN)


def words_of(kind: int, codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The inverse of `codes_in`."""
    q = codes.reshape(*codes.shape[:-1], VECTORS, 4).swapaxes(-3, -2)
    words = np.zeros((*q.shape[:-3], BITS[kind], LANES, 4), np.uint8)
    words[..., :4, :, :] = q[..., :4, :, :] & 15 | q[..., 4:, :, :] << 4
    for n in range(VECTORS):
        word, place, bits = _place(kind, n)
        if bits:
            words[..., word, :, :] |= q[..., n, :, :] >> 4 << place
    return words


def _place(kind: int, n: int) -> tuple[int, int, int]:
    """Where the upper bits of vector n are: word, lowest bit, how many."""
    if kind == NESTED6:
        return 4 + n // 4, 2 * (n % 4), 2
    return 4, n, BITS[kind] - 4
