"""Weights from a file into the layout in which they are executed: int8 in groups of 32 with a float32 scale each.

Q8_0 is executed exactly as the file has it; F16 and F32 are brought to Q8_0 first. Widths that are no multiple of 32
are padded with zeros, which change no sum; a Q8_0 matrix whose groups that moves is quantized anew.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.errors import BadModelFile
from engine.gguf import GgmlType, GgufFile, Tensor
from engine.kernels.matmul import pack
from engine.quant import TYPES, to_float32
from engine.simd import F32, GROUP, I8, I64

_BLOCK = np.dtype([("d", "<f2"), ("q", "i1", 32)])  # ggml's block_q8_0


@dataclass(frozen=True)
class Axis:
    """One axis of a tensor in `parts` equal parts (1, or one a head), each padded to a multiple of 32."""

    size: int
    parts: int = 1

    @property
    def padded(self) -> int:
        return self.parts * self._part

    @property
    def _part(self) -> int:
        return -(-self.size // self.parts // GROUP) * GROUP

    @property
    def at(self) -> I64:
        """Where each value of the file lies on the padded axis."""
        part, within = np.divmod(np.arange(self.size), self.size // self.parts)
        return part * self._part + within


@dataclass(frozen=True)
class Stack:
    """The same matrix of every layer: packed int8 weights, their scales, the biases; all flat, layer after layer."""

    weights: I8
    scales: F32
    bias: F32

    @property
    def arrays(self) -> tuple[I8, F32, F32]:
        return self.weights, self.scales, self.bias


def expect(file: GgufFile, name: str, shape: tuple[int | None, ...]) -> Tensor:
    """A tensor of the file with this shape (None: any). Raises BadModelFile."""
    tensor = file.tensors.get(name)
    if tensor is None:
        raise BadModelFile(f"{file.path}: there is no tensor {name}")
    sizes = zip(shape, tensor.shape, strict=False)
    if len(tensor.shape) != len(shape) or any(want not in (None, got) for want, got in sizes):
        raise BadModelFile(f"{file.path}: {name} has the shape {tensor.shape}, expected {shape}")
    return tensor


def read_vectors(file: GgufFile, names: Sequence[str], axis: Axis) -> F32:
    """Vectors along `axis`, padded, one after another, float32."""
    return np.concatenate([read_rows(file, name, None, axis) for name in names])


def read_rows(file: GgufFile, name: str, count: int | None, axis: Axis) -> F32:
    """A matrix of `count` rows along `axis`, padded and flat; a vector if `count` is None."""
    values = to_float32(expect(file, name, (axis.size,) if count is None else (count, axis.size)))
    out = np.zeros((count or 1, axis.padded), np.float32)
    out[:, axis.at] = _finite(file, name, values)
    return out.reshape(-1)


def read_stack(file: GgufFile, layers: Sequence[Sequence[str]], rows: Axis, columns: Axis) -> Stack:
    """For each layer the matrices of these names (without .weight), one below another."""
    packed = []
    for names in layers:
        parts = [_read_q8_0(file, f"{name}.weight", rows, columns) for name in names]
        packed.append(pack(np.concatenate([q for q, _ in parts]), np.concatenate([d for _, d in parts])))
    bias = [f"{name}.bias" for names in layers for name in names]
    weights, scales = (np.concatenate(parts) for parts in zip(*packed, strict=True))
    return Stack(weights, scales, read_vectors(file, bias, rows))


def _read_q8_0(file: GgufFile, name: str, rows: Axis, columns: Axis) -> tuple[I8, F32]:
    """int8 (rows, columns) and float32 (rows, columns / 32), both axes padded."""
    tensor = expect(file, name, (rows.size, columns.size))
    data = tensor.data
    if tensor.type != GgmlType.Q8_0 or (rows.padded, columns.padded) != (rows.size, columns.size):
        values = np.zeros((rows.padded, columns.padded), np.float32)
        values[np.ix_(rows.at, columns.at)] = _finite(file, name, to_float32(tensor))
        data = TYPES[GgmlType.Q8_0].quantize(values)
    blocks = np.ascontiguousarray(data).reshape(-1).view(_BLOCK).reshape(rows.padded, columns.padded // GROUP)
    return blocks["q"].reshape(rows.padded, columns.padded), _finite(file, name, blocks["d"].astype(np.float32))


def _finite(file: GgufFile, name: str, values: F32) -> F32:
    if not np.isfinite(values).all():
        raise BadModelFile(f"{file.path}: {name} holds values that are not finite")
    return values
