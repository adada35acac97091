"""`accept`: answers of which too many could be wrong are for review, and what examples do not bear is not promised."""

import csv
import re
import shutil
from pathlib import Path

import pytest

from tests.jobs.conftest import SORT, Cloister, Place, entries

SAID = {
    "lease": ["The landlord leases the flat", "The tenant pays the landlord", "A lease of the flat", "Der Mietvertrag"],
    "invoice": ["The total is due", "Invoice of the date", "Die Rechnung: total", "The invoice is due"],
}
CLEAR, UNCLEAR = "The landlord and the tenant.\n\nThe lease of the flat.\n", "report"


@pytest.fixture
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


def accept(place: Place, line: str, to: str = "threshold: 0.0") -> None:
    """Write a rule into the job, behind another key of it."""
    file = place.root / "jobs" / "sort.yaml"
    text = file.read_text()
    assert to in text
    file.write_text(text.replace(to, f"{to}{line}"))


def run(place: Place, cloister: Cloister) -> dict[str, dict[str, object]]:
    """The rows of a clear and an unclear letter."""
    place.drop("sort", "clear.txt", CLEAR)
    place.drop("sort", "unclear.txt", UNCLEAR)
    assert cloister("run", "sort").code == 0
    return {row["path"]: row for row in cloister("results", "sort", "--json").json}


def test_what_is_not_sure_enough_is_for_review_with_its_label(sorting: Place, cloister: Cloister) -> None:
    before = run(sorting, cloister)
    assert {row["state"] for row in before.values()} == {"done"}
    accept(sorting, "\n  accept: {risk: 0.1}")
    checked = cloister("check", "sort")
    assert checked.code == 0
    told = re.search(r"accept  answers from a score of (0\.\d+) on, at most 10\.00% of them wrong", checked.out)
    assert told, checked.out
    rows = run(sorting, cloister)
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
    unclear = str(run(sorting, cloister)["unclear.txt"]["label"])
    description = {"lease": '"a lease of a flat: landlord, tenant"', "invoice": '"an invoice: total due"'}[unclear]
    accept(sorting, ", accept: {risk: 0.1}", to=description)
    checked = cloister("check", "sort").out
    assert f"answers {unclear} from a score of" in checked
    rows = run(sorting, cloister)
    assert {name: row["state"] for name, row in rows.items()} == {"clear.txt": "done", "unclear.txt": "review"}


def test_a_promise_that_the_examples_do_not_bear_is_refused(sorting: Place, cloister: Cloister) -> None:
    accept(sorting, "\n  accept: {risk: 0.02}")
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
    accept(sorting, "", to=old)
    job = sorting.root / "jobs" / "sort.yaml"
    job.write_text(job.read_text().replace(old, file_sha256(path)))
    accept(sorting, "\n  accept: {risk: 0.1}")
    assert cloister("check", "sort").code == 0, "for all labels together it is told"
    accept(sorting, ", accept: {risk: 0.1}", to='total due"')
    refused = cloister("check", "sort")
    assert (refused.code, "learn it again" in refused.out) == (3, True)


WRONG = {
    "\n  accept: {risk: 0}": (7, "the risk 0\n    expected: above 0 and at most 0.5"),
    "\n  accept: {risk: 0.7}": (7, "the risk 0.7\n    expected: above 0 and at most 0.5"),
    "\n  accept: {}": (7, "no key 'risk'"),
    "\n  accept: 0.02": (7, "accept"),
}


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_rule_is_named_with_its_line(line: str, place: Place, cloister: Cloister) -> None:
    place.job("sort", SORT.replace("{{name: tiny}}", "{{name: tiny, head: {{name: sort}}}}"))
    accept(place, line)
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
    accept(place, line, to)
    refused = cloister("check", "sort")
    assert (refused.code, f"{key} without model.head" in refused.out) == (2, True), refused.out
    assert re.search(r"sort\.yaml:\d+:\d+: ", refused.out)
