"""`accept` of fields: values of which too many could be wrong are for review, and what is not borne is refused."""

import csv
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from pipeline.heads import HeadFile, read_head, write_head
from pipeline.paths.names import file_sha256
from tests.jobs.conftest import SORT, Cloister, Place, entries, finished
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


@finished
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


SAID = {
    "lease": ["The landlord leases the flat", "The tenant pays the landlord", "A lease of the flat", "Der Mietvertrag"],
    "invoice": ["The total is due", "Invoice of the date", "Die Rechnung: total", "The invoice is due"],
}
CLEAR, UNCLEAR = "The landlord and the tenant.\n\nThe lease of the flat.\n", "report"


@finished
def sorting(place: Place, tiny_model: Path, cloister: Cloister, tmp_path: Path) -> Place:
    """A workspace with a job that classifies by a head; of the 224 texts behind it, 32 tell no label."""
    shutil.copy(tiny_model, place.root / "models" / "tiny.gguf")
    job = place.job("sort", SORT)
    file = tmp_path / "examples.csv"
    with file.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["text", "label"])
        for label, texts in SAID.items():
            writer.writerows([f"{text}. Number {n}.", label] for n in range(24) for text in texts)
        writer.writerows([cased("report", n), list(SAID)[n % 2]] for n in range(32))
    told = cloister("learn", "sort", "--examples", file)
    (sha256,) = re.findall(r"sha256: ([0-9a-f]{64})", told.out)
    job.write_text(job.read_text().replace("{name: tiny}", f"{{name: tiny, head: {{name: sort, sha256: {sha256}}}}}"))
    return place


def cased(text: str, number: int) -> str:
    """The text with some letters in upper case, which say nothing to a model of lower case: those of the bits set."""
    return "".join(letter.upper() if number >> at & 1 else letter for at, letter in enumerate(text))


def accept_labels(place: Place, line: str, to: str = "threshold: 0.0") -> None:
    """Write a rule into the job, behind another key of it."""
    file = place.root / "jobs" / "sort.yaml"
    text = file.read_text()
    assert to in text
    file.write_text(text.replace(to, f"{to}{line}"))


def run_labels(place: Place, cloister: Cloister) -> dict[str, dict[str, object]]:
    """The rows of a clear and an unclear letter."""
    place.drop("sort", "clear.txt", CLEAR)
    place.drop("sort", "unclear.txt", UNCLEAR)
    assert cloister("run", "sort").code == 0
    return {row["path"]: row for row in cloister("results", "sort", "--json").json}


def test_what_is_not_sure_enough_is_for_review_with_its_label(sorting: Place, cloister: Cloister) -> None:
    before = run_labels(sorting, cloister)
    assert {row["state"] for row in before.values()} == {"done"}
    accept_labels(sorting, "\n  accept: {risk: 0.1}")
    checked = cloister("check", "sort")
    assert checked.code == 0
    told = re.search(r"accept  answers from a score of (0\.\d+) on, at most 10\.00% of them wrong", checked.out)
    assert told, checked.out
    rows = run_labels(sorting, cloister)
    bar, clear, unclear = float(told[1]), rows["clear.txt"], rows["unclear.txt"]
    assert (clear["state"], clear["label"], clear["reason"]) == ("done", "lease", None)
    assert float(str(clear["score"])) >= bar > float(str(unclear["score"]))
    assert (unclear["state"], unclear["label"]) == ("review", before["unclear.txt"]["label"])
    assert unclear["scores"] == before["unclear.txt"]["scores"]
    assert str(unclear["reason"]).endswith(f"at most 10.00% are wrong from {bar:.3f} on")
    assert {row["job_digest"] for row in rows.values()}.isdisjoint(row["job_digest"] for row in before.values())
    assert cloister("audit", "verify").code == 0
    for name in rows:
        replayed = cloister("audit", "replay", name)
        assert (replayed.code, "identical" in replayed.out) == (0, True)


