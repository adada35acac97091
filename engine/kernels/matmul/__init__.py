"""Matrix products: `quantize` makes an `Operand` of rows, and `matmul` of it and a `Matrix` what a `Target` says.

Encoders (`encoder.py`) and decoders (`decoder.py`) have these names in common. Their weights lie differently in memory,
and an encoder's products are made by one thread, a decoder's by a team. The instruction set decides how a product is
made, never what comes out: sums of integers are exact in int32.
"""

from typing import Any, NamedTuple

import numpy as np

from engine.cpu import compiled_isa
from engine.simd import F32, JIT, Integer
from engine.tiles import grouped

ISA = compiled_isa() if JIT else "portable"
VECTORS_ISA = "avx512_vnni" if ISA == "amx" else ISA
"""The instruction set of what is done without AMX tiles."""
PLAIN, GELU, ADD = (np.int64(mode) for mode in (grouped.STORE, grouped.GELU, grouped.ADD))
"""Modes of a product: stored, stored through GELU, added to what is there. (For a Python number numba would
compile everything that it is passed to once more.)"""
FIRST, SECOND, THIRD = np.int64(0), np.int64(1), np.int64(2)
"""The first row or column, and slots of products, as numba wants them: see PLAIN."""
_LINE = 64  # bytes of a cache line: a vector that crosses none is read at once


class Rows(NamedTuple):
    """Rows of x [tokens, width] from `first` on, a multiple of 16, in tiles (`rows.place`)."""

    x: F32
    first: Integer
    width: Integer


class Target(NamedTuple):
    """The place of a product: the rows from `first` and the columns from `column` on of out[tokens, width], in tiles,
    and the mode, which says what becomes of sums there (`tiles/grouped.py`)."""

    out: F32
    width: Integer
    first: Integer
    column: Integer
    mode: Integer


def aligned(count: int, dtype: Any) -> Any:
    """Zeros that begin on a cache line."""
    size = count * np.dtype(dtype).itemsize
    memory = np.zeros(size + _LINE, np.uint8)
    first = -memory.ctypes.data % _LINE
    return memory[first : first + size].view(dtype)
