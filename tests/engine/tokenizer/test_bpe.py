"""Byte-level BPE against the `tokenizers` package: a vocabulary trained here, then all texts, ids and offsets."""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, trainers

from engine.errors import BadModelFile, UnsupportedModel
from engine.tokenizer import base, from_metadata
from engine.tokenizer.bpe import PRE, BytePairs
from tests.engine.tokenizer.texts import ANY_TEXT, CONTROL, HARD, LEARNED, mixtures, naughty

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
TEXT = [bytes((byte,)) for byte in b"the rent"]
SPACES = ["  ", "   ", "     ", "|||NAME|||"]


def trained(normalizer: Any = None, prefix_space: bool = False) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    tokenizer.normalizer = normalizer
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=700, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(LEARNED, trainer)
    return tokenizer


def metadata(oracle: Tokenizer, added: list[str], **more: Any) -> dict[str, Any]:
    tokens = [oracle.id_to_token(number) for number in range(oracle.get_vocab_size())]
    kinds = [3 if token in SPECIAL else 4 if token in added else 1 for token in tokens]
    merges = [" ".join(pair) for pair in json.loads(oracle.to_str())["model"]["merges"]]
    return {
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "roberta-bpe", "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": np.array(kinds, np.int32), "tokenizer.ggml.merges": merges,
        "tokenizer.ggml.bos_token_id": 0, "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.add_bos_token": True, "tokenizer.ggml.add_eos_token": True,
    } | {key.replace("__", "."): value for key, value in more.items()}  # fmt: skip


KINDS = {
    "plain": (None, False, []),
    "prefix space": (None, True, []),
    "form C": (normalizers.NFC(), False, []),
    "added pieces": (normalizers.NFC(), False, SPACES),
    "added pieces and prefix space": (None, True, SPACES),
}


@pytest.fixture(scope="module", params=KINDS)
def pair(request: pytest.FixtureRequest) -> tuple[Tokenizer, BytePairs]:
    normalizer, prefix_space, added = KINDS[request.param]
    oracle = trained(normalizer, prefix_space)
    oracle.add_tokens([AddedToken(token, normalized=True) for token in added])
    pre = "modern-bert" if normalizer else "roberta-bpe"
    found = metadata(oracle, added, tokenizer__ggml__pre=pre, tokenizer__ggml__add_space_prefix=prefix_space)
    # special tokens are looked for in texts by the package, not here
    config = oracle.to_str()
    changed = json.loads(config)
    changed["added_tokens"] = [token for token in changed["added_tokens"] if not token["special"]]
    ours = from_metadata(found)
    assert isinstance(ours, BytePairs)
    return Tokenizer.from_str(json.dumps(changed)), ours


def check(pair: tuple[Tokenizer, BytePairs], text: str) -> None:
    oracle, ours = pair
    expected = oracle.encode(text)
    found = ours.encode_with_offsets(text)
    assert ours.encode(text).tolist() == [0, *expected.ids, 2], ascii(text)
    assert found.ids.tolist() == [0, *expected.ids, 2], ascii(text)
    assert ours.count(text) == len(expected.ids) + 2


def test_hard_texts(pair: tuple[Tokenizer, BytePairs]) -> None:
    for text in HARD + LEARNED + mixtures(500):
        check(pair, text)


@settings(max_examples=300, deadline=None)
@given(text=ANY_TEXT)
def test_any_text(pair: tuple[Tokenizer, BytePairs], text: str) -> None:
    check(pair, text)


def test_naughty_strings(pair: tuple[Tokenizer, BytePairs], data: Path) -> None:
    for text in naughty(data):
        check(pair, text)


def test_offsets_are_those_of_the_package(pair: tuple[Tokenizer, BytePairs]) -> None:
    """Without white space around them, as that package trims them for RoBERTa; what is white space lies nowhere.
    The package gives a space that was put before a text the place of the character after it; here it has none."""
    short = [text for text in HARD if max(text, default=" ") < "\u0300" and not pair[1]._settings.space]
    for text in LEARNED + short:
        found, expected = pair[1].encode_with_offsets(text).offsets[1:-1].tolist(), pair[0].encode(text).offsets
        assert len(found) == len(expected)
        for ours, theirs in zip(found, expected, strict=True):
            start, end = base.trim(text, theirs)
            assert ours == [start, end] or (ours[0] == ours[1] and start == end), ascii(text)


