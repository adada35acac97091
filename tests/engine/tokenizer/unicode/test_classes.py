"""Letters, numbers, white space and graphemes against the `tokenizers` package, code point by code point."""

import re

import pytest
from tokenizers import normalizers

from engine.tokenizer.unicode import classes as classes
from engine.tokenizer.unicode.codepoints import Ranges
from tests.engine.tokenizer.charsmaps import charsmap
from tests.engine.tokenizer.unicode.make_tables import CODE_POINTS, HEADS, TAILS, joined, members


@pytest.mark.parametrize(
    ("table", "pattern"),
    [
        (classes.LETTERS, r"\p{L}"), (classes.NUMBERS, r"\p{N}"), (classes.WHITE_SPACE, r"\s"),
        (classes.HEADS, HEADS), (classes.TAILS, TAILS),
    ],
)  # fmt: skip
def test_classes_of_regular_expressions(table: str, pattern: str) -> None:
    found = Ranges(table)
    assert [number for number in CODE_POINTS if number in found] == members(pattern)


def test_what_joins_the_grapheme_before() -> None:
    table = Ranges(classes.JOINED)
    assert [number for number in CODE_POINTS if number in table] == joined()


@pytest.mark.parametrize("number", [0x600, 0x6DD, 0x70F, 0x8E2, 0x41, 0xE9, 0x0A, 0x0D, 0x200B, 0xFEFF, 0x1F, 0x110BD])
def test_some_that_join_what_comes_after_or_nothing(number: int) -> None:
    normalize = normalizers.Precompiled(charsmap({chr(number): "!"})).normalize_str
    assert (normalize(f"{chr(number)}x") == "!") == (number in Ranges(classes.JOINING))
    alone = number in Ranges(classes.APART)
    if number < 0x10000:
        assert (normalize(f"{chr(number)}\u0301") == "!\u0301") == alone


def test_patterns_of_ranges() -> None:
    assert re.findall(f"[{Ranges('41-43 61').pattern()}]+", "ABCDab") == ["ABC", "a"]
