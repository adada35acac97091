"""`cloister model quantize`: what it makes, what it tells, what it refuses."""

import json
from pathlib import Path
from typing import get_args

import pytest

import engine
from jobs.cli.model import Mix
from jobs.progress import EVERY_SECONDS, telling
from tests.jobs.conftest import Cloister, Place, entries


def test_the_types_are_those_of_the_engine() -> None:
    assert [mix.value for mix in Mix] == list(engine.MIXES)
    assert get_args(Mix) == ()


def test_a_model_of_the_workspace(ready: Place, cloister: Cloister) -> None:
    done = cloister("model", "quantize", "tiny", "--type", "Q4_K_M", "--name", "small")
    assert done.code == 0
    assert done.out.startswith("Made models/small.gguf\n")
    assert "fell back, as blocks do not fit their rows:\n  Q4_K -> Q5_0" in done.out
    digest = cloister("model", "inspect", "small", "--json").json["sha256"]
    assert f'model: {{name: small, sha256: "{digest}"}}' in done.out
    assert {json.loads(line)["event"] for line in done.err.splitlines()} == {"quantize"}
    job = ready.root / "jobs" / "sort.yaml"
    job.write_text(job.read_text().replace("name: tiny", "name: small"))
    ready.drop("sort", "a.txt", "The tenant pays the rent.")
    assert cloister("run", "sort").code == 0
    admitted = [entry for entry in entries(ready, "model.admitted") if entry["model"] == "small"]
    assert [(entry["before"], entry["after"], entry["by"]) for entry in admitted] == [(None, digest, "quantize")]


def test_what_it_replaces_is_kept_for_jobs_that_go_back(ready: Place, cloister: Cloister) -> None:
    models = ready.root / "models"
    before = (models / "tiny.gguf").read_bytes()
    (models / "source.gguf").write_bytes(before)
    told = cloister("model", "quantize", "source", "--type", "Q4_0", "--name", "tiny", "--force")
    (kept,) = models.glob("tiny.*.gguf")
    assert (told.code, f"kept as {kept.name}" in told.out) == (0, True)
    assert kept.read_bytes() == before != (models / "tiny.gguf").read_bytes()
    assert cloister("model", "quantize", "source", "--type", "Q4_0", "--name", "tiny", "--force").code == 0
    assert list(models.glob("tiny.*.gguf")) == [kept], "the same bytes again replace nothing"


def test_a_file_elsewhere_needs_no_workspace(tiny_model: Path, tmp_path: Path, cloister: Cloister) -> None:
    out = tmp_path / "out.gguf"
    found = cloister("model", "quantize", tiny_model, "--type", "q6_k", "--output", out, "--json").json
    assert found["path"] == str(out)
    assert found["mix"] == "q6_k"
    assert found["source_sha256"] == cloister("model", "inspect", tiny_model, "--json").json["sha256"]
    assert len(found["fallbacks"]) == 13
    assert found["metadata"]["cloister.quantized.sha256"] == found["source_sha256"]


def test_a_file_is_not_replaced_without_force(tiny_model: Path, tmp_path: Path, cloister: Cloister) -> None:
    out = tmp_path / "out.gguf"
    out.write_bytes(b"mine")
    refused = cloister("model", "quantize", tiny_model, "--type", "q4_0", "--output", out)
    assert refused.code == 2
    assert "is there already" in refused.err
    assert out.read_bytes() == b"mine"
    assert cloister("model", "quantize", tiny_model, "--type", "q4_0", "--output", out, "--force").code == 0
    assert out.read_bytes().startswith(b"GGUF")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["tiny", "--type", "q4_0"], 2, "where the file goes is not said once"),
        (["tiny", "--type", "q4_0", "--name", "a", "--output", "b"], 2, "where the file goes is not said once"),
        (["tiny", "--type", "q4_0", "--name", "../a"], 2, "letters, digits"),
        (["tiny", "--type", "q9", "--name", "a"], 2, "Invalid value for '--type'"),
        (["none", "--type", "q4_0", "--name", "a"], 3, "Model refused: "),
        (["./jobs", "--type", "q4_0", "--name", "a"], 3, "expected a regular file"),
        (["tiny", "--type", "q4_0", "--output", "models/tiny.gguf", "--force"], 3, "the source itself"),
        (["tiny", "--type", "q4_0", "--output", "none/a.gguf"], 3, "cannot be written: No such file"),
    ],
)
def test_refused(ready: Place, cloister: Cloister, arguments: list[str], code: int, message: str) -> None:
    done = cloister("model", "quantize", *arguments)
    assert done.code == code
    assert message in done.err
    assert [path.name for path in (ready.root / "models").iterdir()] == ["tiny.gguf"]


def test_lines_now_and_then_and_a_bar_on_a_terminal(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    with telling("quantize", clock=lambda: now[0]) as tell:
        tell(1, 10, "a")
        now[0] = EVERY_SECONDS
        tell(2, 10, "b")
        tell(3, 10, "c")
        tell(10, 10, "d")
    assert [json.loads(line)["at"] for line in capfd.readouterr().err.splitlines()] == ["b", "d"]
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with telling("quantize") as tell:
        tell(5, 10, "blk.0.attn_q.weight")
    assert "blk.0.attn_q.weight" in capfd.readouterr().err


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
def test_no_measurement_of_what_is_refused(
    ready: Place, cloister: Cloister, arguments: list[str], code: int, message: str
) -> None:
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
