"""BF16: the upper half of an IEEE single, little endian, rounded to the nearest even. One value is one block."""

import numpy as np

from engine.quant.layout import Bytes, Floats, from_blocks

BLOCK_VALUES = 1
BLOCK_BYTES = 2
LAYOUT = np.dtype([("value", "<u2")])


def quantize(values: Floats) -> Bytes:
    """Quantizes float32 [..., n] to uint8 [..., 2 n]; what is beyond the greatest becomes infinite; NaN stays NaN, made
    quiet."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + (bits >> 16 & 1)) >> 16
    quiet = bits >> 16 | np.uint32(0x40)
    return from_blocks(np.where(np.isnan(values), quiet, rounded).astype("<u2"))


def dequantize(data: Bytes) -> Floats:
    """The values of uint8 [..., 2 n], float32 [..., n], exact."""
    return (np.ascontiguousarray(data).view("<u2").astype(np.uint32) << 16).view(np.float32)
