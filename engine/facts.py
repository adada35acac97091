"""The facts about the engine and the machine that go into the audit log."""

from importlib import metadata

from engine.cpu import cpu_name, isa, threads
from engine.gguf import GgufFile
from engine.simd import LLVM_VERSION
from engine.widened import told, type_in_file


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
