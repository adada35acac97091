"""Granite 3 (IBM 2024): Llama with scales of embeddings, scores, what each part adds, and logits."""

from typing import Any

from engine.gguf import GgufFile
from engine.models.decoders.shape import Metadata, Shape, read_shape


def read(file: GgufFile) -> Shape:
    data = Metadata(file)
    data.refuse("rope.scaling.finetuned", True)  # False: positions that are not rotated
    data.refuse("expert_shared_feed_forward_length", 0)
    scale: dict[str, Any] = {"scale": data.number("attention.scale")} if data.has("attention.scale") else {}
    return read_shape(
        file, interleaved=True, embedding_scale=data.number("embedding_scale", 1.0),
        residual_scale=data.number("residual_scale", 1.0), logit_scale=data.number("logit_scale", 1.0), **scale,
    )  # fmt: skip
