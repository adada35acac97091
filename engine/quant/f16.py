"""F16: IEEE half precision, little endian, rounded to the nearest even. One value is one block."""

import numpy as np

from engine.quant.layout import Bytes, Floats, from_blocks

BLOCK_VALUES = 1
BLOCK_BYTES = 2
LAYOUT = np.dtype([("value", "<f2")])


def quantize(values: Floats) -> Bytes:
    """Quantizes float32 [..., n] to uint8 [..., 2 n]; beyond ±65519 a value becomes infinite, as in ggml."""
    with np.errstate(over="ignore"):
        return from_blocks(values.astype("<f2"))


def dequantize(data: Bytes) -> Floats:
    """The values of uint8 [..., 2 n], float32 [..., n], exact."""
    return np.ascontiguousarray(data).view("<f2").astype(np.float32)
