"""GGUF files: a strict, mapped reader and a writer with deterministic bytes."""

from engine.gguf.file import GgufFile, MetadataValue, Tensor
from engine.gguf.reader import read
from engine.gguf.types import BLOCKS, Block, GgmlType
from engine.gguf.writer import TensorSource, write

__all__ = ["BLOCKS", "Block", "GgmlType", "GgufFile", "MetadataValue", "Tensor", "TensorSource", "read", "write"]
