"""The architectures that write: what the metadata of each says becomes a `Shape`."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from engine.gguf import GgufFile
from engine.models.decoders.shape import (
    MAX_LAYERS,
    MAX_WIDTH,
    Metadata,
    Rotation,
    Shape,
    read_shape,
    read_windows,
)

_GEMMA2_WINDOW = 4096  # where the file does not say
_LARGEST_GEMMA2, _LARGEST_GEMMA3 = 46, 62  # layers of the model whose queries are scaled differently


def read_llama(file: GgufFile) -> Shape:
    """Llama (Touvron et al. 2023) and what is built like it: Llama 2 and 3, Mistral, SmolLM; experts as in Mixtral."""
    data = Metadata(file)
    experts = data.has("expert_count") and data.integer("expert_count") != 0
    return read_shape(file, windows=read_windows(data, 0), interleaved=True, experts=experts)


def read_phi3(file: GgufFile) -> Shape:
    """Phi 3 and 4 (Abdin et al. 2024): one matrix for queries, keys and values, one for gate and up; stretched
    positions. A window that the file names is kept, as transformers does and llama.cpp does not."""
    return read_shape(file, windows=read_windows(Metadata(file), 0))


def read_granite(file: GgufFile) -> Shape:
    """Granite 3 (IBM 2024): Llama with scales of embeddings, scores, what each part adds, and logits."""
    data = Metadata(file)
    data.refuse("rope.scaling.finetuned", True)  # False: positions that are not rotated
    data.refuse("expert_shared_feed_forward_length", 0)
    scale: dict[str, Any] = {"scale": data.number("attention.scale")} if data.has("attention.scale") else {}
    scale |= {f"{part}_scale": data.number(f"{part}_scale", 1.0) for part in ("embedding", "residual", "logit")}
    return read_shape(file, interleaved=True, **scale)


def read_gemma2(file: GgufFile) -> Shape:
    """Gemma 2 (2024): norms before and after each part, windows in every other layer, caps on scores and logits,
    GeGLU."""
    data = Metadata(file)
    caps: dict[str, Any] = {"attention_cap": data.number("attn_logit_softcapping", 50.0)}
    caps["final_cap"] = data.number("final_logit_softcapping", 30.0)
    return read_shape(file, windows=read_windows(data, 2, _GEMMA2_WINDOW), **caps, **_of_gemma(data, _LARGEST_GEMMA2))


def read_gemma3(file: GgufFile) -> Shape:
    """Gemma 3 (2025): as Gemma 2 without caps; queries and keys are normed, and layers with a window rotate faster."""
    data = Metadata(file)
    head_dim = data.count("attention.key_length", MAX_WIDTH, 256)
    near = Rotation(data.count("rope.dimension_count", head_dim, head_dim), data.number("rope.freq_base_swa", 10000.0))
    data.refuse("attn_logit_softcapping", 0.0)
    cap, more = data.number("final_logit_softcapping", 0.0, zero=True), _of_gemma(data, _LARGEST_GEMMA3)
    return read_shape(file, windows=read_windows(data, 6), near=near, qk_norm=True, final_cap=cap, **more)


def _of_gemma(data: Metadata, largest: int) -> dict[str, Any]:
    d_model, heads = data.count("embedding_length", MAX_WIDTH), data.count("attention.head_count", MAX_WIDTH)
    head_dim = data.count("attention.key_length", MAX_WIDTH, max(1, d_model // heads))
    if data.count("block_count", MAX_LAYERS) == largest:
        head_dim = d_model // heads
    scales = {"embedding_scale": math.sqrt(d_model), "scale": 1 / math.sqrt(max(1, head_dim))}
    return {"post_norms": True, "gelu": True, **scales}


DECODERS: dict[str, Callable[[GgufFile], Shape]] = {
    "llama": read_llama,
    # Qwen 2 and 2.5 (Yang et al. 2024): queries, keys and values have biases
    "qwen2": partial(read_shape, qkv_bias=True),
    # Qwen 3 (Yang et al. 2025): queries and keys of each head are normed before they are rotated
    "qwen3": partial(read_shape, qk_norm=True),
    # Qwen 3 with experts: a router's softmax, the best few of them, whose weights then add up to 1
    "qwen3moe": partial(read_shape, qk_norm=True, experts=True),
    "phi3": read_phi3,
    "gemma2": read_gemma2,
    "gemma3": read_gemma3,
    "granite": read_granite,
}
