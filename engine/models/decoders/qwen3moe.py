"""Qwen 3 with experts: a router's softmax, the best few of them, whose weights then add up to 1."""

from engine.gguf import GgufFile
from engine.models.decoders.shape import Shape, read_shape


def read(file: GgufFile) -> Shape:
    return read_shape(file, qk_norm=True, experts=True)
