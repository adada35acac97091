"""How long documents take, by what others took."""

from hypothesis import given
from hypothesis import strategies as st

from pipeline.forecast import HIGH, Pace, Took, high_rate

TOOK = st.lists(st.tuples(st.integers(1, 100_000), st.floats(1e-6, 1e4)), min_size=1, max_size=50)


def test_without_anything_known_nothing_is_expected() -> None:
    assert Pace().rate is None
    assert Pace().expected(10_000) == 0.0
    assert Pace([(0, 5.0)]).rate is None  # a run that computed nothing says nothing


def test_earlier_runs_say_it_until_a_document_of_this_run_does() -> None:
    pace = Pace([(1000, 10.0)])
    assert pace.expected(500) == 5.0
    pace.take(100, 4.0)
    assert pace.expected(500) == 20.0


def test_a_document_without_tokens_takes_its_time_too() -> None:
    pace = Pace()
    pace.take(0, 2.0)
    assert pace.expected(0) == 2.0


def test_a_high_share_counts_and_not_the_mean() -> None:
    assert high_rate([(100, 1.0)] * 8 + [(100, 3.0)] * 2) == 0.03
    assert high_rate([(100, 1.0)] * 19 + [(100, 50.0)]) == 0.01  # one of twenty is beyond it


def test_small_documents_with_a_fixed_time_do_not_speak_for_large_ones() -> None:
    assert high_rate([(1, 3.0)] * 20 + [(10_000, 20.0)]) == 0.002


def test_what_was_long_ago_in_a_run_is_forgotten() -> None:
    pace = Pace()
    pace.take(10, 1000.0)
    for _ in range(500):
        pace.take(10, 1.0)
    assert pace.rate == 0.1


@given(TOOK)
def test_the_rate_is_the_least_that_is_enough_for_the_share(took: list[Took]) -> None:
    rate, whole = high_rate(took), sum(tokens for tokens, _ in took)
    assert rate is not None
    assert sum(tokens for tokens, seconds in took if seconds / tokens <= rate) >= HIGH * whole
    assert sum(tokens for tokens, seconds in took if seconds / tokens < rate) < HIGH * whole


def test_of_a_text_far_longer_than_all_that_is_known_nothing_is_expected() -> None:
    pace = Pace([(5, 0.1)])
    assert pace.expected(100) == 2.0
    assert pace.expected(100_000) == 0.0, "it begins, and says itself what it takes"
    assert pace.expected(100_000, before=1000) == 20.0, "but not before those that are being computed"
    pace.take(100_000, 20.0)
    assert pace.expected(100_000) == 20.0
