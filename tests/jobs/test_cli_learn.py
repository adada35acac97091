"""`cloister learn`: a head from examples answers a job, is pinned, proved and replayed; what is wrong is named."""

import csv
import errno
import json
import re
import shutil
from pathlib import Path

import pytest

from pipeline.heads import read_head
from tests.jobs.conftest import Cloister, Place, entries

SORT = """\
job: {name}
input: {{settle_seconds: 0, afterwards: {afterwards}}}
model: {{name: tiny}}
task:
  type: classify
  threshold: 0.0
  labels:
    - {{name: lease, description: "a lease of a flat: landlord, tenant"}}
    - {{name: invoice, description: "an invoice: total due"}}
    - {{name: report}}
"""
SAID = {
    "lease": ["The landlord leases the flat", "The tenant pays the landlord", "A lease of the flat", "Der Mietvertrag"],
    "invoice": ["The total is due", "Invoice of the date", "Die Rechnung: total", "The invoice is due"],
    "report": ["The report of the date", "A report", "The report and the report", "Report der report"],
}


@pytest.fixture
def sorting(place: Place, tiny_model: Path) -> Place:
    """A workspace with a job that classifies, and letters to learn from."""
    shutil.copy(tiny_model, place.root / "models" / "tiny.gguf")
    place.job("sort", SORT)
    return place


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    """A CSV file of examples."""
    file = tmp_path / "examples.csv"
    with file.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["text", "label"])
        for label, texts in SAID.items():
            writer.writerows([f"{text}. Number {n}.", label] for n, text in enumerate(texts))
    return file


def pin(place: Place, out: str) -> str:
    """Write into the job what the command says is to be written there."""
    sha256 = re.findall(r"sha256: ([0-9a-f]{64})", out)[-1]
    file = place.root / "jobs" / "sort.yaml"
    file.write_text(file.read_text().replace("{name: tiny}", f"{{name: tiny, head: {{name: sort, sha256: {sha256}}}}}"))
    return str(sha256)


def test_a_head_answers_and_is_proved(sorting: Place, cloister: Cloister, examples: Path) -> None:
    told = cloister("learn", "sort", "--examples", examples)
    assert (told.code, "learned sort from 12 examples" in told.out) == (0, True)
    sorting.drop("sort", "letter.txt", "The landlord and the tenant.\n\nThe lease of the flat.\n")
    assert cloister("run", "sort").code == 0
    (before,) = cloister("results", "sort", "--json").json
    sha256 = pin(sorting, told.out)
    checked = cloister("check", "sort")
    assert (checked.code, f"head    sort, sha256 {sha256}" in checked.out) == (0, True)
    sorting.drop("sort", "letter.txt", "The landlord and the tenant.\n\nThe lease of the flat.\n")
    assert cloister("run", "sort").code == 0
    (row,) = cloister("results", "sort", "--json").json
    assert (row["state"], row["label"]) == ("done", "lease")
    assert sum(one["score"] for one in row["scores"]) == pytest.approx(1, abs=1e-5)
    assert row["job_digest"] != before["job_digest"], "the head is among the settings that determine results"
    assert all(one["text"] in "The landlord and the tenant.\n\nThe lease of the flat.\n" for one in row["evidence"])
    assert cloister("audit", "verify").code == 0
    replayed = cloister("audit", "replay", "letter.txt")
    assert (replayed.code, "identical" in replayed.out) == (0, True)
    (settings,) = {
        entry["text"] for entry in entries(sorting) if entry["type"] == "settings" and sha256 in entry["text"]
    }
    assert json.loads(settings)["head"] == {"name": "sort", "sha256": sha256}


