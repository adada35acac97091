"""Q3_K: 16 sub-blocks of 16 values; each sub-block has a scale of 6 bits, times that of the super-block.

    block = high: the third bits of the quants, eight planes in 32 bytes; low: their lower 2 bits, four planes in each
            32 bytes; scales: 16 quants of 6 bits, the lower 4 bits in 8 bytes, the upper 2 in 4; d: float16
    value = d * (scale - 32) * (q - 4)

Source: ggml `block_q3_K`.
"""

import numpy as np

from engine.quant.layout import (
    Bytes,
    Floats,
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
BLOCK_BYTES = 110
LAYOUT = layout(BLOCK_BYTES, ("high", "u1", 32), ("low", "u1", 64), ("scales", "u1", 12), ("d", "<f2"))
SUB_BLOCK = 16


def quantize(values: Floats) -> Bytes:
    """Quantizes float32 [..., 256 b] to uint8 [..., 110 b], scales by search."""
    sub_blocks = split(values, BLOCK_VALUES // SUB_BLOCK, SUB_BLOCK)
    blocks = np.empty(sub_blocks.shape[:-2], LAYOUT)
    blocks["d"], factors = fit_scales(sub_blocks, (-4, 3), (-32, 31))
    factors += 32
    blocks["scales"] = np.concatenate([pack(factors & 15, 4, 8), pack(factors >> 4, 2, 4)], axis=-1)
    q = nearest_quants(blocks, sub_blocks, _scale(blocks), -4, 3)
    blocks["high"], blocks["low"] = pack(q >> 2, 1, 32), pack(q & 3, 2, 32)
    return from_blocks(blocks)


@np.errstate(invalid="ignore", over="ignore")  # a file may hold any scale
def dequantize(data: Bytes) -> Floats:
    """The values of uint8 [..., 110 b], float32 [..., 256 b]."""
    blocks = to_blocks(data, LAYOUT)
    q = unpack(blocks["low"], 2, 32) | unpack(blocks["high"], 1, 32) << 2
    return to_values(blocks, q, _scale(blocks), zero=4)


def _scale(blocks: Records) -> Floats:
    """The scale of each sub-block, float32 [..., 16]."""
    packed = blocks["scales"]
    scale = unpack(packed[..., :8], 4, 8) | unpack(packed[..., 8:], 2, 4) << 4
    return blocks["d"].astype(np.float32)[..., np.newaxis] * (scale.astype(np.float32) - 32)
