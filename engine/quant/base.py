"""The protocol of a quantization type: a block layout and its meaning in numpy.

Each member of the family is a module that satisfies `QuantType`. `dequantize` is the truth that every kernel over the
type is compared with; `quantize` makes bytes that mean nearly the same as the values.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]
Records = NDArray[Any]
"""Blocks [..., b] of a layout."""


class Quants(NamedTuple):
    """The quants of a type that kernels execute as they are in the file.

    quants: uint8 [..., n]. scales: [..., n / 32, 1 or 2], for each 32 values a float16 scale and, if there are any, an
    offset. Where super_scales is there, float16 [..., n / 256, 1 or 2], scales are integers that are multiplied by
    those of their super-block: scale and offset, or the scales of the first and the last 16 values."""

    quants: Bytes
    scales: NDArray[Any]
    super_scales: NDArray[np.float16] | None = None


class QuantType(Protocol):
    """A module such as `engine.quant.q8_0`."""

    BLOCK_VALUES: int
    BLOCK_BYTES: int
    LAYOUT: np.dtype[Any]

    def quantize(self, values: Floats) -> Bytes:
        """Finite float32 [..., n] -> uint8 [..., n / BLOCK_VALUES * BLOCK_BYTES]; n a multiple of BLOCK_VALUES."""

    def dequantize(self, data: Bytes) -> Floats:
        """uint8 [..., m] -> float32 [..., m / BLOCK_BYTES * BLOCK_VALUES]; m is a multiple of BLOCK_BYTES.

        Any bytes mean something: where a scale is not finite, neither are values, and nothing is warned of.
        """
