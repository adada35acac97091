"""Text to ids: against the `tokenizers` package with the same vocabulary, and the rules that are ours."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Oracle
from tokenizers import models, normalizers, pre_tokenizers

from engine.tokenizer.unicode import codepoints
from engine.tokenizer.wordpiece import Settings, Vocabulary, WordPiece

TOKENS = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcdeo.,[]!東京한", "the", "un", "able", "over", "fly", "[unused1]",
    *(f"##{c}" for c in "abcdeo"), "##able", "##aff", "##ab", "##lying", "##s", "##\u1161", "##\u11ab",
]  # fmt: skip
ALL_ON = Settings(lower_case=True, strip_accents=True, chinese_chars=True)


def vocabulary(tokens: list[str] = TOKENS) -> Vocabulary:
    ids = {token: number for number, token in enumerate(tokens)}
    control = {"[PAD]", "[UNK]", "[CLS]", "[SEP]"}
    return Vocabulary(
        {token: number for token, number in ids.items() if token not in control and not token.startswith("##")},
        {token[2:]: number for token, number in ids.items() if token.startswith("##")},
        cls=ids["[CLS]"],
        sep=ids["[SEP]"],
        unknown=ids["[UNK]"],
    )


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    vocab = {token: number for number, token in enumerate(TOKENS)}
    found = Oracle(models.WordPiece(vocab, unk_token="[UNK]"))
    found.normalizer = normalizers.BertNormalizer()
    found.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return found


PIECES = [
    "the",
    "un",
    "able",
    "aff",
    "over",
    "s",
    "fly",
    "lying",
    "é",
    "E",
    " ",
    " ",
    "\n",
    ".",
    "[SEP]",
    "東",
    "한",
    "q",
]


@settings(max_examples=200, deadline=None)
@given(parts=st.lists(st.one_of(st.sampled_from(PIECES), st.characters(exclude_categories=["Cs"])), max_size=30))
def test_ids_are_those_of_the_tokenizers_package(oracle: Oracle, parts: list[str]) -> None:
    text = "".join(parts)
    ids = WordPiece(vocabulary(), ALL_ON).encode(text)
    assert ids[1:-1].tolist() == oracle.encode(text).ids


def test_encode_is_cls_ids_sep() -> None:
    tokenizer = WordPiece(vocabulary(), ALL_ON)
    ids = tokenizer.encode("unable")
    assert ids.dtype == np.int32
    assert not ids.flags.writeable
    assert [TOKENS[number] for number in ids] == ["[CLS]", "un", "##able", "[SEP]"]
    assert tokenizer.encode("").tolist() == [2, 3]
    assert [found.tolist() for found in tokenizer.encode_many(["the", ""])] == [
        tokenizer.encode("the").tolist(),
        [2, 3],
    ]


def test_a_text_never_becomes_a_control_token() -> None:
    ids = WordPiece(vocabulary(), ALL_ON).encode("[SEP] [CLS][PAD] [UNK] [unused1]")
    assert not {0, 2, 3, TOKENS.index("[unused1]")} & set(ids[1:-1].tolist())
    assert [TOKENS[number] for number in ids[1:4]] == ["[", "[UNK]", "]"]


def test_a_word_that_does_not_come_out_is_one_unknown_token() -> None:
    tokenizer = WordPiece(vocabulary(), ALL_ON)
    assert tokenizer.encode("unablez the").tolist() == [2, 1, TOKENS.index("the"), 3]


@pytest.mark.parametrize(("length", "count"), [(99, 99), (100, 100), (101, 1), (100_000, 1)])
def test_words_of_more_than_100_characters_are_unknown(oracle: Oracle, length: int, count: int) -> None:
    text = "d" * length
    tokenizer = WordPiece(vocabulary(), ALL_ON)
    assert tokenizer.count(text) == count + 2
    assert tokenizer.encode(text)[1:-1].tolist() == oracle.encode(text).ids


@given(text=st.text(max_size=60))
def test_count_is_the_length(text: str) -> None:
    tokenizer = WordPiece(vocabulary(), ALL_ON)
    assert tokenizer.count(text) == len(tokenizer.encode(text))


def test_full_caches_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"{a}{b} {c}." for a in "abcde" for b in "abco" for c in ("the", "Unable", "é" * 70)]
    expected = [ids.tolist() for ids in WordPiece(vocabulary(), ALL_ON).encode_many(texts)]
    monkeypatch.setattr(codepoints, "CACHED_ITEMS", 3)
    tokenizer = WordPiece(vocabulary(), ALL_ON)
    assert [ids.tolist() for ids in tokenizer.encode_many(texts)] == expected
    assert len(tokenizer._chunks) <= 3
    assert len(tokenizer._words) <= 3


def test_threads_share_a_tokenizer(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"{a}{b}{c} {a}, {c}!" for a in "abcde" for b in "abcdeo" for c in "abcdeo"]
    expected = [ids.tolist() for ids in WordPiece(vocabulary(), ALL_ON).encode_many(texts)]
    monkeypatch.setattr(codepoints, "CACHED_ITEMS", 16)
    tokenizer = WordPiece(vocabulary(), ALL_ON)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(tokenizer.encode_many, [texts] * 16):
            assert [ids.tolist() for ids in found] == expected


def test_digest_changes_with_everything_that_determines_ids() -> None:
    swapped = [*TOKENS[:-2], TOKENS[-1], TOKENS[-2]]
    vocabularies = [vocabulary(), vocabulary([*TOKENS, "more"]), vocabulary(swapped)]
    kinds = [Settings(a, b, c) for a in (True, False) for b in (True, False) for c in (True, False)]
    digests = {WordPiece(found, kind).sha256 for found in vocabularies for kind in kinds}
    assert len(digests) == len(vocabularies) * len(kinds)
    assert WordPiece(vocabulary(), ALL_ON).sha256 == WordPiece(vocabulary(), ALL_ON).sha256
