"""Q8_0: 32 values share a scale.

    block = d: float16, q: int8[32]        value = d * q
    d = max|x| / 127        q = x / d, rounded to the nearest, halves away from zero

Source: ggml `block_q8_0` and `quantize_row_q8_0_ref`.
"""

import numpy as np

from engine.quant.layout import Bytes, Floats, Quants, from_blocks, layout, to_blocks, to_values

BLOCK_VALUES = 32
BLOCK_BYTES = 34
LAYOUT = layout(BLOCK_BYTES, ("d", "<f2"), ("q", "i1", BLOCK_VALUES))


def quantize(values: Floats) -> Bytes:
    """Quantizes float32 [..., 32 b] to uint8 [..., 34 b].

    q comes from the float32 scale, before float16 rounds it. Where 1 / d overflows, d is 0 in float16, and q is 0.
    """
    blocks = values.astype(np.float32, copy=False).reshape(*values.shape[:-1], -1, BLOCK_VALUES)
    scale = np.abs(blocks).max(axis=-1, keepdims=True) / np.float32(127)
    with np.errstate(divide="ignore", over="ignore"):
        inverse = 1 / scale
    inverse[np.isinf(inverse)] = 0
    result = np.empty(blocks.shape[:-1], LAYOUT)
    with np.errstate(over="ignore"):
        result["d"] = scale[..., 0]
    result["q"] = _round_half_away(blocks * inverse)
    return from_blocks(result)


@np.errstate(invalid="ignore", over="ignore")  # a file may hold any scale
def dequantize(data: Bytes) -> Floats:
    """The values of uint8 [..., 34 b], float32 [..., 32 b]."""
    blocks = to_blocks(data, LAYOUT)
    return to_values(blocks, blocks["q"], blocks["d"])


def quants_of(data: Bytes) -> Quants:
    """The quants of uint8 [..., 34 b], uint8 [..., 32 b] with the zero point 128, and their scales."""
    blocks = to_blocks(data, LAYOUT)
    q = blocks["q"].view(np.uint8) ^ np.uint8(128)
    return Quants(q.reshape(*data.shape[:-1], -1), blocks["d"][..., np.newaxis])


def _round_half_away(values: Floats) -> Floats:
    """C's roundf; the fraction is exact, so a value just below a half stays below."""
    whole = np.trunc(values)
    return whole + np.copysign(np.abs(values - whole) >= 0.5, values).astype(np.float32)