def test_learning_again_gives_the_same_file_and_keeps_the_old_one(
    sorting: Place, cloister: Cloister, examples: Path
) -> None:
    models = sorting.root / "models"
    assert cloister("learn", "sort", "--examples", examples).code == 0
    first = (models / "sort.head").read_bytes()
    assert cloister("learn", "sort", "--examples", examples).code == 0
    assert [path.name for path in sorted(models.glob("*.head"))] == ["sort.head"]
    assert (models / "sort.head").read_bytes() == first
    with examples.open("a") as more:
        more.write("The landlord and the lease,lease\n")
    report = cloister("learn", "sort", "--examples", examples, "--json").json
    kept = sorted(models.glob("sort.*.head"))
    assert [path.read_bytes() for path in kept] == [first]
    assert (report["examples"], report["labels"]) == (13, {"lease": 5, "invoice": 4, "report": 4})
    assert 0 <= report["right"] <= 1


def test_examples_are_a_folder_for_each_label(sorting: Place, cloister: Cloister, tmp_path: Path) -> None:
    for label, texts in SAID.items():
        for number, text in enumerate(texts):
            file = tmp_path / "examples" / label / f"{number}.txt"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    report = cloister("learn", "sort", "--examples", tmp_path / "examples", "--json").json
    assert report["examples"] == 12


def test_a_head_for_other_labels_or_another_model_is_refused(
    sorting: Place, cloister: Cloister, examples: Path, tmp_path: Path
) -> None:
    pin(sorting, cloister("learn", "sort", "--examples", examples).out)
    job = sorting.root / "jobs" / "sort.yaml"
    text = job.read_text()
    job.write_text(text.replace("name: report", "name: letter"))
    refused = cloister("check", "sort")
    assert (refused.code, "learned for other labels" in refused.out) == (3, True)
    job.write_text(text)
    head = sorting.root / "models" / "sort.head"
    head.write_bytes(head.read_bytes()[:-1])
    refused = cloister("run", "sort")
    assert (refused.code, "the job pins" in refused.out + refused.err) == (3, True)
    assert cloister("audit", "verify").code == 0


WRONG = {
    "The landlord,lodger\n": ("examples.csv:14", "the label 'lodger'"),
    "   ,lease\n": ("examples.csv:14", "a text that says nothing"),
    ",lease\n": ("examples.csv:14", "only label"),
    "The landlord, and the flat,lease\n": ("examples.csv:14", "cells: 3"),
    "The landlord and the flat\n": ("examples.csv:14", "cells: 1"),
    "\n\nThe landlord,lodger\n": ("examples.csv:16", "the label 'lodger'"),
    "The total is due. Number 0.,lease\n": ("examples.csv:14", "with the label 'invoice', here with the label 'lease'"),
}


@pytest.mark.parametrize("line", WRONG)
def test_what_is_wrong_is_named_with_its_line(line: str, sorting: Place, cloister: Cloister, examples: Path) -> None:
    with examples.open("a") as more:
        more.write(line)
    refused = cloister("learn", "sort", "--examples", examples)
    assert refused.code == 2
    assert all(part in refused.out + refused.err for part in WRONG[line])
    assert not list((sorting.root / "models").glob("*.head"))


def test_wrong_files_are_named(sorting: Place, cloister: Cloister, tmp_path: Path) -> None:
    file = tmp_path / "examples.csv"
    for data, told in [
        (b"text,label\nM\xfcller,lease\n", "examples.csv:2: the byte 0xfc"),
        ("text,label\na,lease\n".encode("utf-16"), "iconv -f utf-16 -t utf-8 examples.csv"),
        (b"words,label\na,lease\n", "the columns words, label"),
        (b"text,label,label\na,lease,\n", "the column 'label' twice"),
        (b"text,label\nthe landlord,lease\n", "different documents with the label 'invoice'"),
        (b"document,label\nthere/is/none.pdf,lease\n", "there is no file"),
    ]:
        file.write_bytes(data)
        refused = cloister("learn", "sort", "--examples", file)
        assert (refused.code, told in refused.out + refused.err) == (2, True), refused.err
    lines = tmp_path / "examples.jsonl"
    lines.write_text('{"text": "the lease", "label": "lease"}\n{"text": \n[1]\n')
    refused = cloister("learn", "sort", "--examples", lines)
    assert all(told in refused.err for told in ("examples.jsonl:2: no JSON", "examples.jsonl:3: a JSON list"))
    assert cloister("learn", "sort", "--examples", tmp_path / "none").code == 2


