"""Small random BERT models as Hugging Face folders: real files with real arithmetic, made in a moment."""

import json
import string
import struct
from pathlib import Path

import numpy as np

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = [
    "the",
    "of",
    "contract",
    "invoice",
    "lease",
    "report",
    "total",
    "date",
    "due",
    "landlord",
    "tenant",
    "mietvertrag",
    "rechnung",
    "der",
    "die",
    "und",
]


def vocabulary() -> list[str]:
    """Every letter, digit and sign as a word and as a continuation, and some whole words: nothing is unknown."""
    signs = list(string.ascii_lowercase + string.digits + string.punctuation)
    return SPECIAL + signs + [f"##{sign}" for sign in signs] + WORDS


def write_bert_folder(
    folder: Path,
    *,
    width: int = 64,
    inner: int = 128,
    layers: int = 2,
    heads: int = 2,
    context: int = 128,
    seed: int = 0,
) -> Path:
    """A folder as sentence-transformers saves it: config, weights (float32, seeded), vocabulary, mean pooling."""
    tokens = vocabulary()
    rng = np.random.default_rng(seed)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(tokens), width),
        "embeddings.position_embeddings.weight": (context, width),
        "embeddings.token_type_embeddings.weight": (2, width),
        **_norm("embeddings.LayerNorm", width),
    }
    for i in range(layers):
        layer = f"encoder.layer.{i}"
        for name, rows, columns in [
            ("attention.self.query", width, width),
            ("attention.self.key", width, width),
            ("attention.self.value", width, width),
            ("attention.output.dense", width, width),
            ("intermediate.dense", inner, width),
            ("output.dense", width, inner),
        ]:
            shapes |= {f"{layer}.{name}.weight": (rows, columns), f"{layer}.{name}.bias": (rows,)}
        shapes |= _norm(f"{layer}.attention.output.LayerNorm", width) | _norm(f"{layer}.output.LayerNorm", width)
    tensors = {name: _random(rng, name, shape) for name, shape in shapes.items()}
    folder.mkdir(parents=True)
    write_safetensors(folder / "model.safetensors", tensors)
    (folder / "vocab.txt").write_text("\n".join(tokens) + "\n")
    for name, value in _configs(width, inner, layers, heads, context, len(tokens)).items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(value))
    return folder


def _norm(name: str, width: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (width,), f"{name}.bias": (width,)}


def _random(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
    if name.endswith("LayerNorm.weight"):
        return (1 + 0.1 * rng.standard_normal(shape)).astype(np.float32)
    scale = 1.0 if "embeddings" in name and len(shape) == 2 else 1 / np.sqrt(shape[-1])
    return (scale * rng.standard_normal(shape)).astype(np.float32)


def write_safetensors(path: Path, tensors: dict[str, np.ndarray]) -> None:
    header, offset = {}, 0
    for name, array in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    head = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(head)) + head + b"".join(a.tobytes() for a in tensors.values()))


def _configs(width: int, inner: int, layers: int, heads: int, context: int, size: int) -> dict[str, object]:
    modules = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}
    return {
        "config.json": {
            "architectures": ["BertModel"], "model_type": "bert", "hidden_act": "gelu", "hidden_size": width,
            "intermediate_size": inner, "num_hidden_layers": layers, "num_attention_heads": heads,
            "max_position_embeddings": context, "vocab_size": size, "type_vocab_size": 2, "layer_norm_eps": 1e-12,
            "pad_token_id": 0,
        },
        "tokenizer_config.json": {
            "do_lower_case": True, "unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]",
            "cls_token": "[CLS]", "mask_token": "[MASK]", "tokenize_chinese_chars": True, "strip_accents": None,
            "tokenizer_class": "BertTokenizer",
        },
        "modules.json": [
            {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for i, (kind, path) in enumerate(modules.items())
        ],
        "1_Pooling/config.json": {
            "word_embedding_dimension": width, "pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False,
            "pooling_mode_max_tokens": False, "pooling_mode_mean_sqrt_len_tokens": False,
        },
        "sentence_bert_config.json": {"max_seq_length": context, "do_lower_case": False},
    }  # fmt: skip
