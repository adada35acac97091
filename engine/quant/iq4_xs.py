"""IQ4_XS: 8 groups of 32 values; each group has a scale of 6 bits, times that of the block; the levels of IQ4_NL.

    block = d: float16; high, low: the upper 2 and the lower 4 bits of the scales, in order; q: 256 codes of 4 bits,
            each group as in IQ4_NL
    value = d * (scale - 32) * LEVELS[q]

Source: ggml `block_iq4_xs`.
"""

import numpy as np

from engine.quant.base import Bytes, Floats
from engine.quant.blocks.layout import Records, from_blocks, layout, pack, to_blocks, to_groups, to_rows, unpack
from engine.quant.blocks.levels import levels, nearest_codes
from engine.quant.search import fit_scales

BLOCK_VALUES = 256
BLOCK_BYTES = 136
LAYOUT = layout(BLOCK_BYTES, ("d", "<f2"), ("high", "u1", 2), ("low", "u1", 4), ("q", "u1", 128))
GROUP = 32


def quantize(values: Floats) -> Bytes:
    """[..., 256 b] -> [..., 136 b], scales by search"""
    groups = to_groups(values, BLOCK_VALUES // GROUP, GROUP)
    blocks = np.empty(groups.shape[:-2], LAYOUT)
    blocks["d"], factors = fit_scales(groups, (-127, 113), (-32, 31), uneven=True)
    factors += 32
    blocks["high"], blocks["low"] = pack(factors >> 4, 2, 1), pack(factors & 15, 4, 1)
    blocks["q"] = pack(nearest_codes(groups, _scale(blocks)).reshape(*blocks.shape, BLOCK_VALUES), 4, 16)
    return from_blocks(blocks)


@np.errstate(invalid="ignore", over="ignore")  # a file may hold any scale
def dequantize(data: Bytes) -> Floats:
    """[..., 136 b] -> [..., 256 b]"""
    blocks = to_blocks(data, LAYOUT)
    q = unpack(blocks["q"], 4, 16).reshape(*blocks.shape, -1, GROUP)
    return to_rows(_scale(blocks)[..., np.newaxis] * levels(q), blocks)


def _scale(blocks: Records) -> Floats:
    """Of each group [..., 8], float32"""
    scale = unpack(blocks["low"], 4, 1) | unpack(blocks["high"], 2, 1) << 4
    return blocks["d"].astype(np.float32)[..., np.newaxis] * (scale.astype(np.float32) - 32)
