"""SentencePiece BPE against the `tokenizers` package over vocabularies trained here, and against `sentencepiece`."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from tokenizers import Tokenizer

from engine.errors import BadModelFile, UnsupportedModel
from engine.gguf import read
from engine.tokenizer import from_metadata
from engine.tokenizer.spm import PiecePairs
from tests.engine.tokenizer.spm_models import BYTES, model_proto, trained
from tests.engine.tokenizer.texts import ANY_TEXT, CONTROL, HARD, LEARNED, mixtures, naughty

SMALL: dict[str, Any] = {
    "tokenizer.ggml.model": "llama",
    "tokenizer.ggml.tokens": ["<unk>", "<s>", "</s>", "\u2581", "a", "b", "ab", "b\u2581", "\u2581a", "aa"],
    "tokenizer.ggml.token_type": np.array([2, 3, 3, *[1] * 7], np.int32),
    "tokenizer.ggml.scores": np.array([0, 0, 0, -9, -9, -9, -1, -2, -3, -1], np.float32),
    "tokenizer.ggml.unknown_token_id": 0,
    "tokenizer.ggml.bos_token_id": 1,
    "tokenizer.ggml.eos_token_id": 2,
}


@pytest.fixture(scope="module", params=["prefix", "no prefix"])
def pair(request: pytest.FixtureRequest) -> tuple[Tokenizer, PiecePairs]:
    oracle, metadata = trained(request.param == "prefix")
    ours = from_metadata(metadata)
    assert isinstance(ours, PiecePairs)
    return oracle, ours


def check(pair: tuple[Tokenizer, PiecePairs], text: str) -> None:
    expected = [1, *pair[0].encode(text).ids]
    assert pair[1].encode(text).tolist() == expected, ascii(text)
    assert pair[1].encode_with_offsets(text).ids.tolist() == expected, ascii(text)


def test_hard_texts(pair: tuple[Tokenizer, PiecePairs]) -> None:
    for text in HARD + LEARNED + mixtures(500):
        check(pair, text)


@settings(max_examples=200, deadline=None)
@given(text=ANY_TEXT)
def test_any_text(pair: tuple[Tokenizer, PiecePairs], text: str) -> None:
    check(pair, text)


def test_naughty_strings(pair: tuple[Tokenizer, PiecePairs], data: Path) -> None:
    for text in naughty(data):
        check(pair, text)


def test_decoding_gives_the_text(pair: tuple[Tokenizer, PiecePairs]) -> None:
    prefix = pair[1]._prefix_of == "each"
    for text in HARD + LEARNED + mixtures(300):
        whole = f" {text}" if prefix and text else text
        assert pair[1].decode(pair[1].encode(text)) == whole.replace("\u2581", " ")


def test_a_text_never_becomes_a_control_token(pair: tuple[Tokenizer, PiecePairs]) -> None:
    for token in [*CONTROL, *BYTES[:3]]:
        ids = pair[1].encode(f"{token} x{token}")[1:].tolist()
        assert not {0, 1, 2, 3, 4, 5} & set(ids)


def test_offsets() -> None:
    """A text with U+2581 in it, one character of three bytes, and an end between two spaces."""
    ours = from_metadata(trained(True)[1])
    text = "a\u2581 \u6f22 b "
    found = ours.encode_with_offsets(text)
    texts = ["", *(ours.token_bytes[number] for number in found.ids[1:])]
    spans = [text[a:b] if a >= 0 else None for a, b in found.offsets]
    of_bytes = [span for span, made in zip(spans, texts, strict=True) if made in (b"\xe6", b"\xbc", b"\xa2")]
    assert of_bytes == ["\u6f22"] * 3
    assert "".join(dict.fromkeys(span for span in spans if span)) == "a\u2581\u6f22b"


def test_places_where_characters_may_be_unknown_are_refused() -> None:
    with pytest.raises(UnsupportedModel, match="found no <0x00> to <0xFF>, which places in a text need"):
        from_metadata(SMALL).encode_with_offsets("ab \u6f22\u6f22 aa")
    assert from_metadata(SMALL).encode("ab \u6f22\u6f22 aa").tolist() == [1, 3, 6, 3, 0, 3, 9]


def test_pieces_across_spaces() -> None:
    """`b_` comes before `_a` does: a cut before every space would not be exact."""
    tokenizer = from_metadata(SMALL)
    assert tokenizer.encode("b a").tolist() == [1, 3, 7, 4]
    assert tokenizer.encode("a a").tolist() == [1, 8, 8]


def test_a_space_before_texts_by_kind() -> None:
    assert from_metadata(SMALL | {"tokenizer.ggml.add_space_prefix": False}).encode("a").tolist() == [1, 4]
    assert from_metadata(SMALL).encode("a").tolist() == [1, 8]
    assert from_metadata(SMALL).encode("").tolist() == [1]


@pytest.mark.parametrize("name", ["tokenizers/ggml-vocab-llama-spm.gguf", "models/stories260K/stories260K-f16.gguf"])
def test_sentencepiece_says_the_same(data_folder: Path, data: Path, name: str) -> None:
    metadata: dict[str, Any] = dict(read(data_folder / name).metadata)
    package = pytest.importorskip("sentencepiece")
    oracle, ours = package.SentencePieceProcessor(model_proto=model_proto(metadata)), from_metadata(metadata)
    for text in [*HARD, *LEARNED, *mixtures(1000), *naughty(data)]:
        assert ours.encode(text)[1:].tolist() == oracle.encode(text), ascii(text)


def test_digest_changes_with_everything_that_determines_ids() -> None:
    scores = SMALL["tokenizer.ggml.scores"] * np.float32(2)
    changes: list[dict[str, Any]] = [
        {}, {"tokenizer.ggml.add_space_prefix": False}, {"tokenizer.ggml.scores": scores},
        {"tokenizer.ggml.add_bos_token": False},
        {"tokenizer.ggml.token_type": np.array([2, 3, 3, *[1] * 6, 4], np.int32)},
    ]  # fmt: skip
    assert len({from_metadata(SMALL | change).sha256 for change in changes}) == len(changes)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"tokenizer.ggml.scores": None}, BadModelFile, "scores: found NoneType, expected 10 numbers"),
        ({"tokenizer.ggml.scores": np.full(10, np.nan, np.float32)}, BadModelFile, "not finite"),
        ({"tokenizer.ggml.unknown_token_id": None}, BadModelFile, "unknown_token_id: found None"),
        ({"tokenizer.ggml.bos_token_id": None}, BadModelFile, "bos_token_id: found None"),
        ({"tokenizer.ggml.tokens": ["<unk>", "a", "a", *"bcdefgh"]}, BadModelFile, "or one twice"),
        ({"tokenizer.ggml.tokens": ["<unk>", "<s>", "</s>", "", *"bcdefg"]}, BadModelFile, "empty piece"),
        ({"tokenizer.ggml.token_type": np.full(10, 6, np.int32)}, BadModelFile, "10 bytes, expected <0x00> to"),
        ({"tokenizer.ggml.remove_extra_whitespaces": True}, UnsupportedModel, "remove_extra_whitespaces: found True"),
        ({"tokenizer.ggml.precompiled_charsmap": np.ones(9, np.uint8)}, UnsupportedModel, "precompiled_charsmap"),
        ({"tokenizer.ggml.add_space_prefix": 1}, BadModelFile, "add_space_prefix: found 1, expected a bool"),
    ],
)
def test_refused(change: dict[str, Any], error: type[Exception], message: str) -> None:
    types = {} if "tokenizer.ggml.tokens" not in change else {"tokenizer.ggml.token_type": np.ones(10, np.int32)}
    changed = {key: value for key, value in (SMALL | types | change).items() if value is not None}
    with pytest.raises(error, match=message):
        from_metadata(changed)
