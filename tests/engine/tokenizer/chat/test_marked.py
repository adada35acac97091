"""Marked text: equal to the plain string in everything, and its marks only where a template wrote."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.tokenizer.chat.marked import Marked, between, glue, pieces_of, written

# a template writes capital letters, a message small ones; white space and brackets come from both
TEMPLATE, CONTENT = st.text("AB <>\n", max_size=6), st.text("ab <>\n", max_size=6)
PARTS = st.lists(st.one_of(TEMPLATE.map(written), CONTENT), max_size=6)
SEPARATORS = ["A", "a", " ", "<", "> "]

STEPS: dict[str, Callable[[str], str]] = {
    "strip": lambda text: text.strip(),
    "strip characters": lambda text: text.strip("A<"),
    "lstrip": lambda text: text.lstrip(),
    "rstrip": lambda text: text.rstrip(),
    "begin": lambda text: text[:3],
    "end": lambda text: text[-2:],
    "middle": lambda text: text[1:-1],
    "second steps": lambda text: text[::2],
    "backwards": lambda text: text[::-1],
    "first": lambda text: text[:1] and text[0],
    "split": lambda text: "|".join(text.split()),
    "last of a split": lambda text: text.split("<")[-1],
    "split once": lambda text: glue(between(text.split(" ", 1), "a")),
    "replace": lambda text: text.replace("A", "bb"),
    "replace once": lambda text: text.replace("a", written("AB"), 1),
    "replace nothing": lambda text: text.replace("", "A"),
    "join": lambda text: written("A").join([text, "a", text]),
    "add": lambda text: "a" + text + written("B") + text,
    "as a string": str,
    "centred": lambda text: text.center(20),
    "formatted": lambda text: "{}".format(text),  # noqa: UP032
}


def marks(text: str) -> list[tuple[str, bool]]:
    return [(c, piece.is_content) for piece in pieces_of(text) for c in piece.text]


@pytest.mark.parametrize("name", STEPS)
@given(parts=PARTS)
def test_steps_are_those_of_strings_and_follow_the_marks(name: str, parts: list[str]) -> None:
    made, plain = STEPS[name](glue(parts)), STEPS[name]("".join(map(str.__str__, parts)))
    assert made == plain
    assert "".join(piece.text for piece in pieces_of(made)) == plain
    for c, is_content in marks(made):
        assert is_content or c not in "ab|"


@given(parts=PARTS, separator=st.sampled_from(SEPARATORS))
def test_nothing_is_lost_that_is_followed(parts: list[str], separator: str) -> None:
    text = glue(parts)
    for followed in text.split(separator), [text.strip()], [text[1:]], [text.replace(separator, "a")], ["a" + text]:
        for c, is_content in [mark for part in followed for mark in marks(part)]:
            assert not is_content or c not in "AB"


def test_letters_change_one_for_one() -> None:
    text = glue([written("ab"), "CD \u0130", written("ef")])
    assert [(p.text, p.is_content) for p in pieces_of(text.upper())] == [
        ("AB", False),
        ("CD \u0130", True),
        ("EF", False),
    ]
    assert not isinstance(text.lower(), Marked)
    assert [p.is_content for p in pieces_of(written("ab").title())] == [False]
    assert [p.is_content for p in pieces_of(written("ab").capitalize())] == [False]


def test_by_itself_it_is_content() -> None:
    assert [piece.is_content for piece in pieces_of(Marked("a"))] == [True]
    assert [piece.is_content for piece in pieces_of("a")] == [True]
