"""Small random decoders of every architecture, as Hugging Face folders and as GGUF files of the same weights.

The weights come from a seeded generator, so that results of other software on the same folder can be kept in a file.
"""

import json
import math
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from engine.gguf import GgmlType, TensorSource, write
from engine.quant import TYPES
from tests.models import WORDS, write_safetensors

WIDTH, INNER, HEADS, GROUPS, CONTEXT, EXPERTS = 64, 96, 4, 2, 256, 6
Tensors = dict[str, np.ndarray]
SHARED: dict[str, Any] = {
    "hidden_size": WIDTH, "intermediate_size": INNER, "num_attention_heads": HEADS, "num_key_value_heads": GROUPS,
    "num_hidden_layers": 3, "max_position_embeddings": CONTEXT, "rms_norm_eps": 1e-6, "rope_theta": 10000.0,
    "tie_word_embeddings": False, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0,
}  # fmt: skip
GEMMA = {
    "head_dim": 16, "tie_word_embeddings": True, "query_pre_attn_scalar": 16, "sliding_window": 10,
    "hidden_activation": "gelu_pytorch_tanh",
}  # fmt: skip
FACTORS = [round(1 + i / 4, 2) for i in range(8)]

# case -> architecture of the file, config.json, what else the file's metadata says
CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "llama": ("llama", {"model_type": "llama"}, {}),
    "llama tied": ("llama", {"model_type": "llama", "tie_word_embeddings": True, "head_dim": 12}, {}),
    "llama linear": (
        "llama",
        {"model_type": "llama", "rope_scaling": {"rope_type": "linear", "factor": 4.0}},
        {"rope.scaling.type": "linear", "rope.scaling.factor": 4.0},
    ),
    "llama yarn": (
        "llama",
        {
            "model_type": "llama",
            "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64},
        },
        {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 64},
    ),
    "llama 3": (
        "llama",
        {
            "model_type": "llama", "head_dim": 16,
            "rope_scaling": {
                "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                "original_max_position_embeddings": 64,
            },
        },
        {},
    ),
    "mistral": ("llama", {"model_type": "mistral", "sliding_window": 10}, {"attention.sliding_window": 10}),
    "qwen2": ("qwen2", {"model_type": "qwen2", "rope_theta": 1000000.0}, {}),
    "qwen3": ("qwen3", {"model_type": "qwen3", "head_dim": 16, "rope_theta": 1000000.0}, {}),
    "phi3": (
        "phi3",
        {"model_type": "phi3", "sliding_window": 10, "original_max_position_embeddings": CONTEXT},
        {"attention.sliding_window": 10},
    ),
    "phi3 long": (
        "phi3",
        {
            "model_type": "phi3", "sliding_window": None, "original_max_position_embeddings": 16,
            "rope_scaling": {"rope_type": "longrope", "short_factor": [1.0] * 8, "long_factor": FACTORS},
        },
        {
            "rope.scaling.type": "longrope", "rope.scaling.original_context_length": 16,
            "rope.scaling.attn_factor": math.sqrt(1 + math.log(CONTEXT / 16) / math.log(16)),
        },
    ),
    "gemma2": (
        "gemma2",
        {
            **GEMMA, "model_type": "gemma2", "attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0,
            "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
        },
        {"attention.sliding_window": 10, "attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0},
    ),
    "gemma3": (
        "gemma3",
        {
            **GEMMA, "model_type": "gemma3_text", "num_hidden_layers": 4, "rope_theta": 1000000.0,
            "rope_local_base_freq": 10000.0, "rope_scaling": {"rope_type": "linear", "factor": 8.0},
            "layer_types": ["sliding_attention", "sliding_attention", "full_attention", "sliding_attention"],
        },
        {
            "attention.sliding_window": 10, "attention.sliding_window_pattern": 3, "rope.scaling.type": "linear",
            "rope.scaling.factor": 8.0,
        },
    ),
    "granite": (
        "granite",
        {
            "model_type": "granite", "attention_multiplier": 0.1, "embedding_multiplier": 3.0,
            "residual_multiplier": 0.4, "logits_scaling": 2.0,
        },
        {"attention.scale": 0.1, "embedding_scale": 3.0, "residual_scale": 0.4, "logit_scale": 2.0},
    ),
    "qwen3moe": (
        "qwen3moe",
        {
            "model_type": "qwen3_moe", "head_dim": 16, "num_experts": EXPERTS, "num_experts_per_tok": 2,
            "moe_intermediate_size": 32, "norm_topk_prob": True, "decoder_sparse_step": 1, "mlp_only_layers": [],
        },
        {"expert_count": EXPERTS, "expert_used_count": 2, "expert_feed_forward_length": 32},
    ),
}  # fmt: skip

