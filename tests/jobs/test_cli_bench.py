"""`cloister bench`: what it measures, what it tells, what it refuses."""

import json
from pathlib import Path

import pytest

import engine
from tests.jobs.conftest import Cloister, Place

QUICK = ("--seconds", "0.01")


def test_what_is_measured(tiny_model: Path, cloister: Cloister) -> None:
    done = cloister("bench", tiny_model, "--threads", "2,1", "--tokens", "128,16", *QUICK, "--json")
    assert done.code == 0, done.err
    found = done.json
    assert found.keys() == {
        "model", "engine", "numerics", "cpus", "speeds", "ceilings", "operations", "starts",
    }  # fmt: skip
    assert found["model"]["name"] == "tiny"
    assert (found["engine"]["isa"], found["numerics"]) == (engine.isa(), engine.NUMERICS)
    speeds = found["speeds"]
    assert [(each["threads"], each["tokens"]) for each in speeds] == [(1, 16), (1, 128), (2, 16), (2, 128)]
    assert all(each["tokens_per_second"] == pytest.approx(each["tokens"] * each["texts_per_second"]) for each in speeds)
    assert [each["threads"] for each in found["ceilings"]] == [each["threads"] for each in found["starts"]] == [1, 2]
    for ceiling in found["ceilings"]:
        assert 1e9 < ceiling["multiply_adds_per_second"] < 1e14
        assert 1e8 < ceiling["read_bytes_per_second"] < 1e13
    assert {each["name"] for each in found["operations"]} == {"forward pass", *engine.bench.PARTS}
    for each in found["operations"]:
        assert 0 < each["useful_share_of_peak"] <= each["share_of_peak"] < 5  # another load may fall on one of the two
        assert each["seconds"] > 0
    for start in found["starts"]:
        assert 0 < start["load_seconds"] < start["seconds"] < 60
        assert 2**20 < start["own_bytes"] < 2**30
    assert [json.loads(line)["event"] for line in done.err.splitlines()][-1] == "bench"


def test_a_model_of_the_workspace_as_text(ready: Place, cloister: Cloister) -> None:
    done = cloister("bench", "tiny", "--threads", "1", "--tokens", "8", *QUICK)
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0] == f"tiny (bert, F32, Q8_0), arithmetic {engine.NUMERICS}"
    assert lines[1].endswith(f"instruction set {engine.isa()}")
    assert "MiB of memory beyond mapped files" in lines[2]
    assert "A text of 128 tokens on each of 1 thread, which reach at most " in done.out
    assert "all matrix products" in done.out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["none"], 3, "Model refused: "),
        (["./jobs"], 3, "expected a regular file"),
        (["tiny", "--tokens", "512"], 2, "numbers from 8 to 128, the model's context"),
        (["tiny", "--tokens", "7"], 2, "numbers from 8 to 128, the model's context"),
        (["tiny", "--tokens", "8;9"], 2, "numbers from 1, separated by commas"),
        (["tiny", "--threads", "0"], 2, "numbers from 1, separated by commas"),
        (["tiny", "--threads", "5000"], 2, "expected a number from 1 to 1024"),
        (["tiny", "--seconds", "0"], 2, "Invalid value for '--seconds'"),
    ],
)
def test_refused(ready: Place, cloister: Cloister, arguments: list[str], code: int, message: str) -> None:
    done = cloister("bench", *arguments)
    assert done.code == code
    assert message in done.err
    assert done.out == ""


def test_what_this_machine_does_not_have(ready: Place, cloister: Cloister, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.isa.cache_clear()
    monkeypatch.setenv("CLOISTER_ISA", "abacus")
    try:
        done = cloister("bench", "tiny")
    finally:
        engine.isa.cache_clear()
    assert done.code == 2
    assert "CLOISTER_ISA is 'abacus'" in done.err
