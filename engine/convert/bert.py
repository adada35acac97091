"""A Hugging Face BertModel as GGUF: architecture `bert`, with llama.cpp's tensor names and keys."""

from collections.abc import Mapping
from typing import Any

from engine.convert import base
from engine.convert.base import HeadLayout, Source, affine
from engine.convert.folder import SourceFolder
from engine.gguf import MetadataValue

ARCHITECTURE = "bert"
PREFIXES: tuple[str, ...] = ("bert.",)

# what is computed otherwise, if anything but this is found
EXPECTED = {
    "hidden_act": ("gelu", "gelu"),
    "position_embedding_type": ("absolute", "absolute"),
    "is_decoder": (False, False),
    "add_cross_attention": (False, False),
    "quantization_config": (None, None),
}

SIZES = {
    "context_length": "max_position_embeddings",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "block_count": "num_hidden_layers",
    "attention.head_count": "num_attention_heads",
}

IGNORED: tuple[str, ...] = ("embeddings.position_ids", "pooler.", "cls.")

HEADS: Mapping[str, HeadLayout] = {
    "sequence": HeadLayout("classifier", dense="pooler.dense", activation="tanh"),
    "tokens": HeadLayout("classifier"),
    "span": HeadLayout("qa_outputs"),
}

TENSORS_PER_LAYER = 16


def read_metadata(folder: SourceFolder, config: dict[str, Any]) -> dict[str, MetadataValue]:
    """The keys of the architecture. Raises UnsupportedModel for a variant that would be computed wrongly."""
    base.expect(folder, config, EXPECTED)
    base.positive(folder, config, (*SIZES.values(), "vocab_size", "type_vocab_size"))
    base.multiple_of_heads(folder, config["hidden_size"], config["num_attention_heads"])
    epsilon = base.small(folder, config, "layer_norm_eps")
    base.layers(folder, config["num_hidden_layers"], TENSORS_PER_LAYER)
    return {
        **{f"{ARCHITECTURE}.{key}": config[source] for key, source in SIZES.items()},
        f"{ARCHITECTURE}.attention.layer_norm_epsilon": epsilon,
        f"{ARCHITECTURE}.attention.causal": False,
        "tokenizer.ggml.token_type_count": config["type_vocab_size"],
    }


def tensors(config: dict[str, Any]) -> dict[str, Source]:
    """Name in the GGUF file -> source, in the order of the GGUF file."""
    width, inner = config["hidden_size"], config["intermediate_size"]
    positions = (config["max_position_embeddings"], width)
    found = {
        "token_embd.weight": Source("embeddings.word_embeddings.weight", (config["vocab_size"], width)),
        "position_embd.weight": Source("embeddings.position_embeddings.weight", positions),
        "token_types.weight": Source("embeddings.token_type_embeddings.weight", (config["type_vocab_size"], width)),
        **affine("token_embd_norm", "embeddings.LayerNorm", (width,)),
    }
    for number in range(config["num_hidden_layers"]):
        block, layer = f"blk.{number}", f"encoder.layer.{number}"
        found |= {
            **affine(f"{block}.attn_q", f"{layer}.attention.self.query", (width, width)),
            **affine(f"{block}.attn_k", f"{layer}.attention.self.key", (width, width)),
            **affine(f"{block}.attn_v", f"{layer}.attention.self.value", (width, width)),
            **affine(f"{block}.attn_output", f"{layer}.attention.output.dense", (width, width)),
            **affine(f"{block}.attn_output_norm", f"{layer}.attention.output.LayerNorm", (width,)),
            **affine(f"{block}.ffn_up", f"{layer}.intermediate.dense", (inner, width)),
            **affine(f"{block}.ffn_down", f"{layer}.output.dense", (width, inner)),
            **affine(f"{block}.layer_output_norm", f"{layer}.output.LayerNorm", (width,)),
        }
    return found


def stays_f32(name: str, shape: tuple[int, ...]) -> bool:
    """llama.cpp never quantizes norms, biases, positions and token types; together they are small."""
    return len(shape) == 1 or name in ("position_embd.weight", "token_types.weight")
