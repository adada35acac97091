"""F32, F16 and BF16: IEEE numbers, little endian, rounded to the nearest even. One value is one block."""

from typing import Any

import numpy as np

from engine.quant.layout import Bytes, Floats, from_blocks


class Float:
    """IEEE single or half precision; beyond its range a value becomes infinite, as in ggml."""

    BLOCK_VALUES = 1

    def __init__(self, kind: str) -> None:
        self._kind, self.LAYOUT = kind, np.dtype([("value", kind)])
        self.BLOCK_BYTES = self.LAYOUT.itemsize

    def quantize(self, values: Floats) -> Bytes:
        """float32 [..., n] as uint8 [..., BLOCK_BYTES n]."""
        with np.errstate(over="ignore"):
            return from_blocks(values.astype(self._kind))

    def dequantize(self, data: Bytes) -> Floats:
        """The values of uint8 [..., BLOCK_BYTES n], float32 [..., n], exact."""
        values: Any = np.ascontiguousarray(data).view(self._kind)
        return values.astype(np.float32)  # type: ignore[no-any-return]


class Brain(Float):
    """The upper half of an IEEE single; what is beyond the greatest becomes infinite; NaN stays NaN, made quiet."""

    def __init__(self) -> None:
        super().__init__("<u2")

    def quantize(self, values: Floats) -> Bytes:
        """float32 [..., n] as uint8 [..., 2 n]."""
        bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
        rounded = (bits + np.uint32(0x7FFF) + (bits >> 16 & 1)) >> 16
        quiet = bits >> 16 | np.uint32(0x40)
        return from_blocks(np.where(np.isnan(values), quiet, rounded).astype("<u2"))

    def dequantize(self, data: Bytes) -> Floats:
        """The values of uint8 [..., 2 n], float32 [..., n], exact."""
        return (np.ascontiguousarray(data).view("<u2").astype(np.uint32) << 16).view(np.float32)


F32, F16, BF16 = Float("<f4"), Float("<f2"), Brain()
