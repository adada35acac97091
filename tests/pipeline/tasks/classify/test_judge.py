"""Accuracy, precision, recall, F1, macro-F1 and confusion, by hand and by the definition."""

import random

import numpy as np
import pytest

from pipeline.tasks.classify.judge import Classes
from pipeline.tasks.judging import measured

LABELS = ("a", "b", "c")
TRUTH = ["a", "a", "a", "b", "b", "c"]
ANSWERS = ["a", "a", "b", "b", None, "b"]


def test_known_values() -> None:
    """By hand: a has precision 2/2 and recall 2/3, b 1/3 and 1/2, c is never answered."""
    found = Classes(LABELS, TRUTH, ANSWERS)
    a, b, c = found.labels()
    assert (a.documents, a.answered, a.precision, a.recall, a.f1) == (3, 2, 1.0, pytest.approx(2 / 3), 0.8)
    assert (b.documents, b.answered, b.recall) == (2, 3, 0.5)
    assert (b.precision, b.f1) == (pytest.approx(1 / 3), 0.4)
    assert (c.documents, c.answered, c.precision, c.recall, c.f1) == (1, 0, None, 0.0, 0.0)
    assert found.confusion().counts == ((2, 1, 0, 0), (0, 1, 0, 1), (0, 1, 0, 0))
    figures = {one.name: one.value for one in measured(found.figures, len(TRUTH), 10)}
    assert figures == pytest.approx({"accuracy": 0.5, "macro_f1": 0.4, "answered": 5 / 6}, abs=1e-6)


def test_a_label_that_no_document_has_or_got_does_not_count() -> None:
    found = Classes((*LABELS, "d"), TRUTH, ANSWERS)
    figures = {one.name: one.value for one in measured(found.figures, len(TRUTH), 10)}
    assert figures["macro_f1"] == pytest.approx(0.4)


def macro_f1(truth: list[str], answers: list[str]) -> float:
    """The definition, label by label."""
    each = []
    for label in sorted({*truth, *answers}):
        both = sum(a == b == label for a, b in zip(truth, answers, strict=True))
        precision = both / answers.count(label) if label in answers else 0.0
        recall = both / truth.count(label) if label in truth else 0.0
        each.append(2 * precision * recall / (precision + recall) if both else 0.0)
    return sum(each) / len(each)


@pytest.mark.parametrize("seed", range(5))
def test_figures_are_those_of_the_definition_also_of_weights(seed: int) -> None:
    """A document that counts three times is as three documents."""
    chance = random.Random(seed)
    truth, answers = ([chance.choice(LABELS) for _ in range(30)] for _ in range(2))
    weights = [chance.randrange(4) for _ in range(30)]
    found = Classes(LABELS, truth, answers).figures(np.array([weights], np.float64))
    again = [[one for one, weight in zip(its, weights, strict=True) for _ in range(weight)] for its in (truth, answers)]
    right = sum(a == b for a, b in zip(*again, strict=True)) / len(again[0])
    assert float(found["accuracy"][0]) == pytest.approx(right)
    assert float(found["macro_f1"][0]) == pytest.approx(macro_f1(*again))
