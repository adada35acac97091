"""Weights as codes of 4, 5 and 8 bits, and the whole numbers within 127 that they stand for.

A turn is 16 columns and 32 values of k, whose numbers become 16 vectors of int16 [16 columns][2]: vector p of a turn
has k = p and k = 16 + p of it, as `tiles.pair_tile` takes them. A block of 32 columns has two of them side by side, and
a chunk of 64 values of k two after another. A chunk is in memory

    heads of the first side's turns and of the other's; codes of the first turns and of the others

Codes are uint16 [bits][16][2]: as many words as a code has bits (`PIECES`: what of which code lies where). A head is

    centred   A, int16 [16]                                     number = ((q - middle) * A + 64) >> 7
    offset    A and B, int16 [16][2]                            number = (q * A + B + 64) >> 7, in int16 that wraps

Centred codes are kept as q - middle, of so many bits. Who makes A and B sees to it that the numbers are within 127.
EIGHT are the numbers themselves without a head, int8 [16 vectors][16][2]; what waits for its products once it is made
is WHOLE, int16.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numpy.typing import NDArray

from engine.simd.address import const, pointer, view
from engine.simd.vector import LANES

TURN = 32
"""Values of k in a turn."""
VECTORS = TURN // 2


class Code(NamedTuple):
    """Bits of a code; bytes of a head; what is taken from a code, 0 where there is an offset."""

    bits: int
    head: int
    middle: int


FLOAT, EIGHT, WHOLE = 0, 8, 16
CENTRED4, OFFSET4, CENTRED5, OFFSET5 = range(1, 5)
"""Kinds of matrices: float32, or codes; and what codes become. More of them: `engine.simd.nested`."""
CODES = {CENTRED4: Code(4, 32, 8), OFFSET4: Code(4, 64, 0), CENTRED5: Code(5, 32, 16), OFFSET5: Code(5, 64, 0)}
WORD_BYTES = {kind: 64 * code.bits for kind, code in CODES.items()} | {EIGHT: 512, WHOLE: 1024}
"""Of the codes of a turn."""
CHUNK_BYTES = {kind: 4 * (size + (CODES[kind].head if kind in CODES else 0)) for kind, size in WORD_BYTES.items()}
_SHIFT, _HALF, _ROUNDED = 7, 64, 15  # _ROUNDED: bits that `_rounded_product` shifts out
_I16, _I32 = ir.IntType(16), ir.IntType(32)
_I16X32, _I8X32, _I16X16 = ir.VectorType(_I16, 32), ir.VectorType(ir.IntType(8), 32), ir.VectorType(_I16, 16)


class Piece(NamedTuple):
    """Bits first to first + bits of a word are those of the code of vector p from bit `place` on."""

    p: int
    first: int
    bits: int
    place: int


def _pieces(bits: int) -> list[list[Piece]]:
    """Of each word. As many whole codes as it holds; what is left of some words makes further codes."""
    each = 16 // bits
    words = [[Piece(each * w + i, bits * i, bits, 0) for i in range(each)] for w in range(bits)]
    if bits == 5:
        for w in range(5):
            words[w].append(Piece(15, 15, 1, w))
    return words


PIECES = {bits: _pieces(bits) for bits in (4, 5)}


def _splat(*values: int) -> Any:
    return ir.Constant(_I16X32, list(values) * (32 // len(values)))


def _load(b: Any, address: Any, offset: int, kind: Any = _I16X32) -> Any:
    return b.load(pointer(b, address, const(offset), kind), align=1)


def _spread(b: Any, x: Any, order: list[int]) -> Any:
    return b.shuffle_vector(x, x, ir.Constant(ir.VectorType(_I32, len(order)), order))


def _of_each_pair(b: Any, x: Any, which: int) -> Any:
    """Both places of each pair of lanes: what one of them has."""
    return _spread(b, x, [2 * (i // 2) + which for i in range(32)])


def _rounded_product(b: Any, isa: str, x: Any, y: Any) -> Any:
    """x * y >> 15, rounded, halves up."""
    names = {"avx512_vnni": ("llvm.x86.avx512.pmul.hr.sw.512", 32), "avx2": ("llvm.x86.avx2.pmul.hr.sw", 16)}
    if isa not in names:
        wide = ir.VectorType(_I32, 32)
        half, shift = (ir.Constant(wide, [value] * 32) for value in (1 << (_ROUNDED - 1), _ROUNDED))
        return b.trunc(b.ashr(b.add(b.mul(b.sext(x, wide), b.sext(y, wide)), half), shift), _I16X32)
    name, lanes = names[isa]
    kind = ir.VectorType(_I16, lanes)
    function = cgutils.get_or_insert_function(b.module, ir.FunctionType(kind, [kind, kind]), name)
    if lanes == 32:
        return b.call(function, [x, y])
    halves = [b.call(function, [_spread(b, each, list(range(i, i + 16))) for each in (x, y)]) for i in (0, 16)]
    return b.shuffle_vector(*halves, ir.Constant(ir.VectorType(_I32, 32), list(range(32))))


def emit_numbers(b: Any, isa: str, kind: int, chunk: Any, half: Any, side: Any) -> Iterator[tuple[int, Any]]:
    """The vectors of a turn of the chunk at an address: p and <32 x i16>, made when they are asked for."""
    size = WORD_BYTES[kind]
    words = b.add(chunk, b.add(b.mul(half, const(2 * size)), b.mul(side, const(size))))
    if kind not in CODES:
        for p in range(VECTORS):
            yield p, _load(b, words, 64 * p) if kind == WHOLE else b.sext(_load(b, words, 32 * p, _I8X32), _I16X32)
        return
    code, found = CODES[kind], dict[int, Any]()
    head = b.add(chunk, b.add(b.mul(side, const(2 * code.head)), b.mul(half, const(code.head))))
    a, c = _factors(b, code, head)
    missing = [code.bits] * VECTORS
    for w, pieces in enumerate(PIECES[code.bits]):
        word = _load(b, words, 4 * code.head + 64 * w)
        for piece in pieces:
            part = _moved(b, word, piece, 16 - code.bits if code.middle else 0)
            found[piece.p] = b.or_(found[piece.p], part) if piece.p in found else part
            missing[piece.p] -= piece.bits
            if not missing[piece.p]:
                yield piece.p, _number(b, isa, code, found.pop(piece.p), a, c)


def _moved(b: Any, word: Any, piece: Piece, up: int) -> Any:
    """A piece in its place of a code that begins at bit `up`, and zeros."""
    to = piece.place + up
    by, below, above = to - piece.first, min(piece.first, to), min(16 - piece.first, 16 - to) - piece.bits
    x = b.shl(word, _splat(by)) if by > 0 else b.lshr(word, _splat(-by)) if by < 0 else word
    return b.and_(x, _splat((1 << piece.bits) - 1 << to)) if below or above else x


def _number(b: Any, isa: str, code: Code, q: Any, a: Any, c: Any) -> Any:
    """Of a code; one that is centred has its highest bit at bit 15."""
    if not code.middle:
        return b.ashr(b.add(b.mul(q, a), c), _splat(_SHIFT))
    return _rounded_product(b, isa, b.ashr(q, _splat(_ROUNDED - _SHIFT - code.bits)), a)


def _factors(b: Any, code: Code, head: Any) -> tuple[Any, Any]:
    """A and B + 64 of all lanes."""
    if code.middle:
        return _spread(b, _load(b, head, 0, _I16X16), [i // 2 for i in range(32)]), None
    both = _load(b, head, 0)
    return _of_each_pair(b, both, 0), b.add(_of_each_pair(b, both, 1), _splat(_HALF))


def numbers_at(kind: int, codes: int, side: int, turns: int) -> NDArray[np.int32]:
    """The numbers of one side of the chunks at an address, so many turns of it: [turns * 16 vectors][16 columns][2]."""
    size, chunks = WORD_BYTES[kind], -(-turns // 2)
    data = view(codes, chunks * CHUNK_BYTES[kind], np.int8).reshape(chunks, -1)
    words = data[:, -4 * size :].reshape(2 * chunks, 2, size)[:turns, side]
    if kind not in CODES:
        same: NDArray[np.int32] = words.copy().view(f"i{kind // 8}").reshape(-1, LANES, 2).astype(np.int32)
        return same
    code = CODES[kind]
    heads = data[:, : 4 * code.head].reshape(chunks, 2, 2, code.head)[:, side].reshape(-1, code.head)[:turns]
    words = words.copy().view(np.uint16)
    q = codes_in(code.bits, words.reshape(-1, code.bits, LANES, 2)).astype(np.int32)
    factors = heads.view(np.int16).reshape(len(heads), 1, LANES, -1).astype(np.int32)
    if code.middle:  # the highest bit is a sign
        whole = ((q ^ code.middle) - code.middle) * factors + _HALF
    else:
        whole = (q * factors[..., :1] + factors[..., 1:] + _HALF).astype(np.int16).astype(np.int32)
    numbers: NDArray[np.int32] = (whole >> _SHIFT).reshape(-1, LANES, 2)
    return numbers


def codes_in(bits: int, words: NDArray[np.uint16]) -> NDArray[np.uint8]:
    """uint16 [..., words, 16, 2] -> the codes that lie in them, uint8 [..., 16 vectors, 16, 2]"""
    q = np.zeros((*words.shape[:-3], VECTORS, LANES, 2), np.uint8)
    for w, pieces in enumerate(PIECES[bits]):
        for p, first, size, place in pieces:
            q[..., p, :, :] |= ((words[..., w, :, :] >> first & (1 << size) - 1) << place).astype(np.uint8)
    return q


def words_of(bits: int, codes: NDArray[np.uint8]) -> NDArray[np.uint16]:
    """The inverse of `codes_in`."""
    words = np.zeros((*codes.shape[:-3], bits, LANES, 2), np.uint16)
    for w, pieces in enumerate(PIECES[bits]):
        for p, first, size, place in pieces:
            words[..., w, :, :] |= (codes[..., p, :, :] >> place & (1 << size) - 1).astype(np.uint16) << first
    return words
