"""Q4_0: 32 values share a scale.

    block = d: float16, q: 32 quants of 4 bits, values 0 to 15 in the lower halves of the bytes
    value = d * (q - 8)

Source: ggml `block_q4_0`.
"""

import numpy as np

from engine.quant.layout import (
    Bytes,
    Floats,
    Quants,
    from_blocks,
    layout,
    nearest_quants,
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
    blocks["d"] = fit_scale(values, -8, 7)
    blocks["q"] = pack(nearest_quants(blocks, values, blocks["d"], -8, 7), 4, 16)
    return from_blocks(blocks)


@np.errstate(invalid="ignore", over="ignore")  # a file may hold any scale
def dequantize(data: Bytes) -> Floats:
    """The values of uint8 [..., 18 b], float32 [..., 32 b]."""
    blocks = to_blocks(data, LAYOUT)
    return to_values(blocks, unpack(blocks["q"], 4, 16), blocks["d"], zero=8)


def quants_of(data: Bytes) -> Quants:
    """The quants of uint8 [..., 18 b], uint8 [..., 32 b] with the zero point 8, and their scales."""
    blocks = to_blocks(data, LAYOUT)
    return Quants(unpack(blocks["q"], 4, 16).reshape(*data.shape[:-1], -1), blocks["d"][..., np.newaxis])
