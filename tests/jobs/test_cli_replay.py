"""The command that makes rows again from the log and the archive, and compares them: audit replay."""

import re

import pytest

from pipeline.tasks.classify import answers as classify
from tests.jobs.conftest import INVOICE, LEASE, Cloister, Place, finished


@finished
def three(ready: Place, cloister: Cloister) -> Place:
    ready.drop("sort", "lease.txt", LEASE)
    ready.drop("sort", "invoice.txt", INVOICE)
    ready.drop("sort", "copy.txt", INVOICE)
    assert cloister("run", "sort").code == 0
    return ready


def test_identical_rows_end_with_0(three: Place, cloister: Cloister) -> None:
    told = cloister("audit", "replay", "lease.txt")
    assert told.code == 0
    assert "1 identical" in told.out
    assert re.search(r"entry \d+, sort: lease.txt", told.out)
    run = cloister("audit", "show", "lease.txt", "--json").json["entries"][0]["run"]
    told = cloister("audit", "replay", "--run", run, "--json")
    assert (told.code, told.json["counts"]["identical"], told.json["counts"]["unreplayable"]) == (0, 2, 1)


def test_a_sample_names_its_seed_and_comes_again(three: Place, cloister: Cloister) -> None:
    told = cloister("audit", "replay", "--sample", "50%")
    assert told.code == 0
    seed = re.search(r"--seed (\d+)", told.out)
    assert seed
    assert cloister("audit", "replay", "--sample", "50%", "--seed", seed[1]).out == told.out


def test_a_row_that_differs_is_exit_4(three: Place, cloister: Cloister, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classify, "SCALE", 21.0)
    told = cloister("audit", "replay", "--sample", "100%")
    assert told.code == 4
    assert told.out.startswith("OF 3 ROWS, 2 COULD NOT BE MADE AGAIN.\n2 different, 1 unreplayable\n")
    assert "lease.txt (result: score, scores)" in told.out


def test_what_is_gone_is_exit_1(three: Place, cloister: Cloister) -> None:
    (three.root / "models" / "tiny.gguf").unlink()
    told = cloister("audit", "replay", "lease.txt", "--json")
    assert (told.code, told.json["exit_code"]) == (1, 1)
    assert told.json["rows"][0]["differs"] == ["model"]
    assert cloister("audit", "replay", "copy.txt").code == 1  # nothing was compared


def test_the_log_knows_of_it(three: Place, cloister: Cloister) -> None:
    cloister("audit", "replay", "--sample", "100%", "--seed", "7")
    entries = (three.root / "audit" / "entries" / "000000000000.jsonl").read_text()
    assert '"asked":{"document":null,"run":null,"seed":7,"share":1}' in entries
    assert cloister("audit", "verify").code == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "nothing to replay"),
        (("lease.txt", "--sample", "1%"), "too much"),
        (("lease.txt", "--seed", "1"), "no sample to draw"),
        (("--sample", "0%"), "no share of rows"),
        (("--sample", "101%"), "no share of rows"),
        (("--sample", "10"), "no share of rows"),
        (("--run", "never"), "no rows of a run 'never'"),
        (("nothing.txt",), "knows no document 'nothing.txt'"),
    ],
)
def test_what_cannot_be_asked(three: Place, cloister: Cloister, arguments: tuple[str, ...], told: str) -> None:
    ended = cloister("audit", "replay", *arguments)
    assert ended.code == 2
    assert told in ended.err
