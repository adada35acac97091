"""The quantization types that the engine can compute; a new one is a file here and a line in TYPES."""

from engine.errors import UnsupportedModel
from engine.gguf import GgmlType, Tensor
from engine.quant import bf16, f16, f32, iq4_nl, iq4_xs, q2_k, q3_k, q4_0, q4_1, q4_k, q5_0, q5_1, q5_k, q6_k, q8_0
from engine.quant.base import Floats, QuantType

__all__ = ["TYPES", "QuantType", "to_float32"]

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


def to_float32(tensor: Tensor) -> Floats:
    """The tensor's values, float32 of its shape. Raises UnsupportedModel for a type that is not in TYPES."""
    if tensor.type not in TYPES:
        names = ", ".join(kind.name for kind in TYPES)
        raise UnsupportedModel(f"tensor {tensor.name!r}: found type {tensor.type.name}, expected one of {names}")
    return TYPES[tensor.type].dequantize(tensor.data).reshape(tensor.shape)