def test_a_label_has_a_rule_of_its_own(sorting: Place, cloister: Cloister) -> None:
    unclear = str(run_labels(sorting, cloister)["unclear.txt"]["label"])
    description = {"lease": '"a lease of a flat: landlord, tenant"', "invoice": '"an invoice: total due"'}[unclear]
    accept_labels(sorting, ", accept: {risk: 0.1}", to=description)
    checked = cloister("check", "sort").out
    assert f"answers {unclear} from a score of" in checked
    rows = run_labels(sorting, cloister)
    assert {name: row["state"] for name, row in rows.items()} == {"clear.txt": "done", "unclear.txt": "review"}


def test_a_promise_that_the_examples_do_not_bear_is_refused(sorting: Place, cloister: Cloister) -> None:
    accept_labels(sorting, "\n  accept: {risk: 0.02}")
    sorting.drop("sort", "clear.txt", CLEAR)
    for command in ("check", "run"):
        refused = cloister(command, "sort")
        told = refused.out + refused.err
        assert refused.code == 3
        assert re.search(
            r"task\.accept: a risk of 0\.02 cannot be promised by 224 examples; it needs 2\d\d at least", told
        )
        assert re.search(r"or promise 0\.03, which they bear", told)
    assert (sorting.root / "inbox" / "sort" / "clear.txt").exists()
    assert not entries(sorting, "document")


def test_a_head_of_before_does_not_say_which_label_it_gave(sorting: Place, cloister: Cloister) -> None:
    from pipeline.heads import HeadFile, read_head, write_head
    from pipeline.paths.names import file_sha256

    path = sorting.root / "models" / "sort.head"
    head = read_head(path)
    arrays = {name: array for name, array in head.arrays.items() if name != "unseen_answers"}
    old = file_sha256(path)
    write_head(path, HeadFile({name: value for name, value in head.facts.items() if name != "arrays"}, arrays))
    accept_labels(sorting, "", to=old)
    job = sorting.root / "jobs" / "sort.yaml"
    job.write_text(job.read_text().replace(old, file_sha256(path)))
    accept_labels(sorting, "\n  accept: {risk: 0.1}")
    assert cloister("check", "sort").code == 0, "for all labels together it is told"
    accept_labels(sorting, ", accept: {risk: 0.1}", to='total due"')
    refused = cloister("check", "sort")
    assert (refused.code, "learn it again" in refused.out) == (3, True)


WRONG = {
    "\n  accept: {risk: 0}": (7, "the risk 0\n    expected: above 0 and at most 0.5"),
    "\n  accept: {risk: 0.7}": (7, "the risk 0.7\n    expected: above 0 and at most 0.5"),
    "\n  accept: {}": (7, "no key 'risk'"),
    "\n  accept: 0.02": (7, "accept"),
}


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_rule_of_labels_is_named_with_its_line(line: str, place: Place, cloister: Cloister) -> None:
    place.job("sort", SORT.replace("{{name: tiny}}", "{{name: tiny, head: {{name: sort}}}}"))
    accept_labels(place, line)
    refused = cloister("check", "sort")
    assert refused.code == 2
    number, told = WRONG[line]
    assert re.search(rf"sort\.yaml:{number}:\d+: .*{re.escape(told)}", refused.out), refused.out


@pytest.mark.parametrize(("line", "to", "key"), [
    ("\n  accept: {risk: 0.1}", "threshold: 0.0", "task.accept"),
    (", accept: {risk: 0.1}", 'total due"', "task.labels.1.accept"),
])  # fmt: skip
def test_without_a_head_nothing_is_promised(line: str, to: str, key: str, place: Place, cloister: Cloister) -> None:
    place.job("sort", SORT)
    accept_labels(place, line, to)
    refused = cloister("check", "sort")
    assert (refused.code, f"{key} without model.head" in refused.out) == (2, True), refused.out
    assert re.search(r"sort\.yaml:\d+:\d+: ", refused.out)
