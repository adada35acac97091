"""The shapes of published models: what their files say, and their tensors. Their weights are nobody's."""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Shape:
    """Sizes as in the model's own file. `distinct`: so many layers have weights of their own, and come again."""

    name: str
    architecture: str
    tokens: str  # the kind of its vocabulary: a key of vocabulary.KINDS
    layers: int
    width: int
    inner: int
    heads: int
    kv_heads: int
    depth: int
    vocab: int
    context: int
    base: float
    epsilon: float
    tied: bool
    distinct: int

    @property
    def scaled(self) -> bool:
        """Whether frequencies are as in Llama 3.1 and later."""
        return self.tokens == "llama-bpe"


SHAPES = {
    shape.name: shape
    for shape in (
        Shape("qwen2.5-0.5b", "qwen2", "qwen2", 24, 896, 4864, 14, 2, 64, 151936, 32768, 1e6, 1e-6, True, 24),
        Shape("llama-3.2-1b", "llama", "llama-bpe", 16, 2048, 8192, 32, 8, 64, 128256, 131072, 5e5, 1e-5, True, 16),
        Shape("llama-2-7b", "llama", "llama", 32, 4096, 11008, 32, 32, 128, 32000, 4096, 1e4, 1e-5, False, 4),
        Shape("tiny", "llama", "llama-bpe", 2, 256, 512, 4, 2, 64, 2048, 4096, 5e5, 1e-5, True, 2),
    )
}  # fmt: skip
SMALL, LARGE = ("qwen2.5-0.5b", "llama-3.2-1b"), "llama-2-7b"
RANDOM = "random weights"
MIXES = ("q8_0", "q4_0", "q4_k_m")


def metadata(shape: Shape) -> dict[str, Any]:
    """Its keys, without those of the tokenizer."""
    values: dict[str, Any] = {
        "context_length": shape.context, "embedding_length": shape.width, "block_count": shape.layers,
        "feed_forward_length": shape.inner, "attention.head_count": shape.heads,
        "attention.head_count_kv": shape.kv_heads, "attention.layer_norm_rms_epsilon": shape.epsilon,
        "rope.freq_base": shape.base, "rope.dimension_count": shape.depth, "vocab_size": shape.vocab,
    }  # fmt: skip
    start = {"general.architecture": shape.architecture, "general.name": f"{RANDOM}, shape of {shape.name}"}
    return start | {f"{shape.architecture}.{key}": value for key, value in values.items()}


def tensors(shape: Shape) -> dict[str, tuple[int, ...]]:
    """Names and shapes, in the order of the file."""
    width, queries, keys = shape.width, shape.heads * shape.depth, shape.kv_heads * shape.depth
    layer: dict[str, tuple[int, ...]] = {
        "attn_norm.weight": (width,), "attn_q.weight": (queries, width), "attn_k.weight": (keys, width),
        "attn_v.weight": (keys, width), "attn_output.weight": (width, queries), "ffn_norm.weight": (width,),
        "ffn_gate.weight": (shape.inner, width), "ffn_up.weight": (shape.inner, width),
        "ffn_down.weight": (width, shape.inner),
    }  # fmt: skip
    if shape.architecture == "qwen2":
        layer |= {"attn_q.bias": (queries,), "attn_k.bias": (keys,), "attn_v.bias": (keys,)}
    found: dict[str, tuple[int, ...]] = {"token_embd.weight": (shape.vocab, width), "output_norm.weight": (width,)}
    if not shape.tied:
        found["output.weight"] = (shape.vocab, width)
    if shape.scaled:
        found["rope_freqs.weight"] = (shape.depth // 2,)
    for i in range(shape.layers):
        found |= {f"blk.{i}.{name}": sizes for name, sizes in layer.items()}
    return found


def frequencies(shape: Shape) -> np.ndarray:
    """By what each frequency is divided in Llama 3.2: long waves by 32, short ones not, a ramp between."""
    waves = 2 * np.pi * shape.base ** (np.arange(0, shape.depth, 2) / shape.depth)
    share = np.clip((8192 / waves - 1) / 3, 0, 1)
    return (1 / ((1 - share) / 32 + share)).astype(np.float32)
