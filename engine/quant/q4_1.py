"""Q4_1: 32 values share a scale and an offset.

    block = d: float16, m: float16, q: 32 quants of 4 bits as in Q4_0
    value = d * q + m

Source: ggml `block_q4_1`.
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
from engine.quant.search import fit_offset

BLOCK_VALUES = 32
BLOCK_BYTES = 20
LAYOUT = layout(BLOCK_BYTES, ("d", "<f2"), ("m", "<f2"), ("q", "u1", 16))


def quantize(values: Floats) -> Bytes:
    """Quantizes float32 [..., 32 b] to uint8 [..., 20 b], scale and offset by search."""
    values = split(values, BLOCK_VALUES)
    blocks = np.empty(values.shape[:-1], LAYOUT)
    blocks["d"], blocks["m"] = fit_offset(values, 15)
    blocks["q"] = pack(nearest_quants(blocks, values, blocks["d"], 0, 15, blocks["m"]), 4, 16)
    return from_blocks(blocks)


@np.errstate(invalid="ignore", over="ignore")  # a file may hold any scale
def dequantize(data: Bytes) -> Floats:
    """The values of uint8 [..., 20 b], float32 [..., 32 b]."""
    blocks = to_blocks(data, LAYOUT)
    return to_values(blocks, unpack(blocks["q"], 4, 16), blocks["d"], blocks["m"])


def quants_of(data: Bytes) -> Quants:
    """The quants of uint8 [..., 20 b], uint8 [..., 32 b], and their scales."""
    blocks = to_blocks(data, LAYOUT)
    q = unpack(blocks["q"], 4, 16).reshape(*data.shape[:-1], -1)
    return Quants(q, np.stack([blocks["d"], blocks["m"]], axis=-1))
