"""A night that is unlike the others is found, and one that is not is seldom taken for one."""

import random

import pytest

from pipeline.reports.drift import compare
from tests.benchmarks.bench_drift import nights_of, one_night

KINDS = {"lease": 0.4, "invoice": 0.3, "nda": 0.2, "complaint": 0.1}


def test_too_few_nights_or_documents_are_not_compared() -> None:
    large, small = {"lease": 60, "invoice": 40}, {"lease": 20}
    assert compare(large, [large] * 3) is None
    assert compare(large, [large] * 3 + [small] * 9) is None
    assert compare(small, [large] * 9) is None
    assert compare(large, [large] * 4) is not None


def test_a_night_like_the_others_is_no_news() -> None:
    same = {"lease": 60, "invoice": 40}
    found = compare(same, [same, {"lease": 3}, same, same, same])
    assert found is not None
    assert not found.unlike
    assert found.index < 1e-4
    assert found.before[1] is None
    assert sum(one is not None for one in found.before) == 4
    alone = compare({"lease": 60}, [{"lease": 50}] * 5)
    assert alone is not None
    assert not alone.unlike


def test_a_change_is_found_and_named() -> None:
    before = [{"lease": 60 + n, "invoice": 40 - n} for n in range(6)]
    found = compare({"lease": 20, "invoice": 80}, before)
    assert found is not None
    assert found.unlike
    assert (found.kind, round(found.now, 2)) in {("lease", 0.2), ("invoice", 0.8)}
    new = compare({"lease": 50, "invoice": 30, "menu": 20}, before)
    assert new is not None
    assert (new.unlike, new.kind) == (True, ""), "what never came before is rare"


def test_large_nights_differ_by_more_than_chance_and_less_than_matters() -> None:
    before = [{"lease": 600_000 + 9000 * n, "invoice": 400_000} for n in range(6)]
    found = compare({"lease": 700_000, "invoice": 400_000}, before)
    assert found is not None
    assert not found.unlike


@pytest.mark.parametrize("spread", [None, 200.0, 50.0])
def test_false_warnings_are_rare_and_real_ones_come(spread: float | None) -> None:
    """Nights of 300 documents, drawn by themselves or in batches that are alike."""
    chance = random.Random(11)
    wrong = right = 0
    for _ in range(400):
        earlier = nights_of(chance, KINDS, 8, 300, spread)
        found = compare(one_night(chance, KINDS, 300, spread), earlier)
        other = compare(
            one_night(chance, {"lease": 0.05, "invoice": 0.3, "nda": 0.2, "menu": 0.45}, 300, spread), earlier
        )
        assert found is not None
        assert other is not None
        wrong += found.unlike
        right += other.unlike
    assert wrong <= 4
    assert right >= 320
