"""Unigram against the `tokenizers` package: vocabularies trained here, a character map made here; ids and offsets."""

import base64
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

from engine.errors import BadModelFile, UnsupportedModel
from engine.tokenizer import from_metadata
from engine.tokenizer.base import trim
from engine.tokenizer.unigram import CharsMap, Unigram
from tests.engine.tokenizer.charsmaps import charsmap
from tests.engine.tokenizer.texts import ANY_TEXT, CONTROL, HARD, LEARNED, LETTERS, mixtures, naughty

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]

NFKC = normalizers.NFKC().normalize_str


def replacements() -> dict[str, str]:
    """As SentencePiece's nmt_nfkc: controls dropped, white space becomes a space, characters of the texts in form KC,
    some letters composed with their marks."""
    found = dict.fromkeys(map(chr, [*range(1, 9), *range(14, 32), 127, 0x200B, 0xFEFF, 0xAD]), "")
    found |= dict.fromkeys("\t\n\r\x0c\xa0\u2003\u3000\u2028", " ")
    found |= {c: NFKC(c) for c in LETTERS if NFKC(c) != c and c not in found}
    found |= {c + mark: NFKC(c + mark) for c in "AaEeNnOoUuYyqcQ" for mark in "\u0300\u0301\u0308\u030a\u0323\u0307"}
    return found | {"\u304b\u3099": "\u304c", "A\u0300\u0301": "!"}


BLOB = charsmap(replacements())

# way of white space -> what the package is told, for the same
WAYS: dict[str, tuple[list[Any], list[Any]]] = {
    "split": ([], [pre_tokenizers.WhitespaceSplit()]),
    "keep": ([normalizers.Replace(Regex(" {2,}"), " ")], []),
    "strip": ([normalizers.Strip(left=False, right=True), normalizers.Replace(Regex(" {2,}"), "\u2581")], []),
}


