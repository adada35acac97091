"""Weights as whole numbers of 8 bits.

A turn is 16 columns and 32 values of k, 16 vectors int8 [16 columns][2]: vector p of a turn has k = p and k = 16 + p of
it, as `tiles.pair_tile` takes them. A block of 32 columns has two of them side by side, and a chunk of 64 values of k
two after another: int8 [2 turns][2 sides][16 vectors][16 columns][2].
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from engine.simd.address import const, pointer, view
from engine.simd.vector import LANES

FLOAT, EIGHT = 0, 8
"""Kinds of matrices: float32, and these numbers. More of them: `engine.simd.runs`."""
TURN = 32
"""Values of k in a turn."""
VECTORS = TURN // 2
TURN_BYTES = TURN * LANES
CHUNK_BYTES = 4 * TURN_BYTES
_I16X32, _I8X32 = (ir.VectorType(ir.IntType(bits), 32) for bits in (16, 8))


def turn_at(b: Any, chunk: Any, half: Any, side: Any) -> Any:
    """The address of a turn of the chunk at an address."""
    return b.add(chunk, b.mul(b.add(b.shl(half, const(1)), side), const(TURN_BYTES)))


def emit_numbers(b: Any, turn: Any, p: int) -> Any:
    """Vector p of a turn, <32 x i16>."""
    return b.sext(b.load(pointer(b, turn, const(2 * LANES * p), _I8X32), align=1), _I16X32)


def numbers_at(codes: int, side: int, turns: int) -> NDArray[np.int32]:
    """The numbers of one side of the chunks at an address, so many turns of it: [turns][16 vectors][16 columns][2]."""
    data = view(codes, -(-turns // 2) * CHUNK_BYTES, np.int8).reshape(-1, 2, VECTORS, LANES, 2)
    numbers: NDArray[np.int32] = data[:turns, side].astype(np.int32)
    return numbers
