"""Q5_0: 32 values share a scale.

    block = d: float16, high: the fifth bits of the quants, in order, low: their lower 4 bits as in Q4_0
    value = d * (q - 16)

Source: ggml `block_q5_0`.
"""

import numpy as np

from engine.quant.layout import (
    Bytes,
    Floats,
    Quants,
    Records,
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
BLOCK_BYTES = 22
LAYOUT = layout(BLOCK_BYTES, ("d", "<f2"), ("high", "u1", 4), ("low", "u1", 16))


def quantize(values: Floats) -> Bytes:
    """Quantizes float32 [..., 32 b] to uint8 [..., 22 b], the scale by search."""
    values = split(values, BLOCK_VALUES)
    blocks = np.empty(values.shape[:-1], LAYOUT)
    blocks["d"] = fit_scale(values, -16, 15)
    q = nearest_quants(blocks, values, blocks["d"], -16, 15)
    blocks["high"], blocks["low"] = pack(q >> 4, 1, 1), pack(q & 15, 4, 16)
    return from_blocks(blocks)


@np.errstate(invalid="ignore", over="ignore")  # a file may hold any scale
def dequantize(data: Bytes) -> Floats:
    """The values of uint8 [..., 22 b], float32 [..., 32 b]."""
    blocks = to_blocks(data, LAYOUT)
    return to_values(blocks, _quants(blocks), blocks["d"], zero=16)


def quants_of(data: Bytes) -> Quants:
    """The quants of uint8 [..., 22 b], uint8 [..., 32 b] with the zero point 16, and their scales."""
    blocks = to_blocks(data, LAYOUT)
    return Quants(_quants(blocks).reshape(*data.shape[:-1], -1), blocks["d"][..., np.newaxis])


def _quants(blocks: Records) -> Bytes:
    return unpack(blocks["low"], 4, 16) | unpack(blocks["high"], 1, 1) << np.uint8(4)
