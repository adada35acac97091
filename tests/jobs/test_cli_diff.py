"""`cloister model diff`: the answers of a job that change from one model or head to another."""

import shutil
from pathlib import Path

import pytest

import engine
from tests.jobs.conftest import INVOICE, LEASE, Cloister, Place, entries, finished
from tests.jobs.test_cli_learn import examples, pin, sorting
from tests.models import write_bert_folder

__all__ = ["examples", "sorting"]  # fixtures


@finished
def two(ready: Place, tmp_path: Path) -> Place:
    """A workspace with two models, of which the job `sort` uses `tiny`."""
    path = ready.root / "models" / "other.gguf"
    engine.import_model(write_bert_folder(tmp_path / "hf", seed=3), path, file_type="q8_0", name="other")
    return ready


@pytest.fixture
def letters(tmp_path: Path) -> Path:
    """A folder of documents."""
    folder = tmp_path / "letters"
    (folder / "inner").mkdir(parents=True)
    (folder / "lease.txt").write_text(LEASE)
    (folder / "inner" / "invoice.md").write_text(INVOICE)
    said = ("The report.", "Die Rechnung", "A date", "of the contract", "und", "The lease", "42", "Der Mietvertrag 7",
            "due", "Total", "The landlord", "zebra")  # fmt: skip
    for number, text in enumerate(said):
        (folder / f"{number:02}.txt").write_text(text)
    (folder / "empty.txt").write_text("")
    (folder / ".hidden").write_text("x")
    return folder


def rows(place: Place, cloister: Cloister, letters: Path, model: str) -> dict[str, tuple[str, str | None]]:
    """What a run answers with this model: the path of a document -> its state and label."""
    job = place.root / "jobs" / "sort.yaml"
    job.write_text(job.read_text().replace("name: tiny", f"name: {model}").replace("name: other", f"name: {model}"))
    shutil.rmtree(place.root / "inbox" / "sort")
    shutil.copytree(letters, place.root / "inbox" / "sort")
    assert cloister("run", "sort").code == 1
    return {row["path"]: (row["state"], row["label"]) for row in cloister("results", "sort", "--json").json}


def test_it_says_what_two_runs_would_say(two: Place, cloister: Cloister, letters: Path) -> None:
    found = cloister("model", "diff", "tiny", "other", "--eval", letters, "--json").json
    size = len(entries(two))
    assert (found["documents"], found["job"]) == (15, "sort")
    assert size == 0, "nothing is kept"
    a, b = (rows(two, cloister, letters, model) for model in ("tiny", "other"))
    expected = {path for path in a if a[path] != b[path]}
    assert expected, "else the test shows nothing"
    assert {each["place"] for each in found["changed"]} == expected
    for each in found["changed"]:
        for side, said in (("a", a), ("b", b)):
            assert (each[side]["state"], each[side]["columns"]["label"]) == said[each["place"]]
    assert found["same"] == 15 - len(expected)
    assert sum(found["a"]["states"].values()) == 15
    assert found["a"]["states"]["failed"] == 1
    assert list((two.root / "state").glob("compare-*")) == []


def test_the_table_has_both_answers_with_their_scores(two: Place, cloister: Cloister, letters: Path) -> None:
    told = cloister("model", "diff", "tiny", "other", "--eval", letters)
    assert told.code == 0
    assert "A  models/tiny.gguf, sha256 " in told.out
    assert "documents have the same answer" in told.out
    assert "(0." in told.out
    same = cloister("model", "diff", "tiny", "tiny", "--eval", letters).out
    assert "15 of 15 documents have the same answer, 0 of them with another score; 0 changed" in same


def test_texts_of_a_table_are_compared_and_labels_play_no_part(two: Place, cloister: Cloister, tmp_path: Path) -> None:
    table = tmp_path / "eval.csv"
    table.write_text("label,text\nx,The landlord and the tenant\n,The total due\n")
    found = cloister("model", "diff", "tiny", "other", "--eval", table, "--json").json
    assert found["documents"] == 2
    (tmp_path / "letter.txt").write_text(LEASE)
    lines = tmp_path / "eval.jsonl"
    lines.write_text('{"text": "The landlord"}\n{"document": "letter.txt"}\n')
    assert cloister("model", "diff", "tiny", "other", "--eval", lines, "--json").json["documents"] == 2


WRONG = {
    '{"text": "a", "document": "letter.txt"}\n': ("eval.jsonl:1", "text and document"),
    '{"text": "a"}\n{"label": "a"}\n': ("eval.jsonl:2", "neither of them"),
    '{"document": "nothing.txt"}\n': ("eval.jsonl:1", "there is no file"),
    "{\n": ("eval.jsonl:1", "no JSON"),
    "[1]\n": ("eval.jsonl:1", "a JSON list"),
    "\n": ("eval.jsonl", "no document"),
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_is_named_with_its_line(text: str, two: Place, cloister: Cloister, tmp_path: Path) -> None:
    file = tmp_path / "eval.jsonl"
    file.write_text(text)
    refused = cloister("model", "diff", "tiny", "other", "--eval", file)
    assert refused.code == 2
    assert all(part in refused.err for part in WRONG[text])


def test_what_cannot_be_compared_is_refused(two: Place, cloister: Cloister, letters: Path, tiny_decoder: Path) -> None:
    unknown = cloister("model", "diff", "tiny", "othr", "--eval", letters)
    assert (unknown.code, "did you mean 'other'?" in unknown.err) == (3, True)
    two.job("again")
    several = cloister("model", "diff", "tiny", "other", "--eval", letters)
    assert (several.code, "2 jobs with one of them (again, sort)" in several.err) == (2, True)
    assert cloister("model", "diff", "tiny", "other", "--eval", letters, "--job", "again").code == 0
    nothing = cloister("model", "diff", "tiny", "other", "--eval", letters / "gone", "--job", "again")
    assert (nothing.code, "there is no such file or folder" in nothing.err) == (2, True)
    (two.root / "models" / "bad.gguf").write_bytes(b"GGUF")
    assert cloister("model", "diff", "tiny", "bad", "--eval", letters, "--job", "again").code == 3


def test_a_model_that_writes_is_compared_with_one_that_embeds(
    two: Place, cloister: Cloister, letters: Path, tiny_decoder: Path
) -> None:
    shutil.copy(tiny_decoder, two.root / "models" / "writer.gguf")
    found = cloister("model", "diff", "tiny", "writer", "--eval", letters, "--json").json
    assert found["documents"] == 15
    assert sum(found["b"]["states"].values()) == 15


def test_two_heads_of_a_job_are_compared(sorting: Place, cloister: Cloister, examples: Path, letters: Path) -> None:
    first = pin(sorting, cloister("learn", "sort", "--examples", examples).out)
    text = examples.read_text().replace(",lease", ",x").replace(",invoice", ",lease").replace(",x", ",invoice")
    examples.write_text(text)
    assert cloister("learn", "sort", "--examples", examples).code == 0
    old = f"sort.{first[:12]}"
    found = cloister("model", "diff", old, "sort.head", "--eval", letters, "--json").json
    assert (found["a"]["sha256"], found["a"]["file"]) == (first, f"{old}.head")
    turned = {("lease", "invoice"), ("invoice", "lease")}
    said = {(each["a"]["columns"]["label"], each["b"]["columns"]["label"]) for each in found["changed"]}
    assert said & turned
    mixed = cloister("model", "diff", "tiny", "sort.head", "--eval", letters)
    assert (mixed.code, "are a model and a head" in mixed.err) == (3, True)
