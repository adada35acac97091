"""Q4_0: 32 values share a scale.

    block = d: float16, q: 32 codes of 4 bits, values 0 to 15 in the lower halves of the bytes
    value = d * (q - 8)

Source: ggml `block_q4_0`.
"""

import numpy as np

from engine.quant.base import Bytes, Codes, Floats
from engine.quant.blocks.layout import codes, from_blocks, layout, pack, to_blocks, to_groups, to_half, to_rows, unpack
from engine.quant.search import fit_scale

BLOCK_VALUES = 32
BLOCK_BYTES = 18
LAYOUT = layout(BLOCK_BYTES, ("d", "<f2"), ("q", "u1", 16))


def quantize(values: Floats) -> Bytes:
    """[..., 32 b] -> [..., 18 b], the scale by search"""
    groups = to_groups(values, BLOCK_VALUES)
    blocks = np.empty(groups.shape[:-1], LAYOUT)
    blocks["d"] = to_half(fit_scale(groups, -8, 7))
    d = blocks["d"].astype(np.float32)
    q = codes(groups, d, np.zeros_like(d), -8, 7) + 8
    blocks["q"] = pack(q, 4, 16)
    return from_blocks(blocks)


@np.errstate(invalid="ignore", over="ignore")  # a file may hold any scale
def dequantize(data: Bytes) -> Floats:
    """[..., 18 b] -> [..., 32 b]"""
    blocks = to_blocks(data, LAYOUT)
    q = unpack(blocks["q"], 4, 16).astype(np.float32) - 8
    return to_rows(blocks["d"].astype(np.float32)[..., np.newaxis] * q, blocks)


def codes_of(data: Bytes) -> Codes:
    """[..., 18 b] -> codes [..., 32 b], around 8"""
    blocks = to_blocks(data, LAYOUT)
    return Codes(to_rows(unpack(blocks["q"], 4, 16), blocks), blocks["d"][..., np.newaxis])
