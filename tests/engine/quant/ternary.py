"""TQ2_0, a type that the engine does not have: 256 values from -1, 0 and 1 share a scale. It stands for any new type.

    block = q: 256 quants of 2 bits, four planes in each 32 bytes; d: float16
    value = d * (q - 1)

Source: ggml `block_tq2_0` and `quantize_row_tq2_0_ref`.
"""

import numpy as np

from engine.quant.layout import (
    Bytes,
    Floats,
    from_blocks,
    layout,
    nearest_quants,
    pack,
    split,
    to_blocks,
    to_half,
    to_values,
    unpack,
)

BLOCK_VALUES = 256
BLOCK_BYTES = 66
LAYOUT = layout(BLOCK_BYTES, ("q", "u1", 64), ("d", "<f2"))


def quantize(values: Floats) -> Bytes:
    """Quantizes float32 [..., 256 b] to uint8 [..., 66 b]; the scale is the greatest magnitude."""
    values = split(values, BLOCK_VALUES)
    blocks = np.empty(values.shape[:-1], LAYOUT)
    d = np.abs(values).max(axis=-1)
    blocks["d"], blocks["q"] = to_half(d), pack(nearest_quants(blocks, values, d, -1, 1), 2, 32)
    return from_blocks(blocks)


@np.errstate(invalid="ignore", over="ignore")  # a file may hold any scale
def dequantize(data: Bytes) -> Floats:
    """The values of uint8 [..., 66 b], float32 [..., 256 b]."""
    blocks = to_blocks(data, LAYOUT)
    return to_values(blocks, unpack(blocks["q"], 2, 32), blocks["d"], zero=1)
