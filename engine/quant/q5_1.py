"""Q5_1: 32 values share a scale and an offset.

    block = d: float16, m: float16, high and low: the quants as in Q5_0
    value = d * q + m

Source: ggml `block_q5_1`.
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
from engine.quant.search import fit_offset

BLOCK_VALUES = 32
BLOCK_BYTES = 24
LAYOUT = layout(BLOCK_BYTES, ("d", "<f2"), ("m", "<f2"), ("high", "u1", 4), ("low", "u1", 16))


def quantize(values: Floats) -> Bytes:
    """Quantizes float32 [..., 32 b] to uint8 [..., 24 b], scale and offset by search."""
    values = split(values, BLOCK_VALUES)
    blocks = np.empty(values.shape[:-1], LAYOUT)
    blocks["d"], blocks["m"] = fit_offset(values, 31)
    q = nearest_quants(blocks, values, blocks["d"], 0, 31, blocks["m"])
    blocks["high"], blocks["low"] = pack(q >> 4, 1, 1), pack(q & 15, 4, 16)
    return from_blocks(blocks)


@np.errstate(invalid="ignore", over="ignore")  # a file may hold any scale
def dequantize(data: Bytes) -> Floats:
    """The values of uint8 [..., 24 b], float32 [..., 32 b]."""
    blocks = to_blocks(data, LAYOUT)
    return to_values(blocks, _quants(blocks), blocks["d"], blocks["m"])


def quants_of(data: Bytes) -> Quants:
    """The quants of uint8 [..., 24 b], uint8 [..., 32 b], and their scales."""
    blocks = to_blocks(data, LAYOUT)
    return Quants(_quants(blocks).reshape(*data.shape[:-1], -1), np.stack([blocks["d"], blocks["m"]], axis=-1))


def _quants(blocks: Records) -> Bytes:
    return unpack(blocks["low"], 4, 16) | unpack(blocks["high"], 1, 1) << np.uint8(4)
