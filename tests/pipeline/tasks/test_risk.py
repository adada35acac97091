"""`risk`: exact tails of the binomial distribution, and promises that hold in 95 of 100 draws of examples."""

from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from pipeline.heads import HeadFile
from pipeline.tasks.risk import DOUBT, NoPromiseError, Unseen, allowed, needed, promise, scores_tried


def allowed_by_definition(count: int, risk: str, doubt: str) -> int:
    """The most k with P(Binomial(count, risk) <= k) <= doubt, in fractions; -1 for none."""
    share, total, most = Fraction(risk), Fraction(0), -1
    for k in range(count + 1):
        total += comb(count, k) * share**k * (1 - share) ** (count - k)
        if total > Fraction(doubt):
            break
        most = k
    return most


@pytest.mark.parametrize("risk", ["0.01", "0.02", "0.1", "0.37", "0.5"])
@pytest.mark.parametrize("doubt", ["0.05", "0.002"])
def test_as_many_may_be_wrong_as_the_definition_says(risk: str, doubt: str) -> None:
    for count in (0, 1, 2, 5, 29, 59, 150, 300, 700):
        assert allowed(count, float(risk), Decimal(doubt)) == allowed_by_definition(count, risk, doubt)


def test_thousands_of_answers_are_counted_to_the_last_one() -> None:
    assert allowed(4000, 0.05, Decimal("0.05")) == allowed_by_definition(4000, "0.05", "0.05")


def test_how_many_must_be_right_to_promise_anything() -> None:
    assert [needed(risk, DOUBT) for risk in (0.01, 0.02, 0.05, 0.1)] == [299, 149, 59, 29]


@pytest.mark.parametrize("least", [0.0, 0.3, 0.999])
def test_tried_scores_fall_from_one_minus_the_risk_to_the_least(least: float) -> None:
    tried = list(scores_tried(0.02, least))
    assert tried == sorted(set(tried), reverse=True)
    assert (tried[-1], tried[0]) == (least, max(0.98, least))


def drawn(random: np.random.Generator, count: int, worth: float) -> Unseen:
    """Answers to `count` examples whose scores s are right with a probability of s ** worth."""
    scores = np.round(1 - 0.9 * random.random(count) ** 4, 6)
    return Unseen(scores, random.random(count) < scores**worth, None)


@pytest.mark.parametrize("worth", [1.0, 1.6])  # true scores, and a head that is too sure
@pytest.mark.parametrize("risk", [0.05, 0.1])
def test_a_promise_is_broken_in_at_most_five_of_a_hundred_draws(worth: float, risk: float) -> None:
    population = drawn(np.random.default_rng(1), 400_000, worth)
    wrong = {score: float((~population.right[population.scores >= score]).mean()) for score in scores_tried(risk, 0.3)}
    random, broken, made = np.random.default_rng(2), 0, 0
    for _ in range(200):
        with suppress(NoPromiseError):
            broken += wrong[promise(drawn(random, 2000, worth), risk, 0.3).score] > risk
            made += 1
    assert broken <= 0.05 * 200
    assert made > 150, "a promise that is never made is always kept"


def test_the_lowest_score_that_holds_is_taken() -> None:
    scores = np.linspace(0.3, 1, 2000)
    unseen = Unseen(scores, scores > 0.6, None)
    made = promise(unseen, 0.05, 0.3)
    assert 0.55 < made.score < 0.65
    assert made.wrong == int(((scores >= made.score) & (scores <= 0.6)).sum())
    assert (made.accepted, made.examples) == (int((scores >= made.score).sum()), 2000)
    assert promise(Unseen(scores, scores > 0, None), 0.05, 0.3).score == 0.3


def test_too_few_examples_promise_nothing_and_the_number_is_told() -> None:
    with pytest.raises(NoPromiseError) as refused:
        promise(Unseen(np.ones(100), np.ones(100, bool), None), 0.02, 0.3)
    assert refused.value.examples == 100
    enough = refused.value.needed
    assert promise(Unseen(np.ones(enough), np.ones(enough, bool), None), 0.02, 0.3).score == 0.3
    with pytest.raises(NoPromiseError):
        promise(Unseen(np.ones(enough - 1), np.ones(enough - 1, bool), None), 0.02, 0.3)


def test_answers_that_are_wrong_however_sure_promise_nothing() -> None:
    right = np.arange(3000) % 10 > 0
    with pytest.raises(NoPromiseError):
        promise(Unseen(np.ones(3000), right, None), 0.05, 0.3)


def test_what_a_file_keeps_is_checked() -> None:
    scores, right = np.array([0.5, 0.7], np.float32), np.array([0, 1], np.uint8)
    read = Unseen.of(HeadFile({}, {"unseen_scores": scores, "unseen_right": right}))
    assert (read.scores.tolist(), read.right.tolist(), read.answers) == ([0.5, 0.7], [False, True], None)
    with pytest.raises(ValueError, match="one length"):
        Unseen.of(HeadFile({}, {"unseen_scores": scores, "unseen_right": right[:1]}))
    with pytest.raises(KeyError):
        Unseen.of(HeadFile({}, {}))
