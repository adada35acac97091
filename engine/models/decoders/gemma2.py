"""Gemma 2 (2024): norms before and after each part, windows in every other layer, caps on scores and logits, GeGLU."""

import math
from typing import Any

from engine.gguf import GgufFile
from engine.models.decoders.shape import MAX_LAYERS, MAX_WIDTH, Metadata, Shape, read_shape, read_windows

WINDOW, LARGEST = 4096, 46  # where the file does not say; layers of the model whose queries are scaled differently


def read(file: GgufFile) -> Shape:
    data = Metadata(file)
    return read_shape(
        file, windows=read_windows(data, 2, WINDOW), attention_cap=data.number("attn_logit_softcapping", 50.0),
        final_cap=data.number("final_logit_softcapping", 30.0), **shared(data, LARGEST),
    )  # fmt: skip


def shared(data: Metadata, largest: int) -> dict[str, Any]:
    """The flags that Gemma 2 and 3 have in common."""
    d_model, heads = data.count("embedding_length", MAX_WIDTH), data.count("attention.head_count", MAX_WIDTH)
    head_dim = data.count("attention.key_length", MAX_WIDTH, max(1, d_model // heads))
    if data.count("block_count", MAX_LAYERS) == largest:
        head_dim = d_model // heads
    return {
        "post_norms": True, "gelu": True, "embedding_scale": math.sqrt(d_model),
        "scale": 1 / math.sqrt(max(1, head_dim)),
    }  # fmt: skip
