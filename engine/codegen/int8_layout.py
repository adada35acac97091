"""Weights as 8-bit integers: their layout in memory.

A chunk is 64 values of k. Half a chunk of one side is 16 columns and 32 values of k, 16 vectors int8 [16 columns][2]:
vector p has k = p and k = 16 + p of the half, as `tiles.pair_tiles` takes them. A block of 32 columns has two sides
that lie side by side, cache line by cache line: int8 [2 halves][8 lines][2 sides][2 vectors][16 columns][2].
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from engine.simd.address import const, pointer, view
from engine.simd.vector import LANES

FLOAT, EIGHT = 0, 8
"""Kinds of matrices: float32, and these numbers. More of them: `engine.codegen.sub_blocks`."""
HALF = 32
"""Values of k in half a chunk."""
VECTORS = HALF // 2
HALF_BYTES = HALF * LANES
LINE, SIDES = 64, 2
CHUNK_BYTES = 4 * HALF_BYTES
_I16X32, _I8X32 = (ir.VectorType(ir.IntType(bits), 32) for bits in (16, 8))


def half_at(b: Any, chunk: Any, half: Any, side: Any) -> Any:
    """The address of one side of half 0 or 1 of the chunk at an address; its lines lie SIDES * LINE bytes apart."""
    return b.add(chunk, b.add(b.mul(half, const(SIDES * HALF_BYTES)), b.mul(side, const(LINE))))


def emit_quants(b: Any, half: Any, p: int) -> Any:
    """Vector p of the half chunk at an address, <32 x i16>."""
    place = SIDES * LINE * (p // 2) + 2 * LANES * (p % 2)
    return b.sext(b.load(pointer(b, half, const(place), _I8X32), align=1), _I16X32)


def quants_at(quants: int, side: int, halves: int) -> NDArray[np.int32]:
    """One side of `halves` half chunks at an address, int32 [halves][16 vectors][16 columns][2]."""
    data = view(quants, -(-halves // 2) * CHUNK_BYTES, np.int8).reshape(-1, VECTORS // 2, SIDES, 2, LANES, 2)
    numbers: NDArray[np.int32] = data[:halves, :, side].reshape(-1, VECTORS, LANES, 2).astype(np.int32)
    return numbers
