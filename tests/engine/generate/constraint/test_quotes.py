"""Quotes: what may be copied is found again in the text, whatever the text is."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import EngineError
from engine.generate.constraint.quotes import LONGEST_TEXT, SPACES, can_quote, collapse, locate, parts, spell

# No lone surrogates.
SIGNS = st.sampled_from(' \n\t\u3000"\\\x00\x1f\u0301aé😀/')
TEXTS = st.text(st.one_of(SIGNS, st.characters(exclude_categories=["Cs"])))


def test_white_space_is_what_python_splits_at() -> None:
    assert [c for c in map(chr, range(0x110000)) if SPACES.fullmatch(c)] == [
        c for c in map(chr, range(0x110000)) if c.isspace()
    ]


@given(TEXTS)
def test_white_space_is_made_one(text: str) -> None:
    assert collapse(text) == " ".join(text.split())


@given(TEXTS, st.data())
def test_every_part_is_located(text: str, data: st.DataObject) -> None:
    single = collapse(text)
    if not single:
        return
    start = data.draw(st.integers(0, len(single) - 1))
    quote = single[start : data.draw(st.integers(start + 1, len(single)))].strip(" ")
    if quote:
        first, last = locate(text, quote)
        assert collapse(text[first:last]) == quote
        assert text[first:last] == text[first:last].strip()
        assert collapse(text).find(quote) == len(collapse(text[:first] + "|")) - 1


def test_offsets_are_of_the_text_as_it_was_given() -> None:
    text = "\n\t Total\u00a0 \n EUR\r\n100  Total EUR 100 "
    assert locate(text, "EUR 100") == (12, 20)
    assert text[12:20] == "EUR\r\n100"
    assert locate(text, "100 Total") == (17, 27)
    assert locate("  a", "a") == (2, 3)


@pytest.mark.parametrize("quote", ["", " ", "totals", "Total EUR"])
def test_what_is_not_there_is_refused(quote: str) -> None:
    with pytest.raises(EngineError, match="not in the text"):
        locate("Total: EUR", quote)


def test_a_long_text_is_searched_at_once() -> None:
    text = "a \n" * 70_000 + "b"
    assert locate(text, "a a b") == (len(text) - 7, len(text))


@given(TEXTS)
def test_parts_are_the_text(text: str) -> None:
    assert "".join(parts(text)) == collapse(text)
    assert all(len(part) <= 33 and (part == " " or part == part.strip(" ")) for part in parts(text))


def test_a_part_is_a_word_or_a_number_or_one_character() -> None:
    text = "Re\u0301sume\u0301 INV-2024/00017,50€ हिन्दी 서울 中文です ไทย 👩\u200d👩 x_y"
    assert parts(text) == [
        *["Re\u0301sume\u0301", " ", "INV", "-", "2024", "/", "00017", ",", "50", "€", " ", "हिन्दी", " ", "서울", " "],
        *["中", "文", "で", "す", " ", "ไ", "ท", "ย", " ", "👩\u200d", "👩", " ", "x", "_", "y"],
    ]
    assert list(map(len, parts("a" * 70))) == [32, 32, 6]


@given(st.lists(st.sampled_from([" ", "a", "bc", "def", "-"]), max_size=12), st.integers(1, 8), st.integers(0, 4))
def test_whether_there_is_a_quote(some: list[str], low: int, more: int) -> None:
    some = [part for i, part in enumerate(some) if part != " " or (0 < i < len(some) - 1 and some[i - 1] != " ")]
    some = some[:-1] if some and some[-1] == " " else some
    quotes = ["".join(some[i:j]) for i in range(len(some)) for j in range(i + 1, len(some) + 1)]
    expected = any(low <= len(quote) <= low + more and quote == quote.strip() for quote in quotes)
    assert can_quote(some, low, low + more) == expected


@given(TEXTS)
def test_spelling_is_that_of_json(text: str) -> None:
    assert spell(text) == json.dumps(text, ensure_ascii=False)[1:-1]


def test_texts_that_cannot_be_quoted_from_are_refused() -> None:
    with pytest.raises(EngineError, match="lone surrogate at code point 3"):
        parts("abc\ud800")
    with pytest.raises(EngineError, match=f"expected at most {LONGEST_TEXT}"):
        parts("a" * (LONGEST_TEXT + 1))
