"""What the audit log says of the engine and the machine it computed on."""

from importlib import metadata

from engine.cpu import cpu_name, isa, threads
from engine.gguf import GgufFile
from engine.simd import LLVM_VERSION


def facts(file: GgufFile) -> dict[str, str | int]:
    """Architecture, types, instruction set, CPU, and the versions of what compiled the kernels."""
    types = sorted({tensor.type.name for tensor in file.tensors.values()})
    return {
        "architecture": file.require("general.architecture", str),
        "types": ", ".join(types),
        "isa": isa(),
        "threads": threads(),
        "cpu": cpu_name(),
        "numpy": metadata.version("numpy"),
        "numba": metadata.version("numba"),
        "llvmlite": metadata.version("llvmlite"),
        "llvm": LLVM_VERSION,
    }