def test_a_text_never_becomes_a_control_token(pair: tuple[Tokenizer, BytePairs]) -> None:
    for token in CONTROL:
        assert not set(range(5)) & set(pair[1].encode(f"{token} x{token}")[1:-1].tolist())


def test_halves_of_characters_are_dropped(pair: tuple[Tokenizer, BytePairs]) -> None:
    found = pair[1].encode_with_offsets("a\ud800 b\udfff")
    assert found.ids.tolist() == pair[1].encode("a b").tolist()
    assert [text for text in found.offsets[1:-1].tolist() if text[0] < text[1]] == [[0, 1], [3, 4]]


def test_pairs() -> None:
    ours = from_metadata(metadata(trained(), []))
    found = ours.encode_pair("The rent", "rent due")
    first, second = (ours.encode(text)[1:-1].tolist() for text in ("The rent", "rent due"))
    assert found.ids.tolist() == [0, *first, 2, 0, *second, 2]
    assert set(found.types.tolist()) == {0}
    where = found.offsets.tolist()
    assert where[: len(first) + 3] == [[-1, -1]] * (len(first) + 3)
    assert where[len(first) + 3][0] == 0
    assert where[-2][1] == len("rent due")


def test_unknown_patterns_are_refused_by_a_list_of_the_known() -> None:
    with pytest.raises(
        UnsupportedModel, match=r"tokenizer\.ggml\.pre: found 'chatglm-bpe', expected one of gpt-2, .*qwen2"
    ):
        from_metadata(metadata(trained(), [], tokenizer__ggml__pre="chatglm-bpe"))


HABITS = {
    (False, False): "gpt-2 phi-2 mpt mellum a.x-4.0 trillion granite-docling roberta-bpe modern-bert olmo dbrx qwen2 "
    "deepseek-r1-qwen megrez gpt-4o llama4 refact starcoder smollm codeshell exaone minerva-7b command-r falcon",
    (True, True): "llama-bpe llama3 llama-v3 falcon3 lfm2 pixtral midm-2.0 tekken",
    (True, False): "smaug-bpe",
}
"""llama.cpp's ignore_merges and add_bos; of smaug-bpe the first is that of SmolLM3's own tokenizer, not llama.cpp's."""


def test_names_and_habits_are_those_of_llama_cpp() -> None:
    expected = {name: habits for habits, names in HABITS.items() for name in names.split()}
    assert {name: (pre.whole_pieces, pre.adds_bos) for name, pre in PRE.items()} == expected


@pytest.mark.parametrize("name", {pre: name for name, pre in PRE.items()}.values())
def test_long_texts_take_no_quadratic_time(name: str) -> None:
    ours = from_metadata(metadata(trained(), [], tokenizer__ggml__pre=name))
    start = time.process_time()
    for text in ("es" * 100_000, " " * 200_000, "\r" * 100_000, "\u0301" * 50_000, "'" * 100_000, "9" * 100_000):
        ours.encode(text)
    ours.encode_with_offsets("the rent " * 10_000)
    assert time.process_time() - start < 10


def test_merges_of_what_is_no_piece_are_never_done() -> None:
    plain = metadata(trained(), [])
    odd = [*plain["tokenizer.ggml.merges"], "Ġ ", " t"]  # one part is empty, and the other a piece
    for merges in (odd, []):
        ours = from_metadata(plain | {"tokenizer.ggml.merges": merges})
        expected = merges and from_metadata(plain).encode("the rent").tolist()
        assert ours.encode("the rent").tolist() == (expected or [0, *map(ours.token_bytes.index, TEXT), 2])


