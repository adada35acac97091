"""The quantization types that the engine can compute; a new one is a file here and a line in TYPES."""

import numpy as np

from engine.errors import UnsupportedModel
from engine.gguf import GgmlType, Tensor
from engine.quant import bf16, f16, f32, iq4_nl, iq4_xs, q2_k, q3_k, q4_0, q4_1, q4_k, q5_0, q5_1, q5_k, q6_k, q8_0
from engine.quant.layout import Bytes, Floats, QuantType

__all__ = ["TYPES", "QuantType", "is_finite", "to_float32"]

TYPES: dict[GgmlType, QuantType] = {
    GgmlType.F32: f32,
    GgmlType.F16: f16,
    GgmlType.BF16: bf16,
    GgmlType.Q4_0: q4_0,
    GgmlType.Q4_1: q4_1,
    GgmlType.Q5_0: q5_0,
    GgmlType.Q5_1: q5_1,
    GgmlType.Q8_0: q8_0,
    GgmlType.Q2_K: q2_k,
    GgmlType.Q3_K: q3_k,
    GgmlType.Q4_K: q4_k,
    GgmlType.Q5_K: q5_k,
    GgmlType.Q6_K: q6_k,
    GgmlType.IQ4_NL: iq4_nl,
    GgmlType.IQ4_XS: iq4_xs,
}
_BLOCKS = 1 << 16  # looked at together


def to_float32(tensor: Tensor) -> Floats:
    """The tensor's values, float32 of its shape. Raises UnsupportedModel for a type that is not in TYPES."""
    if tensor.type not in TYPES:
        names = ", ".join(kind.name for kind in TYPES)
        raise UnsupportedModel(f"tensor {tensor.name!r}: found type {tensor.type.name}, expected one of {names}")
    return TYPES[tensor.type].dequantize(tensor.data).reshape(tensor.shape)


def is_finite(tensor: Tensor) -> bool:
    """Whether all values of a tensor, of a type in TYPES, are finite; of types with blocks the scales are looked at."""
    kind, size, data = TYPES[tensor.type], TYPES[tensor.type].BLOCK_BYTES * _BLOCKS, tensor.data
    return all(_is_finite(kind, data[at : at + size]) for at in range(0, data.size, size))


def _is_finite(kind: QuantType, data: Bytes) -> bool:
    if kind.BLOCK_VALUES == 1:
        return bool(np.isfinite(kind.dequantize(data)).all())
    blocks = data.view(kind.LAYOUT)
    return all(np.isfinite(blocks[name]).all() for name in kind.LAYOUT.names or () if kind.LAYOUT[name].kind == "f")
