"""F32: IEEE single precision, little endian. One value is one block."""

import numpy as np

from engine.quant.layout import Bytes, Floats, from_blocks

BLOCK_VALUES = 1
BLOCK_BYTES = 4
LAYOUT = np.dtype([("value", "<f4")])


def quantize(values: Floats) -> Bytes:
    """Quantizes float32 [..., n] to uint8 [..., 4 n]."""
    return from_blocks(values.astype("<f4"))


def dequantize(data: Bytes) -> Floats:
    """The values of uint8 [..., 4 n], float32 [..., n]."""
    return np.ascontiguousarray(data).view("<f4").astype(np.float32)
