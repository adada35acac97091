"""The quantization types that the engine can compute; a new one satisfies `QuantType`, and is a line in TYPES."""

import numpy as np

from engine.errors import UnsupportedModel
from engine.gguf import GgmlType, Tensor
from engine.quant import q8_0
from engine.quant.floats import BF16, F16, F32
from engine.quant.layout import Bytes, Floats, QuantType
from engine.quant.packed import IQ4_NL, IQ4_XS, Q2_K, Q3_K, Q4_0, Q4_1, Q4_K, Q5_0, Q5_1, Q5_K, Q6_K

__all__ = ["TYPES", "QuantType", "is_finite", "to_float32"]

TYPES: dict[GgmlType, QuantType] = {
    GgmlType.F32: F32,
    GgmlType.F16: F16,
    GgmlType.BF16: BF16,
    GgmlType.Q4_0: Q4_0,
    GgmlType.Q4_1: Q4_1,
    GgmlType.Q5_0: Q5_0,
    GgmlType.Q5_1: Q5_1,
    GgmlType.Q8_0: q8_0,
    GgmlType.Q2_K: Q2_K,
    GgmlType.Q3_K: Q3_K,
    GgmlType.Q4_K: Q4_K,
    GgmlType.Q5_K: Q5_K,
    GgmlType.Q6_K: Q6_K,
    GgmlType.IQ4_NL: IQ4_NL,
    GgmlType.IQ4_XS: IQ4_XS,
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
