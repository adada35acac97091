"""Weights as whole numbers of 8 bits.

A turn is 16 columns and 32 values of k, 16 vectors int8 [16 columns][2]: vector p of a turn has k = p and k = 16 + p of
it, as `tiles.pair_tile` takes them. A block of 32 columns has two of them side by side, line by line of a cache, and a
chunk of 64 values of k two after another: int8 [2 turns][8 lines][2 sides][2 vectors][16 columns][2].
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from engine.simd.address import const, pointer, view
from engine.simd.vector import LANES

FLOAT, EIGHT = 0, 8
"""Kinds of matrices: float32, and these numbers. More of them: `engine.codegen.sub_blocks`."""
TURN = 32
"""Values of k in a turn."""
VECTORS = TURN // 2
TURN_BYTES = TURN * LANES
LINE, SIDES = 64, 2
CHUNK_BYTES = 4 * TURN_BYTES
_I16X32, _I8X32 = (ir.VectorType(ir.IntType(bits), 32) for bits in (16, 8))


def turn_at(b: Any, chunk: Any, half: Any, side: Any) -> Any:
    """The address of a turn of the chunk at an address; its lines lie SIDES * LINE bytes apart."""
    return b.add(chunk, b.add(b.mul(half, const(SIDES * TURN_BYTES)), b.mul(side, const(LINE))))


def emit_numbers(b: Any, turn: Any, p: int) -> Any:
    """Vector p of a turn, <32 x i16>."""
    place = SIDES * LINE * (p // 2) + 2 * LANES * (p % 2)
    return b.sext(b.load(pointer(b, turn, const(place), _I8X32), align=1), _I16X32)


def numbers_at(quants: int, side: int, turns: int) -> NDArray[np.int32]:
    """The numbers of one side of the chunks at an address, so many turns of it: [turns][16 vectors][16 columns][2]."""
    data = view(quants, -(-turns // 2) * CHUNK_BYTES, np.int8).reshape(-1, VECTORS // 2, SIDES, 2, LANES, 2)
    numbers: NDArray[np.int32] = data[:turns, :, side].reshape(-1, VECTORS, LANES, 2).astype(np.int32)
    return numbers
