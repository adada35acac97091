"""Q2_K: 16 groups of 16 values; each group has a scale and an offset of 4 bits, times those of the block.

    block = scales: 16 bytes, scale in the lower half, offset in the upper; q: 256 codes of 2 bits, four planes in each
            32 bytes; d, dmin: float16
    value = d * scale * q - dmin * offset

Source: ggml `block_q2_K`.
"""

import numpy as np

from engine.quant.base import Bytes, Floats
from engine.quant.blocks.layout import Records, codes, from_blocks, layout, pack, to_blocks, to_groups, to_rows, unpack
from engine.quant.search import fit_scales_and_offsets

BLOCK_VALUES = 256
BLOCK_BYTES = 84
LAYOUT = layout(BLOCK_BYTES, ("scales", "u1", 16), ("q", "u1", 64), ("d", "<f2"), ("dmin", "<f2"))
GROUP = 16


def quantize(values: Floats) -> Bytes:
    """[..., 256 b] -> [..., 84 b], scales and offsets by search"""
    groups = to_groups(values, BLOCK_VALUES // GROUP, GROUP)
    blocks = np.empty(groups.shape[:-2], LAYOUT)
    blocks["d"], blocks["dmin"], scale, offset = fit_scales_and_offsets(groups, 3, 15)
    blocks["scales"] = scale | offset << 4
    q = codes(groups, *_scale_and_offset(blocks), 0, 3).reshape(*blocks.shape, BLOCK_VALUES)
    blocks["q"] = pack(q, 2, 32)
    return from_blocks(blocks)


@np.errstate(invalid="ignore", over="ignore")  # a file may hold any scale
def dequantize(data: Bytes) -> Floats:
    """[..., 84 b] -> [..., 256 b]"""
    blocks = to_blocks(data, LAYOUT)
    q = unpack(blocks["q"], 2, 32).reshape(*blocks.shape, -1, GROUP).astype(np.float32)
    scale, offset = _scale_and_offset(blocks)
    return to_rows(scale[..., np.newaxis] * q + offset[..., np.newaxis], blocks)


def _scale_and_offset(blocks: Records) -> tuple[Floats, Floats]:
    """Of each group [..., 16], float32; the offset is what is added"""
    d, dmin = (blocks[field].astype(np.float32)[..., np.newaxis] for field in ("d", "dmin"))
    return d * (blocks["scales"] & 15).astype(np.float32), -(dmin * (blocks["scales"] >> 4).astype(np.float32))
