"""What holds of every type: places, order, the same answer twice, and time linear in the text."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.text.values import VALUES, Reading, Value, read_habits
from tests.thorough import ALL

PIECES = st.sampled_from(
    [
        "1", "23", "456", "2025", ".", ",", "-", "/", " ", "\n", "€", "$", "EUR", "Mio.", "%", "@", "a", "b.de", "März",
        "May", "+49", "(0)", ":", " | ", "\t", "DE89", "th", "'", "\u00a0", "Nr.", "İ", "ß", "漢", "²", "٣",
    ]
)  # fmt: skip


def found(name: str, text: str) -> list[Value]:
    return list(VALUES[name](text, read_habits(text)))


@pytest.mark.parametrize("name", VALUES)
@given(text=st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=100))
def test_places_are_in_order_and_in_the_text(name: str, text: str) -> None:
    values, at = found(name, text), 0
    for value in values:
        assert at <= value.start < value.end <= len(text)
        assert text[value.start : value.end].strip() == text[value.start : value.end]
        assert value.value
        at = value.end
    assert values == found(name, text)


def hostile() -> Iterator[str]:
    for pattern in (
        "1", "1.", "1,", "1 ", "1.234.", "1-", "1/", "a", "a.", "a@", "@", "a@a.", "-", "+1", "(1", "A1", "DE89 ",
        "DE89", "Jan ", "1 Jan ", "1. ", "EUR ", "EUR 1 ", "$1", " €", "%", "a: ", "a | ", "\t", " ", "\n", "#", "1:",
        ".,", "1'", "1\u00a0",
    ):  # fmt: skip
        yield pattern * ((40_000 if ALL else 20_000) // len(pattern))


@pytest.mark.parametrize("name", VALUES)
def test_hostile_texts_take_linear_time(name: str) -> None:
    for text in hostile():
        assert all(value.end <= len(text) for value in VALUES[name](text, Reading()))
