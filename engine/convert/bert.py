"""A Hugging Face BertModel as GGUF: architecture `bert`, with llama.cpp's tensor names and keys."""

from typing import Any

from engine.convert import safetensors
from engine.convert.folder import WEIGHTS, SourceFolder
from engine.errors import BadModelFile, UnsupportedModel
from engine.gguf import MetadataValue

ARCHITECTURE = "bert"

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

IGNORED = {"embeddings.position_ids", "pooler.dense.weight", "pooler.dense.bias"}
"""Not weights, or not used for sentence embeddings."""

TENSORS_PER_LAYER = 16


def read_metadata(folder: SourceFolder, config: dict[str, Any]) -> dict[str, MetadataValue]:
    """The keys of the architecture. Raises UnsupportedModel for a variant that would be computed wrongly."""
    where = f"{folder.path}/config.json"
    for key, (default, expected) in EXPECTED.items():
        if config.get(key, default) != expected:
            raise UnsupportedModel(f"{where}: {key}: found {config[key]!r:.80}, expected {expected!r}")
    for key in (*SIZES.values(), "vocab_size", "type_vocab_size"):
        if type(config.get(key)) is not int or not 1 <= config[key] < 1 << 31:
            raise BadModelFile(f"{where}: {key}: found {config.get(key)!r:.40}, expected a positive number")
    if config["hidden_size"] % config["num_attention_heads"]:
        raise BadModelFile(f"{where}: hidden_size: found {config['hidden_size']}, expected a multiple of the heads")
    epsilon = config.get("layer_norm_eps")
    if type(epsilon) is not float or not 0 < epsilon < 1:
        raise BadModelFile(f"{where}: layer_norm_eps: found {epsilon!r:.40}, expected a number between 0 and 1")
    _check_layers(folder, config["num_hidden_layers"], where)
    return {
        **{f"{ARCHITECTURE}.{key}": config[source] for key, source in SIZES.items()},
        f"{ARCHITECTURE}.attention.layer_norm_epsilon": epsilon,
        f"{ARCHITECTURE}.attention.causal": False,
        "tokenizer.ggml.token_type_count": config["type_vocab_size"],
    }


def tensors(config: dict[str, Any]) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Name in the GGUF file -> name in the source and shape (rows, columns), in the order of the GGUF file."""
    width, inner = config["hidden_size"], config["intermediate_size"]
    found: dict[str, tuple[str, tuple[int, ...]]] = {
        "token_embd.weight": ("embeddings.word_embeddings.weight", (config["vocab_size"], width)),
        "position_embd.weight": ("embeddings.position_embeddings.weight", (config["max_position_embeddings"], width)),
        "token_types.weight": ("embeddings.token_type_embeddings.weight", (config["type_vocab_size"], width)),
        **_pair("token_embd_norm", "embeddings.LayerNorm", (width,)),
    }
    for number in range(config["num_hidden_layers"]):
        block, layer = f"blk.{number}", f"encoder.layer.{number}"
        found |= {
            **_pair(f"{block}.attn_q", f"{layer}.attention.self.query", (width, width)),
            **_pair(f"{block}.attn_k", f"{layer}.attention.self.key", (width, width)),
            **_pair(f"{block}.attn_v", f"{layer}.attention.self.value", (width, width)),
            **_pair(f"{block}.attn_output", f"{layer}.attention.output.dense", (width, width)),
            **_pair(f"{block}.attn_output_norm", f"{layer}.attention.output.LayerNorm", (width,)),
            **_pair(f"{block}.ffn_up", f"{layer}.intermediate.dense", (inner, width)),
            **_pair(f"{block}.ffn_down", f"{layer}.output.dense", (width, inner)),
            **_pair(f"{block}.layer_output_norm", f"{layer}.output.LayerNorm", (width,)),
        }
    return found


def _check_layers(folder: SourceFolder, layers: int, where: str) -> None:
    """`tensors` lists every layer's names: no more of them than the file can hold."""
    if not folder.has(WEIGHTS):  # said by the importer
        return
    count = len(safetensors.read(folder, WEIGHTS))
    if layers * TENSORS_PER_LAYER > count:
        expected = f"at most {count // TENSORS_PER_LAYER} ({WEIGHTS} has {count} tensors)"
        raise BadModelFile(f"{where}: num_hidden_layers: found {layers}, expected {expected}")


def stays_f32(name: str, shape: tuple[int, ...]) -> bool:
    """llama.cpp never quantizes norms, biases, positions and token types; together they are small."""
    return len(shape) == 1 or name in ("position_embd.weight", "token_types.weight")


def _pair(name: str, source: str, shape: tuple[int, ...]) -> dict[str, tuple[str, tuple[int, ...]]]:
    return {
        f"{name}.weight": (f"{source}.weight", shape),
        f"{name}.bias": (f"{source}.bias", shape[:1]),
    }
