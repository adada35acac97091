"""`cloister qualify`: a job is measured, compared, recorded, and held to what it was measured to be."""

import csv
import json
import re
import shutil
from pathlib import Path

import pytest

import engine
from tests.jobs.conftest import Cloister, Place, entries, finished
from tests.jobs.test_cli_learn import SAID, SORT, pin
from tests.models import write_bert_folder

UNSEEN = {
    "lease": ["The lease of the tenant", "A flat of the landlord", "The flat and the tenant"],
    "invoice": ["The total of the invoice", "The invoice and the total"],
    "report": ["The date of the report", "A report of the flat", "Der report"],
}
FIND = """\
job: {name}
input: {{settle_seconds: 0, afterwards: {afterwards}}}
model: {{name: tiny}}
task:
  type: extract
  fields:
    - {{name: total, type: money, description: "total due"}}
    - {{name: until, type: date, description: "the end"}}
"""
DIGEST = """\
job: {name}
input: {{settle_seconds: 0, afterwards: {afterwards}}}
model: {{name: tiny}}
task: {{type: summarize, sentences: 1}}
"""


def table(file: Path, said: dict[str, list[str]], number: int = 0) -> Path:
    """A CSV file of texts with their labels."""
    with file.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["text", "label"])
        for label, texts in said.items():
            writer.writerows([f"{text}. Number {n + number}.", label] for n, text in enumerate(texts))
    return file


@finished
def sorting(place: Place, tiny_model: Path) -> Place:
    """A workspace with a job that classifies, and files of examples."""
    shutil.copy(tiny_model, place.root / "models" / "tiny.gguf")
    place.job("sort", SORT)
    table(place.root / "examples.csv", SAID)
    table(place.root / "eval.csv", UNSEEN, 40)
    return place


@finished
def learned(sorting: Place, cloister: Cloister) -> Place:
    """The same, with a head that the job pins."""
    pin(sorting, cloister("learn", "sort", "--examples", "examples.csv").out)
    return sorting


