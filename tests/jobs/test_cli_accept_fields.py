"""`accept` of fields: values of which too many could be wrong are for review, and what is not borne is refused."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from pipeline.heads import HeadFile, read_head, write_head
from pipeline.paths.names import file_sha256
from tests.jobs.conftest import Cloister, Place, entries
from tests.pipeline.tasks.extract.made import letter

FIND = """\
job: {name}
input: {{settle_seconds: 0, afterwards: {afterwards}}}
model: {{name: tiny}}
task:
  type: extract
  fields:
    - {{name: person, type: text, threshold: 0.0}}
    - {{name: due, type: date, threshold: 0.2}}
"""
PERSON, DUE = "type: text, threshold: 0.0", "type: date, threshold: 0.2"
LETTERS, WITHOUT = 72, 12


@pytest.fixture
def finding(place: Place, tiny_model: Path, cloister: Cloister, tmp_path: Path) -> Place:
    """A workspace with a job that extracts by a head; of its 84 examples 18 lack the deadline, and 12 the person."""
    shutil.copy(tiny_model, place.root / "models" / "tiny.gguf")
    job = place.job("find", FIND)
    file = tmp_path / "examples.jsonl"
    lines = [*map(line, range(LETTERS)), *map(without_person, range(WITHOUT))]
    file.write_text("".join(json.dumps(one) + "\n" for one in lines))
    told = cloister("learn", "find", "--examples", file)
    assert re.search(r"accept +person, risk: 0\.1 would take 1?\d+\.\d% of its values, from 0\.\d+ on", told.out), told
    (sha256,) = re.findall(r"sha256: ([0-9a-f]{64})", told.out)
    job.write_text(job.read_text().replace("{name: tiny}", f"{{name: tiny, head: {{name: find, sha256: {sha256}}}}}"))
    return place


def line(number: int) -> dict[str, Any]:
    text, values = letter(number)
    return {"text": text, "fields": {"person": values["person"], "due": values.get("due")}}


def without_person(number: int) -> dict[str, Any]:
    """A letter whose names are not the person that is looked for."""
    text = f"Tea was served by Max Pool.\n\nThe deadline is {number + 1} March 2026.\n"
    return {"text": text, "fields": {"person": None, "due": f"2026-03-{number + 1:02}"}}


def accept(place: Place, rule: str, to: str) -> None:
    """Write a rule behind another key of the job."""
    file = place.root / "jobs" / "find.yaml"
    text = file.read_text()
    assert text.count(to) == 1
    file.write_text(text.replace(to, to + rule))


def run(place: Place, cloister: Cloister, *texts: str) -> dict[str, dict[str, Any]]:
    """The rows of letters, by their names."""
    for number, text in enumerate(texts):
        place.drop("find", f"{number}.txt", text)
    assert cloister("run", "find").code == 0
    return {row["path"]: row for row in cloister("results", "find", "--json").json}


def test_a_value_that_is_not_sure_enough_makes_the_document_for_review(finding: Place, cloister: Cloister) -> None:
    clear, unclear = letter(101)[0], "Tea was served by Max Pool.\n\nThe deadline is 23 March 2026.\n"
    before = run(finding, cloister, clear, unclear)
    assert {row["state"] for row in before.values()} == {"done"}
    accept(finding, ", accept: {risk: 0.1}", PERSON)
    checked = cloister("check", "find")
    told = re.search(r"person from a score of (0\.\d+) on, at most 10\.00% of its values wrong", checked.out)
    assert (checked.code, bool(told)) == (0, True), checked.out
    assert "null is for review: none was unseen" in " ".join(checked.out.split())
    bar = float(told[1]) if told else 0.0
    rows = run(finding, cloister, clear, unclear)
    scores = {
        path: next(one["score"] for one in row["fields"] if one["name"] == "person") for path, row in rows.items()
    }
    assert scores["0.txt"] >= bar > scores["1.txt"]
    assert (rows["0.txt"]["state"], rows["0.txt"]["reason"]) == ("done", None)
    assert rows["1.txt"]["state"] == "review"
    assert rows["1.txt"]["reason"] == (
        f"person scored {scores['1.txt']:.3f}; at most 10.00% are wrong from {bar:.3f} on"
    )
    assert rows["1.txt"]["fields"] == before["1.txt"]["fields"], "the value is given all the same"
    assert {row["job_digest"] for row in rows.values()}.isdisjoint(row["job_digest"] for row in before.values())
    assert cloister("audit", "verify").code == 0
    for name in rows:
        replayed = cloister("audit", "replay", name)
        assert (replayed.code, "identical" in replayed.out) == (0, True)


def test_null_of_which_nothing_is_promised_is_for_review(finding: Place, cloister: Cloister) -> None:
    without = "Please answer to Ada Stone soon.\n\nWe met at noon.\n"
    accept(finding, ", accept: {risk: 0.1}", DUE)
    checked = " ".join(cloister("check", "find").out.split())
    assert re.search(r"null is for review: 1\d unseen do not bear the promise, which needs \d\d at least", checked)
    rows = run(finding, cloister, without)
    assert rows["0.txt"]["state"] == "review"
    assert rows["0.txt"]["reason"] == "due has no value, of which nothing is promised"


def test_null_is_accepted_where_examples_bear_it(finding: Place, cloister: Cloister) -> None:
    without = "Please answer to Ada Stone soon.\n\nWe met at noon.\n"
    accept(finding, ", accept: {risk: 0.3}", DUE)
    checked = " ".join(cloister("check", "find").out.split())
    told = re.search(r"null where nothing scores over (0\.\d+), at most 30\.00% wrong: 1\d of 1\d unseen, 0", checked)
    assert told, checked
    rows = run(finding, cloister, without)
    assert (rows["0.txt"]["state"], rows["0.txt"]["reason"]) == ("done", None)
    assert [one["value"] for one in rows["0.txt"]["fields"]] == ["Ada Stone", None]


def test_the_rule_of_the_task_is_for_each_field_without_its_own(finding: Place, cloister: Cloister) -> None:
    accept(finding, "\n  accept: {risk: 0.3}", "type: extract")
    accept(finding, ", accept: {risk: 0.2}", PERSON)
    checked = " ".join(cloister("check", "find").out.split())
    assert re.search(r"person from a score of 0\.\d+ on, at most 20\.00%", checked), checked
    assert re.search(r"due from a score of 0\.\d+ on, at most 30\.00%", checked), checked


def test_what_examples_do_not_bear_is_refused_with_how_many_it_needs(finding: Place, cloister: Cloister) -> None:
    accept(finding, "\n  accept: {risk: 0.01}", "type: extract")
    finding.drop("find", "letter.txt", letter(101)[0])
    for command in ("check", "run"):
        refused = cloister(command, "find")
        told = " ".join((refused.out + refused.err).split())
        assert refused.code == 3
        for name in ("person", "due"):
            count = (
                r"task\.accept of NAME: a risk of 0\.01 cannot be promised by \d\d values in unseen examples; it needs"
            )
            assert re.search(count.replace("NAME", name) + r" \d\d\d at least, all of them right", told), told
    assert (finding.root / "inbox" / "find" / "letter.txt").exists()
    assert not entries(finding, "document")


def test_a_head_of_before_answers_and_promises_nothing(finding: Place, cloister: Cloister) -> None:
    path = finding.root / "models" / "find.head"
    head, old = read_head(path), file_sha256(path)
    arrays = {name: array for name, array in head.arrays.items() if not name.startswith("finding_")}
    write_head(path, HeadFile({name: value for name, value in head.facts.items() if name != "arrays"}, arrays))
    job = finding.root / "jobs" / "find.yaml"
    job.write_text(job.read_text().replace(old, file_sha256(path)))
    assert cloister("check", "find").code == 0
    accept(finding, ", accept: {risk: 0.2}", DUE)
    refused = cloister("check", "find")
    assert (refused.code, "its head promises nothing" in refused.out, "learn it again" in refused.out) == (
        3,
        True,
        True,
    )


@pytest.mark.parametrize(("rule", "to", "told"), [
    (", accept: {risk: 0}", DUE, "the risk 0"),
    ("\n  accept: {risk: 0.7}", "type: extract", "the risk 0.7"),
    (", accept: {}", DUE, "no key 'risk'"),
    (", accept: {risk: 0.1}", DUE, "task.fields.1.accept without model.head"),
    ("\n  accept: {risk: 0.1}", "type: extract", "task.accept without model.head"),
    (", many: true, accept: {risk: 0.1}", PERSON, "the threshold 0 of a field with many and accept"),
])  # fmt: skip
def test_a_wrong_rule_is_named_with_its_line(rule: str, to: str, told: str, place: Place, cloister: Cloister) -> None:
    place.job("find", FIND)
    accept(place, rule, to)
    refused = cloister("check", "find")
    assert (refused.code, told in refused.out) == (2, True), refused.out
    assert re.search(r"find\.yaml:\d+:\d+: ", refused.out)
