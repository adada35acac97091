"""Q3_K: 16 groups of 16 values; each group has a scale of 6 bits, times that of the block.

    block = high: the third bits of the codes, eight planes in 32 bytes; low: their lower 2 bits, four planes in each
            32 bytes; scales: 16 codes of 6 bits, the lower 4 bits in 8 bytes, the upper 2 in 4; d: float16
    value = d * (scale - 32) * (q - 4)

Source: ggml `block_q3_K`.
"""

import numpy as np

from engine.quant.base import Bytes, Floats
from engine.quant.blocks.layout import Records, codes, from_blocks, layout, pack, to_blocks, to_groups, to_rows, unpack
from engine.quant.search import fit_scales

BLOCK_VALUES = 256
BLOCK_BYTES = 110
LAYOUT = layout(BLOCK_BYTES, ("high", "u1", 32), ("low", "u1", 64), ("scales", "u1", 12), ("d", "<f2"))
GROUP = 16


def quantize(values: Floats) -> Bytes:
    """[..., 256 b] -> [..., 110 b], scales by search"""
    groups = to_groups(values, BLOCK_VALUES // GROUP, GROUP)
    blocks = np.empty(groups.shape[:-2], LAYOUT)
    blocks["d"], factors = fit_scales(groups, (-4, 3), (-32, 31))
    factors += 32
    blocks["scales"] = np.concatenate([pack(factors & 15, 4, 8), pack(factors >> 4, 2, 4)], axis=-1)
    scale = _scale(blocks)
    q = (codes(groups, scale, np.zeros_like(scale), -4, 3) + 4).astype(np.uint8).reshape(*blocks.shape, BLOCK_VALUES)
    blocks["high"], blocks["low"] = pack(q >> 2, 1, 32), pack(q & 3, 2, 32)
    return from_blocks(blocks)


@np.errstate(invalid="ignore", over="ignore")  # a file may hold any scale
def dequantize(data: Bytes) -> Floats:
    """[..., 110 b] -> [..., 256 b]"""
    blocks = to_blocks(data, LAYOUT)
    q = unpack(blocks["low"], 2, 32) | unpack(blocks["high"], 1, 32) << 2
    groups = q.reshape(*blocks.shape, -1, GROUP).astype(np.float32) - 4
    return to_rows(_scale(blocks)[..., np.newaxis] * groups, blocks)


def _scale(blocks: Records) -> Floats:
    """Of each group [..., 16], float32"""
    packed = blocks["scales"]
    scale = unpack(packed[..., :8], 4, 8) | unpack(packed[..., 8:], 2, 4) << 4
    return blocks["d"].astype(np.float32)[..., np.newaxis] * (scale.astype(np.float32) - 32)