def test_a_job_is_measured_compared_and_recorded(learned: Place, cloister: Cloister, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    prices = ("--price", "0.34/h", "--api-price", "0.1", "--gpu-price", "0.02")
    told = cloister("qualify", "sort", "--eval", "eval.csv", "--model", "tiny", "--floor", "macro_f1=0.3", *prices,
                    "--report", report, "--json")  # fmt: skip
    found = told.json["qualification"]
    assert (told.code, told.json["passed"], found["documents"], found["task"]) == (0, True, 8, "classify")
    own, bare = found["measured"]
    assert (own["name"], own["own"], bare["name"], bare["own"]) == ("tiny + sort", True, "tiny", False)
    figures = {one["name"]: one for one in own["judgement"]["figures"]}
    assert figures["accuracy"]["low"] <= figures["accuracy"]["value"] <= figures["accuracy"]["high"]
    assert figures["answered"]["value"] == 1.0
    right = sum(counts[row] for row, counts in enumerate(own["judgement"]["confusion"]["counts"]))
    assert figures["accuracy"]["value"] == pytest.approx(right / 8)
    assert own["states"] == {"done": 8}
    assert own["documents_an_hour"] == pytest.approx(3600 * 8 / own["seconds"])
    assert own["tokens_an_hour"] == pytest.approx(3600 * own["tokens"] / own["seconds"])
    assert own["costs"]["documents"] == pytest.approx(1000 * 0.34 / own["documents_an_hour"])
    assert own["peak_bytes"] > 50 << 20, "a process with numpy in it is no smaller"
    assert own["bytes"] > bare["bytes"]
    one, two = entries(learned, "qualified")
    assert (one["job"], one["run"], one["eval"], one["passed"], one["head"]) == ("sort", "", "eval.csv", True, "sort")
    assert (one["floor"], one["metrics"]["accuracy"]) == ({"macro_f1": 0.3}, figures["accuracy"]["value"])
    assert two["head"] is None
    assert one["job_digest"] != two["job_digest"]
    learned.drop("sort", "letter.txt", "The landlord and the tenant.")
    assert cloister("run", "sort").code == 0
    (row,) = cloister("results", "sort", "--json").json
    assert row["job_digest"] == one["job_digest"], "what was measured is what runs"
    assert cloister("audit", "verify").code == 0
    page = report.read_text()
    assert all(part in page for part in ("tiny + sort", "Quality of sort", "<svg", "Cost", "macro_f1", "Confusion"))


def test_it_tells_in_words_and_again_the_same(learned: Place, cloister: Cloister) -> None:
    first, second = (cloister("qualify", "sort", "--eval", "eval.csv", "--price", "0.34/h") for _ in range(2))
    assert (first.code, "sort: 8 documents of eval.csv" in first.out) == (0, True)
    assert all(part in first.out for part in ("macro_f1", "precision", "lease", "for 1,000 documents"))
    one, two = entries(learned, "qualified")
    log = {"n", "time", "uptime_us"}
    assert {key: one[key] for key in one.keys() - log} == {key: two[key] for key in two.keys() - log}
    assert [line for line in first.out.splitlines() if "accuracy" in line] == [
        line for line in second.out.splitlines() if "accuracy" in line
    ]


def test_other_models_and_heads_are_compared(learned: Place, cloister: Cloister, tmp_path: Path) -> None:
    models = learned.root / "models"
    engine.import_model(write_bert_folder(tmp_path / "hf", seed=2), models / "other.gguf", file_type="q8_0", name="o")
    told = cloister("qualify", "sort", "--eval", "eval.csv", "--model", "other", "--head", "sort", "--json")
    names = [one["name"] for one in told.json["qualification"]["measured"]]
    assert names == ["tiny + sort", "other"], "the head of the job is the job itself, measured once"
    refused = cloister("qualify", "sort", "--eval", "eval.csv", "--model", "none")
    assert (refused.code, "there is no file" in refused.err) == (3, True)
    refused = cloister("qualify", "sort", "--eval", "eval.csv", "--head", "none")
    assert (refused.code, "there is no file" in refused.err) == (3, True)


def test_a_report_that_cannot_be_written_is_refused_before_anything_is_measured(
    sorting: Place, cloister: Cloister
) -> None:
    for report, told in {"none/r.html": "none: there is no such folder", ".": "is a folder"}.items():
        refused = cloister("qualify", "sort", "--eval", "eval.csv", "--report", report)
        assert (refused.code, told in refused.err) == (2, True), refused.err
    assert not entries(sorting, "qualified")


def test_documents_that_were_learned_from_are_refused(learned: Place, cloister: Cloister) -> None:
    with (learned.root / "eval.csv").open("a") as more:
        more.write("the LANDLORD leases the flat - number 0,lease\n")
    refused = cloister("qualify", "sort", "--eval", "eval.csv")
    assert (refused.code, "eval.csv:10" in refused.err, "the head sort was learned from" in refused.err) == (
        2,
        True,
        True,
    )
    assert not entries(learned, "qualified")


def test_examples_of_labels_in_the_job_are_refused(sorting: Place, cloister: Cloister) -> None:
    job = sorting.root / "jobs" / "sort.yaml"
    example = "Der Mietvertrag. Number 40."
    job.write_text(job.read_text().replace("{name: report}", f'{{name: report, examples: ["{example}"]}}'))
    with (sorting.root / "eval.csv").open("a") as more:
        more.write(f"{example},report\n")
    refused = cloister("qualify", "sort", "--eval", "eval.csv")
    assert (refused.code, "one of the examples of labels in the job" in refused.err) == (2, True)


def test_a_head_knows_the_examples_of_labels_that_the_job_had_when_it_learned(
    sorting: Place, cloister: Cloister
) -> None:
    job = sorting.root / "jobs" / "sort.yaml"
    text, example = job.read_text(), "Der Mietvertrag. Number 40."
    job.write_text(text.replace("{name: report}", f'{{name: report, examples: ["{example}"]}}'))
    assert cloister("learn", "sort", "--examples", "examples.csv").code == 0
    job.write_text(text.replace("{name: tiny}", "{name: tiny, head: {name: sort}}"))
    with (sorting.root / "eval.csv").open("a") as more:
        more.write(f"{example},report\n")
    refused = cloister("qualify", "sort", "--eval", "eval.csv")
    assert (refused.code, "the head sort was learned from" in refused.err) == (2, True)


def test_a_head_that_does_not_tell_what_it_learned_from_is_told_of(learned: Place, cloister: Cloister) -> None:
    head = learned.root / "models" / "sort.head"
    magic, facts, arrays = head.read_bytes().split(b"\n", 2)
    values = {key: value for key, value in json.loads(facts).items() if key != "texts"}
    head.write_bytes(b"\n".join([magic, json.dumps(values, sort_keys=True, separators=(",", ":")).encode(), arrays]))
    job = learned.root / "jobs" / "sort.yaml"
    job.write_text(re.sub(r", sha256: [0-9a-f]{64}", "", job.read_text()))
    told = cloister("qualify", "sort", "--eval", "eval.csv")
    assert (told.code, "does not tell what it was learned from" in told.out) == (0, True)


def test_one_text_with_two_answers_is_refused_and_given_twice_counted_once(sorting: Place, cloister: Cloister) -> None:
    with (sorting.root / "eval.csv").open("a") as more:
        more.write("Der report. Number 42.,report\n")
    assert "8 documents of eval.csv, 1 given twice" in cloister("qualify", "sort", "--eval", "eval.csv").out
    with (sorting.root / "eval.csv").open("a") as more:
        more.write("Der report. Number 42.,lease\n")
    refused = cloister("qualify", "sort", "--eval", "eval.csv")
    assert (refused.code, "eval.csv:11" in refused.err, "with another answer" in refused.err) == (2, True, True)


def test_labels_that_the_job_does_not_know_are_refused(sorting: Place, cloister: Cloister) -> None:
    with (sorting.root / "eval.csv").open("a") as more:
        more.write("A lodger,lodger\n")
    refused = cloister("qualify", "sort", "--eval", "eval.csv")
    assert (refused.code, "eval.csv:10: the label 'lodger'" in refused.err) == (2, True)


WRONG = {
    ("--floor", "macro=0.9"): "one of macro_f1, accuracy, answered",
    ("--floor", "macro_f1=90"): "a number up to 1",
    ("--price", "0.34"): "such as 0.34/h",
    ("--price", "0/h"): "above 0",
    ("--api-price", "1"): "--price: is missing",
}


@pytest.mark.parametrize("options", WRONG)
def test_wrong_options_are_named(options: tuple[str, str], sorting: Place, cloister: Cloister) -> None:
    refused = cloister("qualify", "sort", "--eval", "eval.csv", *options)
    assert (refused.code, WRONG[options] in refused.err) == (2, True)


def test_without_an_evaluation_file_there_is_nothing_to_measure(sorting: Place, cloister: Cloister) -> None:
    refused = cloister("qualify", "sort")
    assert (refused.code, "the job names no evaluation file" in refused.err) == (2, True)


def demand(place: Place, quality: str) -> None:
    """Let the job demand quality."""
    job = place.root / "jobs" / "sort.yaml"
    kept = [line for line in job.read_text().splitlines() if not line.startswith("quality:")]
    job.write_text("\n".join([*kept, f"quality: {quality}"]) + "\n")


def test_a_job_that_demands_quality_runs_only_when_it_was_measured(learned: Place, cloister: Cloister) -> None:
    demand(learned, "{eval: eval.csv, floor: {macro_f1: 0.3}}")
    learned.drop("sort", "letter.txt", "The landlord and the tenant.")
    for command in ("run", "check"):
        refused = cloister(command, "sort")
        told = refused.out + refused.err
        assert (refused.code, "`cloister qualify sort` measures it" in told) == (3, True), told
    (entry,) = entries(learned, "run.refused")
    assert "quality is demanded" in entry["reason"]
    assert (learned.root / "inbox" / "sort" / "letter.txt").exists(), "nothing was touched"
    assert cloister("qualify", "sort").code == 0
    checked = cloister("check", "sort")
    assert (checked.code, "on 8 documents of eval.csv (entry" in checked.out) == (0, True)
    assert cloister("run", "sort").code == 0
    assert cloister("audit", "verify").code == 0


def test_what_was_measured_holds_for_these_settings_and_this_file_only(learned: Place, cloister: Cloister) -> None:
    evaluation = learned.root / "eval.csv"
    evaluation.write_text(evaluation.read_text().replace(",lease", ",invoice", 1))  # one answer is thought to be wrong
    demand(learned, "{eval: eval.csv, floor: {macro_f1: 0.3}}")
    assert cloister("qualify", "sort").code == 0
    assert cloister("check", "sort").code == 0
    (entry,) = entries(learned, "qualified")
    assert entry["metrics"]["macro_f1"] < 0.999
    demand(learned, "{eval: eval.csv, floor: {macro_f1: 0.999, answered: 1.0}}")
    below = cloister("check", "sort")
    assert (below.code, "and must be 0.999 at least" in below.out) == (3, True)
    demand(learned, "{eval: eval.csv, floor: {macro_f1: 0.3}}")
    data = evaluation.read_bytes()
    evaluation.write_bytes(data.replace(b"Number 41", b"Number 43"))
    assert "was not measured on eval.csv as it is now" in cloister("check", "sort").out
    evaluation.write_bytes(data)
    assert cloister("check", "sort").code == 0
    job = learned.root / "jobs" / "sort.yaml"
    job.write_text(job.read_text().replace("threshold: 0.0", "threshold: 0.1"))
    assert "was not measured" in cloister("check", "sort").out
    demand(learned, "{eval: eval.csv, require: false}")
    checked = cloister("check", "sort")
    assert (checked.code, "not demanded, and not there" in checked.out) == (0, True)
    evaluation.unlink()
    demand(learned, "{eval: eval.csv}")
    assert (cloister("run", "sort").code, "cannot be used" in cloister("check", "sort").out) == (3, True)


def test_a_floor_that_is_not_reached_is_an_exit_code_and_a_record(sorting: Place, cloister: Cloister) -> None:
    """Without a head the random model of the tests is not right each time."""
    demand(sorting, "{eval: eval.csv, floor: {accuracy: 1.0}}")
    told = cloister("qualify", "sort")
    assert (told.code, "below the floor: accuracy is" in told.out) == (3, True)
    (entry,) = entries(sorting, "qualified")
    assert (entry["passed"], entry["floor"]) == (False, {"accuracy": 1.0})
    refused = cloister("run", "sort")
    assert (refused.code, "accuracy is" in refused.err, "and must be 1 at least" in refused.err) == (3, True, True)


def test_a_floor_of_another_task_is_refused(sorting: Place, cloister: Cloister) -> None:
    demand(sorting, "{eval: eval.csv, floor: {rouge_l: 0.3}}")
    refused = cloister("check", "sort")
    assert (refused.code, "a floor for rouge_l with the task classify" in refused.out) == (2, True)


def test_the_log_of_a_private_job_does_not_name_the_evaluation_file(sorting: Place, cloister: Cloister) -> None:
    job = sorting.root / "jobs" / "sort.yaml"
    job.write_text(job.read_text() + "private: true\n")
    assert cloister("qualify", "sort", "--eval", "eval.csv").code == 0
    assert [entry["eval"] for entry in entries(sorting, "qualified")] == [""]


def test_fields_are_measured(place: Place, tiny_model: Path, cloister: Cloister, tmp_path: Path) -> None:
    shutil.copy(tiny_model, place.root / "models" / "tiny.gguf")
    place.job("find", FIND)
    (tmp_path / "letter.txt").write_text("The total due is EUR 7.00.\n")
    lines = [
        {"text": "The total due is EUR 120.00.", "fields": {"total": "EUR 120.00", "until": None}},
        {"document": "letter.txt", "fields": {"total": ["7", "EUR 7.00"]}},
        {"text": "Nothing to pay.", "fields": {"total": None, "until": None}},
    ]
    source = tmp_path / "eval.jsonl"
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    told = cloister("qualify", "find", "--eval", source, "--report", tmp_path / "report.html", "--json")
    found = told.json["qualification"]
    assert (told.code, found["documents"], found["files"]) == (0, 3, 1)
    total, until = found["measured"][0]["judgement"]["fields"]
    assert (total["documents"], total["present"], total["exact"]) == (3, 2, 1.0)
    assert (until["documents"], until["present"], until["absent_answered"]) == (2, 0, 0)
    assert "answered where absent" in (tmp_path / "report.html").read_text()
    assert "absent answered" in cloister("qualify", "find", "--eval", source).out


def test_summaries_are_measured_beside_lead_and_oracle(
    place: Place, tiny_model: Path, cloister: Cloister, tmp_path: Path
) -> None:
    shutil.copy(tiny_model, place.root / "models" / "tiny.gguf")
    place.job("digest", DIGEST)
    text = "The landlord leases the flat. The report of the date is due. The tenant pays the total."
    source = tmp_path / "eval.csv"
    source.write_text(f'text,summary\n"{text}",The tenant pays the total.\n"A flat. {text}",The report is due.\n')
    told = cloister("qualify", "digest", "--eval", source, "--report", tmp_path / "report.html", "--json")
    figures = {one["name"]: one["value"] for one in told.json["qualification"]["measured"][0]["judgement"]["figures"]}
    assert told.code == 0
    assert figures["oracle_rouge_l"] >= max(figures["rouge_l"], figures["lead_rouge_l"])
    assert figures["over_lead"] == pytest.approx(figures["rouge_l"] - figures["lead_rouge_l"], abs=1e-5)
    assert "ROUGE-L that an extract can reach" in (tmp_path / "report.html").read_text()
