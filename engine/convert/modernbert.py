"""ModernBERT as GGUF: architecture `modern-bert`, with llama.cpp's tensor names and keys.

Source: Warner et al. 2024 and transformers. Norms before the attention (none before the first) and before the feed
forward, one at the end; rotary positions; every n-th layer sees the whole text, the others half a window to each side,
with a base of the rotary positions of their own; gated GELU, whose two halves are one matrix (activated half first).
"""

from collections.abc import Mapping
from typing import Any

from engine.convert import base, bert
from engine.convert.base import HeadLayout, Source, affine
from engine.convert.folder import SourceFolder
from engine.errors import BadModelFile, UnsupportedModel
from engine.gguf import MetadataValue

ARCHITECTURE = "modern-bert"
PREFIXES: tuple[str, ...] = ("model.",)
IGNORED: tuple[str, ...] = ("head.", "decoder.")

_HEAD = HeadLayout(
    "classifier",
    dense="head.dense",
    activation="gelu",
    norm="head.norm",
    dense_bias="classifier_bias",
    norm_bias="norm_bias",
)
HEADS: Mapping[str, HeadLayout] = {"sequence": _HEAD, "tokens": _HEAD, "span": _HEAD}

# what is computed otherwise, if anything but this is found
EXPECTED = {
    "hidden_activation": ("gelu", "gelu"),
    "classifier_activation": ("gelu", "gelu"),
    "position_embedding_type": ("absolute", "absolute"),  # of no meaning, but always this
    "quantization_config": (None, None),
}
FLAGS = ("norm_bias", "attention_bias", "mlp_bias", "classifier_bias")

SIZES = {**bert.SIZES, "attention.sliding_window": "local_attention", "vocab_size": "vocab_size"}

TENSORS_PER_LAYER = 5
FULL, SLIDING = "full_attention", "sliding_attention"


def read_metadata(folder: SourceFolder, config: dict[str, Any]) -> dict[str, MetadataValue]:
    """The keys of the architecture. Raises UnsupportedModel for a variant that would be computed wrongly."""
    base.expect(folder, config, EXPECTED)
    base.positive(folder, config, SIZES.values())
    base.multiple_of_heads(folder, config["hidden_size"], 2 * config["num_attention_heads"])
    for flag in FLAGS:
        if type(config.get(flag, False)) is not bool:
            raise BadModelFile(f"{folder.path}/config.json: {flag}: found {config[flag]!r:.40}, expected a bool")
    base.layers(folder, config["num_hidden_layers"], TENSORS_PER_LAYER)
    return {
        **{f"{ARCHITECTURE}.{key}": config[source] for key, source in SIZES.items()},
        f"{ARCHITECTURE}.attention.sliding_window_pattern": _pattern(folder, config),
        f"{ARCHITECTURE}.attention.layer_norm_epsilon": base.small(folder, config, "norm_eps"),
        f"{ARCHITECTURE}.attention.causal": False,
        f"{ARCHITECTURE}.rope.scaling.type": "none",
        f"{ARCHITECTURE}.rope.freq_base": _theta(folder, config, FULL, "global_rope_theta"),
        f"{ARCHITECTURE}.rope.freq_base_swa": _theta(folder, config, SLIDING, "local_rope_theta"),
    }


def tensors(config: dict[str, Any]) -> dict[str, Source]:
    """Name in the GGUF file -> source, in the order of the GGUF file."""
    width, inner = config["hidden_size"], config["intermediate_size"]
    norms, attention, mlp = (config.get(flag, False) for flag in FLAGS[:3])
    found = {
        "token_embd.weight": Source("embeddings.tok_embeddings.weight", (config["vocab_size"], width)),
        **affine("token_embd_norm", "embeddings.norm", (width,), bias=norms),
    }
    for number in range(config["num_hidden_layers"]):
        block, layer = f"blk.{number}", f"layers.{number}"
        found |= {
            **(affine(f"{block}.attn_norm", f"{layer}.attn_norm", (width,), bias=norms) if number else {}),
            **affine(f"{block}.attn_qkv", f"{layer}.attn.Wqkv", (3 * width, width), bias=attention),
            **affine(f"{block}.attn_output", f"{layer}.attn.Wo", (width, width), bias=attention),
            **affine(f"{block}.ffn_norm", f"{layer}.mlp_norm", (width,), bias=norms),
            **affine(f"{block}.ffn_up", f"{layer}.mlp.Wi", (2 * inner, width), bias=mlp),
            **affine(f"{block}.ffn_down", f"{layer}.mlp.Wo", (width, inner), bias=mlp),
        }
    return found | affine("output_norm", "final_norm", (width,), bias=norms)


def stays_f32(name: str, shape: tuple[int, ...]) -> bool:
    """Whether a tensor is stored in float32 whatever the file type: norms and biases are."""
    return len(shape) == 1


def _pattern(folder: SourceFolder, config: dict[str, Any]) -> int:
    """n: layers 0, n, 2n … see the whole text."""
    count, types = config["num_hidden_layers"], config.get("layer_types")
    if types is None:
        found = {"global_attn_every_n_layers": 3} | config
        base.positive(folder, found, ["global_attn_every_n_layers"])
        return int(found["global_attn_every_n_layers"])
    full = [i for i, kind in enumerate(types) if kind == FULL] if isinstance(types, list) else []
    every = full[1] if len(full) > 1 else count
    if types != [SLIDING if i % every else FULL for i in range(count)]:
        expected = f"{FULL} in every n-th of {count} layers, else {SLIDING}"
        raise UnsupportedModel(f"{folder.path}/config.json: layer_types: found {types!r:.200}, expected {expected}")
    return every


def _theta(folder: SourceFolder, config: dict[str, Any], kind: str, older: str) -> float:
    """The base of the rotary positions; the older form may have none for the windows, which then have the other one."""
    rope = config.get("rope_parameters")
    if rope is None:
        if config.get("rope_scaling") is not None:
            found = f"found {config['rope_scaling']!r:.80}, expected none"
            raise UnsupportedModel(f"{folder.path}/config.json: rope_scaling: {found}")
        value = config.get(older)
        return base.theta(folder, older, config.get("global_rope_theta") if value is None else value)
    part = rope.get(kind) if isinstance(rope, dict) else None
    if not isinstance(part, dict) or part.get("rope_type", "default") != "default":
        where = f"{folder.path}/config.json: rope_parameters"
        raise UnsupportedModel(f"{where}: found {rope!r:.120}, expected {kind} with rope_type 'default'")
    return base.theta(folder, "rope_theta", part.get("rope_theta"))
