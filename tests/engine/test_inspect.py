"""The facts of any file, also of models that the engine does not compute."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.convert import import_model
from engine.description import TensorTypeFacts, inspect
from engine.errors import BadModelFile
from engine.gguf import write


def test_an_imported_model(tiny_folder: Callable[..., Path], tmp_path: Path) -> None:
    path = tmp_path / "f"
    import_model(tiny_folder(), path, name="tiny")
    facts = inspect(path)
    assert (facts.architecture, facts.name, facts.tokenizer) == ("bert", "tiny", "bert")
    assert (facts.context, facts.width, facts.blocks, facts.vocabulary) == (24, 32, 2, 71)
    assert facts.size == path.stat().st_size
    assert facts.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert facts.types[0] == TensorTypeFacts("Q8_0", 13, 18656, 19822, None)
    assert facts.tensors == sum(found.tensors for found in facts.types) == 37
    assert facts.parameters == sum(found.parameters for found in facts.types)
    assert facts.metadata["tokenizer.ggml.tokens"].endswith(", …] (71 items)")
    assert json.loads(json.dumps(facts.to_dict()))["types"][1]["type"] == "F32"


@pytest.mark.parametrize(
    ("name", "architecture", "tokenizer", "vocabulary", "parameters"),
    [
        ("tokenizers/ggml-vocab-llama-bpe.gguf", "llama", "gpt2", 128_256, 0),
        ("tokenizers/ggml-vocab-falcon.gguf", "falcon", "gpt2", 65_024, 0),
        ("models/stories260K/stories260K-q4_0.gguf", "llama", "llama", 512, 292_800),
        ("models/stories260K/stories260K-f16.gguf", "llama", "llama", 512, 292_800),
    ],
)
def test_models_of_others(
    data: Path, name: str, architecture: str, tokenizer: str, vocabulary: int, parameters: int
) -> None:
    facts = inspect(data / name)
    found = (facts.architecture, facts.tokenizer, facts.vocabulary, facts.parameters)
    assert found == (architecture, tokenizer, vocabulary, parameters)
    assert all(len(str(value)) < 2000 for value in facts.metadata.values())


def test_a_damaged_file(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"GGUF")
    with pytest.raises(BadModelFile):
        inspect(tmp_path / "f")


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        ({"tokenizer.chat_template": "{{ messages }}"}, "the one of the file"),
        ({}, "none in the file: plain text with the names of the roles is assumed"),
        ({"tokens": ["<|im_start|>", "<|im_end|>"], "types": [3, 3]}, "none in the file: ChatML is assumed"),
        ({"tokens": ["<|im_start|>", "<|im_end|>"], "types": [1, 1]}, "none in the file: plain text with the names"),
        ({"tokens": ["<|im_start|>", "x"], "types": [3, 3]}, "none in the file: plain text with the names"),
        ({"llama.pooling_type": 1}, None),
        ({"llama.attention.causal": False}, None),
    ],
)
def test_which_chat_template_a_model_is_asked_by(tmp_path: Path, metadata: dict[str, Any], told: str | None) -> None:
    names, types = metadata.pop("tokens", ["a", "b"]), metadata.pop("types", [1, 1])
    vocabulary = {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.tokens": names}
    kinds = {"tokenizer.ggml.token_type": np.array(types, np.int32)}
    write(tmp_path / "f", {"general.architecture": "llama", **vocabulary, **kinds, **metadata}, [])
    found = inspect(tmp_path / "f").chat_template
    assert found == told if told is None else found and found.startswith(told)
