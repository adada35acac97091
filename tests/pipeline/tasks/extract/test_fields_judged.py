"""Values are judged as SQuAD's evaluation judges answers."""

import pytest

from pipeline.tasks.extract.judge import Fields, Judged, exact_match, judged, normalised, token_f1
from pipeline.tasks.judging import measured
from pipeline.text.values import VALUES


def test_text_is_normalised_as_by_squad() -> None:
    assert normalised("The  Acme, Inc.") == "acme inc"
    assert normalised("An apple a day, the-best!") == "apple day thebest"
    assert exact_match("the Board of Directors", "Board of directors.")


@pytest.mark.parametrize(
    ("answer", "known", "f1"),
    [
        ("Denver Broncos", "the Denver Broncos", 1.0),
        ("Broncos", "Denver Broncos", 2 / 3),  # precision 1, recall 1/2
        ("Carolina Panthers", "Denver Broncos", 0.0),
        ("in the year 1933", "1933", 0.5),  # precision 1/3, recall 1: "the" is no word
        ("a x", "x a x", 2 / 3),  # the article goes: one word, of two
    ],
)
def test_f1_of_words(answer: str, known: str, f1: float) -> None:
    assert token_f1(answer, known) == pytest.approx(f1)


def test_the_best_of_several_known_values_counts() -> None:
    found = judged(("Acme", "Acme Corporation of Delaware"), ("Acme Corporation",), 0.7, None)
    assert (found.exact, found.normalised, found.score) == (0.0, 0.0, 0.7)
    assert found.token_f1 == pytest.approx(2 / 3)


def test_a_value_of_a_type_is_right_in_another_form() -> None:
    found = judged(("7 May 2014",), ("May 7, 2014", "2014-05-07"), 0.7, VALUES["date"])
    assert (found.exact, found.normalised, found.token_f1) == (0.0, 1.0, 1.0)
    found = judged(("8 May 2014",), ("May 7, 2014", "2014-05-07"), 0.7, VALUES["date"])
    assert (found.exact, found.normalised) == (0.0, 0.0)


def test_an_absent_value_is_right_when_nothing_is_answered() -> None:
    assert judged((), (), None, None) == Judged(1.0, 1.0, 1.0, False, False)
    assert judged((), ("x",), 0.5, None) == Judged(0.0, 0.0, 0.0, False, True, 0.5)
    assert judged(("x",), (), None, None) == Judged(0.0, 0.0, 0.0, True, False)


def test_fields_count_the_same_and_only_what_is_known() -> None:
    yes, no = Judged(1.0, 1.0, 1.0, True, True, 0.9), Judged(0.0, 0.0, 0.5, True, True, 0.4)
    absent, made_up = Judged(1.0, 1.0, 1.0, False, False), Judged(0.0, 0.0, 0.0, False, True, 0.3)
    found = Fields({"total": [yes, no, yes, yes], "until": [absent, None, made_up, None], "unsaid": [None] * 4})
    figures = {one.name: one.value for one in measured(found.figures, 4, 20)}
    assert figures["exact"] == pytest.approx((3 / 4 + 1 / 2) / 2)
    assert figures["token_f1"] == pytest.approx((3.5 / 4 + 1 / 2) / 2)
    assert figures["absent_empty"] == pytest.approx(0.5)
    total, until = found.fields()
    assert (total.name, total.documents, total.present, total.absent_answered) == ("total", 4, 4, 0)
    assert (until.documents, until.present, until.present_f1, until.absent_answered) == (2, 0, None, 1)
    assert found.scored() == ([0.9, 0.4, 0.9, 0.9, 0.3], [True, False, True, True, False])