def oracle(way: str, single_precision: bool = True) -> Tokenizer:
    """Scores as GGUF has them, in float32, unless told otherwise; no token is looked for in the text beforehand."""
    tokenizer = Tokenizer(models.Unigram())
    more, before = WAYS[way]
    tokenizer.normalizer = normalizers.Sequence([normalizers.Precompiled(BLOB), *more])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*before, pre_tokenizers.Metaspace()])
    trainer = trainers.UnigramTrainer(vocab_size=420, special_tokens=SPECIAL, unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(LEARNED[:5] * 4, trainer)
    config = json.loads(tokenizer.to_str())
    vocabulary = config["model"]["vocab"]
    if single_precision:
        vocabulary = [[piece, float(np.float32(score))] for piece, score in vocabulary]
    # the package would find the names of control tokens as pieces
    hidden = [[f"\ufdd0{piece}", score] if piece in SPECIAL else [piece, score] for piece, score in vocabulary]
    config["model"]["vocab"], config["added_tokens"] = hidden, []
    return Tokenizer.from_str(json.dumps(config))


def metadata(tokenizer: Tokenizer, way: str, **more: Any) -> dict[str, Any]:
    vocabulary = json.loads(tokenizer.to_str())["model"]["vocab"]
    tokens = [piece.removeprefix("\ufdd0") for piece, _ in vocabulary]
    scores = np.array([score for _, score in vocabulary])
    kinds = [2 if token == "<unk>" else 3 if token in SPECIAL else 1 for token in tokens]
    return {
        "tokenizer.ggml.model": "t5", "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.scores": scores.astype(np.float32),
        "tokenizer.ggml.token_type": np.array(kinds, np.int32), "tokenizer.ggml.add_space_prefix": True,
        "tokenizer.ggml.remove_extra_whitespaces": True, "tokenizer.ggml.bos_token_id": 0,
        "tokenizer.ggml.eos_token_id": 2, "tokenizer.ggml.unknown_token_id": 3, "tokenizer.ggml.add_bos_token": True,
        "tokenizer.ggml.precompiled_charsmap": np.frombuffer(BLOB, np.uint8), "cloister.tokenizer.white_space": way,
    } | more  # fmt: skip


@pytest.fixture(scope="module", params=WAYS)
def pair(request: pytest.FixtureRequest) -> tuple[Tokenizer, Unigram]:
    theirs = oracle(request.param)
    ours = from_metadata(metadata(theirs, request.param))
    assert isinstance(ours, Unigram)
    return theirs, ours


def check(pair: tuple[Tokenizer, Unigram], text: str) -> None:
    expected = [0, *pair[0].encode(text).ids, 2]
    assert pair[1].encode(text).tolist() == expected, ascii(text)
    assert pair[1].encode_with_offsets(text).ids.tolist() == expected, ascii(text)


def test_hard_texts(pair: tuple[Tokenizer, Unigram]) -> None:
    for text in HARD + LEARNED + mixtures(1000):
        check(pair, text)


@settings(max_examples=500, deadline=None)
@given(text=ANY_TEXT)
def test_any_text(pair: tuple[Tokenizer, Unigram], text: str) -> None:
    check(pair, text)


def test_naughty_strings(pair: tuple[Tokenizer, Unigram], data: Path) -> None:
    for text in naughty(data):
        check(pair, text)


def test_scores_in_double_precision() -> None:
    theirs = oracle("split", single_precision=False)
    scores = np.array([score for _, score in json.loads(theirs.to_str())["model"]["vocab"]])
    ours = from_metadata(metadata(theirs, "split", **{"cloister.tokenizer.scores": scores}))
    for text in LEARNED + mixtures(1000):
        assert ours.encode(text)[1:-1].tolist() == theirs.encode(text).ids


def test_offsets_are_those_of_the_package(pair: tuple[Tokenizer, Unigram]) -> None:
    """Without white space around them; what stands for none of the text lies nowhere."""
    for text in LEARNED:
        found, expected = pair[1].encode_with_offsets(text).offsets[1:-1].tolist(), pair[0].encode(text).offsets
        assert len(found) == len(expected)
        for ours, theirs in zip(found, expected, strict=True):
            start, end = trim(text, theirs)
            assert ours == [start, end] or ours[0] == ours[1], ascii(text)


def test_offsets_point_to_what_a_token_was_made_of() -> None:
    theirs = oracle("split")
    found = from_metadata(metadata(theirs, "split")).encode_with_offsets("  ﬁrst \u3000e\u0301t")
    tokens = [theirs.id_to_token(number) for number in found.ids[1:-1]]
    texts = ["  ﬁrst \u3000e\u0301t"[start:end] for start, end in found.offsets[1:-1]]
    assert "".join(tokens) == "\u2581first\u2581\xe9t"
    assert "".join(texts).replace("ﬁﬁ", "ﬁ") == "ﬁrste\u0301t"


def test_a_text_never_becomes_a_control_token(pair: tuple[Tokenizer, Unigram]) -> None:
    for token in CONTROL:
        assert not {0, 1, 2, 4} & set(pair[1].encode(f"{token} x{token}")[1:-1].tolist())


def test_halves_of_characters_are_dropped(pair: tuple[Tokenizer, Unigram]) -> None:
    found = pair[1].encode_with_offsets("the\ud800 rent\udfff")
    assert found.ids.tolist() == pair[1].encode("the rent").tolist()
    assert found.offsets[-2].tolist()[1] == 9


def test_long_texts_take_no_quadratic_time(pair: tuple[Tokenizer, Unigram]) -> None:
    start = time.process_time()
    for text in (
        "es" * 50_000,
        " " * 200_000,
        "\u2029" * 200_000,
        "e\u0301" * 20_000,
        "\u0301" * 20_000,
        "\u2581" * 20_000,
    ):
        pair[1].encode(text)
    pair[1].encode_with_offsets("the rent " * 10_000)
    assert time.process_time() - start < 10


@pytest.mark.parametrize("text", [*HARD, *mixtures(500)])
def test_character_map_is_applied_as_the_package_does(text: str) -> None:
    ours, expected = CharsMap(BLOB), normalizers.Precompiled(BLOB).normalize_str(text)
    assert ours.normalize(text) == expected
    assert "".join(c for c, _ in ours.aligned(text)) == expected


def test_hostile_character_maps() -> None:
    """Any byte changed: a map comes of it, or one BadModelFile; never an index out of range, never an endless loop."""
    small = charsmap({"a": "b", "\xe9": "e", "ab": "c"})
    for blob in (b"", b"\0" * 7, b"\xff\xff\xff\xff" * 4, b"\3\0\0\0" + bytes(8), b"\0\0\0\0" + bytes(8)):
        with pytest.raises(BadModelFile, match="precompiled_charsmap"):
            CharsMap(blob)
    draw = np.random.default_rng(3)
    for _ in range(2000):
        changed = bytearray(small)
        for at in draw.integers(4, 4096, 8):
            changed[at] = draw.integers(256)
        CharsMap(bytes(changed)).normalize("ab\xe9 ab\u0301 \xe9a")


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"cloister.tokenizer.white_space": "join"}, UnsupportedModel, "found 'join', expected split or keep or strip"),
        ({"tokenizer.ggml.add_space_prefix": False}, UnsupportedModel, "add_space_prefix: found False"),
        ({"tokenizer.ggml.remove_extra_whitespaces": 1}, BadModelFile, "expected a bool"),
        ({"tokenizer.ggml.scores": None}, BadModelFile, "scores: found NoneType"),
        ({"tokenizer.ggml.scores": np.zeros(3, np.float32)}, BadModelFile, "scores: found 3 of float32, expected 6"),
        ({"tokenizer.ggml.scores": np.full(6, np.nan, np.float32)}, BadModelFile, "not finite"),
        ({"tokenizer.ggml.precompiled_charsmap": "x"}, BadModelFile, "expected bytes"),
        ({"tokenizer.ggml.precompiled_charsmap": np.zeros(3, np.uint8)}, BadModelFile, "expected the trie to fit"),
        ({"tokenizer.ggml.tokens": ["<s>", "<pad>", "</s>", "<unk>", "a", "a"]}, BadModelFile, "one twice"),
        ({"tokenizer.ggml.tokens": ["<s>", "<pad>", "</s>", "<unk>", "", "a"]}, BadModelFile, "an empty piece"),
        ({"tokenizer.ggml.unknown_token_id": 6}, BadModelFile, "expected an id from 0 to 5"),
    ],
)
def test_refused(change: dict[str, Any], error: type[Exception], message: str) -> None:
    whole = metadata(oracle("split"), "split")
    whole |= {
        "tokenizer.ggml.tokens": ["<s>", "<pad>", "</s>", "<unk>", "a", "b"],
        "tokenizer.ggml.scores": np.zeros(6, np.float32),
        "tokenizer.ggml.token_type": np.array([3, 3, 3, 2, 1, 1], np.int32),
    }
    with pytest.raises(error, match=message):
        from_metadata({key: value for key, value in (whole | change).items() if value is not None})


