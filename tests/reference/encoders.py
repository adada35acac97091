"""Encoders and their heads in numpy, from the tensors of a GGUF file: what the fast ones must compute.

Sources: Devlin et al. 2018 (BERT), Su et al. 2021 (rotary positions), Shazeer 2020 (gated units), Nussbaum et al. 2024
(nomic-bert), Warner et al. 2024 (ModernBERT). One text at a time, nothing saved or fused.
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.gguf import read
from engine.quant import to_float32

Array = NDArray[Any]
Ids = NDArray[np.int32]

MEAN, FIRST = 1, 2


def gelu(x: Array) -> Array:
    return x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))).astype(x.dtype) / 2


def silu(x: Array) -> Array:
    return x / (1 + np.exp(-x))


def rotate(x: Array, theta: float) -> Array:
    """Rotary positions: x [heads, n, depth]; values i and i + depth / 2 are turned by position / theta^(2i/depth)."""
    depth = x.shape[-1]
    angles = np.arange(x.shape[1])[:, None] * theta ** (-np.arange(0, depth, 2) / depth)
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    left, right = x[..., : depth // 2], x[..., depth // 2 :]
    return np.concatenate([left * cos - right * sin, right * cos + left * sin], -1)


class Encoder:
    """A GGUF file of architecture bert, nomic-bert or modern-bert; every value is of type `dtype`.

    ids and types are int32 [n], types the rows of the token type embeddings (all 0 if left out).
    """

    def __init__(self, path: Path, dtype: type[np.floating] = np.float64) -> None:
        file = read(path)
        self.meta = file.metadata
        self.arch = str(self.meta["general.architecture"])
        self.w = {name: to_float32(tensor).astype(dtype) for name, tensor in file.tensors.items()}
        self.layers, self.heads = self.size("block_count"), self.size("attention.head_count")

    def size(self, key: str) -> Any:
        return self.meta[f"{self.arch}.{key}"]

    def dense(self, name: str, x: Array) -> Array:
        y = x @ self.w[f"{name}.weight"].T
        return y + self.w[f"{name}.bias"] if f"{name}.bias" in self.w else y

    def norm(self, name: str, x: Array) -> Array:
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + self.size("attention.layer_norm_epsilon"))
        x = x * self.w[f"{name}.weight"]
        return x + self.w[f"{name}.bias"] if f"{name}.bias" in self.w else x

    def attention(self, block: str, x: Array, theta: float | None = None, window: int | None = None) -> Array:
        """`window`: tokens see those up to half of it away."""
        if f"{block}.attn_qkv.weight" in self.w:
            parts = np.split(self.dense(f"{block}.attn_qkv", x), 3, -1)
        else:
            parts = [self.dense(f"{block}.attn_{part}", x) for part in "qkv"]
        q, k, v = (part.reshape(len(x), self.heads, -1).swapaxes(0, 1) for part in parts)
        if theta is not None:
            q, k = rotate(q, theta), rotate(k, theta)
        scores = q @ k.swapaxes(1, 2) / math.sqrt(q.shape[-1])
        if window is not None:
            away = np.abs(np.arange(len(x))[:, None] - np.arange(len(x)))
            scores = np.where(away <= window // 2, scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        return self.dense(f"{block}.attn_output", (weights @ v).swapaxes(0, 1).reshape(len(x), -1))

    def states(self, ids: Ids, types: Ids | None = None) -> Array:
        """The last layer: [n, width]."""
        return FORWARD[self.arch](self, ids, np.zeros_like(ids) if types is None else types)

    def embed(self, ids: Ids) -> Array:
        """[width]: pooled and normalised as the file states."""
        x = self.states(ids)
        pooled = x.mean(0) if self.size("pooling_type") == MEAN else x[0]
        return pooled / np.linalg.norm(pooled) if self.meta["cloister.normalize"] else pooled

    def sequence(self, ids: Ids, types: Ids | None = None) -> Array:
        """[labels]: the outputs for a text, before what `cloister.head.scores` names."""
        x = self.states(ids, types)
        return self.head(x.mean(0) if self.size("classifier.pooling_type") == MEAN else x[0])

    def tokens(self, ids: Ids, types: Ids | None = None) -> Array:
        """[n, labels]: the outputs for each token; for a span [n, 2], start and end."""
        return self.head(self.states(ids, types))

    def head(self, x: Array) -> Array:
        """[..., width] -> [..., labels]."""
        if "cls.weight" in self.w:
            x = {"tanh": np.tanh, "gelu": gelu}[str(self.meta["cloister.head.activation"])](self.dense("cls", x))
        if "cls.norm.weight" in self.w:
            x = self.norm("cls.norm", x)
        return self.dense("cls.output", x)


def bert(model: Encoder, ids: Ids, types: Ids) -> Array:
    """Norms after each part, learned positions, GELU."""
    x = model.w["token_embd.weight"][ids] + model.w["position_embd.weight"][: len(ids)]
    x = model.norm("token_embd_norm", x + model.w["token_types.weight"][types])
    for block in (f"blk.{i}" for i in range(model.layers)):
        x = model.norm(f"{block}.attn_output_norm", x + model.attention(block, x))
        inner = gelu(model.dense(f"{block}.ffn_up", x))
        x = model.norm(f"{block}.layer_output_norm", x + model.dense(f"{block}.ffn_down", inner))
    return x


def nomic_bert(model: Encoder, ids: Ids, types: Ids) -> Array:
    """Norms after each part, rotary positions, SwiGLU."""
    theta = model.size("rope.freq_base")
    x = model.norm("token_embd_norm", model.w["token_embd.weight"][ids] + model.w["token_types.weight"][types])
    for block in (f"blk.{i}" for i in range(model.layers)):
        x = model.norm(f"{block}.attn_output_norm", x + model.attention(block, x, theta))
        inner = silu(model.dense(f"{block}.ffn_gate", x)) * model.dense(f"{block}.ffn_up", x)
        x = model.norm(f"{block}.layer_output_norm", x + model.dense(f"{block}.ffn_down", inner))
    return x


def modern_bert(model: Encoder, ids: Ids, types: Ids) -> Array:
    """Norms before each part, rotary positions, windows in most layers, GeGLU; no token types."""
    every, window = model.size("attention.sliding_window_pattern"), model.size("attention.sliding_window")
    wide, narrow = model.size("rope.freq_base"), model.size("rope.freq_base_swa")
    x = model.norm("token_embd_norm", model.w["token_embd.weight"][ids])
    for i in range(model.layers):
        block = f"blk.{i}"
        sight = (narrow, window) if i % every else (wide, None)
        x = x + model.attention(block, model.norm(f"{block}.attn_norm", x) if i else x, *sight)
        active, gate = np.split(model.dense(f"{block}.ffn_up", model.norm(f"{block}.ffn_norm", x)), 2, -1)
        x = x + model.dense(f"{block}.ffn_down", gelu(active) * gate)
    return model.norm("output_norm", x)


FORWARD: dict[str, Callable[[Encoder, Ids, Ids], Array]] = {
    "bert": bert,
    "nomic-bert": nomic_bert,
    "modern-bert": modern_bert,
}