_LAYER = {
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.qkv_proj": "attn_qkv", "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "mlp.gate_up_proj": "ffn_up",
    "mlp.gate": "ffn_gate_inp",
}  # fmt: skip
_GEMMA_LAYER = _LAYER | {
    "post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}  # fmt: skip
_ENDS = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}


def pieces() -> list[str]:
    """A SentencePiece vocabulary: three special tokens, all bytes, letters and words."""
    words = [*WORDS, "and", "to", "in", "is", "it", "on", "for", "that", "this", "rent", "pays", "month"]
    letters = [f"{mark}{c}" for c in 'abcdefghijklmnopqrstuvwxyz0123456789.,!?:"{}' for mark in ("", "\u2581")]
    parts = sorted({word[:i] for word in words for i in range(2, len(word) + 1)} | {"\u2581" + w for w in words})
    return ["<unk>", "<s>", "</s>", *(f"<0x{i:02X}>" for i in range(256)), "\u2581", *letters, *parts]


def tokenizer() -> dict[str, Any]:
    """Its metadata."""
    tokens = pieces()
    kinds = [2, 3, 3, *[6] * 256, *[1] * (len(tokens) - 259)]
    scores = [0.0] * 259 + [-float(i) for i in range(len(tokens) - 259)]
    order = {token: -float(i) for i, token in enumerate(sorted(tokens[259:], key=len, reverse=True))}
    scores[259:] = [order[token] for token in tokens[259:]]
    return {
        "tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.scores": np.array(scores, np.float32), "tokenizer.ggml.token_type": np.array(kinds, np.int32),
        "tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 2, "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.ggml.add_bos_token": True,
    }  # fmt: skip


def full_config(case: str) -> dict[str, Any]:
    return SHARED | {"vocab_size": len(pieces())} | CASES[case][1]


def write_folder(folder: Path, case: str) -> Path:
    """config.json and model.safetensors, as transformers reads them."""
    folder.mkdir(parents=True)
    config = full_config(case)
    (folder / "config.json").write_text(json.dumps(config))
    write_safetensors(folder / "model.safetensors", arrays(config))
    return folder


def write_decoder(
    path: Path, case: str, *kinds: GgmlType, metadata: dict[str, Any] | None = None,
    tensors: dict[str, np.ndarray | None] | None = None, sizes: dict[str, int] | None = None,
) -> Path:  # fmt: skip
    """A GGUF file of the same weights, matrices of these types in turn (F32 if there are none) where their rows allow
    it; `metadata` changes keys, `tensors` tensors (None removes one) and `sizes` the config."""
    config = full_config(case) | (sizes or {})
    found = {**to_gguf(case, config, arrays(config)), **(tensors or {})}
    keys: dict[str, Any] = {**facts(case, config), **tokenizer(), **(metadata or {})}
    each = cycle(kinds or [GgmlType.F32])
    sources = [_source(name, value, each) for name, value in found.items() if value is not None]
    write(path, {key: value for key, value in keys.items() if value is not None}, sources)
    return path


def _source(name: str, value: np.ndarray, kinds: Iterator[GgmlType]) -> TensorSource:
    from engine.gguf.types import BLOCKS

    is_matrix = value.ndim > 1 and "gate_inp" not in name
    kind = next(kinds) if is_matrix else GgmlType.F32
    chosen = kind if value.shape[-1] % BLOCKS[kind].values == 0 else GgmlType.F32
    data = TYPES[chosen].quantize(np.ascontiguousarray(value, np.float32)).reshape(-1)
    return TensorSource(name, chosen, value.shape, lambda: [data])


def facts(case: str, config: dict[str, Any]) -> dict[str, Any]:
    """The metadata that llama.cpp's converter writes."""
    arch, _, more = CASES[case]
    depth = _depth(config)
    found = {
        "context_length": config["max_position_embeddings"], "embedding_length": config["hidden_size"],
        "block_count": config["num_hidden_layers"], "feed_forward_length": config["intermediate_size"],
        "attention.head_count": HEADS,
        "attention.head_count_kv": GROUPS, "attention.layer_norm_rms_epsilon": config["rms_norm_eps"],
        "rope.freq_base": config["rope_theta"], "rope.dimension_count": depth,
    }  # fmt: skip
    if "head_dim" in config:
        found |= {"attention.key_length": depth, "attention.value_length": depth}
    found |= more
    return {"general.architecture": arch, "general.name": case} | {f"{arch}.{k}": v for k, v in found.items()}