def test_digest_changes_with_everything_that_determines_ids() -> None:
    plain = metadata(oracle("split"), "split")
    scores = plain["tokenizer.ggml.scores"].copy()
    scores[-1] -= 1
    changes: list[dict[str, Any]] = [
        {}, {"cloister.tokenizer.white_space": "keep"}, {"tokenizer.ggml.scores": scores},
        {"tokenizer.ggml.precompiled_charsmap": None}, {"tokenizer.ggml.add_bos_token": False},
    ]  # fmt: skip
    variants = [{k: v for k, v in (plain | change).items() if v is not None} for change in changes]
    assert len({from_metadata(variant).sha256 for variant in variants}) == len(changes)


def test_quick() -> None:
    """The floor is far below what one core reaches: machines are busy."""
    ours = from_metadata(metadata(oracle("split"), "split"))
    text = "\n".join(LEARNED) * 200
    start = time.process_time()
    tokens = sum(ours.count(text) for _ in range(3))
    assert tokens / (time.process_time() - start) > 100_000


def test_the_map_is_read_as_the_package_reads_it() -> None:
    """The same bytes, in the form of a tokenizer.json."""
    assert (
        json.loads(normalizers.Precompiled(BLOB).__getstate__())["precompiled_charsmap"]
        == base64.b64encode(BLOB).decode()
    )
