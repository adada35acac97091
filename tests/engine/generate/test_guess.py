"""What is guessed, and how much."""

import numpy as np
import pytest

from engine.generate.guess import LONGEST, Guesser
from engine.kernels.choice import find
from tests.language import ids_of

TEXT = ids_of("the rent is 900 euros; the rent is paid on the first of a month")


def slow_find(source: list[int], ids: list[int]) -> tuple[int, int]:
    """The last place after the most of the last 8 tokens."""
    for same in range(min(8, len(ids)), 0, -1):
        for at in range(len(source) - 1, same - 1, -1):
            if source[at - same : at] == ids[-same:]:
                return at, same
    return 0, 0


@pytest.mark.parametrize("letters", [1, 2, 3, 9])
def test_the_place_after_the_same_tokens(letters: int) -> None:
    chance = np.random.default_rng(letters)
    for _ in range(200):
        source = chance.integers(0, letters, chance.integers(0, 30)).astype(np.int32)
        source.flags.writeable = False
        ids = chance.integers(0, letters, 20).astype(np.int32)
        size = int(chance.integers(0, 21))
        assert find(source, ids, size) == slow_find(source.tolist(), ids[:size].tolist())


def test_what_followed_is_guessed() -> None:
    guesses = Guesser(TEXT).guess(ids_of("is paid on"), 10, 1, 99)
    assert bytes(guesses.tolist()).startswith(b" t")
    assert Guesser(TEXT).guess(ids_of("xyz"), 3, 1, 99).size == 0
    assert Guesser(TEXT).guess(ids_of("is paid on"), 10, 1, 1).size == 1
    assert Guesser(TEXT).guess(ids_of("is paid on"), 10, 1, 0).size == 0
    assert Guesser(TEXT[:0]).guess(ids_of("is paid on"), 10, 1, 9).size == 0


def test_as_many_as_former_guesses_bear_out() -> None:
    guesser, ids = Guesser(TEXT), ids_of("rent")
    sizes = []
    for right in [1.0] * 20 + [0.0] * 40:
        guesses = guesser.guess(ids, ids.size, 1, 99)
        sizes.append(guesses.size)
        guesser.learn(guesses.size, int(right * guesses.size))
    assert sizes[0] < sizes[19] == LONGEST
    assert sizes[-1] == 0


def test_fewer_where_a_row_is_dear() -> None:
    guesser, ids = Guesser(TEXT), ids_of("rent")
    assert guesser.guess(ids, ids.size, 1, 99).size > guesser.guess(ids, ids.size, 2, 99).size > 0
    assert guesser.guess(ids, ids.size, 32, 99).size == 0
    guesser.learn(16, 16)
    assert 0 < guesser.guess(ids, ids.size, 32, 99).size < guesser.guess(ids, ids.size, 1, 99).size == LONGEST


def test_one_is_tried_after_a_long_passage_however_many_rows_there_are() -> None:
    guesser, ids = Guesser(TEXT), ids_of("; the rent")
    assert guesser.guess(ids, ids.size, 64, 99).size == 1
    assert guesser.guess(ids, ids.size, 64, 0).size == 0
    for _ in range(3):
        guesser.learn(1, 0)
        assert guesser.guess(ids, ids.size, 64, 99).size == 1
    guesser.learn(1, 0)
    assert guesser.guess(ids, ids.size, 64, 99).size == 0
