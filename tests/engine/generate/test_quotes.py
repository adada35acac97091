"""Quotes: what may be copied is found again in the text, whatever the text is."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import EngineError
from engine.generate.quotes import LONGEST_TEXT, SPACES, chunks, collapse, locate, spell

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
def test_chunks_are_the_text_in_json(text: str) -> None:
    assert "".join(chunks(text)) == spell(collapse(text))
    assert all(re.fullmatch(r'[^"\\\x00-\x1f]|\\["\\bfnrt]|\\u00[01][0-9a-f]', chunk) for chunk in chunks(text))


def test_texts_that_cannot_be_quoted_from_are_refused() -> None:
    with pytest.raises(EngineError, match="lone surrogate at code point 3"):
        chunks("abc\ud800")
    with pytest.raises(EngineError, match=f"expected at most {LONGEST_TEXT}"):
        chunks("a" * (LONGEST_TEXT + 1))
