"""Where activations lie: in tiles of 16 tokens by 16 values, the tiles of 16 tokens one after another.

What a product writes together then lies together: rows far apart, at distances that are often multiples of a page, cost
ten times as much as the arithmetic.
"""

from numba import njit

from engine.simd import LANES

TILE = LANES * LANES


@njit(inline="always")
def place(t: int, i: int, n: int) -> int:
    """Where the 16 values from i, a multiple of 16, of token t lie among rows of n values."""
    return ((t >> 4) * (n >> 4) + (i >> 4)) * TILE + (t & 15) * LANES


@njit(inline="always")
def tile_end(t: int, end: int) -> int:
    """Where the rows from t on that lie in one tile end, and `end` at the most."""
    return min(end, (t | 15) + 1)
