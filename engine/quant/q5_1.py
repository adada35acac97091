"""Q5_1: 32 values share a scale and an offset.

    block = d: float16, m: float16, high and low: the codes as in Q5_0
    value = d * q + m

Source: ggml `block_q5_1`.
"""

import numpy as np

from engine.quant.base import Bytes, Codes, Floats
from engine.quant.blocks.layout import codes, from_blocks, layout, pack, to_blocks, to_groups, to_half, to_rows, unpack
from engine.quant.search import fit_offset

BLOCK_VALUES = 32
BLOCK_BYTES = 24
LAYOUT = layout(BLOCK_BYTES, ("d", "<f2"), ("m", "<f2"), ("high", "u1", 4), ("low", "u1", 16))


def quantize(values: Floats) -> Bytes:
    """[..., 32 b] -> [..., 24 b], scale and offset by search"""
    groups = to_groups(values, BLOCK_VALUES)
    blocks = np.empty(groups.shape[:-1], LAYOUT)
    blocks["d"], blocks["m"] = map(to_half, fit_offset(groups, 31))
    q = codes(groups, blocks["d"].astype(np.float32), blocks["m"].astype(np.float32), 0, 31).astype(np.uint8)
    blocks["high"], blocks["low"] = pack(q >> 4, 1, 1), pack(q & 15, 4, 16)
    return from_blocks(blocks)


@np.errstate(invalid="ignore", over="ignore")  # a file may hold any scale
def dequantize(data: Bytes) -> Floats:
    """[..., 24 b] -> [..., 32 b]"""
    blocks = to_blocks(data, LAYOUT)
    q = unpack(blocks["low"], 4, 16) | unpack(blocks["high"], 1, 1) << 4
    d, m = (blocks[field].astype(np.float32)[..., np.newaxis] for field in ("d", "m"))
    return to_rows(d * q.astype(np.float32) + m, blocks)


def codes_of(data: Bytes) -> Codes:
    """[..., 24 b] -> codes [..., 32 b]"""
    blocks = to_blocks(data, LAYOUT)
    q = unpack(blocks["low"], 4, 16) | unpack(blocks["high"], 1, 1) << 4
    return Codes(to_rows(q, blocks), np.stack([blocks["d"], blocks["m"]], axis=-1))
