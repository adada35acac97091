"""Rows of activations as the left operands of a decoder's integer products, in the order that the instruction set in
use multiplies them. Those of encoders: `grouped.py`; of attention: `amx/attention.py` and `attention.py`.

A product is cut along k into chunks of 64. A chunk of a row is stored from four vectors (k = 0..15, 16..31, 32..47,
48..63). What is multiplied with each other has its k in the same order, two or four that are multiplied together side
by side.

*AMX* multiplies int8. A number of more than 8 bits is two bytes there, x = 256 h + l, in two planes of 1024 bytes; l
has no sign. *The others* multiply int16, two at a time; so does plain Python.
"""

from typing import Any

import numpy as np

from engine.simd.memory import emit_pairs
from engine.simd.vector import I8X64, JIT, LANES, chosen, emit_store, operation_on, view

CHUNK = 64
TOP, ROW_TOP, SMALL_TOP = 8191, 32767, 127
"""The greatest integer of two digits in what attention adds up, that in rows of activations, and that of one digit."""
CODED = [32 * half + 2 * pair + k for half in range(2) for pair in range(8) for k in (0, 1, 16, 17)]
"""The order of k in a chunk of rows that are multiplied with a decoder's quants on AMX (`int8.digits`)."""


def _emit_digits(b: Any, address: Any, *v: Any) -> None:
    both = [b.bitcast(emit_pairs(b, *v[i : i + 2]), I8X64) for i in (0, 2)]
    for offset, plane in ((0, 1), (1024, 0)):  # the high bytes, then the low ones
        order = [64 * (k // 32) + 4 * (k % 16) + 2 * (k // 16 % 2) + plane for k in CODED]
        emit_store(b, chosen(b, both[0], both[1], order), address, offset)


def _emit_row(b: Any, address: Any, *v: Any) -> None:
    for half in range(2):
        emit_store(b, emit_pairs(b, *v[2 * half : 2 * half + 2]), address, 64 * half)


def mean_pairs(address: Any, *v: Any) -> None:
    """What the operations below are in plain Python: int16, two halves of pairs."""
    for half in range(2):
        pairs = np.stack(v[2 * half : 2 * half + 2], axis=1)
        view(address + 64 * half, 2 * LANES, np.int16)[:] = pairs.reshape(-1)


store_pairs, store_digits = (operation_on(emit, 1, 4) if JIT else mean_pairs for emit in (_emit_row, _emit_digits))
"""store(address, v0, v1, v2, v3): a chunk of a row as int16, and as digits of AMX in the order CODED."""
