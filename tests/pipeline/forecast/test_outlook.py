"""Files that wait are laid into the nights to come."""

import math

import pytest

from pipeline.forecast import Estimator, File, Span, median_errors, outlook
from pipeline.records.costs import Costs, Held, Kind, Ran, Sum, kind_of

HOUR = 3600.0
FILES = [File(f"{number}.txt", 1000) for number in range(10)]


def costs(seconds: float = HOUR, *, stretch: float = 1.0, ready: float = 0.0) -> Costs:
    """Costs by which a text file of 1,000 bytes has 200 tokens and takes so many seconds."""
    known = Costs(runs=[Ran(ready, 1e4 * stretch, 1e4, 10_000)])
    for _ in range(50):
        known.add(kind_of("a.txt", 1000), Sum(1, 1000, 1, 200, seconds))
    return known


def test_a_kind_is_an_extension_and_a_size() -> None:
    assert kind_of("ordner.d/Brief.PDF", 1023) == Kind("pdf", 10)
    assert kind_of("ordner.d/Brief", 1024) == Kind("", 11)


def test_all_that_fits_is_done_tonight_and_the_rest_in_later_nights() -> None:
    told = outlook(FILES, costs(), [Span(0, 4 * HOUR), Span(24 * HOUR, 28 * HOUR), Span(48 * HOUR, 52 * HOUR)])
    assert round(told.tonight, 6) == 4
    assert (told.files, told.bytes, round(told.tokens), round(told.seconds)) == (10, 10_000, 2000, 10 * HOUR)
    assert told.done_at == pytest.approx(50 * HOUR)
    assert told.blocking is None


def test_a_run_takes_time_before_its_first_document_and_reads_documents_side_by_side() -> None:
    told = outlook(FILES, costs(ready=600, stretch=0.5), [Span(0, 4 * HOUR)])
    assert round(told.tonight, 6) == 7
    assert told.tonight_seconds == pytest.approx(600 + 3.5 * HOUR)
    assert told.done_at is None


def test_machines_share_the_work_of_all_and_each_document_is_one_s() -> None:
    four = outlook(FILES, costs(), [Span(0, math.inf)], machines=4)
    assert four.seconds == pytest.approx(10 * HOUR / 4)
    by_two = costs()
    by_two.runs = [Ran(0.0, ran.worked / 2, ran.said, ran.tokens, machines=2) for ran in by_two.runs]
    assert outlook(FILES, by_two, [Span(0, math.inf)], machines=4).seconds == pytest.approx(four.seconds)
    assert outlook(FILES, by_two, [Span(0, math.inf)]).seconds == pytest.approx(10 * HOUR), "as on one machine"
    assert outlook(FILES, costs(), [Span(0, HOUR / 2)] * 9, machines=4).blocking, "no window holds a document"


def test_without_a_window_all_is_done_in_one_run() -> None:
    told = outlook(FILES, costs(), [Span(0, math.inf)])
    assert (round(told.tonight, 6), told.done_at) == (10, pytest.approx(10 * HOUR))


def test_a_file_that_no_window_holds_blocks_those_behind_it() -> None:
    files = [FILES[0], File("large.txt", 9000), FILES[1]]
    told = outlook(files, costs(), [Span(24 * HOUR * day, (24 * day + 4) * HOUR) for day in range(20)])
    assert round(told.tonight, 6) == 1
    assert told.done_at is None
    assert told.blocking
    assert told.blocking[0].path == "large.txt"
    assert told.slowest == told.blocking


def test_a_file_that_only_a_longer_window_of_the_week_holds_does_not_block() -> None:
    ends = [4, 4, 4, 4, 4, 12, 4, 4]
    files = [File("large.txt", 9000), FILES[1]]
    told = outlook(files, costs(), [Span(24 * HOUR * day, (24 * day + end) * HOUR) for day, end in enumerate(ends)])
    assert (told.tonight, told.blocking, told.done_at) == (0, None, pytest.approx((5 * 24 + 10) * HOUR))


def test_few_files_of_a_kind_count_less_than_many() -> None:
    known = costs(10.0)
    alone = Estimator(known).expect(File("x.pdf", 1000))
    assert alone.seconds == pytest.approx(10.0)  # nothing is known of PDF: as all files
    known.add(kind_of("a.pdf", 1000), Sum(1, 1000, 1, 200, 100.0))
    one = Estimator(known).expect(File("x.pdf", 1000)).seconds
    for _ in range(30):
        known.add(kind_of("a.pdf", 1000), Sum(1, 1000, 1, 200, 100.0))
    many = Estimator(known).expect(File("x.pdf", 1000)).seconds
    assert 10.0 < one < many < 100.0
    assert many == pytest.approx(100.0, rel=0.05)


def test_nothing_known_expects_nothing() -> None:
    assert Estimator(Costs()).expect(File("x.pdf", 10)) == (1.0, 0.0, 0.0)


def test_earlier_forecasts_are_held_against_what_came() -> None:
    assert median_errors([]) is None
    held = [Held(110, 100, 60.0, 50.0), Held(100, 100, 50.0, 50.0), Held(50, 100, 10.0, 50.0), Held(5, 0, 1.0, 0.5)]
    assert median_errors(held) == (pytest.approx(0.1), pytest.approx(0.2))