def test_bytes_of_pieces_that_are_not_in_signs() -> None:
    plain = metadata(trained(), [])
    tokens = [*plain["tokenizer.ggml.tokens"], "Ġ→Ġ"]
    more = {"tokenizer.ggml.tokens": tokens, "tokenizer.ggml.token_type": None}
    found = {key: value for key, value in (plain | more).items() if value is not None}
    ours = from_metadata(found)
    assert ours.token_bytes[-1] == " → ".encode()
    assert ours.token_bytes[5:-1] == from_metadata(plain).token_bytes[5:]
    assert ours.encode(" → ").tolist() == from_metadata(plain).encode(" → ").tolist()


def test_digest_changes_with_everything_that_determines_ids() -> None:
    plain = metadata(trained(), [])
    swapped = [*plain["tokenizer.ggml.merges"][1::-1], *plain["tokenizer.ggml.merges"][2:]]
    changes: list[dict[str, Any]] = [
        {}, {"tokenizer.ggml.pre": "qwen2"}, {"tokenizer.ggml.merges": swapped}, {"cloister.tokenizer.nfc": True},
        {"cloister.tokenizer.whole_pieces": True}, {"tokenizer.ggml.add_space_prefix": True},
        {"tokenizer.ggml.add_bos_token": False}, {"tokenizer.ggml.token_type": None},
    ]  # fmt: skip
    variants = [{k: v for k, v in (plain | change).items() if v is not None} for change in changes]
    assert len({from_metadata(variant).sha256 for variant in variants}) == len(changes)
    assert from_metadata(plain).sha256 == from_metadata(dict(plain)).sha256


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"tokenizer.ggml.pre": "viking"}, UnsupportedModel, "found 'viking', expected one of gpt-2"),
        ({"tokenizer.ggml.pre": None}, UnsupportedModel, "found None"),
        ({"tokenizer.ggml.merges": None}, BadModelFile, "merges: found NoneType"),
        ({"tokenizer.ggml.merges": ["a"]}, BadModelFile, "merge 0: found 'a'"),
        ({"tokenizer.ggml.merges": ["a b c"]}, BadModelFile, "two parts of a piece"),
        ({"tokenizer.ggml.merges": ["< s>"]}, BadModelFile, "two parts of a piece"),
        ({"tokenizer.ggml.merges": ["Ġ t\nh e"]}, BadModelFile, r"merge 0: found 'Ġ t\\nh e', expected two parts"),
        ({"tokenizer.ggml.merges": ["Ġ t", "h", "e Ġ t"]}, BadModelFile, "merge 1: found 'h', expected two parts"),
        ({"tokenizer.ggml.merges": ["Ġ t", "t \U0010ffff"]}, BadModelFile, "merge 1: found"),
        ({"tokenizer.ggml.merges": ["Ġ t", ""]}, BadModelFile, "merge 1: found '', expected two parts"),
        ({"tokenizer.ggml.tokens": ["a", "a", "b"], "tokenizer.ggml.token_type": None}, BadModelFile, "a piece twice"),
        ({"tokenizer.ggml.tokens": ["a", "b", ""], "tokenizer.ggml.token_type": None}, BadModelFile, "an empty piece"),
        ({"tokenizer.ggml.bos_token_id": 10**6}, BadModelFile, "expected an id from 0"),
        ({"tokenizer.ggml.add_bos_token": 1}, BadModelFile, "expected a bool"),
        ({"cloister.tokenizer.nfc": 1}, BadModelFile, "expected a bool"),
    ],
)
def test_refused(change: dict[str, Any], error: type[Exception], message: str) -> None:
    changed = {key: value for key, value in (metadata(trained(), []) | change).items() if value is not None}
    with pytest.raises(error, match=message):
        from_metadata(changed)


def test_quick() -> None:
    """The floor is far below what one core reaches: machines are busy."""
    ours = from_metadata(metadata(trained(), []))
    text = "\n".join(LEARNED) * 200
    start = time.process_time()
    tokens = sum(ours.count(text) for _ in range(3))
    assert tokens / (time.process_time() - start) > 100_000
