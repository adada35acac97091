"""A learned prior: what it makes of the shares that a model gives, and its file."""

from math import log
from typing import Any

import numpy as np
import pytest

from pipeline.heads import HeadFile
from pipeline.tasks.classify.head import Prior

LIKED = Prior(("a", "b"), np.array([0.8, 0.2], np.float32), 2.0)


def test_a_label_that_is_answered_to_anything_counts_for_less() -> None:
    """With the temperature of 2 each weight is the root of share / (2 * usual share); that of none is undivided."""
    a, b, none = (0.4 / 1.6) ** 0.5, (0.3 / 0.4) ** 0.5, 0.3**0.5
    total = a + b + none
    assert LIKED.scores([0.4, 0.3, 0.3]) == pytest.approx([a / total, b / total, none / total], abs=1e-6)
    assert LIKED.logits([0.4, 0.3, 0.3]) == pytest.approx([log(0.25), log(0.75), log(0.3)], abs=1e-6)


def test_shares_of_nothing_are_numbers_too() -> None:
    prior = Prior(("a", "b"), np.array([1.0, 0.0], np.float32))
    for shares in ([0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.5, 1e-30, 0.5], [0.0, 1.0, 0.0]):
        assert sum(prior.scores(shares)) == pytest.approx(1, abs=1e-6)
    assert prior.scores([0.0, 1.0, 0.0])[1] > 0.999


def test_the_file_gives_the_same_prior_back() -> None:
    head = LIKED.to_file()
    again = Prior.from_file(head)
    assert (again.labels, again.temperature, again.shares.tolist()) == (("a", "b"), 2.0, LIKED.shares.tolist())
    assert head.facts["kind"] == "prior"
    assert head.to_bytes() == again.to_file().to_bytes()


@pytest.mark.parametrize(
    ("facts", "shares", "told"),
    [
        ({"kind": "classify"}, [0.5, 0.5], "a head for the task 'classify'"),
        ({}, [0.5, 0.25, 0.25], "the array shares has the shape"),
        ({}, [1.5, -0.5], "none below 0"),
        ({"temperature": 0.0}, [0.5, 0.5], "the temperature is 0"),
    ],
)
def test_a_file_whose_parts_do_not_go_together_is_refused(
    facts: dict[str, Any], shares: list[float], told: str
) -> None:
    head = LIKED.to_file()
    with pytest.raises(ValueError, match=told):
        Prior.from_file(HeadFile({**head.facts, **facts}, {"shares": np.array(shares, np.float32)}))
