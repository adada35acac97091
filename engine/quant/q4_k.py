"""Q4_K: 8 groups of 32 values; each group has a scale and an offset of 6 bits, times those of the block.

    block = d, dmin: float16, scales: 12 bytes (`six_bits`), q: 256 codes of 4 bits, the groups in pairs of 32 bytes
    value = d * scale * q - dmin * offset

Source: ggml `block_q4_K`.
"""

import numpy as np

from engine.quant.base import Bytes, Codes, Floats
from engine.quant.blocks.layout import codes, from_blocks, layout, pack, to_blocks, to_groups, to_rows, unpack
from engine.quant.blocks.six_bits import pack_scales, scale_and_offset, with_scales
from engine.quant.search import fit_scales_and_offsets

BLOCK_VALUES = 256
BLOCK_BYTES = 144
LAYOUT = layout(BLOCK_BYTES, ("d", "<f2"), ("dmin", "<f2"), ("scales", "u1", 12), ("q", "u1", 128))
GROUP = 32


def quantize(values: Floats) -> Bytes:
    """[..., 256 b] -> [..., 144 b], scales and offsets by search"""
    groups = to_groups(values, BLOCK_VALUES // GROUP, GROUP)
    blocks = np.empty(groups.shape[:-2], LAYOUT)
    blocks["d"], blocks["dmin"], scale, offset = fit_scales_and_offsets(groups, 15, 63)
    blocks["scales"] = pack_scales(scale, offset)
    q = codes(groups, *scale_and_offset(blocks), 0, 15).reshape(*blocks.shape, BLOCK_VALUES)
    blocks["q"] = pack(q, 4, 32)
    return from_blocks(blocks)


@np.errstate(invalid="ignore", over="ignore")  # a file may hold any scale
def dequantize(data: Bytes) -> Floats:
    """[..., 144 b] -> [..., 256 b]"""
    blocks = to_blocks(data, LAYOUT)
    q = unpack(blocks["q"], 4, 32).reshape(*blocks.shape, -1, GROUP).astype(np.float32)
    scale, offset = scale_and_offset(blocks)
    return to_rows(scale[..., np.newaxis] * q + offset[..., np.newaxis], blocks)


def codes_of(data: Bytes) -> Codes:
    """[..., 144 b] -> codes [..., 256 b]"""
    blocks = to_blocks(data, LAYOUT)
    return with_scales(blocks, unpack(blocks["q"], 4, 32))
