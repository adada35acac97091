"""Qwen 3 (Yang et al. 2025): queries and keys of each head are normed before they are rotated."""

from engine.gguf import GgufFile
from engine.models.decoders.shape import Shape, read_shape


def read(file: GgufFile) -> Shape:
    return read_shape(file, qk_norm=True)
