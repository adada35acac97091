"""Qwen 2 and 2.5 (Yang et al. 2024): queries, keys and values have biases."""

from engine.gguf import GgufFile
from engine.models.decoders.shape import Shape, read_shape


def read(file: GgufFile) -> Shape:
    return read_shape(file, qkv_bias=True)
