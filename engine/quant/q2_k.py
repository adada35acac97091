"""Q2_K: 16 sub-blocks of 16 values; each sub-block has a scale and an offset of 4 bits, times those of the super-block.

    block = scales: 16 bytes, scale in the lower half, offset in the upper; q: 256 quants of 2 bits, four planes in each
            32 bytes; d, dmin: float16
    value = d * scale * q - dmin * offset

Source: ggml `block_q2_K`.
"""

import numpy as np

from engine.quant.layout import (
    Bytes,
    Floats,
    Records,
    from_blocks,
    layout,
    nearest_quants,
    pack,
    split,
    to_blocks,
    to_values,
    unpack,
)
from engine.quant.search import fit_scales_and_offsets

BLOCK_VALUES = 256
BLOCK_BYTES = 84
LAYOUT = layout(BLOCK_BYTES, ("scales", "u1", 16), ("q", "u1", 64), ("d", "<f2"), ("dmin", "<f2"))
SUB_BLOCK = 16


def quantize(values: Floats) -> Bytes:
    """Quantizes float32 [..., 256 b] to uint8 [..., 84 b], scales and offsets by search."""
    sub_blocks = split(values, BLOCK_VALUES // SUB_BLOCK, SUB_BLOCK)
    blocks = np.empty(sub_blocks.shape[:-2], LAYOUT)
    blocks["d"], blocks["dmin"], scale, offset = fit_scales_and_offsets(sub_blocks, 3, 15)
    blocks["scales"] = scale | offset << 4
    scales, offsets = _scale_and_offset(blocks)
    blocks["q"] = pack(nearest_quants(blocks, sub_blocks, scales, 0, 3, offsets), 2, 32)
    return from_blocks(blocks)


@np.errstate(invalid="ignore", over="ignore")  # a file may hold any scale
def dequantize(data: Bytes) -> Floats:
    """The values of uint8 [..., 84 b], float32 [..., 256 b]."""
    blocks = to_blocks(data, LAYOUT)
    return to_values(blocks, unpack(blocks["q"], 2, 32), *_scale_and_offset(blocks))


def _scale_and_offset(blocks: Records) -> tuple[Floats, Floats]:
    """Scale and offset of each sub-block, float32 [..., 16]; the offset is added."""
    d, dmin = (blocks[field].astype(np.float32)[..., np.newaxis] for field in ("d", "dmin"))
    return d * (blocks["scales"] & 15).astype(np.float32), -(dmin * (blocks["scales"] >> 4).astype(np.float32))
