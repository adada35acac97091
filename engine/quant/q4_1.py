"""Q4_1: 32 values share a scale and an offset.

    block = d: float16, m: float16, q: 32 codes of 4 bits as in Q4_0
    value = d * q + m

Source: ggml `block_q4_1`.
"""

import numpy as np

from engine.quant.base import Bytes, Codes, Floats
from engine.quant.blocks.layout import codes, from_blocks, layout, pack, to_blocks, to_groups, to_half, to_rows, unpack
from engine.quant.search import fit_offset

BLOCK_VALUES = 32
BLOCK_BYTES = 20
LAYOUT = layout(BLOCK_BYTES, ("d", "<f2"), ("m", "<f2"), ("q", "u1", 16))


def quantize(values: Floats) -> Bytes:
    """[..., 32 b] -> [..., 20 b], scale and offset by search"""
    groups = to_groups(values, BLOCK_VALUES)
    blocks = np.empty(groups.shape[:-1], LAYOUT)
    blocks["d"], blocks["m"] = map(to_half, fit_offset(groups, 15))
    q = codes(groups, blocks["d"].astype(np.float32), blocks["m"].astype(np.float32), 0, 15)
    blocks["q"] = pack(q, 4, 16)
    return from_blocks(blocks)


@np.errstate(invalid="ignore", over="ignore")  # a file may hold any scale
def dequantize(data: Bytes) -> Floats:
    """[..., 20 b] -> [..., 32 b]"""
    blocks = to_blocks(data, LAYOUT)
    q = unpack(blocks["q"], 4, 16).astype(np.float32)
    d, m = (blocks[field].astype(np.float32)[..., np.newaxis] for field in ("d", "m"))
    return to_rows(d * q + m, blocks)


def codes_of(data: Bytes) -> Codes:
    """[..., 20 b] -> codes [..., 32 b]"""
    blocks = to_blocks(data, LAYOUT)
    return Codes(to_rows(unpack(blocks["q"], 4, 16), blocks), np.stack([blocks["d"], blocks["m"]], axis=-1))
