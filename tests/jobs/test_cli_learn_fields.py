"""`cloister learn` for extract: fields are learned, answer a job, are proved and replayed; what is wrong is named."""

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import engine
from pipeline.answer import vectors
from pipeline.control.golden import BUILT_IN
from pipeline.learn import reading
from tests.jobs.conftest import Cloister, Place, entries
from tests.pipeline.learn.made import letter

FIND = """\
job: {name}
input: {{settle_seconds: 0, afterwards: {afterwards}}}
model: {{name: tiny}}
task:
  type: extract
  fields:
    - {{name: person, type: text, threshold: 0.2}}
    - {{name: due, type: date, threshold: 0.2}}
"""


@pytest.fixture
def finding(place: Place, tiny_model: Path) -> Place:
    """A workspace with a job that extracts."""
    shutil.copy(tiny_model, place.root / "models" / "tiny.gguf")
    place.job("find", FIND)
    return place


def line(number: int) -> dict[str, Any]:
    text, values = letter(number)
    return {"text": text, "fields": {"person": values["person"], "due": values.get("due")}}


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    """A JSONL file of letters with the values of their fields."""
    file = tmp_path / "examples.jsonl"
    file.write_text("".join(json.dumps(line(number)) + "\n" for number in range(24)))
    return file


def pin(place: Place, out: str) -> str:
    sha256 = re.findall(r"sha256: ([0-9a-f]{64})", out)[-1]
    file = place.root / "jobs" / "find.yaml"
    file.write_text(file.read_text().replace("{name: tiny}", f"{{name: tiny, head: {{name: find, sha256: {sha256}}}}}"))
    return str(sha256)


def test_a_head_answers_and_is_proved(finding: Place, cloister: Cloister, examples: Path) -> None:
    told = cloister("learn", "find", "--examples", examples)
    assert (told.code, "learned find from 24 examples" in told.out) == (0, True), told.err
    assert "person:" in told.out
    sha256 = pin(finding, told.out)
    assert cloister("check", "find").code == 0
    text, values = letter(101)
    finding.drop("find", "letter.txt", text)
    assert cloister("run", "find").code == 0
    (row,) = cloister("results", "find", "--json").json
    fields = {field["name"]: field for field in row["fields"]}
    assert fields["due"]["value"] == values["due"]
    assert fields["person"]["value"] == values["person"]
    evidence = fields["due"]["evidence"]
    assert text[evidence["start"] : evidence["end"]] == evidence["text"] == fields["due"]["verbatim"]
    assert all(0 <= field["score"] <= 1 for field in fields.values())
    assert cloister("audit", "verify").code == 0
    replayed = cloister("audit", "replay", "letter.txt")
    assert (replayed.code, "identical" in replayed.out) == (0, True)
    kept = [entry["text"] for entry in entries(finding) if entry["type"] == "settings" and sha256 in entry["text"]]
    assert json.loads(kept[0])["head"] == {"name": "find", "sha256": sha256}


def test_a_head_is_admitted_with_its_golden_answers(finding: Place, cloister: Cloister, examples: Path) -> None:
    assert cloister("learn", "find", "--examples", examples).code == 0
    admitted = cloister("model", "admit", "find", "--json").json
    assert (admitted["texts"], admitted["unasked"]) == (len(BUILT_IN), "")
    told = cloister("model", "verify", "find", "--json").json
    assert [(one["bytes"], one["answers"]) for one in told["files"]] == [("same", "same")]
    other = cloister("learn", "find", "--examples", examples, "--json").json
    assert other["sha256"] == admitted["sha256"]
    examples.write_text("".join(json.dumps(line(number)) + "\n" for number in range(30)))
    assert cloister("learn", "find", "--examples", examples).code == 0
    again = cloister("model", "admit", "find", "--json").json
    assert again["answers_sha256"] != admitted["answers_sha256"]


def test_examples_as_csv_and_by_places_teach_the_same(finding: Place, cloister: Cloister, tmp_path: Path) -> None:
    lines, table = list[str](), ["text,person,due"]
    for number in range(24):
        text, values = letter(number)
        person = text.index(values["person"])
        said = {"person": [person, person + len(values["person"])], "due": values.get("due")}
        lines.append(json.dumps({"text": text, "fields": said}))
        table.append(f'"{text}",{values["person"]},{values.get("due", "")}')
    (tmp_path / "places.jsonl").write_text("\n".join(lines))
    (tmp_path / "table.csv").write_text("\n".join(table))
    report = cloister("learn", "find", "--examples", tmp_path / "places.jsonl", "--json").json
    assert report["fields"]["person"]["present"] == 24
    assert report["fields"]["due"]["absent"] == 6
    again = cloister("learn", "find", "--examples", tmp_path / "table.csv", "--json").json
    assert again["fields"]["due"] == report["fields"]["due"]
    assert len(list((finding.root / "models").glob("find*.head"))) == 2, "the old head is kept"


