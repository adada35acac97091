"""The greatest allowed logit and the weight of all, against plain numpy."""

import math

import numpy as np
import pytest

from engine.kernels import choice
from engine.kernels.choice import BROKEN, NONE, choose
from tests.engine.kernels.called import called
from tests.reference import choices as truth


def bits_of(allowed: np.ndarray) -> np.ndarray:
    packed = np.packbits(allowed, axis=1, bitorder="little")
    words = -(-allowed.shape[1] // 32)
    return np.pad(packed, ((0, 0), (0, 4 * words - packed.shape[1]))).view(np.uint32)


@pytest.mark.parametrize("vocab", [1, 15, 16, 31, 33, 100, 1023, 1024, 1025, 3000])
@pytest.mark.parametrize("share", [0.01, 0.5, 1.0])
def test_against_numpy(vocab: int, share: float) -> None:
    chance = np.random.default_rng(vocab)
    logits = (chance.standard_normal((5, vocab)) * 6).round(2).astype(np.float32)  # rounded: there are ties
    allowed = chance.random((3, vocab)) < share
    of = np.array([0, 1, 2, -1, 1], np.int64)
    rows = np.array([4, 0, 2, 1, 3], np.int64)
    found = choose(logits, rows, bits_of(allowed), of)
    for i, row in enumerate(rows):
        mask = allowed[of[i]] if of[i] >= 0 else np.ones(vocab, bool)
        token, top, log = truth.choose(logits[row], mask)
        assert found.ids[i] == token
        assert found.tops[i] == top
        assert np.float32(found.logs[i]) == np.float32(log)
        assert found.logs[i] == pytest.approx(log, abs=4e-16 * 16)


def test_exactly_what_a_softmax_is() -> None:
    logits = (np.random.default_rng(1).standard_normal((1, 50_000)) * 5).astype(np.float32)
    found = choose(logits, np.zeros(1, np.int64), np.zeros((0, 1563), np.uint32), np.full(1, -1))
    wide = logits[0].astype(np.float64)
    assert found.logs[0] == pytest.approx(math.log(np.exp(wide - wide.max()).sum()), abs=1e-6)


def test_many_rows_on_threads() -> None:
    logits = np.random.default_rng(2).standard_normal((37, 40_000)).astype(np.float32)
    allowed = np.random.default_rng(3).random((37, 40_000)) < np.linspace(0, 1, 37)[:, None] ** 8
    every = np.arange(37)
    together = choose(logits, every, bits_of(allowed), every)
    for i in range(37):
        alone = choose(logits[i : i + 1], every[:1], bits_of(allowed[i : i + 1]), every[:1])
        assert [field[0].tobytes() for field in alone] == [field[i].tobytes() for field in together]


def test_ties_go_to_the_lowest_token() -> None:
    logits = np.zeros((1, 5000), np.float32)
    logits[0, [1500, 1501, 4000]] = 3
    allowed = np.ones((1, 5000), bool)
    one = np.zeros(1, np.int64)
    assert choose(logits, one, bits_of(allowed), one).ids[0] == 1500
    allowed[0, 1500:1502] = False
    assert choose(logits, one, bits_of(allowed), one).ids[0] == 4000
    allowed[0, 4000] = False
    assert choose(logits, one, bits_of(allowed), one).ids[0] == 0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_told_where_it_is_allowed(bad: float) -> None:
    logits = np.zeros((1, 2100), np.float32)
    logits[0, 2050] = bad
    allowed = np.ones((1, 2100), bool)
    one = np.zeros(1, np.int64)
    assert choose(logits, one, bits_of(allowed), one).ids[0] == BROKEN
    allowed[0, 2050] = False
    assert choose(logits, one, bits_of(allowed), one).ids[0] == 0


def test_nothing_allowed_and_nothing_but_the_least() -> None:
    one = np.zeros(1, np.int64)
    assert choose(np.zeros((1, 40), np.float32), one, np.zeros((1, 2), np.uint32), one).ids[0] == NONE
    lowest = np.full((1, 40), -np.inf, np.float32)
    assert choose(lowest, one, np.full((1, 2), 2**32 - 1, np.uint32), one).ids[0] == BROKEN


def test_the_logarithm() -> None:
    for x in [1.0, 1.0 + 2**-52, 1.4, 1.5, 2.0, 3.0, 1e3, 123456.789, 262144.0]:
        assert called(choice._ln)(x) == pytest.approx(math.log(x), rel=3e-16, abs=1e-17)
