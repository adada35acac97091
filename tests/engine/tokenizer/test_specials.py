"""What ids stand for, control tokens by name, and the ids that end an answer."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.errors import BadModelFile
from engine.gguf import read
from engine.tokenizer import from_metadata
from engine.tokenizer.bpe import SIGNS
from tests.engine.tokenizer.texts import HARD, LEARNED, mixtures

TOKENS = [*SIGNS, "<s>", "</s>", "<|im_end|>", "<extra>", "Ġthe"]
TYPES = [1] * 256 + [3, 3, 1, 4, 1]
METADATA = {
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "gpt-2",
    "tokenizer.ggml.tokens": TOKENS,
    "tokenizer.ggml.token_type": np.array(TYPES, np.int32),
    "tokenizer.ggml.merges": [],
    "tokenizer.ggml.bos_token_id": 256,
    "tokenizer.ggml.eos_token_id": 257,
}


def test_bytes_of_every_kind_of_token() -> None:
    tokenizer = from_metadata(METADATA)
    assert tokenizer.token_bytes[:256] == [bytes((byte,)) for byte in range(256)]
    assert tokenizer.token_bytes[256:] == [b"", b"", b"<|im_end|>", b"<extra>", b" the"]
    assert tokenizer.decode([260, 256, 0xC3, 0xA9, 0xFF, 259]) == " the\u00e9\ufffd<extra>"


def test_control_tokens_and_ends() -> None:
    specials = from_metadata(METADATA).specials
    assert dict(specials.control) == {"<s>": 256, "</s>": 257, "<|im_end|>": 258}
    assert (dict(specials.added), specials.ends, specials.bos) == ({"<extra>": 259}, (257, 258), 256)
    more: dict[str, Any] = METADATA | {"tokenizer.ggml.eot_token_id": 259, "tokenizer.ggml.eom_token_id": 260}
    assert from_metadata(more).end_ids == (257, 258, 259, 260)


@pytest.mark.parametrize("value", [261, -1, "257", True])
def test_ends_that_are_no_ids_are_refused(value: Any) -> None:
    with pytest.raises(BadModelFile, match=r"eot_token_id: found .*expected an id from 0 to 260"):
        from_metadata(METADATA | {"tokenizer.ggml.eot_token_id": value})


@pytest.mark.parametrize("name", ["gpt-2", "llama-bpe"])
def test_decoding_gives_the_text(data_folder: Path, name: str) -> None:
    tokenizer = from_metadata(read(data_folder / f"tokenizers/ggml-vocab-{name}.gguf").metadata)
    for text in HARD + LEARNED + mixtures(300):
        text = text.encode(errors="ignore").decode()
        assert tokenizer.decode(tokenizer.encode(text)) == text


@pytest.mark.parametrize(
    ("name", "ends"),
    [("gpt-2", [50256]), ("llama-bpe", [128001, 128009]), ("falcon", [11]), ("qwen2", [151643, 151645])],
)
def test_ends_of_published_vocabularies(data_folder: Path, name: str, ends: list[int]) -> None:
    tokenizer = from_metadata(read(data_folder / f"tokenizers/ggml-vocab-{name}.gguf").metadata)
    assert list(tokenizer.end_ids) == ends
    assert len(tokenizer.token_bytes) == tokenizer.specials.size > max(ends)
