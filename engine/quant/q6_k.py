"""Q6_K: 16 groups of 16 values; each group has a scale of 8 bits, times that of the block.

    block = low: the lower 4 bits of the codes, two planes in each 64 bytes; high: their upper 2 bits, four planes in
            each 32 bytes; scales: int8[16], d: float16
    value = d * scale * (q - 32)

Source: ggml `block_q6_K`.
"""

import numpy as np

from engine.quant.base import Bytes, Codes, Floats
from engine.quant.blocks.layout import Records, codes, from_blocks, layout, pack, to_blocks, to_groups, to_rows, unpack
from engine.quant.search import fit_scales

BLOCK_VALUES = 256
BLOCK_BYTES = 210
LAYOUT = layout(BLOCK_BYTES, ("low", "u1", 128), ("high", "u1", 64), ("scales", "i1", 16), ("d", "<f2"))
GROUP = 16


def quantize(values: Floats) -> Bytes:
    """[..., 256 b] -> [..., 210 b], scales by search"""
    groups = to_groups(values, BLOCK_VALUES // GROUP, GROUP)
    blocks = np.empty(groups.shape[:-2], LAYOUT)
    blocks["d"], blocks["scales"] = fit_scales(groups, (-32, 31), (-128, 127))
    scale = _scale(blocks)
    q = (codes(groups, scale, np.zeros_like(scale), -32, 31) + 32).astype(np.uint8).reshape(*blocks.shape, BLOCK_VALUES)
    blocks["high"], blocks["low"] = pack(q >> 4, 2, 32), pack(q & 15, 4, 64)
    return from_blocks(blocks)


@np.errstate(invalid="ignore", over="ignore")  # a file may hold any scale
def dequantize(data: Bytes) -> Floats:
    """[..., 210 b] -> [..., 256 b]"""
    blocks = to_blocks(data, LAYOUT)
    q = unpack(blocks["low"], 4, 64) | unpack(blocks["high"], 2, 32) << 4
    groups = q.reshape(*blocks.shape, -1, GROUP).astype(np.float32) - 32
    return to_rows(_scale(blocks)[..., np.newaxis] * groups, blocks)


def codes_of(data: Bytes) -> Codes:
    """[..., 210 b] -> codes [..., 256 b], around 32"""
    blocks = to_blocks(data, LAYOUT)
    q = unpack(blocks["low"], 4, 64) | unpack(blocks["high"], 2, 32) << 4
    scales = blocks["scales"].reshape(*data.shape[:-1], -1, 2)
    return Codes(to_rows(q, blocks), scales, blocks["d"][..., np.newaxis])


def _scale(blocks: Records) -> Floats:
    """Of each group [..., 16], float32"""
    return blocks["d"].astype(np.float32)[..., np.newaxis] * blocks["scales"].astype(np.float32)
