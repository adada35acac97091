"""Small random encoders of every kind as Hugging Face folders, with the tensor names under which they are published.

The weights come from a seeded generator, so that results of other software on the same folder can be kept in a file.
"""

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import numpy as np

from tests.engine.tokenizer.charsmaps import charsmap
from tests.models import SPECIAL, WORDS, vocabulary, write_safetensors

WIDTH, INNER, HEADS, LABELS = 32, 48, 4, 3
SHARED = {"hidden_size": WIDTH, "intermediate_size": INNER, "num_attention_heads": HEADS, "num_hidden_layers": 3}
ROBERTA = {
    **SHARED, "hidden_act": "gelu", "max_position_embeddings": 42, "type_vocab_size": 1, "layer_norm_eps": 1e-5,
    "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2,
}  # fmt: skip
ROBERTA_SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]

CONFIGS: dict[str, dict[str, Any]] = {
    "bert": {
        **SHARED, "model_type": "bert", "hidden_act": "gelu", "max_position_embeddings": 40, "type_vocab_size": 2,
        "layer_norm_eps": 1e-12, "pad_token_id": 0,
    },
    "roberta": {**ROBERTA, "model_type": "roberta"},
    "xlm-roberta": {**ROBERTA, "model_type": "xlm-roberta"},
    "nomic_bert": {
        "model_type": "nomic_bert", "n_embd": WIDTH, "n_inner": INNER, "n_head": HEADS, "n_layer": 3,
        "n_positions": 8192, "max_trained_positions": 40, "type_vocab_size": 2, "layer_norm_epsilon": 1e-12,
        "rotary_emb_base": 1000,
        "activation_function": "swiglu", "prenorm": False, "causal": False, "qkv_proj_bias": False,
        "mlp_fc1_bias": False, "mlp_fc2_bias": False, "rotary_emb_fraction": 1.0, "rotary_emb_interleaved": False,
        "rotary_emb_scale_base": None, "rotary_scaling_factor": None,
    },
    "modernbert": {
        **SHARED, "model_type": "modernbert", "num_hidden_layers": 4, "hidden_activation": "gelu",
        "max_position_embeddings": 40, "norm_eps": 1e-5, "local_attention": 8, "global_attn_every_n_layers": 3,
        "global_rope_theta": 160000.0, "local_rope_theta": 10000.0, "norm_bias": False, "attention_bias": False,
        "mlp_bias": False, "classifier_bias": False, "classifier_activation": "gelu", "classifier_pooling": "cls",
        "pad_token_id": 3, "cls_token_id": 1, "sep_token_id": 2, "bos_token_id": 1, "eos_token_id": 2,
    },
}  # fmt: skip

ENDINGS = {"sequence": "ForSequenceClassification", "tokens": "ForTokenClassification", "span": "ForQuestionAnswering"}
CLASSES = {
    "bert": "Bert", "roberta": "Roberta", "xlm-roberta": "XLMRoberta", "nomic_bert": "NomicBert",
    "modernbert": "ModernBert",
}  # fmt: skip


def write_encoder(
    folder: Path,
    name: str,
    head: str = "embedding",
    config: dict[str, Any] | None = None,
    tensors: dict[str, np.ndarray | None] | None = None,
    files: dict[str, Any] | None = None,
    seed: int = 5,
) -> Path:
    """A folder of the named kind with a head; `config` changes config.json, `tensors` tensors and `files` whole files
    (None removes one)."""
    tokenizer = TOKENIZERS[name]()
    rows = tokenizer.pop("rows")
    names = {str(i): f"label {i}" for i in range(2 if head == "span" else LABELS)}
    labels = len((config or {}).get("id2label", names))
    full = CONFIGS[name] | {"vocab_size": rows} | (config or {})
    full |= {"architectures": [CLASSES[name] + ENDINGS.get(head, "Model")]}
    if head != "embedding":
        full = {"id2label": names} | full
    rng = np.random.default_rng(seed)
    arrays = {key: _random(rng, key, shape) for key, shape in _shapes(name, head, full, labels).items()}
    contents = {"config.json": full, **tokenizer, **(_modules() if head == "embedding" else {}), **(files or {})}
    folder.mkdir(parents=True)
    write_safetensors(
        folder / "model.safetensors", {k: v for k, v in (arrays | (tensors or {})).items() if v is not None}
    )
    for file, content in contents.items():
        (folder / file).parent.mkdir(exist_ok=True)
        if content is not None:
            (folder / file).write_text(content if isinstance(content, str) else json.dumps(content))
    return folder


