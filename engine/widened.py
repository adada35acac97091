"""A file whose tensors of 16-bit floats are read as ones of F32.

Every F16 and BF16 value is a float32 value (IEEE 754; BF16 is its upper half), so nothing is lost, and all that reads
the file computes in float32 as if its weights had been stored so.
"""

from dataclasses import replace
from importlib import metadata

import numpy as np

from engine.cpu import cpu_name, isa, threads
from engine.gguf import GgmlType, GgufFile, Tensor
from engine.quant import to_float32
from engine.quant.layout import Bytes
from engine.simd import LLVM_VERSION

HALF = frozenset({GgmlType.F16, GgmlType.BF16})
"""Types of 16-bit floats."""
WIDE = "-wide"
"""What the names of kept weights end with that were made of a widened file."""


class _Widened(Tensor):
    """A tensor of F32, whose bytes are made from one of 16-bit floats each time that they are asked for."""

    _source: Tensor

    def __init__(self, source: Tensor) -> None:
        self.__dict__.update(name=source.name, type=GgmlType.F32, shape=source.shape, _source=source)  # it is frozen

    @property
    def data(self) -> Bytes:
        return to_float32(self._source).reshape(-1).view(np.uint8)


def widened(file: GgufFile) -> GgufFile:
    """The file with F32 in place of F16 and BF16."""
    tensors = {name: _Widened(each) if each.type in HALF else each for name, each in file.tensors.items()}
    return replace(file, tensors=tensors)


def is_widened(file: GgufFile) -> bool:
    """Whether a tensor of the file is read as one of more bits."""
    return any(isinstance(each, _Widened) for each in file.tensors.values())


def type_in_file(tensor: Tensor) -> GgmlType:
    """The type in which the file has a tensor."""
    return tensor._source.type if isinstance(tensor, _Widened) else tensor.type


def told(file: GgufFile) -> dict[str, str]:
    """The log's field `half_weights`: the type in which 16-bit floats of the file are computed; empty if it has
    none."""
    if is_widened(file):
        return {"half_weights": "float32"}
    halved = any(each.type in HALF and len(each.shape) > 1 for each in file.tensors.values())
    return {"half_weights": "int8"} if halved else {}


def facts(file: GgufFile) -> dict[str, str | int]:
    """The facts about a model's results: architecture, types, instruction set, CPU, versions of what compiled
    kernels."""
    types = sorted({type_in_file(tensor).name for tensor in file.tensors.values()})
    return {
        "architecture": file.require("general.architecture", str),
        "types": ", ".join(types),
        **told(file),
        "isa": isa(),
        "threads": threads(),
        "cpu": cpu_name(),
        "numpy": metadata.version("numpy"),
        "numba": metadata.version("numba"),
        "llvmlite": metadata.version("llvmlite"),
        "llvm": LLVM_VERSION,
    }
