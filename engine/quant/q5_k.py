"""Q5_K: 8 groups of 32 values; each group has a scale and an offset of 6 bits, times those of the block.

    block = d, dmin: float16, scales: 12 bytes (`six_bits`), high: the fifth bits of the codes, eight planes in 32
            bytes; low: their lower 4 bits as in Q4_K
    value = d * scale * q - dmin * offset

Source: ggml `block_q5_K`.
"""

import numpy as np

from engine.quant.base import Bytes, Codes, Floats
from engine.quant.blocks.layout import codes, from_blocks, layout, pack, to_blocks, to_groups, to_rows, unpack
from engine.quant.blocks.six_bits import pack_scales, scale_and_offset, with_scales
from engine.quant.search import fit_scales_and_offsets

BLOCK_VALUES = 256
BLOCK_BYTES = 176
LAYOUT = layout(
    BLOCK_BYTES, ("d", "<f2"), ("dmin", "<f2"), ("scales", "u1", 12), ("high", "u1", 32), ("low", "u1", 128)
)
GROUP = 32


def quantize(values: Floats) -> Bytes:
    """[..., 256 b] -> [..., 176 b], scales and offsets by search"""
    groups = to_groups(values, BLOCK_VALUES // GROUP, GROUP)
    blocks = np.empty(groups.shape[:-2], LAYOUT)
    blocks["d"], blocks["dmin"], scale, offset = fit_scales_and_offsets(groups, 31, 63)
    blocks["scales"] = pack_scales(scale, offset)
    q = codes(groups, *scale_and_offset(blocks), 0, 31).astype(np.uint8).reshape(*blocks.shape, BLOCK_VALUES)
    blocks["high"], blocks["low"] = pack(q >> 4, 1, 32), pack(q & 15, 4, 32)
    return from_blocks(blocks)


@np.errstate(invalid="ignore", over="ignore")  # a file may hold any scale
def dequantize(data: Bytes) -> Floats:
    """[..., 176 b] -> [..., 256 b]"""
    blocks = to_blocks(data, LAYOUT)
    q = unpack(blocks["low"], 4, 32) | unpack(blocks["high"], 1, 32) << 4
    groups = q.reshape(*blocks.shape, -1, GROUP).astype(np.float32)
    scale, offset = scale_and_offset(blocks)
    return to_rows(scale[..., np.newaxis] * groups + offset[..., np.newaxis], blocks)


def codes_of(data: Bytes) -> Codes:
    """[..., 176 b] -> codes [..., 256 b]"""
    blocks = to_blocks(data, LAYOUT)
    return with_scales(blocks, unpack(blocks["low"], 4, 32) | unpack(blocks["high"], 1, 32) << 4)
