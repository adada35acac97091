"""What the report makes of results: verdicts, ratios, and a table for everything."""

import pytest

from tests.benchmarks.musts import AMX, AVX2, MUSTS, VNNI, best_peer
from tests.benchmarks.report import to_markdown
from tests.benchmarks.results import Point, Results, percentile, rate, ratio
from tests.benchmarks.verdict import Must, Verdict, Worst, verdicts

INT8, FLOAT, BF16, LLAMA = "onnxruntime int8", "torch float32", "torch bfloat16", "llama.cpp Q8_0"
SHORT, LONG, MIXED = Point(1, "32", 128), Point(1, "128", 32), Point(2, "mixed", 10)


def everything() -> Results:
    """Results in which every must is just met."""
    return Results(
        machine="a machine",
        mixture="10 texts",
        speeds={
            SHORT: {AMX: [1.0], VNNI: [2.0], AVX2: [2.0], INT8: [2.0], FLOAT: [3.0], BF16: [2.0], LLAMA: [None]},
            LONG: {AMX: [1.0], VNNI: [2.0], AVX2: [2.0], INT8: [2.0], FLOAT: [3.0], BF16: [2.5], LLAMA: [None]},
            MIXED: {AMX: [1.0, 1.0, 1.0], BF16: [3.0, 9.0, 3.0]},
        },
        scaling={"128": {"1": [1.85], "2": [1.0]}, "mixed": {"1": [1.9], "2": [1.0]}},
        cosines={AMX: [0.9999] * 98 + [0.9995, 0.9986], FLOAT: [1.0] * 100},
        shares={AMX: {"peak": 10.0, "executed": 3.0, "needed": 1.5}},
        own_bytes={AMX: 100 * 2**20},
        start_seconds=[0.9, 0.8, 2.0],
        cold_seconds=59.0,
        jobs=[(100, 120.0, 2.0, 2**28)],
        absent=["cloister portable (not installed)"],
    )


def word(results: Results, what: str) -> str:
    (verdict,) = [each for each in verdicts(MUSTS, results) if each.must.what == what]
    return verdict.word


def test_everything_that_must_hold_holds() -> None:
    assert {each.must.what: each.word for each in verdicts(MUSTS, everything())} == dict.fromkeys(
        (must.what for must in MUSTS), "pass"
    )


def test_nothing_measured_is_no_pass() -> None:
    assert {each.word for each in verdicts(MUSTS, Results())} == {"not measured"}


@pytest.mark.parametrize("must", MUSTS, ids=lambda must: must.what)
def test_a_bound_is_a_bound(must: Must[Results]) -> None:
    """It may be met, and no more than that."""
    assert must.bound is not None
    worse = must.bound * (1 - 1e-6 if must.least else 1 + 1e-6)
    assert Verdict(must, Worst(must.bound, "")).word == "pass"
    assert Verdict(must, Worst(worse, "")).word == "miss"


def test_the_worst_point_counts_and_is_named() -> None:
    results = everything()
    results.speeds[LONG][AMX] = [1.3]
    (verdict,) = [each for each in verdicts(MUSTS, results) if each.must.what == "AMX to the best peer"]
    assert verdict.found == Worst(pytest.approx(2.0 / 1.3), f"128 tokens, 1 thread, {INT8}")
    assert verdict.word == "miss"


def test_one_slow_process_of_two_rounds_is_no_ratio_of_medians() -> None:
    """Each round has its own load: it is the ratio within a round that counts."""
    assert ratio({"a": [1.0, 5.0, 1.0], "b": [2.0, 10.0, 2.0]}, "a", "b") == 2.0


def test_a_crashed_peer_is_no_peer() -> None:
    results = everything()
    assert rate(LONG, results.speeds[LONG], LLAMA) is None
    assert best_peer(results, SHORT) in (INT8, BF16)
    assert best_peer(results, LONG) == INT8
    results.speeds[LONG] = {AMX: [1.0], LLAMA: [1.0, None]}
    assert best_peer(results, LONG) is None


def test_vnni_counts_from_128_tokens() -> None:
    results = everything()
    results.speeds[SHORT][VNNI] = [9.0]
    assert word(results, "AVX-512 VNNI to onnxruntime int8, from 128 tokens") == "pass"
    results.speeds[LONG][VNNI] = [2.1]
    assert word(results, "AVX-512 VNNI to onnxruntime int8, from 128 tokens") == "miss"


def test_percentiles() -> None:
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert percentile([0.0, 1.0], 0.01) == pytest.approx(0.01)
    assert percentile([7.0], 0.99) == 7.0


def test_the_report_has_everything() -> None:
    text = to_markdown(everything())
    assert "| AMX to the best peer | ≥ 2.00x |  | 2.00x | 128 tokens, 1 thread, " in text
    assert "| memory beyond the mapped model | ≤ 150 MiB |  | 100 MiB |" in text
    assert "| llama.cpp Q8_0 | crashed | crashed |" in text
    assert f"| {BF16} | 3.3 (3.00) |" in text
    assert "| 100 | 120 | 2.0 | 50.0 | 256 |" in text
    assert "Left out: cloister portable" in text


def test_a_report_of_nothing_is_one_too() -> None:
    assert to_markdown(Results()).count("| not measured |") == len(MUSTS)
