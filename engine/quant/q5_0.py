"""Q5_0: 32 values share a scale.

    block = d: float16, high: the fifth bits of the codes, in order, low: their lower 4 bits as in Q4_0
    value = d * (q - 16)

Source: ggml `block_q5_0`.
"""

import numpy as np

from engine.quant.base import Bytes, Codes, Floats
from engine.quant.blocks.layout import codes, from_blocks, layout, pack, to_blocks, to_groups, to_half, to_rows, unpack
from engine.quant.search import fit_scale

BLOCK_VALUES = 32
BLOCK_BYTES = 22
LAYOUT = layout(BLOCK_BYTES, ("d", "<f2"), ("high", "u1", 4), ("low", "u1", 16))


def quantize(values: Floats) -> Bytes:
    """[..., 32 b] -> [..., 22 b], the scale by search"""
    groups = to_groups(values, BLOCK_VALUES)
    blocks = np.empty(groups.shape[:-1], LAYOUT)
    blocks["d"] = to_half(fit_scale(groups, -16, 15))
    d = blocks["d"].astype(np.float32)
    q = (codes(groups, d, np.zeros_like(d), -16, 15) + 16).astype(np.uint8)
    blocks["high"], blocks["low"] = pack(q >> 4, 1, 1), pack(q & 15, 4, 16)
    return from_blocks(blocks)


@np.errstate(invalid="ignore", over="ignore")  # a file may hold any scale
def dequantize(data: Bytes) -> Floats:
    """[..., 22 b] -> [..., 32 b]"""
    blocks = to_blocks(data, LAYOUT)
    q = unpack(blocks["low"], 4, 16) | unpack(blocks["high"], 1, 1) << 4
    return to_rows(blocks["d"].astype(np.float32)[..., np.newaxis] * (q.astype(np.float32) - 16), blocks)


def codes_of(data: Bytes) -> Codes:
    """[..., 22 b] -> codes [..., 32 b], around 16"""
    blocks = to_blocks(data, LAYOUT)
    q = unpack(blocks["low"], 4, 16) | unpack(blocks["high"], 1, 1) << 4
    return Codes(to_rows(q, blocks), blocks["d"][..., np.newaxis])
