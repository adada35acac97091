"""What is made of results; that the files, prompts and processes of the benchmark are what they say."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from engine import tokenizer
from engine.gguf import read
from engine.quant import to_float32
from tests.benchmarks.lm import accuracy, contenders, files, night, programs, vocabulary
from tests.benchmarks.lm.accuracy import Errors
from tests.benchmarks.lm.journal import Journal
from tests.benchmarks.lm.measure import measure, token_bytes
from tests.benchmarks.lm.musts import MUSTS
from tests.benchmarks.lm.night import INSTRUCTION, LONGEST, SHORTEST, Night
from tests.benchmarks.lm.plan import Plan
from tests.benchmarks.lm.report import BEGIN, END, put_into, to_markdown
from tests.benchmarks.lm.results import OURS, Point, Rates, Results, best_peer, rate, ratio, share
from tests.benchmarks.lm.shapes import LARGE, MIXES, SHAPES, SMALL, tensors
from tests.benchmarks.process import ROOT
from tests.benchmarks.verdict import Must, Verdict, Worst, verdicts

BENCH, BOUND, SERVER = contenders.PROGRAMS, contenders.BINDING, contenders.SERVER
IK, OPENVINO = contenders.IK, contenders.OPENVINO
MEMORY = {
    "resident": 4.6 * 2**30, "kv": 2**28, "weights": 4.5 * 2**30, "seconds": 5.0, "most": 4.7 * 2**30,
    "first_seconds": 60.0, "first_most": 4.8 * 2**30,
}  # fmt: skip
FOUR, NIGHT, FREE = (LARGE, "q4_k_m"), Point("night", "llama-3.2-1b", "q4_k_m"), Point("night, free", SMALL[0], "q8_0")


def beside(times: float) -> Rates:
    return {OURS: [times * 10, times * 20, times * 40], BENCH: [10.0, 20.0, 40.0], BOUND: [9.0, 30.0, 4.0]}


def everything() -> Results:
    """Results in which every must of avx512_vnni is just met, and no aim but the two that are nothing else."""
    rates = {Point("prompt", shape, mix): beside(1.25) for shape in SMALL for mix in MIXES}
    rates |= {Point("decode", shape, mix): beside(1.5 if mix == "q4_k_m" else 1.0) for shape in SMALL for mix in MIXES}
    rates |= {Point(f"decode {n}", SMALL[1], "q8_0"): beside(2.0) for n in (16, 32)}
    rates |= {Point("prompt", *FOUR): beside(2.0), Point("decode", *FOUR): beside(1.5)}
    for what, times in (("prompt", 1.5), ("decode", 1.1), ("decode 16", 2.0)):
        its = rates[Point(what, SMALL[1], "q8_0")]
        its |= {OPENVINO: [rate and rate / times for rate in its[OURS]]}
    nights = {NIGHT: {OURS: Night(200, 360.0, 12_000, 0, 220_000), SERVER: Night(200, 900.0, 15_000, 1, 230_000)}}
    nights[FREE] = {OURS: Night(200, 100.0, 12_000, 0), SERVER: Night(200, 250.0, 12_000, 0)}
    return Results(
        machine="a machine", isa="avx512_vnni", nights=nights, bandwidth={1: 4e10},
        token_bytes={(SMALL[0], "q8_0"): 15 * 10**8},
        rates=rates | {point: {name: [one.rate] for name, one in found.items()} for point, found in nights.items()},
        file_bytes={FOUR: 4 << 30}, memory={FOUR: {OURS: MEMORY, SERVER: {"resident": 5 << 30}}},
        starts={("llama-3.2-1b", "q4_k_m"): {OURS: [1.4, 1.3, 9.0], BENCH: [0.7]}},
        errors={(SMALL[0], "q8_0"): {
            OURS: Errors(0.09, 1.0, 0.05, 1e-4, 0.02), BOUND: Errors(0.1, 2.0, 0.04, 2e-4, 0.03),
        }},
        skipped=["llama-something: not there"],
    )  # fmt: skip


def test_what_holds_and_what_is_aimed_at() -> None:
    words = {each.must.what: each.word for each in verdicts(MUSTS, everything(), "avx512_vnni")}
    assert words.pop("prompt tokens, AMX") == "needs amx"
    assert set(words.values()) == {"pass", "aim"}
    assert [what for what, word in words.items() if word == "aim"] == [
        "one sequence decoding, of the memory's bandwidth", "the same with free text of 60 tokens",
        "1B, prompt tokens, to OpenVINO", "1B, one sequence decoding, to OpenVINO",
        "1B, 16 sequences decoding, to OpenVINO",
    ]  # fmt: skip


def test_nothing_measured_is_no_pass() -> None:
    assert {each.word for each in verdicts(MUSTS, Results(isa="avx2"), "avx2")} == {"not measured", "needs amx"}
    text = to_markdown(Results(isa="amx"))
    assert text.count("| not measured |") == len(MUSTS) - 1
    assert text.count("| needs avx512_vnni or avx2 or portable |") == 1


@pytest.mark.parametrize("must", [must for must in MUSTS if must.bound], ids=lambda must: must.what)
def test_a_bound_is_a_bound(must: Must[Results]) -> None:
    must = dataclasses.replace(must, isas=())
    assert must.bound is not None
    worse = must.bound * (1 - 1e-6 if must.least else 1 + 1e-6)
    assert Verdict(must, Worst(must.bound, "")).word == "pass"
    assert Verdict(must, Worst(worse, "")).word == "miss"
    assert must.aim is None or Verdict(must, Worst(must.aim, "")).word == "aim"


def test_another_instruction_set_has_another_bound_for_prompts() -> None:
    results = dataclasses.replace(everything(), isa="amx")
    one, other = [each for each in verdicts(MUSTS, results, "amx") if each.must.what.startswith("prompt tokens")]
    assert (one.must.bound, one.word) == (2.5, "miss")
    assert (other.found, other.word) == (None, "needs avx512_vnni or avx2 or portable")


def test_the_worst_file_counts_and_is_named() -> None:
    results = everything()
    results.rates[Point("decode 32", SMALL[1], "q8_0")] = beside(1.9)
    (found,) = [each for each in verdicts(MUSTS, results, results.isa) if each.must.what.startswith("16 and 32")]
    assert found.found == Worst(pytest.approx(1.9), f"decode 32, {SMALL[1]} q8_0, 1 thread, {BENCH}")
    assert found.word == "miss"


def test_ratios_are_of_rounds_and_of_the_fastest_that_did_not_crash() -> None:
    rates: Rates = beside(2.0)
    assert best_peer(rates) == BENCH
    assert ratio(rates, BENCH) == pytest.approx(2.0)
    rates[BENCH][1] = None
    assert rate(rates, BENCH) is None
    assert best_peer(rates) == BOUND
    assert best_peer(rates, (IK, BENCH)) is None
    assert best_peer({OURS: [1.0]}) is None


def test_openvino_and_others_of_llama_cpp_are_beside_the_bounds() -> None:
    """A bound is to llama.cpp, however fast the others are; the tables have the ratio to the fastest."""
    results = everything()
    point = Point("decode 16", SMALL[1], "q8_0")
    results.rates[point] |= {OPENVINO: [20.0, 40.0, 80.0], IK: [80.0, 160.0, 320.0]}
    words = {each.must.what: each for each in verdicts(MUSTS, results, results.isa)}
    assert words["16 and 32 sequences decoding"].word == "pass"
    beyond = words["1B, 16 sequences decoding, to OpenVINO"]
    assert (beyond.word, beyond.found) == (
        "below the aim",
        Worst(1.0, f"decode 16, {SMALL[1]} q8_0, 1 thread, OpenVINO"),
    )
    assert f"| decode 16 | {SMALL[1]} q8_0 | 1 | 40.0 |" in (text := to_markdown(results))
    assert "| 0.25x |" in text


def test_many_sequences_are_read_from_lines_and_from_tables() -> None:
    """llama.cpp prints JSON among other lines, ik_llama.cpp a table only."""
    lines = 'loaded\n{"pp": 64, "tg": 32, "pl": 16, "speed_pp": 300.5, "speed_tg": 90.25, "speed": 100}\n'
    rows = (
        "|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s |    S t/s |\n"
        "|-------|--------|------|--------|----------|----------|----------|----------|----------|----------|\n"
        "|    64 |     32 |   16 |   1536 |    3.407 |   300.50 |    5.673 |    90.25 |    9.080 |   169.16 |\n"
        "|    64 |     32 |   32 |   3072 |    6.814 |   300.50 |    9.000 |   113.78 |   15.814 |   194.26 |\n"
    )
    assert programs.decoding(lines) == {"decode 16": 90.25}
    assert programs.decoding(rows) == {"decode 16": 90.25, "decode 32": 113.78}


def test_the_share_of_the_bandwidth() -> None:
    results = everything()
    assert share(results, Point("decode", SMALL[0], "q8_0")) == pytest.approx(20 * 15e8 / 4e10)
    assert share(results, Point("decode", SMALL[1], "q8_0")) is None
    assert share(results, Point("decode", SMALL[0], "q8_0", 2)) is None


def test_the_report_has_everything() -> None:
    results = everything()
    results.rates[Point("decode 16", SMALL[1], "q8_0")][BENCH][0] = None
    text = to_markdown(results)
    assert f"| prompt | {LARGE} q4_k_m | 1 | 40.0 | 20.0 | 9.0 | - | 2.00x |  |" in text
    assert f"| decode 16 | {SMALL[1]} q8_0 | 1 | 40.0 | crashed | 9.0 | 20.0 | 2.00x |  |" in text
    assert "| night | llama-3.2-1b q4_k_m | 1 | cloister | 200 | 360.0 | 2,000 | 1,100 | 60.0 | 0 | 2.50x |" in text
    assert "| llama-2-7b q4_k_m | 4,096 | cloister | 4,710 | 256 | 4,608 | 1.09x | 5.0 | 60.0 | 4,915.2 |" in text
    assert "| llama-2-7b q4_k_m | 4,096 | llama-server | 5,120 |  |  | 1.25x |  |  |  |" in text
    assert "| qwen2.5-0.5b q8_0 | cloister | 0.09000 | 1.0000 | 0.05000 | 1.00e-04 | 2.0% |" in text
    assert "start of the process to the first token: 1.40 s (median of 3)" in text
    assert "- llama-something: not there" in text


def test_the_page_gets_the_verdicts() -> None:
    page = (ROOT / "engine/BENCHMARKS.md").read_text()
    found = put_into(page, everything())
    assert found.split(BEGIN)[0] == page.split(BEGIN)[0]
    assert found.split(END)[1] == page.split(END)[1]
    assert "| the night | ≥ 2.50x | ≥ 4.00x | 2.50x | night, llama-3.2-1b q4_k_m" in found
    assert put_into(found, everything()) == found
    with pytest.raises(ValueError, match="found no lines"):
        put_into("nothing", everything())


@pytest.mark.parametrize("mix", MIXES)
def test_a_file_has_the_shape_and_the_same_bytes_again(tmp_path: Path, mix: str) -> None:
    one = files.write_model(tmp_path / "one.gguf", SHAPES["tiny"], mix)
    two = files.write_model(tmp_path / "two.gguf", dataclasses.replace(SHAPES["tiny"], distinct=1), mix)
    found, other = read(one), read(two)
    assert {name: tensor.shape for name, tensor in found.tensors.items()} == tensors(SHAPES["tiny"])
    first, second = (bytes(other.tensors[f"blk.{i}.ffn_up.weight"].data) for i in range(2))
    assert first == second == bytes(found.tensors["blk.0.ffn_up.weight"].data)
    assert bytes(found.tensors["blk.1.ffn_up.weight"].data) != first
    assert 0.9 < to_float32(found.tensors["blk.1.ffn_up.weight"]).std() * 16 < 1.1
    assert token_bytes(one) == sum(tensor.data.nbytes for tensor in found.tensors.values())


def test_the_night_of_a_vocabulary(tmp_path: Path) -> None:
    """A word is a token, and all prompts begin with the same instruction."""
    path = files.write_model(tmp_path / "tiny.gguf", SHAPES["tiny"], "q4_0")
    first, second = night.prompts(path, 2)
    shared = int((first[:600] != second[:600]).argmax())
    assert shared >= INSTRUCTION
    assert all(SHORTEST + shared <= ids.size <= LONGEST + shared + 40 for ids in (first, second))
    text = tokenizer.from_metadata(read(path).metadata)
    for ids in (first, second):
        assert text.decode(ids.tolist()).count(" ") > INSTRUCTION + SHORTEST


@pytest.mark.parametrize(("kind", "size"), [("qwen2", 4000), ("llama-bpe", 4000), ("llama", 4000)])
def test_vocabularies_know_their_words_and_the_marks_of_json(kind: str, size: int) -> None:
    metadata = vocabulary.metadata(kind, size)
    assert len(metadata["tokenizer.ggml.tokens"]) == len(set(metadata["tokenizer.ggml.tokens"])) == size
    text = tokenizer.from_metadata(metadata)
    words = vocabulary.known(size, 100)
    assert len(text.encode_within(" " + " ".join(words))) == 100
    assert text.decode(text.encode_within('{"kind":"lease","total":7}')) == '{"kind":"lease","total":7}'
    assert len(text.encode_within("summary")) <= 2


def test_errors_of_logits() -> None:
    exact = np.log(np.array([[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]] * 20, np.float32))
    assert accuracy.compare(exact + np.float32(3), exact) == pytest.approx(Errors(3.0, 3.0, 0.0, 0.0, 0.0), abs=1e-6)
    wide = accuracy.compare(exact + np.array([4, -2, 1], np.float32), exact)
    assert wide[:3] == pytest.approx((7 / 3, 4.0, 2.0), abs=1e-6)
    even = accuracy.compare(np.zeros_like(exact), exact)
    assert even.others == 0.5
    assert even.divergence == pytest.approx(0.5 * np.log(1.5) + 0.5 * np.log(0.75), abs=1e-6)


def test_peers_that_are_not_there_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(programs.FOLDER, str(tmp_path))
    assert sum("no llama-" in line for line in contenders.missing()) == 3
    monkeypatch.setenv(programs.IK_FOLDER, str(tmp_path))
    assert sum("no llama-bench in CLOISTER_IK_LLAMA" in line for line in contenders.missing()) == 1
    monkeypatch.delenv(programs.FOLDER)
    results = measure(Plan(files=(), rows=()), Journal(None, {}), lambda line: None)
    assert sum(programs.FOLDER in line for line in results.skipped) == 3


def test_a_run_that_was_stopped_goes_on(tmp_path: Path) -> None:
    path, done = tmp_path / "r.jsonl", []

    def measured(value: object) -> object:
        done.append(value)
        return value

    first = Journal(path, {"code": "a"})
    assert first.once(("x", 1), lambda: measured({"prompt": 2.5})) == {"prompt": 2.5}
    assert first.once(("crash", 1), lambda: measured(None)) is None
    again = Journal(path, {"code": "a"}, resume=True)
    assert again.knows("x", 1)
    assert again.once(("x", 1), lambda: measured("again")) == {"prompt": 2.5}
    assert again.once(("crash", 1), lambda: measured(3)) == 3
    assert done == [{"prompt": 2.5}, None, 3]
    with pytest.raises(ValueError, match="found measurements of"):
        Journal(path, {"code": "b"}, resume=True)
    assert not Journal(path, {"code": "b"}).knows("x", 1)


def test_parts_of_a_night_are_one() -> None:
    both = Night(50, 100.0, 3000, 1, 60_000) + Night(30, 50.0, 1000, 0, 30_000)
    assert both == Night(80, 150.0, 4000, 1, 90_000)
    assert both.rate == 1920


def test_random_weights_read_random_tokens_and_trained_ones_english(tmp_path: Path) -> None:
    path = files.write_model(tmp_path / "tiny.gguf", SHAPES["tiny"], "q8_0")
    assert max(accuracy.text_ids(path, 500)) > SHAPES["tiny"].vocab // 2
    trained = tmp_path / "trained.gguf"
    trained.write_bytes(path.read_bytes().replace(b"random weights", b"English weight"))
    text = tokenizer.from_metadata(read(trained).metadata)
    assert text.decode(accuracy.text_ids(trained, 500)) in accuracy.TEXT.read_text()
