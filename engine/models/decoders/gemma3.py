"""Gemma 3 (2025): as Gemma 2 without caps; queries and keys are normed, and layers with a window rotate faster."""

from engine.gguf import GgufFile
from engine.models.decoders.gemma2 import shared
from engine.models.decoders.shape import MAX_WIDTH, Metadata, Rotation, Shape, read_shape, read_windows

LARGEST = 62  # layers of the model whose queries are scaled differently


def read(file: GgufFile) -> Shape:
    data = Metadata(file)
    head_dim = data.count("attention.key_length", MAX_WIDTH, 256)
    near = Rotation(data.count("rope.dimension_count", head_dim, head_dim), data.number("rope.freq_base_swa", 10000.0))
    data.refuse("attn_logit_softcapping", 0.0)
    return read_shape(
        file, windows=read_windows(data, 6), near=near, qk_norm=True,
        final_cap=data.number("final_logit_softcapping", 0.0, zero=True), **shared(data, LARGEST),
    )  # fmt: skip