def test_documents_are_read_as_those_of_the_job(finding: Place, cloister: Cloister, tmp_path: Path) -> None:
    lines = list[str]()
    for number in range(12):
        text, values = letter(number)
        (tmp_path / f"{number}.md").write_text(text)
        lines.append(json.dumps({"document": f"{number}.md", "fields": values}))
    (tmp_path / "e.jsonl").write_text("\n".join(lines))
    report = cloister("learn", "find", "--examples", tmp_path / "e.jsonl", "--json").json
    assert (report["examples"], report["fields"]["due"]["absent"]) == (12, 0), "what is not mentioned is not learned"


WRONG = {
    '{"text": "Nothing.", "fields": {"sum": "1"}}': ("examples.jsonl:25", "the field 'sum'", "person, due"),
    '{"text": "Nothing.", "fields": {"person": "Zoe"}}': ("examples.jsonl:25", "'Zoe'", "does not stand in"),
    '{"text": "Nothing.", "fields": {"person": [3, 99]}}': ("examples.jsonl:25", "does not stand in"),
    '{"text": "Nothing.", "fields": {"person": {"a": 1}}}': ("examples.jsonl:25", "[start, end]"),
    '{"text": "Nothing.", "fields": ["a"]}': ("examples.jsonl:25", "fields: a list"),
    '{"text": "  ", "fields": {"person": "a"}}': ("examples.jsonl:25", "a text that says nothing"),
    '{"fields": {"person": "a"}}': ("examples.jsonl:25", "only fields"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_is_named_with_its_line(wrong: str, finding: Place, cloister: Cloister, examples: Path) -> None:
    with examples.open("a") as more:
        more.write(wrong + "\n")
    refused = cloister("learn", "find", "--examples", examples)
    assert refused.code == 2
    assert all(part in refused.out + refused.err for part in WRONG[wrong]), refused.err
    assert not list((finding.root / "models").glob("*.head"))


def test_a_text_with_other_values_and_too_few_examples_are_refused(
    finding: Place, cloister: Cloister, examples: Path, tmp_path: Path
) -> None:
    given = line(3)
    with examples.open("a") as more:
        more.write(json.dumps(given | {"fields": {"person": None}}) + "\n")
    refused = cloister("learn", "find", "--examples", examples)
    assert (refused.code, "examples.jsonl:4" in refused.err, "examples.jsonl:25" in refused.err) == (2, True, True)
    few = tmp_path / "few.jsonl"
    few.write_text("".join(json.dumps(line(number)) + "\n" for number in range(4)))
    refused = cloister("learn", "find", "--examples", few)
    assert (refused.code, "4 different documents" in refused.err) == (2, True), refused.err
    none = [line(number) for number in range(12)]
    few.write_text("".join(json.dumps(one | {"fields": {**one["fields"], "due": None}}) + "\n" for one in none))
    refused = cloister("learn", "find", "--examples", few)
    assert (refused.code, "0 different documents with a value of the field 'due'" in refused.err) == (2, True)
    assert cloister("learn", "find", "--examples", tmp_path).code == 2
    assert cloister("learn", "find", "--examples", tmp_path / "none.csv").code == 2
    assert not list((finding.root / "models").glob("*.head"))


def test_a_head_for_other_fields_or_another_task_is_refused(finding: Place, cloister: Cloister, examples: Path) -> None:
    pin(finding, cloister("learn", "find", "--examples", examples).out)
    job = finding.root / "jobs" / "find.yaml"
    text = job.read_text()
    job.write_text(text.replace("name: due", "name: paid"))
    refused = cloister("check", "find")
    assert (refused.code, "its head knows no field 'paid', but person, due" in refused.out) == (3, True), refused.out
    job.write_text(text[: text.index("task:")] + "task: {type: summarize, sentences: 2}\n")
    refused = cloister("check", "find")
    assert (refused.code, "a head for the task 'extract'" in refused.out) == (3, True), refused.out


def test_a_field_without_candidates_is_learned_as_one_that_is_never_found(
    finding: Place, cloister: Cloister, tmp_path: Path
) -> None:
    job, file = finding.root / "jobs" / "find.yaml", tmp_path / "few.jsonl"
    job.write_text(job.read_text().replace("type: date", "type: iban"))
    lines = [{"text": letter(n)[0], "fields": {"person": letter(n)[1]["person"], "due": "soon"}} for n in range(6)]
    file.write_text("".join(json.dumps(one) + "\n" for one in lines))
    report = cloister("learn", "find", "--examples", file, "--json").json
    assert report["fields"]["due"] == {
        "present": 6, "answered": 0, "right": 0, "absent": 0, "answered_where_absent": 0,
        "promises": [], "needed": 21,
    }  # fmt: skip
    more = [
        {"text": letter(n)[0], "fields": {"person": letter(n)[1]["person"]} if n % 5 == 0 else {}} for n in range(11)
    ]
    job.write_text(re.sub(r"    - {name: due.*\n", "", job.read_text()))
    file.write_text("".join(json.dumps(one) + "\n" for one in more))
    assert cloister("learn", "find", "--examples", file).code == 0, "all documents that say it are in one fold"


def test_what_was_stopped_goes_on_where_it_was(
    finding: Place, cloister: Cloister, examples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, at_once = list[str](), 8
    monkeypatch.setattr(reading, "_TOGETHER", at_once)
    monkeypatch.setattr(vectors, "WORTH", 1)
    embed = engine.Model.embed

    def counted(model: engine.Model, texts: Sequence[str]) -> Any:
        made = embed(model, texts)
        asked.extend(text for text in texts if text)  # with an empty one the kernels are tried
        return made

    def stopped(model: engine.Model, texts: Sequence[str]) -> Any:
        if len(asked) >= 2 * at_once:
            raise KeyboardInterrupt
        return counted(model, texts)

    monkeypatch.setattr(engine.Model, "embed", stopped)
    told = cloister("learn", "find", "--examples", examples)
    assert (told.code, told.err.splitlines()[-1]) == (
        130,
        "Interrupted. models/find.head is as it was. The vectors of what was embedded are kept, and the same command "
        "goes on from there.",
    )
    done = set(asked)
    asked.clear()
    monkeypatch.setattr(engine.Model, "embed", counted)
    told = cloister("learn", "find", "--examples", examples)
    assert told.code == 0, told.err
    assert len(asked) > at_once
    assert done.isdisjoint(asked), "none is embedded twice"
    assert '"at": "reading examples"' in told.err
    first = (finding.root / "models" / "find.head").read_bytes()
    shutil.rmtree(finding.root / "state" / "vectors")
    monkeypatch.setattr(vectors, "WORTH", 1000)
    monkeypatch.setattr(engine.Model, "embed", stopped)
    told = cloister("learn", "find", "--examples", examples)
    assert (told.code, told.err.endswith("Nothing is kept, and the same command begins anew.\n")) == (130, True)
    monkeypatch.setattr(engine.Model, "embed", counted)
    assert cloister("learn", "find", "--examples", examples).code == 0
    assert (finding.root / "models" / "find.head").read_bytes() == first, "the same head as without a stop"


def test_values_that_do_not_stand_in_the_document(finding: Place, cloister: Cloister, examples: Path) -> None:
    good = cloister("learn", "find", "--examples", examples)
    lines = [json.loads(one) for one in examples.read_text().splitlines()]
    person, due = lines[0]["fields"]["person"], next(one["fields"]["due"] for one in lines if one["fields"]["due"])
    number = next(at for at, one in enumerate(lines) if one["fields"]["due"] == due)
    for at, fields in ((0, {"person": f"{person[:-1]}#", "due": None}), (number, {"due": "2031-12-31"})):
        more = lines[at] | {"text": f"{lines[at]['text']}\nAnother one.", "fields": fields}
        examples.write_text(examples.read_text() + json.dumps(more) + "\n")
    refused = cloister("learn", "find", "--examples", examples)
    assert refused.code == 2
    told = " ".join(refused.err.split())
    assert f"examples.jsonl:25: the value '{person[:-1]}#' of the field 'person', which does not stand" in told
    assert f"the nearest passage is '{person}" in told
    assert "examples.jsonl:26: the value '2031-12-31' of the field 'due'" in told
    assert "--skip-missing leaves such values out" in told
    learned = cloister("learn", "find", "--examples", examples, "--skip-missing")
    assert learned.code == 0, learned.err
    assert "learned find from 26 examples" in learned.out
    assert "left out  2 values of fields, which do not stand in their document:" in learned.out
    assert "examples.jsonl:25: the value" in learned.out
    again = cloister("learn", "find", "--examples", examples, "--skip-missing", "--json").json
    assert [Path(one["where"]).name for one in again["skipped"]] == ["examples.jsonl:25", "examples.jsonl:26"]
    present = {name: its["present"] for name, its in again["fields"].items()}
    before = re.findall(r"field +(\w+): (\d+) right and (\d+) wrong of (\d+)", good.out)
    assert present == {name: int(of) for name, _, _, of in before}, "they count as neither there nor absent"


def test_only_fields_have_values_to_leave_out(ready: Place, cloister: Cloister, examples: Path) -> None:
    refused = cloister("learn", "sort", "--examples", examples, "--skip-missing")
    assert (refused.code, "a job of the task classify" in refused.err) == (2, True)
