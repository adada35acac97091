"""Q5_K: 8 sub-blocks of 32 values; each sub-block has a scale and an offset of 6 bits, times those of the super-block.

    block = d, dmin: float16, scales: 12 bytes (`six_bits`), high: the fifth bits of the quants, eight planes in 32
            bytes; low: their lower 4 bits as in Q4_K
    value = d * scale * q - dmin * offset

Source: ggml `block_q5_K`.
"""

import numpy as np

from engine.quant.layout import (
    Bytes,
    Floats,
    Quants,
    Records,
    from_blocks,
    layout,
    nearest_quants,
    pack,
    pack_scales,
    scale_and_offset,
    split,
    to_blocks,
    to_values,
    unpack,
    with_scales,
)
from engine.quant.search import fit_scales_and_offsets

BLOCK_VALUES = 256
BLOCK_BYTES = 176
LAYOUT = layout(
    BLOCK_BYTES, ("d", "<f2"), ("dmin", "<f2"), ("scales", "u1", 12), ("high", "u1", 32), ("low", "u1", 128)
)
SUB_BLOCK = 32


def quantize(values: Floats) -> Bytes:
    """Quantizes float32 [..., 256 b] to uint8 [..., 176 b], scales and offsets by search."""
    sub_blocks = split(values, BLOCK_VALUES // SUB_BLOCK, SUB_BLOCK)
    blocks = np.empty(sub_blocks.shape[:-2], LAYOUT)
    blocks["d"], blocks["dmin"], scale, offset = fit_scales_and_offsets(sub_blocks, 31, 63)
    blocks["scales"] = pack_scales(scale, offset)
    scales, offsets = scale_and_offset(blocks)
    q = nearest_quants(blocks, sub_blocks, scales, 0, 31, offsets)
    blocks["high"], blocks["low"] = pack(q >> 4, 1, 32), pack(q & 15, 4, 32)
    return from_blocks(blocks)


@np.errstate(invalid="ignore", over="ignore")  # a file may hold any scale
def dequantize(data: Bytes) -> Floats:
    """The values of uint8 [..., 176 b], float32 [..., 256 b]."""
    blocks = to_blocks(data, LAYOUT)
    return to_values(blocks, _quants(blocks), *scale_and_offset(blocks))


def quants_of(data: Bytes) -> Quants:
    """The quants of uint8 [..., 176 b], uint8 [..., 256 b], and their scales."""
    blocks = to_blocks(data, LAYOUT)
    return with_scales(blocks, _quants(blocks))


def _quants(blocks: Records) -> Bytes:
    return unpack(blocks["low"], 4, 32) | unpack(blocks["high"], 1, 32) << np.uint8(4)
