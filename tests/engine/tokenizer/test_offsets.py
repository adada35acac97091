"""WordPiece: where in a text each id lies, and pairs of texts, against the `tokenizers` package."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from tokenizers import Tokenizer as Oracle
from tokenizers import models, normalizers, pre_tokenizers, processors

from engine.tokenizer.base import Template
from engine.tokenizer.wordpiece import Settings, Vocabulary, WordPiece
from tests.engine.tokenizer.texts import ANY_TEXT, HARD, LEARNED

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789éäü東京"
TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *LETTERS, *".,;:'!?-€", "the", "rent", "lan", "miete"]
TOKENS += [f"##{c}" for c in LETTERS] + ["##nt", "##lord", "##er"]
SETTINGS = [Settings(a, b, c) for a in (True, False) for b in (True, False) for c in (True, False)]


def ours(found: Settings, template: Template | None = None) -> WordPiece:
    ids = {token: number for number, token in enumerate(TOKENS)}
    starts = {token: number for token, number in ids.items() if number > 3 and not token.startswith("##")}
    continuations = {token[2:]: number for token, number in ids.items() if token.startswith("##")}
    return WordPiece(Vocabulary(starts, continuations, 2, 3, 1), found, template)


def oracle(found: Settings) -> Oracle:
    tokenizer = Oracle(models.WordPiece({token: n for n, token in enumerate(TOKENS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(
        lowercase=found.lower_case, strip_accents=found.strip_accents, handle_chinese_chars=found.chinese_chars
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


@pytest.mark.parametrize("found", SETTINGS, ids=str)
def test_offsets_are_those_of_the_package(found: Settings) -> None:
    for text in [*LEARNED, *(text for text in HARD if max(text, default=" ") < "\u0300")]:
        expected = oracle(found).encode(text)
        encoding = ours(found).encode_with_offsets(text)
        assert encoding.ids.tolist() == expected.ids
        assert encoding.offsets[1:-1].tolist() == [list(span) for span in expected.offsets[1:-1]], ascii(text)


@pytest.mark.parametrize("found", SETTINGS, ids=str)
@settings(max_examples=150, deadline=None)
@given(text=ANY_TEXT)
def test_ids_with_offsets_are_the_ids(found: Settings, text: str) -> None:
    encoding = ours(found).encode_with_offsets(text)
    assert encoding.ids.tolist() == ours(found).encode(text).tolist()
    starts = encoding.offsets[1:-1, 0]
    assert (encoding.offsets[1:-1, 1] > starts).all()
    assert (np.diff(starts) >= 0).all()


def test_accents_and_dropped_characters() -> None:
    found = ours(SETTINGS[0]).encode_with_offsets("\0Re\u0301\u200bnt E\u0301\u0323 miete")
    assert [TOKENS[number] for number in found.ids] == ["[CLS]", "rent", "e", "miete", "[SEP]"]
    assert found.offsets.tolist() == [[-1, -1], [1, 7], [8, 9], [12, 17], [-1, -1]]


def test_long_texts_take_no_quadratic_time() -> None:
    start = time.process_time()
    for text in ("e\u0301" * 20_000, "\u0301" * 20_000, "the rent " * 10_000, "\u6771" * 20_000):
        ours(SETTINGS[0]).encode_with_offsets(text)
    assert time.process_time() - start < 10


def test_pairs() -> None:
    expected = oracle(SETTINGS[0]).encode("The rent?", "the landlord, 5")
    found = ours(SETTINGS[0]).encode_pair("The rent?", "the landlord, 5")
    assert found.ids.tolist() == expected.ids
    assert found.types.tolist() == expected.type_ids
    second = [
        number == 1 and token != "[SEP]" for number, token in zip(expected.sequence_ids, expected.tokens, strict=True)
    ]
    wanted = [list(span) if inside else [-1, -1] for span, inside in zip(expected.offsets, second, strict=True)]
    assert found.offsets.tolist() == wanted


def test_templates() -> None:
    found = ours(SETTINGS[0], Template((2,), (3,), (3, 3), 0))
    assert found.encode_pair("a", "b").ids.tolist() == [2, 4, 3, 3, 5, 3]
    assert found.encode_pair("a", "b").types.tolist() == [0] * 6
    assert found.sha256 != ours(SETTINGS[0]).sha256 == ours(SETTINGS[0], Template((2,), (3,), (3,), 1)).sha256
