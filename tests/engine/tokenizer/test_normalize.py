"""The normalizer against the `tokenizers` package: every code point, then strings made to interact."""
# ruff: noqa: RUF001

import sys
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import normalizers, pre_tokenizers

from engine.tokenizer.unicode import tables as unicode_tables
from engine.tokenizer.unicode.codepoints import CACHED_ITEMS, Ranges
from engine.tokenizer.unicode.nfc import ORDER
from engine.tokenizer.wordpiece import Normalizer

# lower_case, strip_accents, chinese_chars
SETTINGS = [(True, True, True), (True, False, True), (False, True, False), (False, False, False)]
every_setting = pytest.mark.parametrize(("lower_case", "strip_accents", "chinese_chars"), SETTINGS)

CODE_POINTS = [number for number in range(sys.maxunicode + 1) if not 0xD800 <= number < 0xE000]
ASSIGNED = [number for number in CODE_POINTS if number >> 16 in (0, 1, 2, 3, 14)]
"""Planes with characters, those of private use apart."""

SPLIT = pre_tokenizers.BertPreTokenizer()


def oracle(lower_case: bool, strip_accents: bool, chinese_chars: bool) -> normalizers.BertNormalizer:
    return normalizers.BertNormalizer(
        clean_text=True, lowercase=lower_case, strip_accents=strip_accents, handle_chinese_chars=chinese_chars
    )


def ours(lower_case: bool, strip_accents: bool, chinese_chars: bool) -> Normalizer:
    return Normalizer(lower_case=lower_case, strip_accents=strip_accents, chinese_chars=chinese_chars)


def words_of_oracle(normalizer: normalizers.BertNormalizer, text: str) -> list[str]:
    return [word for word, _ in SPLIT.pre_tokenize_str(normalizer.normalize_str(text))]


@every_setting
def test_every_code_point(lower_case: bool, strip_accents: bool, chinese_chars: bool) -> None:
    """Normalized between two letters; the splitting into words has its own test."""
    expected = oracle(lower_case, strip_accents, chinese_chars)
    normalizer = ours(lower_case, strip_accents, chinese_chars)
    numbers = CODE_POINTS if lower_case and strip_accents else ASSIGNED
    for start in range(0, len(numbers), 1 << 14):
        text = " ".join(f"x{chr(number)}y" for number in numbers[start : start + (1 << 14)])
        if normalizer.normalize(text) != expected.normalize_str(text):
            found = {c: normalizer.normalize(f"x{c}y") for c in text}
            raise AssertionError(
                {ascii(c): word for c, word in found.items() if word != expected.normalize_str(f"x{c}y")}
            )


def test_every_code_point_is_split_alike() -> None:
    punctuation = Ranges(unicode_tables.PUNCTUATION)
    for start in range(0, len(ASSIGNED), 1 << 14):
        text = " ".join(f"x{chr(number)}y" for number in ASSIGNED[start : start + (1 << 14)])
        pieces = [piece for piece, _ in SPLIT.pre_tokenize_str(text)]
        found = {ord(piece) for piece in pieces if len(piece) == 1 and piece not in "xy"}
        assert found == {number for number in ASSIGNED[start : start + (1 << 14)] if number in punctuation}


MARKS = st.sampled_from(sorted(ORDER))
LETTERS = st.sampled_from("aZ éÅǖİIıßẞſΣςσŐ가각힣각漢字豈﨎ｱ゙ガ한\u1d15e\u0344\u212b≠ﬁ")
ODD = st.sampled_from(
    "\0\t\n\x0b\x0c\r\x1c\x1f \x85\xa0\xad\u200b\u200d\u2028\u3000\ufeff\ufffd\ue000\U000e0001\u0378_$«—、"
)
HARD_TEXT = st.lists(st.one_of(MARKS, MARKS, LETTERS, ODD, st.characters(exclude_categories=["Cs"])), max_size=24).map(
    "".join
)


@every_setting
@settings(max_examples=200, deadline=None)
@given(text=HARD_TEXT)
def test_any_string(lower_case: bool, strip_accents: bool, chinese_chars: bool, text: str) -> None:
    expected = words_of_oracle(oracle(lower_case, strip_accents, chinese_chars), text)
    assert ours(lower_case, strip_accents, chinese_chars).words(text) == expected


def pairs_of_ranks() -> Iterator[tuple[str, str]]:
    firsts = {rank: mark for mark, rank in sorted(ORDER.items(), reverse=True)}
    return ((a, b) for a in firsts.values() for b in firsts.values())


def test_every_pair_of_ranks_is_ordered_alike() -> None:
    """Kept marks too: two of them between letters, in both orders, with a dropped one between."""
    expected, normalizer = oracle(False, True, False), ours(False, True, False)
    kept = [mark for mark in ORDER if normalizer.words(f"x{mark}") == [f"x{mark}"]]
    text = " ".join([f"x{a}{b}y" for a, b in pairs_of_ranks()] + [f"x{a}\u0301{b}y" for a in kept for b in kept])
    assert kept
    assert normalizer.words(text) == words_of_oracle(expected, text)


def test_lone_surrogates_are_dropped() -> None:
    assert ours(True, True, True).words("a\ud800b\udfffc") == ["abc"]


def test_python_splits_at_the_same_spaces() -> None:
    """`Tokenizer` cuts texts with str.split(), which must not change with Python's Unicode version."""
    python = {number for number in range(sys.maxunicode + 1) if chr(number).isspace()}
    space = Ranges(unicode_tables.SPACE)
    assert python == {n for n in CODE_POINTS if n in space} | {0x0B, 0x0C, 0x1C, 0x1D, 0x1E, 0x1F, 0x85} | {0x20}


def test_memory_of_replacements_is_bounded() -> None:
    normalizer = ours(True, True, True)
    normalizer.words("".join(map(chr, CODE_POINTS[: 2 * CACHED_ITEMS + 5000])))
    assert 0 < len(normalizer._first) <= CACHED_ITEMS
    assert len(normalizer._last) <= CACHED_ITEMS
