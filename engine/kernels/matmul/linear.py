"""What the products of one instruction set have in common.

The instruction set decides how a product is made, never what comes out: sums of integers are exact in int32.
"""

import numpy as np

from engine.codegen import TOP, group_tile
from engine.cpu import compiled_isa
from engine.simd import JIT, LANES

ISA = compiled_isa() if JIT else "portable"
VECTORS_ISA = "avx512_vnni" if ISA == "amx" else ISA
"""The instruction set of what is done without AMX tiles."""
DECODER_LAYOUT = "digits" if ISA == "amx" else "pairs"
"""How packed weights of decoders lie: the same for all instruction sets that multiply int16."""
PLAIN, GELU, ADD = (np.int64(mode) for mode in (group_tile.STORE, group_tile.GELU, group_tile.ADD))
"""Modes of a product: stored, stored through GELU, added to what is there. (For a Python number numba would
compile everything that it is passed to once more.)"""
ROWS, COLUMNS = 16, 2
"""Rows of an AMX tile, and vectors of 16 columns that are multiplied with it at once."""
WIDTH = COLUMNS * LANES
SUMS = 3 * ROWS * WIDTH  # int32 that a tile's sums take, at most
GREATEST = (2**31 - 1) // TOP
"""Bound of the sum of a column's magnitudes: then no sum of products with numbers within TOP leaves int32."""
