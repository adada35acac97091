"""Places of one text in another: right where there is one, ascending always, and never at another character."""

import random

import pytest

from pipeline.parse.view.order import places_in


def said(text: str, other: str) -> str:
    """What stands in `other` at the places of `text`, "." for none."""
    return "".join("." if at < 0 else other[at] for at in places_in(text, other))


def test_a_text_stands_in_itself() -> None:
    text = "Rechnung 17\n vom 3. Mai"
    assert [(text[at], one) for at, one in zip(places_in(text, text), text, strict=True) if at >= 0] == [
        (one, one) for one in text if not one.isspace()
    ]


def test_white_space_and_hyphens_are_passed_over() -> None:
    assert said("infor-\nmation", "information") == "infor..mation"
    assert said("a b", "ab") == "a.b"


def test_what_one_text_lacks_has_no_place() -> None:
    assert said("the total is 900", "the is 900") == "the.......is.900"
    assert said("the is 900", "the total is 900") == "the.is.900"


def test_of_words_that_come_again_each_has_its_own() -> None:
    once = "total 10.00\n"
    text = "alpha " + once + "beta " + once + "gamma " + once
    places = places_in("beta " + once, text)
    assert [at for at in places if at >= 0][:4] == list(range(text.index("beta"), text.index("beta") + 4))
    assert places_in(text, text)[text.rindex("10")] == text.rindex("10")


@pytest.mark.parametrize("seed", range(40))
def test_an_edited_text_keeps_what_was_not_edited(seed: int) -> None:
    chance = random.Random(seed)
    words = [chance.choice(("lease", "rent", "the", "of", "41.20", "EUR", "flat", "1")) for _ in range(300)]
    marked = [f"{word}{number}" for number, word in enumerate(words)]
    kept = [word for word in marked if chance.random() < 0.9]
    edited = []
    for word in kept:
        edited += [word, *(["inserted words here"] if chance.random() < 0.05 else [])]
    text, other = " ".join(kept), "  ".join(edited)
    places = places_in(text, other)
    found = [at for at in places if at >= 0]
    assert found == sorted(set(found))
    assert all(other[at] == one for at, one in zip(places, text, strict=True) if at >= 0)
    assert len(found) >= 0.97 * sum(not one.isspace() for one in text)


def test_nothing_in_common() -> None:
    assert places_in("abc", "") == [-1, -1, -1]
    assert places_in("", "abc") == []
    assert said("aaaa", "bbbb") == "...."


def test_a_long_repetition_takes_no_time() -> None:
    assert len(places_in("ab" * 100_000, "ab" * 99_000 + "c")) == 200_000
