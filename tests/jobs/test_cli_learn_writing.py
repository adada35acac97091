"""`cloister learn` for a model that writes: a prior answers the job, is pinned, proved and replayed."""

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
model: {{name: tiny, cache_mib: 64, context: 2000}}
task:
  type: classify
  threshold: 0.0
  max_tokens: 100
  labels: [{{name: lease}}, {{name: invoice}}, {{name: report}}]
"""
LABELS = ("lease", "invoice", "report")


@pytest.fixture
def sorting(place: Place, tiny_decoder: Path) -> Place:
    shutil.copy(tiny_decoder, place.root / "models" / "tiny.gguf")
    place.job("sort", SORT)
    return place


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    file = tmp_path / "examples.csv"
    lines = [f"A {LABELS[number % 3]} of number {number}.,{LABELS[number % 3]}" for number in range(24)]
    file.write_text("\n".join(["text,label", *lines, "Whatever it is.,", ""]))
    return file


def test_a_prior_answers_and_is_proved(sorting: Place, cloister: Cloister, examples: Path) -> None:
    sorting.drop("sort", "letter.txt", "The lease of the flat.\n")
    assert cloister("run", "sort").code == 0
    (before,) = cloister("results", "sort", "--json").json
    told = cloister("learn", "sort", "--examples", examples)
    assert (told.code, "learned sort from 25 examples" in told.out) == (0, True), told.err
    assert re.search(r"right +[0-9.]+% of examples that it had not seen, [0-9.]+% without what was learned", told.out)
    path = sorting.root / "models" / "sort.head"
    first = path.read_bytes()
    assert cloister("learn", "sort", "--examples", examples, "--json").json["unlabelled"] == 1
    assert path.read_bytes() == first
    head = read_head(path)
    assert (head.facts["kind"], sum(head.arrays["shares"].tolist())) == ("prior", pytest.approx(1, abs=1e-6))
    sha256 = re.findall(r"sha256: ([0-9a-f]{64})", told.out)[-1]
    file = sorting.root / "jobs" / "sort.yaml"
    file.write_text(file.read_text().replace("{name: tiny,", f"{{name: tiny, head: {{name: sort, sha256: {sha256}}},"))
    checked = cloister("check", "sort")
    assert (checked.code, f"head    sort, sha256 {sha256}" in checked.out) == (0, True), checked.out
    sorting.drop("sort", "letter.txt", "The lease of the flat.\n")
    assert cloister("run", "sort").code == 0
    (row,) = cloister("results", "sort", "--json").json
    assert row["job_digest"] != before["job_digest"]
    assert row["scores"] != before["scores"]
    assert cloister("audit", "verify").code == 0
    replayed = cloister("audit", "replay", "letter.txt")
    assert (replayed.code, "identical" in replayed.out) == (0, True), replayed.out
    settings = [entry["text"] for entry in entries(sorting) if entry["type"] == "settings" and sha256 in entry["text"]]
    assert json.loads(settings[0])["head"] == {"name": "sort", "sha256": sha256}
    file.write_text(file.read_text().replace("threshold: 0.0", "calibrate: true"))
    refused = cloister("check", "sort")
    assert (refused.code, "remove task.calibrate" in refused.out) == (3, True)


def test_what_cannot_be_learned_from_is_named(sorting: Place, cloister: Cloister, tmp_path: Path) -> None:
    file = tmp_path / "few.csv"
    file.write_text("text,label\na lease,lease\n")
    refused = cloister("learn", "sort", "--examples", file)
    assert (refused.code, "1 different documents" in refused.err, "10 at least" in refused.err) == (2, True, True)
    file.write_text("text,label\na lease,lodger\n")
    refused = cloister("learn", "sort", "--examples", file)
    assert (refused.code, "few.csv:2: the label 'lodger'" in refused.err) == (2, True)
    sorting.job("ask", "job: {name}\ninput: {{afterwards: {afterwards}}}\nmodel: {{name: tiny}}\n"
                "task: {{type: summarize, sentences: 1}}\n")  # fmt: skip
    refused = cloister("learn", "ask", "--examples", file)
    assert (refused.code, "heads are learned for the task" in refused.err) == (3, True)
    assert not list((sorting.root / "models").glob("*.head"))


def test_a_model_without_a_chat_template_is_told_of(
    sorting: Place, tiny_decoder: Path, tiny_model: Path, cloister: Cloister
) -> None:
    said = "none in the file: plain text with the names of the roles is assumed"
    assert f"  chat template {said}" in cloister("model", "import", tiny_decoder, "--name", "other").out
    assert f"  chat    template: {said}" in cloister("check", "sort").out
    assert cloister("model", "inspect", "tiny", "--json").json["chat_template"] == said
    assert "chat template" not in cloister("model", "import", tiny_model, "--name", "embeds").out
