"""`logistic`: the place that is found is the least one, and it has the same bits everywhere."""

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.heads import Bags, Logistic, fit_logistic
from tests.engine.heads.digest import CLASSES, COUNT, WORDS, examples
from tests.engine.isas import said_everywhere

PENALTY = 0.1


def dense(bags: Bags) -> NDArray[np.float64]:
    out = np.zeros((bags.starts.size - 1, bags.size))
    for i in range(out.shape[0]):
        for at in range(bags.starts[i], bags.starts[i + 1]):
            out[i, bags.words[at]] += bags.counts[at]
    return out


def slope(head: Logistic, x: NDArray[np.float64], labels: NDArray[np.int32], d: int) -> NDArray[np.float64]:
    """The gradient by numpy in float64, [features and 1, classes]."""
    weights = np.vstack([head.weights, head.words, head.bias[None]]).astype(np.float64)
    x = np.hstack([x, np.ones((len(x), 1))])
    z = x @ weights
    p = np.exp(z - z.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    p[np.arange(len(x)), labels] -= 1
    held = np.full((len(weights), 1), PENALTY)
    held[-1] *= 0.01
    return x.T @ p + held * weights


@pytest.mark.parametrize("count", [COUNT, 1, 2, 5, 1023])
def test_nothing_near_it_is_less(count: int) -> None:
    x, labels, bags = examples()
    few = Bags(bags.starts[: count + 1], bags.words, bags.counts, WORDS)
    for its in (None, few):
        head = fit_logistic(x[:count], labels[:count], CLASSES, PENALTY, bags=its)
        wide = np.hstack([x[:count], dense(few)]) if its else x[:count]
        found = np.abs(slope(head, wide.astype(np.float64), labels[:count], x.shape[1])).max()
        assert found < 1e-5 * count + 1e-5


def test_it_tells_what_it_was_taught() -> None:
    x, labels, bags = examples()
    with_words = fit_logistic(x[:1000], labels[:1000], CLASSES, PENALTY, bags=_first(bags))
    without = fit_logistic(x[:1000], labels[:1000], CLASSES, PENALTY)
    rest = Bags(bags.starts[1000:] - bags.starts[1000], *(part[bags.starts[1000] :] for part in bags[1:3]), WORDS)
    right = [
        (z.argmax(1) == labels[1000:]).mean() for z in (with_words.logits(x[1000:], rest), without.logits(x[1000:]))
    ]
    assert right[0] > right[1] > 0.2


def _first(bags: Bags) -> Bags:
    return Bags(bags.starts[:1001], *bags[1:])


def test_logits_are_those_of_numpy_and_hang_on_no_neighbour() -> None:
    x, labels, bags = examples()
    head = fit_logistic(x, labels, CLASSES, PENALTY, bags=bags)
    z = head.logits(x, bags)
    expected = x @ head.weights.astype(np.float64) + dense(bags) @ head.words + head.bias
    assert np.allclose(z, expected, atol=1e-4)
    one = Bags(bags.starts[7:9] - bags.starts[7], *(part[bags.starts[7] : bags.starts[8]] for part in bags[1:3]), WORDS)
    assert np.array_equal(head.logits(x[7:8], one), z[7:8])


def test_a_walk_that_begins_near_ends_there() -> None:
    x, labels, _ = examples()
    head = fit_logistic(x, labels, CLASSES, PENALTY)
    again = fit_logistic(x, labels, CLASSES, PENALTY, start=head)
    assert np.array_equal(again.weights, head.weights)


def test_wrong_examples_are_refused() -> None:
    x, labels, _ = examples()
    with pytest.raises(ValueError, match="expected 0 to 2"):
        fit_logistic(x, labels, 3, PENALTY)
    with pytest.raises(ValueError, match="penalty 0"):
        fit_logistic(x, labels, CLASSES, 0)


def test_the_same_bits_on_every_instruction_set_and_with_any_threads() -> None:
    assert len(said_everywhere("-m", "tests.engine.heads.digest")) == 1
