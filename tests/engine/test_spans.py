"""The best span of a text, against a search of all."""

import numpy as np
import pytest

from engine.models.head import LONGEST, best_span

RANDOM = np.random.default_rng(6)


def places(before: int, inside: int) -> np.ndarray:
    """Offsets of tokens of two characters each, after some of a question and before one at the end."""
    spans = [(2 * i, 2 * i + 2) for i in range(inside)]
    return np.array([*[(-1, -1)] * before, *spans, (-1, -1)], np.int32)


def shares(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.exp(x) / np.exp(x).sum())


@pytest.mark.parametrize("inside", [1, 2, 9, 100])
@pytest.mark.parametrize("longest", [1, 3, LONGEST])
def test_against_a_search_of_all(inside: int, longest: int) -> None:
    for _ in range(5):
        offsets = places(4, inside)
        outputs = (RANDOM.standard_normal((len(offsets), 2)) * 3).astype(np.float32)
        outputs[[1, 2, 3, -1]] += 100  # the question is no answer
        some = np.concatenate([outputs[:1], outputs[4:-1]]).astype(float)
        starts, ends = shares(some[:, 0]), shares(some[:, 1])
        spans = [
            (starts[i] * ends[j], i, j) for i in range(1, inside + 1) for j in range(i, min(i + longest, inside + 1))
        ]
        score, first, last = max(spans)
        answer = best_span(outputs, offsets, longest)
        assert (answer.start, answer.end) == (2 * first - 2, 2 * last)
        assert answer.score == pytest.approx(score, rel=1e-4)
        assert answer.no_answer == pytest.approx(starts[0] * ends[0], rel=1e-4)


def test_of_equal_spans_the_shortest_and_then_the_first() -> None:
    offsets = places(1, 5)
    assert best_span(np.zeros((7, 2), np.float32), offsets).end == 2
    outputs = np.zeros((7, 2), np.float32)
    outputs[[2, 4], 0] = outputs[[3, 5], 1] = 9
    assert (best_span(outputs, offsets).start, best_span(outputs, offsets).end) == (2, 6)


def test_a_text_without_tokens() -> None:
    answer = best_span(np.zeros((2, 2), np.float32), places(1, 0))
    assert (answer.start, answer.end, answer.score, answer.no_answer, answer.found) == (0, 0, 0, 1, False)
