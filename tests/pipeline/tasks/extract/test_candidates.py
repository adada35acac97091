"""`candidates`: what could be a value, and the words that are learned about it."""

import pytest

from pipeline.document import Parsed, Span
from pipeline.tasks.extract.candidates import Candidate, Page, names, size
from pipeline.text.sentences import split_sentences

TEXT = """\
SUPPLY AGREEMENT

This Supply Agreement is made on 3 May 2021 between Acme Tools, Inc. (the "Supplier")
and Bolt & Nut Limited. It runs for two years.

Governing law: The laws of Ireland apply.
"""


def page(text: str) -> Page:
    return Page(Parsed(text, "text/plain", "test"), split_sentences(text))


def found(text: str, type_: str = "text") -> dict[str, str]:
    return {one.value.value: one.kind for one in page(text).candidates(type_)}


def test_texts_are_passages_lines_names_and_values() -> None:
    its = found(TEXT)
    assert {
        "SUPPLY AGREEMENT",
        "Acme Tools, Inc.",
        "Bolt & Nut Limited",
        "3 May 2021",
        "It runs for two years.",
    } <= set(its)
    assert its["3 May 2021"] == "date"
    assert its["It runs for two years."] == "passage"
    assert "The laws of Ireland apply." in its, "the label before it is no part of the value"


def test_values_of_a_type_are_those_of_its_finder() -> None:
    assert found(TEXT, "date") == {"2021-05-03": "date"}
    its = page(TEXT).candidates("regex", r"[Tt]wo \w+")
    assert [(one.value.value, one.kind) for one in its] == [("two years", "regex")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("signed by Jane Roe and John Doe of Acme.", ["Jane Roe", "John Doe of Acme", "Jane Roe and John Doe of Acme"]),
        ("the firm Acme, a company", ["Acme"]),
        ("with Acme Co., Ltd. of Taipei", ["Acme Co.", "Acme Co., Ltd.", "Acme Co., Ltd. of Taipei"]),
        ('as (the "Buyer") says', ["Buyer"]),
        ("This Agreement and the", ["Agreement"]),
        ("no name here", []),
    ],
)
def test_names_are_runs_of_capitals(text: str, expected: list[str]) -> None:
    found = list(dict.fromkeys(text[span.start : span.end] for span in names(text, Span(0, len(text)))))
    assert found == expected


def test_names_go_over_the_end_of_a_line_only_if_asked() -> None:
    text = "FIRST AMENDMENT TO\n   SALES AGREEMENT"
    each = [[text[s.start : s.end].split() for s in names(text, Span(0, len(text)), over)] for over in (False, True)]
    assert each == [
        [["FIRST", "AMENDMENT"], ["SALES", "AGREEMENT"]],
        [["FIRST", "AMENDMENT", "TO", "SALES", "AGREEMENT"]],
    ]


def test_words_say_what_stands_in_around_and_above_a_value_and_where() -> None:
    one = page(TEXT)
    candidates = one.candidates("text")
    words = dict(zip((each.value.value for each in candidates), one.words(candidates), strict=True))
    assert {"left:between", "in:acme", 'right:( the "', "kind:organisation"} <= set(words["Acme Tools, Inc."])
    assert {"left:on", "left:on made is", "line:in"} <= set(words["3 May 2021"])
    assert {"form:capitals", "line:alone", "at:0", "part:0", "order:title:0"} <= set(words["SUPPLY AGREEMENT"])
    assert "in:acme" not in words["3 May 2021"]


def test_no_text_has_no_candidates() -> None:
    for text in ("", "   \n\n "):
        assert page(text).candidates("text") == page(text).candidates("date") == []


def test_sizes_are_half_powers_of_two() -> None:
    assert [size(n) for n in range(10)] == [0, 1, 2, 3, 4, 4, 6, 6, 8, 8]
    assert size(1000) == 768
    assert all(size(n) <= n < 2 * size(n) for n in range(1, 5000))


def test_candidates_stand_in_the_order_of_their_places() -> None:
    its = page(TEXT).candidates("text")
    assert its == sorted(its, key=lambda one: (one.value.start, one.value.end))
    assert len({(one.value.start, one.value.end) for one in its}) == len(its)
    assert all(isinstance(one, Candidate) for one in its)
