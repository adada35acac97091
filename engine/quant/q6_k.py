"""Q6_K: 16 sub-blocks of 16 values; each sub-block has a scale of 8 bits, times that of the super-block.

    block = low: the lower 4 bits of the quants, two planes in each 64 bytes; high: their upper 2 bits, four planes in
            each 32 bytes; scales: int8[16], d: float16
    value = d * scale * (q - 32)

Source: ggml `block_q6_K`.
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
from engine.quant.search import fit_scales

BLOCK_VALUES = 256
BLOCK_BYTES = 210
LAYOUT = layout(BLOCK_BYTES, ("low", "u1", 128), ("high", "u1", 64), ("scales", "i1", 16), ("d", "<f2"))
SUB_BLOCK = 16


def quantize(values: Floats) -> Bytes:
    """Quantizes float32 [..., 256 b] to uint8 [..., 210 b], scales by search."""
    sub_blocks = split(values, BLOCK_VALUES // SUB_BLOCK, SUB_BLOCK)
    blocks = np.empty(sub_blocks.shape[:-2], LAYOUT)
    blocks["d"], blocks["scales"] = fit_scales(sub_blocks, (-32, 31), (-128, 127))
    q = nearest_quants(blocks, sub_blocks, _scale(blocks), -32, 31)
    blocks["high"], blocks["low"] = pack(q >> 4, 2, 32), pack(q & 15, 4, 64)
    return from_blocks(blocks)


@np.errstate(invalid="ignore", over="ignore")  # a file may hold any scale
def dequantize(data: Bytes) -> Floats:
    """The values of uint8 [..., 210 b], float32 [..., 256 b]."""
    blocks = to_blocks(data, LAYOUT)
    return to_values(blocks, _quants(blocks), _scale(blocks), zero=32)


def quants_of(data: Bytes) -> Quants:
    """The quants of uint8 [..., 210 b], uint8 [..., 256 b] with the zero point 32, and their scales."""
    blocks = to_blocks(data, LAYOUT)
    scales = blocks["scales"].reshape(*data.shape[:-1], -1, 2)
    return Quants(_quants(blocks).reshape(*data.shape[:-1], -1), scales, blocks["d"][..., np.newaxis])


def _scale(blocks: Records) -> Floats:
    """The scale of each sub-block, float32 [..., 16]."""
    return blocks["d"].astype(np.float32)[..., np.newaxis] * blocks["scales"].astype(np.float32)


def _quants(blocks: Records) -> Bytes:
    return unpack(blocks["low"], 4, 64) | unpack(blocks["high"], 2, 32) << np.uint8(4)