def _shapes(name: str, head: str, config: dict[str, Any], labels: int) -> dict[str, tuple[int, ...]]:
    layers = {"bert": _bert, "roberta": _bert, "xlm-roberta": _bert, "nomic_bert": _nomic, "modernbert": _modern}[name]
    prefixes = {"bert": "bert.", "nomic_bert": "nomic_bert.", "modernbert": "model."}
    prefix = "" if head == "embedding" else prefixes.get(name, "roberta.")
    body = {prefix + key: shape for key, shape in layers(config).items()}
    return body | ({} if head == "embedding" else _head(name, head, prefix, labels))


def _head(name: str, head: str, prefix: str, labels: int) -> dict[str, tuple[int, ...]]:
    square, output = (WIDTH, WIDTH), (labels, WIDTH)
    if name == "modernbert":
        return {"head.dense.weight": square, "head.norm.weight": (WIDTH,), **_affine("classifier", output)}
    if head == "span":
        return _affine("qa_outputs", output)
    if head == "tokens":
        return _affine("classifier", output)
    if name in ("bert", "nomic_bert"):
        return _affine(f"{prefix}pooler.dense", square) | _affine("classifier", output)
    return _affine("classifier.dense", square) | _affine("classifier.out_proj", output)


def _affine(name: str, shape: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": shape, f"{name}.bias": shape[:1]}


def _bert(config: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (config["vocab_size"], WIDTH),
        "embeddings.position_embeddings.weight": (config["max_position_embeddings"], WIDTH),
        "embeddings.token_type_embeddings.weight": (config["type_vocab_size"], WIDTH),
        **_affine("embeddings.LayerNorm", (WIDTH,)),
    }
    for i in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{i}"
        for part in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
            found |= _affine(f"{layer}.{part}", (WIDTH, WIDTH))
        found |= _affine(f"{layer}.attention.output.LayerNorm", (WIDTH,)) | _affine(
            f"{layer}.output.LayerNorm", (WIDTH,)
        )
        found |= _affine(f"{layer}.intermediate.dense", (INNER, WIDTH)) | _affine(
            f"{layer}.output.dense", (WIDTH, INNER)
        )
    return found


def _nomic(config: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (config["vocab_size"], WIDTH),
        "embeddings.token_type_embeddings.weight": (config["type_vocab_size"], WIDTH),
        **_affine("emb_ln", (WIDTH,)),
    }
    for i in range(config["n_layer"]):
        layer = f"encoder.layers.{i}"
        found |= {
            f"{layer}.attn.Wqkv.weight": (3 * WIDTH, WIDTH), f"{layer}.attn.out_proj.weight": (WIDTH, WIDTH),
            f"{layer}.mlp.fc11.weight": (INNER, WIDTH), f"{layer}.mlp.fc12.weight": (INNER, WIDTH),
            f"{layer}.mlp.fc2.weight": (WIDTH, INNER),
            **_affine(f"{layer}.norm1", (WIDTH,)), **_affine(f"{layer}.norm2", (WIDTH,)),
        }  # fmt: skip
    return found


def _modern(config: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {
        "embeddings.tok_embeddings.weight": (config["vocab_size"], WIDTH),
        "embeddings.norm.weight": (WIDTH,),
        "final_norm.weight": (WIDTH,),
    }
    for i in range(config["num_hidden_layers"]):
        layer = f"layers.{i}"
        found |= {
            **({f"{layer}.attn_norm.weight": (WIDTH,)} if i else {}), f"{layer}.mlp_norm.weight": (WIDTH,),
            f"{layer}.attn.Wqkv.weight": (3 * WIDTH, WIDTH), f"{layer}.attn.Wo.weight": (WIDTH, WIDTH),
            f"{layer}.mlp.Wi.weight": (2 * INNER, WIDTH), f"{layer}.mlp.Wo.weight": (WIDTH, INNER),
        }  # fmt: skip
    return found


def _random(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
    values = rng.standard_normal(shape)
    if len(shape) == 1:
        is_gain = name.endswith("weight")
        return (1 + 0.1 * values if is_gain else 0.1 * values).astype(np.float32)
    return (values * (1.0 if "embeddings" in name else 1.5 / np.sqrt(shape[1]))).astype(np.float32)


def _modules() -> dict[str, Any]:
    return {
        "modules.json": [
            {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
            {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
        ],
        "1_Pooling/config.json": {"word_embedding_dimension": WIDTH, "pooling_mode_mean_tokens": True},
    }


def _wordpiece(more: int) -> dict[str, Any]:
    tokens = vocabulary()
    settings = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), SPECIAL, strict=True))
    return {
        "rows": len(tokens) + more, "vocab.txt": "\n".join(tokens) + "\n",
        "tokenizer_config.json": settings | {"do_lower_case": True, "tokenizer_class": "BertTokenizer"},
    }  # fmt: skip


def _special(names: list[str], first: int = 0) -> list[dict[str, Any]]:
    off = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return [{"id": first + i, "content": name, "special": True, **off} for i, name in enumerate(names)]


def unigram() -> dict[str, Any]:
    """XLM-RoBERTa's tokenizer, with a vocabulary of letters and words."""
    letters = [f"{mark}{c}" for c in "abcdefghijklmnopqrstuvwxyz0123456789.,!?éü" for mark in ("", "\u2581")]
    words = [f"\u2581{word}" for word in WORDS]
    pieces = [*ROBERTA_SPECIAL, "\u2581", *letters, *words, "<mask>"]
    scores = [0.0] * 4 + [-(2.0 + i / 8) for i in range(len(pieces) - 5)] + [0.0]
    blob = charsmap({"\t": " ", "\n": " ", "ﬁ": "fi", "\u3000": " ", "e\u0301": "é"})
    names = {
        "bos_token": "<s>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "pad_token": "<pad>",
        "mask_token": "<mask>",
    }
    full = {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": _special(ROBERTA_SPECIAL) + _special(["<mask>"], len(pieces) - 1),
        "normalizer": {"type": "Precompiled", "precompiled_charsmap": b64encode(blob).decode()},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "WhitespaceSplit"},
            {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True},
        ]},
        "post_processor": _template("<s>", "</s>", ROBERTA_SPECIAL, ["</s>", "</s>"], 0), "decoder": None,
        "model": {"type": "Unigram", "unk_id": 3, "vocab": [list(row) for row in zip(pieces, scores, strict=True)],
                  "byte_fallback": False},
    }  # fmt: skip
    return {"rows": len(pieces), "tokenizer.json": full, "tokenizer_config.json": names}