def test_documents_are_read_within_the_limits_of_a_run(sorting: Place, cloister: Cloister, tmp_path: Path) -> None:
    site = sorting.root / "site.yaml"
    site.write_text(re.sub(r"document_mib: \d+", "document_mib: 1", site.read_text()))
    for label, texts in SAID.items():
        for number, text in enumerate(texts):
            file = tmp_path / "examples" / label / f"{number}.txt"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    large = tmp_path / "examples" / "lease" / "large.txt"
    large.write_text("The landlord leases the flat. " * 40_000)
    refused = cloister("learn", "sort", "--examples", tmp_path / "examples").err
    assert f"{large}: it has 1200000 bytes; limits.document_mib allows 1048576" in refused


def test_files_that_cannot_be_read_are_named(
    sorting: Place, cloister: Cloister, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "examples.csv"
    file.write_text("document,label\na.txt,lease\n")
    (tmp_path / "a.txt").write_text("The lease.")

    def denied(_: object, path: Path) -> str:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr("pipeline.atrest.files.AtRest.sha256", denied)
    refused = cloister("learn", "sort", "--examples", file)
    assert f"{file}:2: {tmp_path / 'a.txt'} cannot be read: Permission denied" in refused.err
    assert refused.code == 2


def test_a_head_from_elsewhere_is_imported(sorting: Place, cloister: Cloister, examples: Path, tmp_path: Path) -> None:
    """One that came with a bundle, or of another workspace; another one of that name is replaced only if that is meant,
    and kept."""
    learned = cloister("learn", "sort", "--examples", examples, "--json").json
    models, carried = sorting.root / "models", tmp_path / "sort.head"
    shutil.move(models / "sort.head", carried)
    told = cloister("model", "import", carried)
    assert (told.code, told.err, learned["sha256"] in told.out) == (0, "", True)
    assert (models / "sort.head").read_bytes() == carried.read_bytes()
    pin(sorting, told.out.replace('"', ""))
    assert cloister("check", "sort").code == 0

    (models / "sort.head").write_bytes(b"another")
    refused = cloister("model", "import", carried)
    assert (refused.code, "is another head" in refused.err) == (2, True)
    told = cloister("model", "import", carried, "--force", "--json").json
    assert (told["sha256"], told["model_name"]) == (learned["sha256"], "tiny")
    assert [kept.read_bytes() for kept in models.glob("sort.*.head")] == [b"another"]
    assert cloister("model", "import", carried, "--type", "f16").code == 2
    carried.write_bytes(b"no head")
    assert cloister("model", "import", carried, "--name", "other").code == 3
    assert not (models / "other.head").exists()


WRITTEN = """\
job: {name}
input: {{settle_seconds: 0, afterwards: {afterwards}}}
model: {{name: tiny, cache_mib: 64, context: 2000}}
task:
  type: classify
  threshold: 0.0
  max_tokens: 100
  labels: [{{name: lease}}, {{name: invoice}}, {{name: report}}]
"""
LABELS = ("lease", "invoice", "report")


@pytest.fixture
def writing(place: Place, tiny_decoder: Path) -> Place:
    shutil.copy(tiny_decoder, place.root / "models" / "tiny.gguf")
    place.job("sort", WRITTEN)
    return place


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    file = tmp_path / "examples.csv"
    lines = [f"A {LABELS[number % 3]} of number {number}.,{LABELS[number % 3]}" for number in range(24)]
    file.write_text("\n".join(["text,label", *lines, "Whatever it is.,", ""]))
    return file


def test_a_prior_answers_and_is_proved(writing: Place, cloister: Cloister, lines: Path) -> None:
    writing.drop("sort", "letter.txt", "The lease of the flat.\n")
    assert cloister("run", "sort").code == 0
    (before,) = cloister("results", "sort", "--json").json
    told = cloister("learn", "sort", "--examples", lines)
    assert (told.code, "learned sort from 25 examples" in told.out) == (0, True), told.err
    assert re.search(r"right +[0-9.]+% of examples that it had not seen, [0-9.]+% without what was learned", told.out)
    path = writing.root / "models" / "sort.head"
    first = path.read_bytes()
    assert cloister("learn", "sort", "--examples", lines, "--json").json["unlabelled"] == 1
    assert path.read_bytes() == first
    head = read_head(path)
    assert (head.facts["kind"], sum(head.arrays["shares"].tolist())) == ("prior", pytest.approx(1, abs=1e-6))
    sha256 = re.findall(r"sha256: ([0-9a-f]{64})", told.out)[-1]
    file = writing.root / "jobs" / "sort.yaml"
    file.write_text(file.read_text().replace("{name: tiny,", f"{{name: tiny, head: {{name: sort, sha256: {sha256}}},"))
    checked = cloister("check", "sort")
    assert (checked.code, f"head    sort, sha256 {sha256}" in checked.out) == (0, True), checked.out
    writing.drop("sort", "letter.txt", "The lease of the flat.\n")
    assert cloister("run", "sort").code == 0
    (row,) = cloister("results", "sort", "--json").json
    assert row["job_digest"] != before["job_digest"]
    assert row["scores"] != before["scores"]
    assert cloister("audit", "verify").code == 0
    replayed = cloister("audit", "replay", "letter.txt")
    assert (replayed.code, "identical" in replayed.out) == (0, True), replayed.out
    settings = [entry["text"] for entry in entries(writing) if entry["type"] == "settings" and sha256 in entry["text"]]
    assert json.loads(settings[0])["head"] == {"name": "sort", "sha256": sha256}
    file.write_text(file.read_text().replace("threshold: 0.0", "calibrate: true"))
    refused = cloister("check", "sort")
    assert (refused.code, "remove task.calibrate" in refused.out) == (3, True)


def test_what_cannot_be_learned_from_is_named(writing: Place, cloister: Cloister, tmp_path: Path) -> None:
    file = tmp_path / "few.csv"
    file.write_text("text,label\na lease,lease\n")
    refused = cloister("learn", "sort", "--examples", file)
    assert (refused.code, "1 different documents" in refused.err, "10 at least" in refused.err) == (2, True, True)
    file.write_text("text,label\na lease,lodger\n")
    refused = cloister("learn", "sort", "--examples", file)
    assert (refused.code, "few.csv:2: the label 'lodger'" in refused.err) == (2, True)
    writing.job("ask", "job: {name}\ninput: {{afterwards: {afterwards}}}\nmodel: {{name: tiny}}\n"
                "task: {{type: summarize, sentences: 1}}\n")  # fmt: skip
    refused = cloister("learn", "ask", "--examples", file)
    assert (refused.code, "heads are learned for the task" in refused.err) == (3, True)
    assert not list((writing.root / "models").glob("*.head"))


def test_a_model_without_a_chat_template_is_told_of(
    writing: Place, tiny_decoder: Path, tiny_model: Path, cloister: Cloister
) -> None:
    said = "none in the file: plain text with the names of the roles is assumed"
    assert f"  chat template {said}" in cloister("model", "import", tiny_decoder, "--name", "other").out
    assert f"  chat    template: {said}" in cloister("check", "sort").out
    assert cloister("model", "inspect", "tiny", "--json").json["chat_template"] == said
    assert "chat template" not in cloister("model", "import", tiny_model, "--name", "embeds").out
