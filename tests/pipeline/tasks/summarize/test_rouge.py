"""ROUGE by its definition, on the examples of the paper and against a slow longest common subsequence."""

import random
from functools import lru_cache, partial

import pytest

from pipeline.tasks.judging import measured
from pipeline.tasks.summarize.judge import Rouge, figures_of, lead, oracle, rouge, words_of

REFERENCE = "police killed the gunman"


def test_the_examples_of_the_paper() -> None:
    """Lin 2004, section 3.1: by ROUGE-L S2 has 3/4 and S3 2/4, though both have ROUGE-2 1/3."""
    second, third = rouge("police kill the gunman", [REFERENCE]), rouge("the gunman kill police", [REFERENCE])
    assert (second.rouge_l, third.rouge_l) == (0.75, 0.5)
    assert (second.rouge_2, third.rouge_2) == (pytest.approx(1 / 3), pytest.approx(1 / 3))
    assert rouge("the gunman police killed", [REFERENCE]).rouge_l == 0.5  # S4 of the paper


def test_texts_of_other_lengths_and_references() -> None:
    found = rouge("The quick brown dog.", ["a cat", "The quick brown fox jumps over it"])
    assert found.rouge_1 == pytest.approx(2 * 3 / (4 + 7))
    assert found.rouge_2 == pytest.approx(2 * 2 / (3 + 6))
    assert found.rouge_l == pytest.approx(2 * 3 / (4 + 7))
    assert rouge("", [REFERENCE]) == Rouge(0.0, 0.0, 0.0)
    assert words_of("E-Mail_2 an Köln!") == ["e", "mail", "2", "an", "köln"]


def longest(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    """The longest common subsequence by its definition."""

    @lru_cache(None)
    def at(i: int, j: int) -> int:
        if i == len(a) or j == len(b):
            return 0
        return at(i + 1, j + 1) + 1 if a[i] == b[j] else max(at(i + 1, j), at(i, j + 1))

    return at(0, 0)


@pytest.mark.parametrize("seed", range(20))
def test_the_longest_common_subsequence(seed: int) -> None:
    chance = random.Random(seed)
    a, b = (tuple(chance.choice("abcd") for _ in range(chance.randrange(1, 40))) for _ in range(2))
    expected = 2 * longest(a, b) / (len(a) + len(b))
    assert rouge(" ".join(a), [" ".join(b)]).rouge_l == pytest.approx(expected)


TEXT = "It was a long day in the town. Nobody had slept. Police killed the gunman. The trial is over."


def test_lead_and_oracle_keep_to_what_the_job_asks_for() -> None:
    assert lead(TEXT, 1, None) == "It was a long day in the town."
    assert lead(TEXT, 2, None) == "It was a long day in the town. Nobody had slept."
    assert lead(TEXT, None, 12) == "It was a long day in the town. Nobody had slept."
    assert lead(TEXT, None, 3) == "It was a long day in the town."
    assert oracle(TEXT, 1, None, [REFERENCE]) == "Police killed the gunman."
    assert (
        oracle(TEXT, 2, None, ["Nobody slept. Police killed the gunman."])
        == "Nobody had slept. Police killed the gunman."
    )


def test_figures_say_how_far_above_the_lead_it_is() -> None:
    good, bad = Rouge(0.5, 0.4, 0.5), Rouge(0.2, 0.1, 0.2)
    compared = [(good, bad, good), (bad, good, good), (good, bad, good)]
    figures = {one.name: one.value for one in measured(partial(figures_of, compared=compared), 3, 20)}
    assert figures["rouge_l"] == pytest.approx(0.4)
    assert figures["lead_rouge_1"] == pytest.approx(0.3)
    assert figures["oracle_rouge_2"] == pytest.approx(0.4)
    assert figures["over_lead"] == pytest.approx(0.1)
