"""What contenders get: texts, what they are told of the CPU; and the head that is learned on their vectors."""

from pathlib import Path

import numpy as np
import pytest

from tests.benchmarks import bench_job, texts
from tests.benchmarks.bench_banking import Right, right
from tests.benchmarks.contenders import HELD, PEERS, TO_AVX2
from tests.benchmarks.process import environment


@pytest.fixture
def sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, real_model: Path, data_folder: Path) -> str:
    monkeypatch.setenv("CLOISTER_MODEL", str(real_model))
    monkeypatch.setenv("CLOISTER_DATA", str(data_folder))
    mixture, compared = texts.write_sets(tmp_path / "sets.npz", 20)
    assert mixture.startswith("20 texts (questions and contract paragraphs), ")
    assert compared.startswith("1,000 texts (those of accuracy.py), ")
    return str(tmp_path / "sets.npz")


def test_no_text_that_calibrates_is_compared(sets: str) -> None:
    found = {name: [ids.tobytes() for ids in texts.read_set(sets, name)] for name in ("compared", "calibration")}
    assert {name: len(its) for name, its in found.items()} == {"compared": 1000, "calibration": texts.CALIBRATION}
    assert not {*found["compared"]} & {*found["calibration"]}
    longest = max(ids.size for ids in texts.read_set(sets, "calibration"))
    assert 100 < longest <= texts.LONGEST


def test_known_texts_are_left_out_with_those_that_hold_them() -> None:
    clause = "the tenant pays the rent on the first day of each month"
    known = [clause, "the rent"]
    asked = [clause, f"1. {clause}.", "pays the rent", "the rent is due", "another text"]
    assert [*texts._apart(asked, known)] == ["the rent is due", "another text"]


def test_without_data_ids_are_random_and_those_that_calibrate_are_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CLOISTER_DATA", raising=False)
    mixture, compared = texts.write_sets(tmp_path / "sets.npz", 30)
    assert mixture == compared
    assert mixture.startswith("30 texts (random ids), ")
    mixed, calibration = (texts.read_set(str(tmp_path / "sets.npz"), name) for name in ("mixed", "calibration"))
    assert len(calibration) == texts.CALIBRATION
    assert not {ids.tobytes() for ids in mixed} & {ids.tobytes() for ids in calibration}


def test_only_some_are_held_to_avx2() -> None:
    assert {name for name in (*PEERS, *HELD) if environment(name, 1).items() >= TO_AVX2.items()} == {*HELD}
    assert environment("cloister avx2", 2) == {"OMP_NUM_THREADS": "2", "CLOISTER_THREADS": "2", "CLOISTER_ISA": "avx2"}


def test_a_head_is_right_on_what_it_can_tell() -> None:
    random = np.random.default_rng(0)
    labels = np.repeat(np.arange(3, dtype=np.int32), 40)
    vectors = np.eye(3, 8, dtype=np.float32)[labels] + random.normal(0, 0.1, (120, 8)).astype(np.float32)
    assert right(vectors, labels, vectors, labels) == 1.0
    assert right(vectors, labels, vectors, (labels + 1) % 3) == 0.0
    assert Right(0.925, 0.928).points_lost == pytest.approx(0.3)


def test_contracts_that_come_again_are_files_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data_folder: Path
) -> None:
    monkeypatch.setenv("CLOISTER_DATA", str(data_folder))
    there = len([*(data_folder / bench_job.CONTRACTS).glob("*.pdf")])
    bench_job.write_contracts(tmp_path, there + 1)
    written = [path.read_bytes() for path in sorted(tmp_path.iterdir())]
    assert len({*written}) == len(written) == there + 1
    assert written[-1].startswith(written[0])
