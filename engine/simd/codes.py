"""Weights as codes of 4, 6 or 8 bits, and the whole numbers within 127 that they stand for.

A turn is 16 columns and 32 values of k, whose numbers become 16 vectors of int16 [16 columns][2]: vector p of a turn
has k = p and k = 16 + p of it, as `tiles.pair_tile` takes them. In memory a turn is

    8 bits: the numbers themselves, int8 [16 vectors][16][2]
    4 bits: A and B, int16 [16][2]; int16 [4][16][2], in which vector 4 j + i is bits 4 i to 4 i + 3 of part j
            number = (q * A + B) >> 7
    6 bits: A, int16 [16][2], one for the 16 values of each place; the lower four bits of q as above; int16 [2][16][2],
            in which the upper two of vector 8 j + i are bits 2 i and 2 i + 1 of part j
            number = ((q - 32) * A + 64) >> 7

in int16 that wraps around. Who makes A and B sees to it that the numbers are within 127. Once they are made they may
wait for their products as they are: WHOLE, int16 [16 vectors][16][2].
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from engine.simd.address import const, pointer, view
from engine.simd.vector import LANES

FLOAT, FOUR, SIX, EIGHT, WHOLE = 0, 4, 6, 8, 16
"""Kinds of matrices: float32, or codes of so many bits; and what codes become."""
TURN = 32
"""Values of k in a turn."""
TURN_BYTES = {FOUR: 64 + 256, SIX: 64 + 256 + 128, EIGHT: 512, WHOLE: 1024}
VECTORS = TURN // 2
_SHIFT, _HALF, _MIDDLE = 7, 64, 32
_I16X32, _I8X32 = ir.VectorType(ir.IntType(16), 2 * LANES), ir.VectorType(ir.IntType(8), 2 * LANES)


def _splat(value: int) -> Any:
    return ir.Constant(_I16X32, [value] * (2 * LANES))


def _load(b: Any, address: Any, offset: int, kind: Any = _I16X32) -> Any:
    return b.load(pointer(b, address, const(offset), kind), align=1)


def _of_each_pair(b: Any, x: Any, which: int) -> Any:
    """Both places of each pair of lanes: what one of them has."""
    order = [2 * (i // 2) + which for i in range(2 * LANES)]
    return b.shuffle_vector(x, x, ir.Constant(ir.VectorType(ir.IntType(32), 2 * LANES), order))


def _bits(b: Any, x: Any, first: int, count: int) -> Any:
    """Unsigned numbers of `count` bits from bit `first` on."""
    if first:
        x = b.lshr(x, _splat(first))
    return x if first + count == 16 else b.and_(x, _splat((1 << count) - 1))


def _scaled(b: Any, q: Any, a: Any, c: Any) -> Any:
    return b.ashr(b.add(b.mul(q, a), c), _splat(_SHIFT))


def emit_numbers(b: Any, kind: int, address: Any) -> Iterator[Any]:
    """The 16 vectors of the turn at an address, <32 x i16>, each made when it is asked for."""
    if kind in (EIGHT, WHOLE):
        for p in range(VECTORS):
            yield _load(b, address, 64 * p) if kind == WHOLE else b.sext(_load(b, address, 32 * p, _I8X32), _I16X32)
        return
    both = _load(b, address, 0)
    if kind == FOUR:
        a, c = (_of_each_pair(b, both, which) for which in range(2))
    else:
        a, c = both, b.sub(_splat(_HALF), b.mul(both, _splat(_MIDDLE)))
    for p in range(VECTORS):
        if p % 4 == 0:
            low = _load(b, address, 64 * (1 + p // 4))
        if kind == SIX and p % 8 == 0:
            high = _load(b, address, 64 * (5 + p // 8))
        q = _bits(b, low, 4 * (p % 4), 4)
        yield _scaled(b, q if kind == FOUR else b.or_(q, _upper(b, high, p % 8)), a, c)


def _upper(b: Any, x: Any, field: int) -> Any:
    """Two bits of a code, in their place above four others."""
    shift = 2 * field - 4
    x = b.lshr(x, _splat(shift)) if shift > 0 else b.shl(x, _splat(-shift)) if shift < 0 else x
    return b.and_(x, _splat(0x30))


def numbers_at(kind: int, address: int, turns: int, step: int) -> NDArray[np.int32]:
    """The numbers of so many turns from an address on, `step` bytes from one to the next:
    [turns * 16 vectors][16 columns][2]."""
    data = np.stack([view(address + i * step, TURN_BYTES[kind], np.int8) for i in range(turns)])
    if kind in (EIGHT, WHOLE):
        same: NDArray[np.int32] = data.view(f"i{kind // 8}").reshape(-1, LANES, 2).astype(np.int32)
        return same
    words = data.view(np.int16).reshape(turns, -1, LANES, 2)
    both, low, high = words[:, :1], words[:, 1:5, None].view(np.uint16), words[:, 5:, None].view(np.uint16)
    q = (low >> np.arange(0, 16, 4, dtype=np.uint16)[:, None, None] & 15).reshape(turns, VECTORS, LANES, 2)
    if kind == FOUR:
        whole = q.astype(np.int32) * both[..., :1] + both[..., 1:]
    else:
        upper = (high >> np.arange(0, 16, 2, dtype=np.uint16)[:, None, None] & 3).reshape(q.shape)
        whole = ((q | upper << 4).astype(np.int32) - _MIDDLE) * both + _HALF
    numbers: NDArray[np.int32] = (whole.astype(np.int16) >> _SHIFT).astype(np.int32).reshape(-1, LANES, 2)
    return numbers