def _template(cls: str, sep: str, special: list[str], middle: list[str], kind: int) -> dict[str, Any]:
    def step(name: str, number: int = 0) -> dict[str, Any]:
        return {"SpecialToken": {"id": name, "type_id": number}}

    a, b = ({"Sequence": {"id": name, "type_id": number}} for name, number in (("A", 0), ("B", kind)))
    ids = {name: {"id": name, "ids": [special.index(name)], "tokens": [name]} for name in (cls, sep)}
    return {
        "type": "TemplateProcessing", "single": [step(cls), a, step(sep)],
        "pair": [step(cls), a, *map(step, middle), b, step(sep, kind)], "special_tokens": ids,
    }  # fmt: skip


def byte_pairs(modern: bool) -> dict[str, Any]:
    """RoBERTa's or ModernBERT's tokenizer, with all bytes and some merges."""
    from engine.tokenizer.bpe import SIGNS

    special = ["<s>", "<pad>", "</s>", "<unk>"] if not modern else ["[UNK]", "[CLS]", "[SEP]", "[PAD]"]
    merges = [("t", "h"), ("th", "e"), ("Ġ", "the"), ("e", "n"), ("r", "en"), ("ren", "t"), ("Ġ", "rent"), ("i", "n")]
    pieces = [*special, *SIGNS, *("".join(pair) for pair in merges)]
    off = dict.fromkeys(("special", "single_word", "lstrip", "rstrip"), False)
    spaces = [{"id": len(pieces) + 1 + i, "content": " " * n, "normalized": True, **off} for i, n in enumerate((4, 2))]
    mask = "[MASK]" if modern else "<mask>"
    processor: dict[str, Any] = {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0],
                                 "trim_offsets": True, "add_prefix_space": False}  # fmt: skip
    full = {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": _special(special) + _special([mask], len(pieces)) + (spaces if modern else []),
        "normalizer": {"type": "NFC"} if modern else None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "post_processor": _template("[CLS]", "[SEP]", special, ["[SEP]"], 1) if modern else processor, "decoder": None,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": {piece: i for i, piece in enumerate(pieces)}, "merges": [list(pair) for pair in merges]},
    }  # fmt: skip
    names = dict(
        zip(
            ("unk_token", "pad_token", "mask_token"),
            (special[3 - 3 * modern], special[1 + 2 * modern], mask),
            strict=True,
        )
    )
    return {"rows": 320 if modern else len(pieces) + 1, "tokenizer.json": full, "tokenizer_config.json": names}


TOKENIZERS = {
    "bert": lambda: _wordpiece(0),
    "nomic_bert": lambda: _wordpiece(6),
    "xlm-roberta": unigram,
    "roberta": lambda: byte_pairs(False),
    "modernbert": lambda: byte_pairs(True),
}
