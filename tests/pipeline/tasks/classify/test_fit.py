"""`classifying`: words are looked at where they help, scores are as often right as they say, nothing is seen twice."""

from itertools import pairwise

import numpy as np
import pytest

import engine
from pipeline.tasks.classify.fit import FOLDS, Examples, folds_of, learn, temperature_of

LABELS = ("one", "two", "three")


def examples(count: int, noise: float, told: float) -> Examples:
    """Made-up documents: their vectors tell the label but for `noise`, and of a share `told` a word tells it."""
    random = np.random.default_rng(3)
    labels = np.concatenate([np.arange(3), random.integers(0, 3, count)]).astype(np.int32)
    centres = random.standard_normal((3, 32))
    means = (centres[labels] + noise * random.standard_normal((count + 3, 32))).astype(np.float32)
    says = random.random(count + 3) < told
    texts = [f"number {n} {LABELS[labels[n]] if says[n] else ''}" for n in range(count + 3)]
    return Examples(means, texts, labels, 3)


def test_words_are_looked_at_where_they_help() -> None:
    assert learn(examples(300, 6.0, 0.9), LABELS).words > 0
    assert learn(examples(300, 0.5, 0.0), LABELS).words == 0


def test_scores_are_as_often_right_as_they_say() -> None:
    learned = learn(examples(1500, 4.0, 0.0), LABELS)
    right = (learned.unseen.argmax(1) == learned.labels).mean()
    assert 0.5 < right < 0.95
    assert learned.unseen.max(1).mean() == pytest.approx(right, abs=0.03)


def test_what_is_told_of_a_document_does_not_hang_on_its_own_label() -> None:
    """Labels that nothing tells are right by chance, as those of documents that were learned from would not be."""
    given = examples(400, 0.5, 0.0)
    random = np.random.default_rng(9)
    labels = np.concatenate([given.labels[:3], random.integers(0, 3, 400)]).astype(np.int32)
    learned = learn(Examples(given.means, given.texts, labels, 3), LABELS)
    assert (learned.unseen.argmax(1) == labels[3:]).mean() < 0.45


def test_folds_have_each_label_in_equal_shares() -> None:
    labels = np.random.default_rng(1).integers(0, 4, 203).astype(np.int32)
    folds = folds_of(labels, FOLDS)
    for label in range(4):
        counts = np.bincount(folds[labels == label], minlength=FOLDS)
        assert counts.max() - counts.min() <= 1


def test_the_temperature_is_the_most_likely_one() -> None:
    random = np.random.default_rng(2)
    logits = random.standard_normal((500, 5)).astype(np.float32) * 3
    chances = engine.softmax(logits, 0.4)
    labels = np.array([random.choice(5, p=row / row.sum()) for row in chances.astype(np.float64)], np.int32)
    found = temperature_of(logits, labels)
    assert found == pytest.approx(2.5, rel=0.25)

    def cost(temperature: float) -> float:
        shares = engine.softmax(logits, 1 / temperature)
        return -float(np.log(shares[np.arange(500), labels]).sum())

    costs = [cost(found * factor) for factor in (0.8, 0.95, 1.0, 1.05, 1.25)]
    assert [a > b for a, b in pairwise(costs)] == [True, True, False, False]
