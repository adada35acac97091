"""nomic-bert as GGUF: architecture `nomic-bert`, with llama.cpp's tensor names and keys.

BERT with rotary instead of learned positions, SwiGLU instead of GELU, no biases but those of the norms, and query, key
and value in one matrix. Source: the configuration and code published with nomic-embed-text-v1.5, and transformers.
Their rotary base is scaled for texts beyond the trained length; the context ends there.
"""

from collections.abc import Mapping
from typing import Any

from engine.convert import base, bert
from engine.convert.base import HeadLayout, Source, affine
from engine.convert.folder import SourceFolder
from engine.errors import BadModelFile, UnsupportedModel
from engine.gguf import MetadataValue

ARCHITECTURE = "nomic-bert"
PREFIXES: tuple[str, ...] = ("nomic_bert.", "bert.")
IGNORED: tuple[str, ...] = ("embeddings.position_ids", "pooler.", "cls.")

HEADS: Mapping[str, HeadLayout] = {
    "sequence": HeadLayout("classifier", dense="pooler.dense", activation="tanh"),
    "tokens": HeadLayout("classifier"),
}

# what is computed otherwise, if anything but this is found; the names are those of the first publication
EXPECTED = {
    "activation_function": ("swiglu", "swiglu"),
    "hidden_act": ("silu", "silu"),
    "prenorm": (False, False),
    "parallel_block": (False, False),
    "use_rms_norm": (False, False),
    "causal": (False, False),
    "qkv_proj_bias": (False, False),
    "mlp_fc1_bias": (False, False),
    "mlp_fc2_bias": (False, False),
    "rotary_emb_interleaved": (False, False),
    "rotary_emb_scale_base": (None, None),
    "scale_attn_by_inverse_layer_idx": (False, False),
    "quantization_config": (None, None),
}
MIXTURE = ("moe_every_n_layers", "num_experts", "num_local_experts")

# name in a newer config.json -> older name
NAMES = {
    "hidden_size": "n_embd",
    "intermediate_size": "n_inner",
    "num_hidden_layers": "n_layer",
    "num_attention_heads": "n_head",
    "max_position_embeddings": "n_positions",
    "layer_norm_eps": "layer_norm_epsilon",
}

TRAINED_POSITIONS = 2048
TENSORS_PER_LAYER = 9


def read_metadata(folder: SourceFolder, config: dict[str, Any]) -> dict[str, MetadataValue]:
    """The keys of the architecture. Raises UnsupportedModel for a variant that would be computed wrongly."""
    _check_kind(folder, config)
    config = _renamed(config)
    sizes = [name for name in NAMES if name != "layer_norm_eps"]
    base.positive(folder, config, (*sizes, "vocab_size", "type_vocab_size", "max_trained_positions"))
    width, heads = config["hidden_size"], config["num_attention_heads"]
    base.multiple_of_heads(folder, width, 2 * heads)  # rotary positions turn pairs of values
    base.expect(folder, config, {"head_dim": (width // heads, width // heads)})
    base.layers(folder, config["num_hidden_layers"], TENSORS_PER_LAYER)
    return {
        **{f"{ARCHITECTURE}.{key}": config[source] for key, source in bert.SIZES.items()},
        f"{ARCHITECTURE}.context_length": min(config["max_position_embeddings"], config["max_trained_positions"]),
        f"{ARCHITECTURE}.attention.layer_norm_epsilon": base.small(folder, config, "layer_norm_eps"),
        f"{ARCHITECTURE}.attention.causal": False,
        f"{ARCHITECTURE}.rope.freq_base": _theta(folder, config),
        "tokenizer.ggml.token_type_count": config["type_vocab_size"],
    }


def tensors(config: dict[str, Any]) -> dict[str, Source]:
    """Name in the GGUF file -> source, in the order of the GGUF file."""
    config = _renamed(config)
    width, inner = config["hidden_size"], config["intermediate_size"]
    found = {
        "token_embd.weight": Source("embeddings.word_embeddings.weight", (config["vocab_size"], width)),
        "token_types.weight": Source("embeddings.token_type_embeddings.weight", (config["type_vocab_size"], width)),
        **affine("token_embd_norm", "emb_ln", (width,)),
    }
    for number in range(config["num_hidden_layers"]):
        block, layer = f"blk.{number}", f"encoder.layers.{number}"
        found |= {
            **affine(f"{block}.attn_qkv", f"{layer}.attn.Wqkv", (3 * width, width), bias=False),
            **affine(f"{block}.attn_output", f"{layer}.attn.out_proj", (width, width), bias=False),
            **affine(f"{block}.attn_output_norm", f"{layer}.norm1", (width,)),
            **affine(f"{block}.ffn_up", f"{layer}.mlp.fc11", (inner, width), bias=False),
            **affine(f"{block}.ffn_gate", f"{layer}.mlp.fc12", (inner, width), bias=False),
            **affine(f"{block}.ffn_down", f"{layer}.mlp.fc2", (width, inner), bias=False),
            **affine(f"{block}.layer_output_norm", f"{layer}.norm2", (width,)),
        }
    return found


def stays_f32(name: str, shape: tuple[int, ...]) -> bool:
    """Norms and token types."""
    return len(shape) == 1 or name == "token_types.weight"


def _check_kind(folder: SourceFolder, config: dict[str, Any]) -> None:
    where = f"{folder.path}/config.json"
    base.expect(folder, config, EXPECTED)
    for key in MIXTURE:
        if config.get(key):
            raise UnsupportedModel(f"{where}: {key}: found {config[key]!r:.40}, expected no mixture of experts")
    if config.get("rotary_emb_fraction", 1.0) not in (1, 1.0):
        raise UnsupportedModel(f"{where}: rotary_emb_fraction: found {config['rotary_emb_fraction']!r:.40}, expected 1")


def _renamed(config: dict[str, Any]) -> dict[str, Any]:
    older = {name: config[old] for name, old in NAMES.items() if old in config}
    usual = {"max_trained_positions": TRAINED_POSITIONS, "type_vocab_size": 2}
    return usual | config | older


def _theta(folder: SourceFolder, config: dict[str, Any]) -> float:
    rope = config.get("rope_parameters")
    if rope is None:
        return base.theta(folder, "rotary_emb_base", config.get("rotary_emb_base"))
    if not isinstance(rope, dict):
        raise BadModelFile(f"{folder.path}/config.json: rope_parameters: found {rope!r:.80}, expected an object")
    if rope.get("rope_type", "default") != "default":
        found = f"found rope_type {rope['rope_type']!r:.40}, expected 'default'"
        raise UnsupportedModel(f"{folder.path}/config.json: rope_parameters: {found}")
    return base.theta(folder, "rope_theta", rope.get("rope_theta"))
