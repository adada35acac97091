"""Phi 3 and 4 (Abdin et al. 2024): one matrix for queries, keys and values, one for gate and up; stretched positions.

A window that the file names is kept, as transformers does and llama.cpp does not.
"""

from engine.gguf import GgufFile
from engine.models.decoders.shape import Metadata, Shape, read_shape, read_windows


def read(file: GgufFile) -> Shape:
    return read_shape(file, windows=read_windows(Metadata(file), 0))
