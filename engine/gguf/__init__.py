"""GGUF files: a strict, mapped reader and a writer with deterministic bytes."""

from engine.gguf.file import Digest, GgufFile, MetadataValue, Tensor, check_whole
from engine.gguf.reader import hashed, read
from engine.gguf.types import BLOCKS, Block, GgmlType
from engine.gguf.writer import TensorSource, write

__all__ = [
    "BLOCKS",
    "Block",
    "Digest",
    "GgmlType",
    "GgufFile",
    "MetadataValue",
    "Tensor",
    "TensorSource",
    "check_whole",
    "hashed",
    "read",
    "write",
]