def _depth(config: dict[str, Any]) -> int:
    """Values of a head."""
    depth: int = config.get("head_dim", config["hidden_size"] // HEADS)
    return depth


def arrays(config: dict[str, Any]) -> Tensors:
    """The weights under their names in transformers."""
    rng, kind = np.random.default_rng(7), config["model_type"]
    depth, gemma = _depth(config), kind.startswith("gemma")
    width, inner = config["hidden_size"], config.get("moe_intermediate_size", config["intermediate_size"])
    queries, keys = HEADS * depth, GROUPS * depth
    layer: dict[str, tuple[int, ...]] = {
        "input_layernorm.weight": (width,),
        "post_attention_layernorm.weight": (width,),
    }
    if kind == "phi3":
        layer |= {
            "self_attn.qkv_proj.weight": (queries + 2 * keys, width),
            "mlp.gate_up_proj.weight": (2 * inner, width),
        }
    else:
        layer |= {f"self_attn.{n}_proj.weight": (queries if n == "q" else keys, width) for n in "qkv"}
    if kind == "qwen2":
        layer |= {f"self_attn.{n}_proj.bias": (queries if n == "q" else keys,) for n in "qkv"}
    if kind in ("qwen3", "qwen3_moe", "gemma3_text"):
        layer |= {f"self_attn.{n}_norm.weight": (depth,) for n in "qk"}
    if gemma:
        layer |= {f"{n}_feedforward_layernorm.weight": (width,) for n in ("pre", "post")}
    layer["self_attn.o_proj.weight"] = (width, queries)
    if kind == "qwen3_moe":
        layer["mlp.gate.weight"] = (EXPERTS, width)
        for i in range(EXPERTS):
            layer |= {f"mlp.experts.{i}.{n}_proj.weight": (inner, width) for n in ("gate", "up")}
            layer[f"mlp.experts.{i}.down_proj.weight"] = (width, inner)
    else:
        if kind != "phi3":
            layer |= {f"mlp.{n}_proj.weight": (inner, width) for n in ("gate", "up")}
        layer["mlp.down_proj.weight"] = (width, inner)
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (config["vocab_size"], width)}
    for i in range(config["num_hidden_layers"]):
        shapes |= {f"model.layers.{i}.{name}": shape for name, shape in layer.items()}
    shapes["model.norm.weight"] = (width,)
    if not config["tie_word_embeddings"]:
        shapes["lm_head.weight"] = (config["vocab_size"], width)
    return {name: _random(rng, name, shape, gemma) for name, shape in shapes.items()}


def _random(rng: np.random.Generator, name: str, shape: tuple[int, ...], gemma: bool) -> np.ndarray:
    values = rng.standard_normal(shape)
    if len(shape) == 1:
        gain = name.endswith("weight") and not gemma
        return (1 + 0.1 * values if gain else 0.1 * values).astype(np.float32)
    return (values * (0.5 if "embed_tokens" in name else 1.5 / np.sqrt(shape[1]))).astype(np.float32)


def to_gguf(case: str, config: dict[str, Any], source: Tensors) -> Tensors:
    """The same under the names of GGUF files, as llama.cpp's converter changes them."""
    arch = CASES[case][0]
    gemma, depth = arch.startswith("gemma"), _depth(config)
    names, found, experts = _GEMMA_LAYER if gemma else _LAYER, {}, {}
    for name, value in source.items():
        stem, _, ending = name.rpartition(".")
        if ".experts." in name:
            _, _, layer, _, _, _, part = stem.split(".")
            experts.setdefault(f"blk.{layer}.ffn_{part.removesuffix('_proj')}_exps.weight", []).append(value)
            continue
        if stem in _ENDS:
            target = _ENDS[stem]
        else:
            _, _, layer, rest = stem.split(".", 3)
            target = f"blk.{layer}.{names[rest]}"
        if gemma and stem.endswith("norm"):
            value = value + 1
        if arch in ("llama", "granite") and target.endswith(("attn_q", "attn_k")):
            value = value.reshape(-1, 2, depth // 2, value.shape[1]).swapaxes(1, 2).reshape(value.shape)
        found[f"{target}.{ending}"] = value
    found |= {name: np.stack(values) for name, values in experts.items()}
    scaling = config.get("rope_scaling") or {}
    if scaling.get("rope_type") == "llama3":
        found["rope_freqs.weight"] = _llama3(scaling, depth)
    if scaling.get("rope_type") == "longrope":
        for length in ("short", "long"):
            found[f"rope_factors_{length}.weight"] = np.array(scaling[f"{length}_factor"], np.float32)
    return found


def _llama3(scaling: dict[str, Any], depth: int) -> np.ndarray:
    """By what each frequency is divided: long waves by the factor, short ones not, a ramp between."""
    waves = 2 * math.pi * 10000.0 ** (np.arange(0, depth, 2) / depth)
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    share = np.clip((scaling["original_max_position_embeddings"] / waves - low) / (high - low), 0, 1)
    return (1 / ((1 - share) / scaling["factor"] + share)).astype(np.float32)
