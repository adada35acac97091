"""Decoders of the sizes of published ones, with weights of no meaning, for measuring: `python -m tests.large_decoders
NAME TYPE FILE`. Rows are drawn from a few that are quantized, so that a file of a gigabyte takes seconds."""

import sys
from pathlib import Path
from typing import Any

import numpy as np

from engine.gguf import GgmlType, TensorSource, write
from engine.quant import TYPES

_POOL = 64
# name -> architecture, layers, width, inner, heads, heads of keys, values of a head, vocabulary, base of positions
SIZES: dict[str, tuple[str, int, int, int, int, int, int, int, float]] = {
    "qwen2.5-0.5b": ("qwen2", 24, 896, 4864, 14, 2, 64, 151936, 1e6),
    "qwen2.5-1.5b": ("qwen2", 28, 1536, 8960, 12, 2, 128, 151936, 1e6),
    "llama-3.2-1b": ("llama", 16, 2048, 8192, 32, 8, 64, 128256, 5e5),
    "llama-3.2-3b": ("llama", 28, 3072, 8192, 24, 8, 128, 128256, 5e5),
}


def write_large(path: Path, name: str, kind: GgmlType, output: GgmlType = GgmlType.Q8_0, seed: int = 1) -> Path:
    """Embeddings, tied, are of the type `output`, all other matrices of `kind`, or Q8_0 where rows do not allow it."""
    arch, layers, width, inner, heads, kv_heads, depth, vocab, base = SIZES[name]
    keys: dict[str, Any] = {
        "context_length": 32768, "embedding_length": width, "block_count": layers, "feed_forward_length": inner,
        "attention.head_count": heads, "attention.head_count_kv": kv_heads, "attention.key_length": depth,
        "attention.value_length": depth, "attention.layer_norm_rms_epsilon": 1e-6, "rope.freq_base": base,
    }  # fmt: skip
    parts = {
        "attn_q": (heads * depth, width), "attn_k": (kv_heads * depth, width), "attn_v": (kv_heads * depth, width),
        "attn_output": (width, heads * depth), "ffn_gate": (inner, width), "ffn_up": (inner, width),
        "ffn_down": (width, inner),
    }  # fmt: skip
    rng = np.random.default_rng(seed)
    tensors = [_matrix(rng, "token_embd.weight", output, (vocab, width)), _vector(rng, "output_norm.weight", width)]
    for layer in range(layers):
        tensors += [_vector(rng, f"blk.{layer}.{norm}.weight", width) for norm in ("attn_norm", "ffn_norm")]
        tensors += [_matrix(rng, f"blk.{layer}.{part}.weight", kind, shape) for part, shape in parts.items()]
        if arch == "qwen2":
            tensors += [
                _vector(rng, f"blk.{layer}.{part}.bias", parts[part][0]) for part in ("attn_q", "attn_k", "attn_v")
            ]
    write(
        path,
        {"general.architecture": arch, "general.name": name} | {f"{arch}.{k}": v for k, v in keys.items()},
        tensors,
    )
    return path


def _vector(rng: np.random.Generator, name: str, size: int) -> TensorSource:
    values = (1 + 0.1 * rng.standard_normal(size)).astype(np.float32)
    return TensorSource(name, GgmlType.F32, (size,), lambda: [values.view(np.uint8)])


def _matrix(rng: np.random.Generator, name: str, kind: GgmlType, shape: tuple[int, int]) -> TensorSource:
    from engine.gguf.types import BLOCKS

    kind = kind if shape[1] % BLOCKS[kind].values == 0 else GgmlType.Q8_0
    pool = TYPES[kind].quantize((rng.standard_normal((_POOL, shape[1])) / np.sqrt(shape[1])).astype(np.float32))
    rows = rng.integers(0, _POOL, shape[0])
    return TensorSource(name, kind, shape, lambda: [pool[rows].reshape(-1)])


if __name__ == "__main__":
    write_large(Path(sys.argv[3]), sys.argv[1], GgmlType[sys.argv[2]])
