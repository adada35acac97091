"""The quantization types that the engine can compute; a new one is a file here and a line in TYPES."""

from engine.errors import UnsupportedModel
from engine.gguf import GgmlType, Tensor
from engine.quant import f16, f32, q8_0
from engine.quant.base import Floats, QuantType

__all__ = ["TYPES", "QuantType", "to_float32"]

TYPES: dict[GgmlType, QuantType] = {
    GgmlType.F32: f32,
    GgmlType.F16: f16,
    GgmlType.Q8_0: q8_0,
}


def to_float32(tensor: Tensor) -> Floats:
    """The tensor's values, float32 of its shape. Raises UnsupportedModel for a type that is not in TYPES."""
    if tensor.type not in TYPES:
        names = ", ".join(kind.name for kind in TYPES)
        raise UnsupportedModel(f"tensor {tensor.name!r}: found type {tensor.type.name}, expected one of {names}")
    return TYPES[tensor.type].dequantize(tensor.data).reshape(tensor.shape)
