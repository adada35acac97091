"""From GGUF metadata to a tokenizer; llama.cpp's vocabularies and their vectors."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.errors import BadModelFile, UnsupportedModel
from engine.gguf import read
from engine.tokenizer import from_metadata

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "\u2581the", "\u2581Caf", "e", "\u2581\u2581", "\u2581", "\u2581cafe"]
METADATA = {
    "tokenizer.ggml.model": "bert",
    "tokenizer.ggml.tokens": TOKENS,
    "tokenizer.ggml.token_type": np.array([3, 3, 3, 3, 1, 1, 1, 1, 1, 1], np.int32),
    "tokenizer.ggml.cls_token_id": 2,
    "tokenizer.ggml.seperator_token_id": 3,
    "tokenizer.ggml.unknown_token_id": 1,
}


def changed(**values: Any) -> dict[str, Any]:
    return METADATA | {key.replace("__", "."): value for key, value in values.items()}


def without(*keys: str) -> dict[str, Any]:
    return {key: value for key, value in METADATA.items() if key not in keys}


def test_pieces_begin_or_continue_a_word() -> None:
    tokenizer = from_metadata(METADATA)
    assert tokenizer.encode("the CAFÉ thee \u2581 \u2581\u2581").tolist() == [2, 4, 9, 4, 6, 7, 7, 8, 3]


def test_settings_of_the_file_hold() -> None:
    cased = from_metadata(changed(cloister__tokenizer__lower_case=False))
    assert cased.encode("Café cafe The").tolist() == [2, 5, 6, 9, 1, 3]
    accented = from_metadata(changed(cloister__tokenizer__strip_accents=False))
    assert accented.encode("Café Cafe").tolist() == [2, 1, 9, 3]


def test_older_names_of_the_ids() -> None:
    older = without("tokenizer.ggml.cls_token_id", "tokenizer.ggml.seperator_token_id")
    older |= {"tokenizer.ggml.bos_token_id": 2, "tokenizer.ggml.eos_token_id": 3}
    assert from_metadata(older).sha256 == from_metadata(METADATA).sha256


def test_control_tokens_are_known_without_types() -> None:
    tokenizer = from_metadata(without("tokenizer.ggml.token_type"))
    assert not {2, 3} & set(tokenizer.encode("[CLS] [SEP]")[1:-1].tolist())


@pytest.mark.parametrize(
    ("metadata", "error", "message"),
    [
        (
            changed(tokenizer__ggml__model="rwkv"),
            UnsupportedModel,
            "found 'rwkv', expected one of bert, t5, gpt2, llama",
        ),
        (changed(tokenizer__ggml__model=["bert"]), UnsupportedModel, "expected one of bert"),
        (changed(cloister__tokenizer__prefix=[2]), BadModelFile, "expected at most 16 ids"),
        (changed(cloister__tokenizer__prefix=np.arange(17)), BadModelFile, "expected at most 16 ids"),
        (changed(cloister__tokenizer__prefix=np.array([10])), BadModelFile, "expected ids from 0 to 9"),
        (
            changed(cloister__tokenizer__prefix=np.array([1]), cloister__tokenizer__second_type=2),
            BadModelFile,
            "found 2, expected 0 or 1",
        ),
        (without("tokenizer.ggml.model"), UnsupportedModel, "found None"),
        (without("tokenizer.ggml.tokens"), BadModelFile, "expected strings"),
        (changed(tokenizer__ggml__tokens=[]), BadModelFile, "expected strings"),
        (changed(tokenizer__ggml__tokens=[*TOKENS[:-1], "e"]), BadModelFile, "again"),
        (changed(tokenizer__ggml__tokens=[*TOKENS[:-1], ""]), BadModelFile, "empty"),
        (changed(tokenizer__ggml__token_type=np.ones(3, np.int32)), BadModelFile, "expected 10 numbers"),
        (changed(tokenizer__ggml__token_type=7), BadModelFile, "expected 10 numbers"),
        (changed(tokenizer__ggml__cls_token_id=10), BadModelFile, "found 10, expected an id from 0 to 9"),
        (changed(tokenizer__ggml__cls_token_id="2"), BadModelFile, "expected an id"),
        (without("tokenizer.ggml.unknown_token_id"), BadModelFile, "found None, expected an id"),
        (changed(cloister__tokenizer__lower_case=1), BadModelFile, "expected a bool"),
    ],
)
def test_refused(metadata: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        from_metadata(metadata)


@pytest.mark.parametrize("name", ["bert-bge", "gpt-2", "llama-bpe", "qwen2", "falcon", "llama-spm"])
def test_vectors_of_llama_cpp(data: Path, name: str) -> None:
    path = data / f"tokenizers/ggml-vocab-{name}.gguf"
    tokenizer = from_metadata(read(path).metadata)
    texts = path.with_suffix(".gguf.inp").read_bytes().decode().split("\n__ggml_vocab_test__\n")
    lines = path.with_suffix(".gguf.out").read_text().split("\n")
    assert len(texts) > 40
    for text, line in zip(texts, lines, strict=False):
        ids = tokenizer.encode_with_offsets(text).ids.tolist()
        assert ids == tokenizer.encode(text).tolist(), text
        body = ids[len(tokenizer.template.prefix) : len(ids) - len(tokenizer.template.suffix)]
        assert body == [int(number) for number in line.split()], text
