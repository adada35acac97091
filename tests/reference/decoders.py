"""Decoders of every architecture in plain numpy and float64, from a GGUF file: the definition, slowly.

Keys and tensors are those of llama.cpp. One token at a time goes through a layer with its own key and value; nothing is
packed, and whatever the file's types are, weights are their float32 values.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.gguf import GgufFile, read
from engine.quant import to_float32

F64 = NDArray[np.float64]
PAGE = 32
INTERLEAVED = {"llama", "granite"}  # heads whose values 2i and 2i + 1 turn together; of the others i and i + half
GEMMA = {"gemma2", "gemma3"}
WINDOWED = {"llama": 0, "phi3": 0, "gemma2": 2, "gemma3": 6}  # -> every how many layers one sees everything; 0: never
LARGEST_GEMMA = {"gemma2": 46, "gemma3": 62}  # layers of those whose queries are scaled by width / heads


@dataclass(frozen=True)
class Shape:
    context: int
    vocab: int
    layers: int
    width: int
    heads: int
    kv_heads: int
    depth: int


class Pages:
    """Keys and values of the tokens of any sequences, PAGE tokens a page."""

    def __init__(self, count: int, shape: Shape, kind: str) -> None:
        self.count, self.kind = count, kind
        part = (shape.layers, count, shape.kv_heads)
        dtype = {"float16": np.float16, "exact": np.float64}[kind]
        self.keys: NDArray[Any] = np.zeros((*part, shape.depth, PAGE), dtype)
        self.values: NDArray[Any] = np.zeros((*part, PAGE, shape.depth), dtype)

    @property
    def bytes_per_page(self) -> int:
        return (self.keys.nbytes + self.values.nbytes) // max(1, self.count)

    def copy(self, source: int, target: int) -> None:
        self.keys[:, target] = self.keys[:, source]
        self.values[:, target] = self.values[:, source]


def rms(x: F64, weight: F64, epsilon: float) -> F64:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * weight


def softmax(x: F64) -> F64:
    e = np.exp(x - x.max(-1, keepdims=True))
    result: F64 = e / e.sum(-1, keepdims=True)
    return result


def silu(x: F64) -> F64:
    return x / (1 + np.exp(-x))


def gelu(x: F64) -> F64:
    result: F64 = x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return result


def capped(x: F64, cap: float) -> F64:
    result: F64 = np.tanh(x / cap) * cap if cap else x
    return result


class Decoder:
    def __init__(self, path: Path) -> None:
        file = read(path)
        self.meta: dict[str, Any] = file.metadata
        self.arch = str(self.meta["general.architecture"])
        self.w = self.weights(file)
        heads, width = self.key("attention.head_count"), self.key("embedding_length")
        self.shape = Shape(
            self.key("context_length"), len(self.w["token_embd.weight"]), self.key("block_count"), width, heads,
            self.key("attention.head_count_kv", heads), self.key("attention.key_length", width // heads),
        )  # fmt: skip
        self.epsilon = self.key("attention.layer_norm_rms_epsilon")
        self.activation: Callable[[F64], F64] = gelu if self.arch in GEMMA else silu
        self.angles = [self.frequencies(windowed) for windowed in (False, True)]

    def weights(self, file: GgufFile) -> Mapping[str, F64]:
        """All of them by name."""
        return {name: to_float32(tensor).astype(np.float64) for name, tensor in file.tensors.items()}

    def key(self, name: str, default: Any = None) -> Any:
        value = self.meta.get(f"{self.arch}.{name}", default)
        assert value is not None, name
        return value

    def pages(self, count: int, kind: str = "float16") -> Pages:
        return Pages(count, self.shape, kind)

    @property
    def scale(self) -> float:
        """What products of queries and keys are multiplied by."""
        shape = self.shape
        if self.arch == "granite":
            return float(self.key("attention.scale", 1 / math.sqrt(shape.depth)))
        largest = LARGEST_GEMMA.get(self.arch) == shape.layers
        return 1 / math.sqrt(shape.width / shape.heads if largest else shape.depth)

    def window(self, layer: int) -> int:
        """How many tokens see each other at most, itself among them; 0: all."""
        size = self.key("attention.sliding_window", 4096 if self.arch == "gemma2" else 0)
        if self.arch not in WINDOWED:
            return 0
        every = self.key("attention.sliding_window_pattern", WINDOWED[self.arch])
        near = every[layer] if np.ndim(every) else every == 0 or layer % every < every - 1
        return int(size) if near else 0

    def frequencies(self, windowed: bool) -> tuple[F64, float]:
        """By how much each pair of values turns from one position to the next; what they are multiplied by."""
        size = self.key("rope.dimension_count", self.shape.depth)
        base, factor = self.key("rope.freq_base", 10000.0), self.key("rope.scaling.factor", 1.0)
        kind, size_before = self.key("rope.scaling.type", "linear"), self.shape.context
        if windowed and self.arch == "gemma3":
            base, factor = self.key("rope.freq_base_swa", 10000.0), 1.0
        turns = base ** (-2 * np.arange(size // 2) / size)
        if kind == "linear":
            return turns / factor / self.w.get("rope_freqs.weight", 1.0), 1.0
        if kind == "none":
            return turns, 1.0
        size_before = self.key("rope.scaling.original_context_length", size_before)
        if kind == "longrope":
            name = "long" if self.shape.context > size_before else "short"
            return turns / self.w[f"rope_factors_{name}.weight"], self.key("rope.scaling.attn_factor", 1.0)
        assert kind == "yarn", kind
        ends = [
            size * math.log(size_before / (beta * 2 * math.pi)) / (2 * math.log(base))
            for beta in (
                self.key("rope.scaling.yarn_beta_fast", 32.0),
                self.key("rope.scaling.yarn_beta_slow", 1.0),
            )
        ]
        low, high = max(0, math.floor(ends[0])), min(size - 1, math.ceil(ends[1]))
        ramp = 1 - np.clip((np.arange(size // 2) - low) / max(0.001, high - low), 0, 1)
        grown = self.key("rope.scaling.yarn_attn_factor", 0.1 * math.log(factor) + 1 if factor > 1 else 1.0)
        return turns / factor * (1 - ramp) + turns * ramp, grown * self.key("rope.scaling.attn_factor", 1.0)

    def turn(self, x: F64, positions: NDArray[np.int32], windowed: bool) -> F64:
        """x [n, heads, depth], each token's values turned by its position."""
        turns, grown = self.angles[windowed]
        angles, half = positions[:, None, None] * turns, len(turns)
        cosine, sine = np.cos(angles) * grown, np.sin(angles) * grown
        first, second = slice(0, half), slice(half, 2 * half)
        if self.arch in INTERLEAVED:
            first, second = slice(0, 2 * half, 2), slice(1, 2 * half, 2)
        out = x.copy()
        out[..., first] = x[..., first] * cosine - x[..., second] * sine
        out[..., second] = x[..., first] * sine + x[..., second] * cosine
        return out

    def linear(self, name: str, x: F64) -> F64:
        return x @ self.w[f"{name}.weight"].T + self.w.get(f"{name}.bias", 0.0)

    def norm(self, name: str, x: F64) -> F64:
        """Where the file has no such norm nothing is done."""
        weight = self.w.get(f"{name}.weight")
        return x if weight is None else rms(x, weight, self.epsilon)

    def step(
        self, ids: NDArray[np.int32], positions: NDArray[np.int32], sequences: NDArray[np.int32],
        tables: NDArray[np.int32], pages: Pages, wanted: NDArray[np.int32],
    ) -> NDArray[np.float32]:  # fmt: skip
        """Logits [wanted, vocab] after the tokens `ids`; keys and values are kept in the pages."""
        x = self.w["token_embd.weight"][ids]
        x = x * (math.sqrt(self.shape.width) if self.arch in GEMMA else self.key("embedding_scale", 1.0))
        more = self.key("residual_scale", 1.0)
        for layer in range(self.shape.layers):
            block = f"blk.{layer}"
            mixed = self.attention(layer, self.norm(f"{block}.attn_norm", x), positions, tables[sequences], pages)
            x = x + more * self.norm(f"{block}.post_attention_norm", mixed)
            inner = self.feed_forward(block, self.norm(f"{block}.ffn_norm", x))
            x = x + more * self.norm(f"{block}.post_ffw_norm", inner)
        x = self.norm("output_norm", x[wanted])
        logits = self.linear("output" if "output.weight" in self.w else "token_embd", x)
        return capped(logits / self.key("logit_scale", 1.0), self.key("final_logit_softcapping", 0.0)).astype(
            np.float32
        )

    def qkv(self, block: str, x: F64) -> list[F64]:
        """Queries, keys and values [n, heads, depth] from one matrix or three."""
        heads, shape = (self.shape.heads, self.shape.kv_heads, self.shape.kv_heads), self.shape
        if f"{block}.attn_qkv.weight" in self.w:
            ends = np.cumsum(heads)[:-1] * shape.depth
            parts = np.split(self.linear(f"{block}.attn_qkv", x), ends, 1)
        else:
            parts = [self.linear(f"{block}.attn_{name}", x) for name in "qkv"]
        return [part.reshape(len(x), count, shape.depth) for part, count in zip(parts, heads, strict=True)]

    def attention(
        self, layer: int, x: F64, positions: NDArray[np.int32], tables: NDArray[np.int32], pages: Pages
    ) -> F64:
        """Each token's own row of `tables` names the pages of its sequence."""
        block, window, shape = f"blk.{layer}", self.window(layer), self.shape
        q, k, v = self.qkv(block, x)
        q, k = self.norm(f"{block}.attn_q_norm", q), self.norm(f"{block}.attn_k_norm", k)
        q, k = (self.turn(part, positions, bool(window)) for part in (q, k))
        page, slot = tables[np.arange(len(x)), positions // PAGE], positions % PAGE
        pages.keys[layer, page, :, :, slot] = k
        pages.values[layer, page, :, slot, :] = v
        out = np.zeros((len(x), shape.heads, shape.depth))
        for t, position in enumerate(positions):
            seen = np.arange(max(0, position + 1 - window) if window else 0, position + 1)
            page, slot = tables[t, seen // PAGE], seen % PAGE
            keys, values = pages.keys[layer, page, :, :, slot], pages.values[layer, page, :, slot, :]
            for head in range(shape.heads):
                group = head // (shape.heads // shape.kv_heads)
                scores = keys[:, group].astype(np.float64) @ q[t, head] * self.scale
                weights = softmax(capped(scores, self.key("attn_logit_softcapping", 0.0)))
                out[t, head] = weights @ values[:, group].astype(np.float64)
        return self.linear(f"{block}.attn_output", out.reshape(len(x), -1))

    def feed_forward(self, block: str, x: F64) -> F64:
        if f"{block}.ffn_gate_inp.weight" in self.w:
            return self.experts(block, x)
        if f"{block}.ffn_gate.weight" in self.w:
            gate, up = self.linear(f"{block}.ffn_gate", x), self.linear(f"{block}.ffn_up", x)
        else:
            gate, up = np.split(self.linear(f"{block}.ffn_up", x), 2, 1)
        return self.linear(f"{block}.ffn_down", self.activation(gate) * up)

    def experts(self, block: str, x: F64) -> F64:
        """Each token's `expert_used_count` experts of the greatest probabilities, which then add up to 1."""
        scores = softmax(self.linear(f"{block}.ffn_gate_inp", x))
        gates, ups, downs = (self.w[f"{block}.ffn_{name}_exps.weight"] for name in ("gate", "up", "down"))
        out = np.zeros_like(x)
        for t, row in enumerate(x):
            chosen = np.argsort(-scores[t], kind="stable")[: self.key("expert_used_count")]
            for i in chosen:
                inner = self.activation(gates[i] @ row) * (ups[i] @ row)
                out[t] += scores[t, i] / scores[t, chosen].sum() * (downs[i] @ inner)
        return out
