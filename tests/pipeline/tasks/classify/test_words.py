"""`words`: TF-IDF as it is defined, and logarithms that are rounded correctly."""

import math

import numpy as np

from pipeline.tasks.classify.head import ln, vocabulary_of

TEXTS = ["The tenant pays the rent.", "The landlord has the flat", "rent, RENT and rent", ""]


def test_words_that_stand_in_two_texts_are_known() -> None:
    known = vocabulary_of(TEXTS)
    assert known.words == ("rent", "the")
    assert np.allclose(known.weights, 1 + math.log(5 / 3))


def test_bags_have_the_length_1() -> None:
    bags = vocabulary_of(TEXTS).bags(TEXTS)
    assert bags.starts.tolist() == [0, 2, 3, 4, 4]
    assert bags.words.tolist() == [0, 1, 1, 0]
    assert np.allclose(bags.counts, [math.sqrt(0.5), math.sqrt(0.5), 1, 1]), "how often does not count"


def test_the_words_of_the_most_texts_are_kept() -> None:
    assert vocabulary_of([*TEXTS, "the flat"], 1).words == ("the",)


def test_logarithms_are_nearest() -> None:
    assert ln(1) == 0.0
    assert all(math.isclose(ln(number), math.log(number), rel_tol=4e-16) for number in (2, 3, 10, 999, 10**6))
