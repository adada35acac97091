"""What the report makes of results: verdicts, ratios, and a table for everything."""

import dataclasses

import pytest

from tests.benchmarks.contenders import HELD, PEERS
from tests.benchmarks.musts import AMX, AVX2, MUSTS, VNNI, best_peer
from tests.benchmarks.report import to_markdown
from tests.benchmarks.results import Point, Results, percentile, rate, ratio
from tests.benchmarks.verdict import Must, Verdict, Worst, verdicts

INT8, FLOAT, BF16, LLAMA = "OpenVINO int8", "torch float32", "torch bfloat16", "llama.cpp Q8_0"
HELD_INT8, HELD_FLOAT = "OpenVINO int8 (AVX2)", "torch float32 (AVX2)"
SHORT, LONG, MIXED = Point(1, "32", 128), Point(1, "128", 32), Point(2, "mixed", 10)


def everything(isa: str = "amx") -> Results:
    """Results of a CPU in which every must is just met, and no aim."""
    ours = {"amx": {AMX: [1.0], VNNI: [2.0]}, "avx512_vnni": {VNNI: [1.6]}, "avx2": {}}[isa]
    peers = {INT8: [2.0], FLOAT: [3.0], BF16: [2.0], LLAMA: [None]} if isa != "avx2" else {FLOAT: [4.0]}
    held = {HELD_INT8: [4.0], HELD_FLOAT: [4.2]} if isa != "avx2" else {}
    slower = {BF16: [2.5]} if BF16 in peers else {}
    best = next(iter(ours), AVX2)
    return Results(
        machine="a machine",
        isa=isa,
        mixture="10 texts",
        compared="100 texts",
        speeds={
            SHORT: {**ours, AVX2: [3.0], **peers, **held},
            LONG: {**ours, AVX2: [3.0], **peers, **slower, **held},
            MIXED: {best: [1.0, 1.0, 1.0], FLOAT: [2.0, 9.0, 2.0]},
        },
        scaling={"128": {"1": [1.85], "2": [1.0]}, "mixed": {"1": [1.9], "2": [1.0]}},
        cosines={best: [0.9997] * 98 + [0.9988, 0.9975], FLOAT: [1.0] * 100},
        shares={best: {"peak": 10.0, "executed": 5.0, "needed": 4.0}},
        own_bytes={best: 100 * 2**20},
        start_seconds=[0.9, 0.8, 2.0],
        cold_seconds=59.0,
        jobs=[("letters", 100, 120.0, 2.0, 2**28)],
        banking=(0.9255, 0.928),
        absent=["cloister portable (not installed)"],
    )


def verdict(results: Results, what: str) -> Verdict:
    (found,) = [each for each in verdicts(MUSTS, results, results.isa) if each.must.what.startswith(what)]
    return found


@pytest.mark.parametrize(
    ("isa", "needs"),
    [("amx", {"needs avx512_vnni"}), ("avx512_vnni", {"needs amx"}), ("avx2", {"needs amx", "needs avx512_vnni"})],
)
def test_everything_that_must_hold_holds(isa: str, needs: set[str]) -> None:
    words = [each.word for each in verdicts(MUSTS, everything(isa), isa)]
    assert {*words} == {"pass", *needs}
    assert words.count("pass") == len(MUSTS) - len(needs)


def test_nothing_measured_is_no_pass() -> None:
    assert {each.word for each in verdicts(MUSTS, Results(isa="amx"), "amx")} == {"not measured", "needs avx512_vnni"}


@pytest.mark.parametrize("must", MUSTS, ids=lambda must: must.what)
def test_a_bound_is_a_bound(must: Must[Results]) -> None:
    """It may be met, and no more than that."""
    assert must.bound is not None
    must = dataclasses.replace(must, isas=())
    worse = must.bound * (1 - 1e-6 if must.least else 1 + 1e-6)
    assert Verdict(must, Worst(must.bound, "")).word == "pass"
    assert Verdict(must, Worst(worse, "")).word == "miss"


def test_the_worst_point_counts_and_is_named() -> None:
    results = everything()
    results.speeds[LONG][AMX] = [1.3]
    found = verdict(results, "AMX to the best peer")
    assert found.found == Worst(pytest.approx(2.0 / 1.3), f"128 tokens, 1 thread, {INT8}")
    assert found.word == "miss"


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


def test_avx2_is_compared_with_peers_held_to_it() -> None:
    results = everything("avx512_vnni")
    where = f"128 tokens, 1 thread, {HELD_INT8}"
    assert verdict(results, "AVX2 to the best peer").found == Worst(pytest.approx(4 / 3), where)
    for held in HELD:
        results.speeds[SHORT].pop(held, None)
        results.speeds[LONG].pop(held, None)
    assert verdict(results, "AVX2 to the best peer").word == "not measured"
    assert not {*HELD} & {*PEERS}


def test_a_cpu_of_avx2_holds_its_peers_itself() -> None:
    found = verdict(everything("avx2"), "AVX2 to the best peer").found
    assert found == Worst(pytest.approx(4 / 3), f"128 tokens, 1 thread, {FLOAT}")


def test_points_on_banking77_may_be_won() -> None:
    results = everything()
    results.banking = (0.93, 0.928)
    found = verdict(results, "points lost on Banking77")
    assert (found.word, found.found) == ("aim", Worst(pytest.approx(-0.2), "right 93.00%, with float32 vectors 92.80%"))


@pytest.mark.parametrize("isa", ["amx", "avx512_vnni", "avx2"])
def test_accuracy_and_share_are_those_of_the_best_instruction_set(isa: str) -> None:
    results, name = everything(isa), f"cloister {isa}"
    results.cosines |= {"cloister portable": [0.5] * 100}
    results.shares |= {"cloister portable": {"peak": 10.0, "executed": 0.1, "needed": 0.1}}
    assert verdict(results, "cosine, least").found == Worst(0.9975, f"100 texts, {name}")
    share = verdict(results, "useful matrix products").found
    assert share == Worst(pytest.approx(40.0), f"128 tokens, 1 thread, {name}; executed 50.0%")


def test_percentiles() -> None:
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert percentile([0.0, 1.0], 0.01) == pytest.approx(0.01)
    assert percentile([7.0], 0.99) == 7.0


def test_the_report_has_everything() -> None:
    text = to_markdown(everything())
    assert "| AMX to the best peer | ≥ 2.00x | ≥ 3.00x | 2.00x | 128 tokens, 1 thread, " in text
    assert "| memory beyond the mapped model | ≤ 150 MiB |  | 100 MiB |" in text
    assert "| llama.cpp Q8_0 | crashed | crashed |" in text
    assert f"| {FLOAT} | 5.0 (2.00) |" in text
    assert "| letters | 100 | 120 | 2.0 | 50.0 | 180,000 | 256 |" in text
    assert "Left out: cloister portable" in text


def test_a_report_of_nothing_is_one_too() -> None:
    assert to_markdown(Results(isa="avx2")).count("| not measured |") == len(MUSTS) - 2
