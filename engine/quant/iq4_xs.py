"""IQ4_XS: 8 sub-blocks of 32 values; each sub-block has a scale of 6 bits, times that of the super-block; the levels of
IQ4_NL.

    block = d: float16; high, low: the upper 2 and the lower 4 bits of the scales, in order; q: 256 quants of 4 bits,
            each sub-block as in IQ4_NL
    value = d * (scale - 32) * LEVELS[q]

Source: ggml `block_iq4_xs`.
"""

import numpy as np

from engine.quant.layout import (
    LEVELS,
    Bytes,
    Floats,
    Records,
    from_blocks,
    layout,
    nearest_levels,
    pack,
    split,
    to_blocks,
    to_values,
    unpack,
)
from engine.quant.search import fit_scales

BLOCK_VALUES = 256
BLOCK_BYTES = 136
LAYOUT = layout(BLOCK_BYTES, ("d", "<f2"), ("high", "u1", 2), ("low", "u1", 4), ("q", "u1", 128))
SUB_BLOCK = 32


def quantize(values: Floats) -> Bytes:
    """Quantizes float32 [..., 256 b] to uint8 [..., 136 b], scales by search."""
    sub_blocks = split(values, BLOCK_VALUES // SUB_BLOCK, SUB_BLOCK)
    blocks = np.empty(sub_blocks.shape[:-2], LAYOUT)
    blocks["d"], factors = fit_scales(sub_blocks, (-127, 113), (-32, 31), uneven=True)
    factors += 32
    blocks["high"], blocks["low"] = pack(factors >> 4, 2, 1), pack(factors & 15, 4, 1)
    blocks["q"] = pack(nearest_levels(sub_blocks, _scale(blocks)).reshape(*blocks.shape, BLOCK_VALUES), 4, 16)
    return from_blocks(blocks)


@np.errstate(invalid="ignore", over="ignore")  # a file may hold any scale
def dequantize(data: Bytes) -> Floats:
    """The values of uint8 [..., 136 b], float32 [..., 256 b]."""
    blocks = to_blocks(data, LAYOUT)
    return to_values(blocks, LEVELS[unpack(blocks["q"], 4, 16)], _scale(blocks))


def _scale(blocks: Records) -> Floats:
    """The scale of each sub-block, float32 [..., 8]."""
    scale = unpack(blocks["low"], 4, 1) | unpack(blocks["high"], 2, 1) << 4
    return blocks["d"].astype(np.float32)[..., np.newaxis] * (scale.astype(np.float32) - 32)
