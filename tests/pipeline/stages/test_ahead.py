"""How long a run has still to go: at a constant pace the time that is left falls."""

from itertools import accumulate, pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.forecast import Outlook
from pipeline.stages.ahead import Ahead

KNOWN = Outlook(0, 0, 0, 0, 0, 0, 0, 0, None)


def told(took: list[float], ahead: Ahead, clock: list[float]) -> list[tuple[float, float]]:
    """(what is told to be left, what is left) in the middle of each document and at its end, once ten are done."""
    ahead.begin()
    found = []
    for number, seconds in enumerate(took):
        for ended, within in ((number, 0.5), (number + 1, 0.0)):
            clock[0] += seconds / 2
            left = ahead.seconds_left(ended, within)
            if left is not None and number >= 10 and clock[0] >= 1:
                found.append((left, sum(took) - clock[0]))
    return found


@given(st.lists(st.floats(0.01, 10), min_size=12, max_size=60), st.floats(0.05, 20), st.booleans())
def test_at_a_constant_pace_the_time_that_is_left_falls_and_is_right(
    work: list[float], pace: float, known: bool
) -> None:
    """Whatever earlier runs said of the pace: they may have been twenty times as fast, or as slow."""
    took, clock = [pace * each for each in work], [0.0]
    found = told(took, Ahead(0.0, [*accumulate(work)], KNOWN if known else None, lambda: clock[0]), clock)
    for (before, _), (after, _) in pairwise(found):
        assert after <= before + 1e-6 * sum(took)
    for left, true in found:
        assert left == pytest.approx(true, rel=1e-6, abs=1e-6 * sum(took))


@given(st.integers(0, 2**32), st.floats(0.05, 20))
def test_noise_of_single_documents_moves_it_little(seed: int, pace: float) -> None:
    """A thousand documents of one size, each up to twice as slow or as fast: what is told is never far from the truth,
    nor far above what was told before."""
    draw, clock = Random(seed), [0.0]
    took, lowest = [pace * 2 ** draw.uniform(-1, 1) for _ in range(1000)], float("inf")
    for left, true in told(took, Ahead(0.0, [*accumulate([1.0] * 1000)], KNOWN, lambda: clock[0]), clock)[400:]:
        assert abs(left - true) <= 0.25 * true + 5 * pace
        assert left <= lowest * 1.1 + 5 * pace
        lowest = min(lowest, left)


def test_of_small_files_that_earlier_runs_did_faster_it_falls_from_the_first_group_on() -> None:
    """50,000 files, expected in 100 s, take 350 s."""
    clock = [0.0]
    ahead = Ahead(0.0, [*accumulate([0.002] * 50_000)], KNOWN, lambda: clock[0])
    ahead.begin()
    assert ahead.seconds_left(0) == pytest.approx(100.0)
    last = float("inf")
    for ended in range(256, 50_001, 256):
        clock[0] = ended * 0.007
        left = ahead.seconds_left(ended)
        assert left is not None
        assert left < last
        last = left


def test_within_a_long_document_it_falls() -> None:
    clock = [0.0]
    ahead = Ahead(0.0, [*accumulate([1.0] * 20 + [300.0])], KNOWN, lambda: clock[0])
    ahead.begin()
    clock[0] = 20.0
    lefts = []
    for second in range(0, 300, 10):
        clock[0] = 20.0 + second
        lefts.append(ahead.seconds_left(20, second / 300))
    assert lefts == [pytest.approx(300.0 - second) for second in range(0, 300, 10)]


def test_where_nothing_is_known_each_file_counts_beside_its_bytes() -> None:
    """What small files take is hardly their bytes."""
    clock = [0.0]
    ahead = Ahead(0.0, [*accumulate(size + (16 << 10) for size in (10, 1000) * 100)], None, lambda: clock[0])
    ahead.begin()
    for ended in range(20, 200, 10):
        clock[0] = float(ended)
        assert ahead.seconds_left(ended) == pytest.approx(200 - ended, rel=0.05)
