"""Llama (Touvron et al. 2023) and what is built like it: Llama 2 and 3, Mistral, SmolLM; experts as in Mixtral."""

from engine.gguf import GgufFile
from engine.models.decoders.shape import Metadata, Shape, read_shape, read_windows


def read(file: GgufFile) -> Shape:
    data = Metadata(file)
    experts = data.has("expert_count") and data.integer("expert_count") != 0
    return read_shape(file, windows=read_windows(data, 0), interleaved=True, experts=experts)
