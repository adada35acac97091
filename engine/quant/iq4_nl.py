"""IQ4_NL: 32 values share a scale; the quants stand for unequal levels.

    block = d: float16, q: 32 quants of 4 bits, values 0 to 15 in the lower halves of the bytes
    value = d * LEVELS[q]

Source: ggml `block_iq4_nl`.
"""

import numpy as np

from engine.quant.layout import (
    LEVELS,
    Bytes,
    Floats,
    from_blocks,
    layout,
    nearest_levels,
    pack,
    split,
    to_blocks,
    to_values,
    unpack,
)
from engine.quant.search import fit_scale

BLOCK_VALUES = 32
BLOCK_BYTES = 18
LAYOUT = layout(BLOCK_BYTES, ("d", "<f2"), ("q", "u1", 16))


def quantize(values: Floats) -> Bytes:
    """Quantizes float32 [..., 32 b] to uint8 [..., 18 b], the scale by search."""
    values = split(values, BLOCK_VALUES)
    blocks = np.empty(values.shape[:-1], LAYOUT)
    blocks["d"] = fit_scale(values, -127, 113, uneven=True)
    blocks["q"] = pack(nearest_levels(values, blocks["d"].astype(np.float32)), 4, 16)
    return from_blocks(blocks)


@np.errstate(invalid="ignore", over="ignore")  # a file may hold any scale
def dequantize(data: Bytes) -> Floats:
    """The values of uint8 [..., 18 b], float32 [..., 32 b]."""
    blocks = to_blocks(data, LAYOUT)
    return to_values(blocks, LEVELS[unpack(blocks["q"], 4, 16)], blocks["d"])
