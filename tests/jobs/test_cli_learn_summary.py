"""`cloister learn` for summarize: what people would say is learned, answers a job, is proved and replayed."""

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.jobs.conftest import Cloister, Place
from tests.pipeline.tasks.summarize.made_reports import report

SAY = """\
job: {name}
input: {{settle_seconds: 0, afterwards: {afterwards}}}
model: {{name: tiny}}
task: {{type: summarize, sentences: 1}}
"""


@pytest.fixture
def saying(place: Place, tiny_model: Path) -> Place:
    """A workspace with a job that summarizes."""
    shutil.copy(tiny_model, place.root / "models" / "tiny.gguf")
    place.job("say", SAY)
    return place


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    """A CSV file of texts with their summaries."""
    file = tmp_path / "examples.csv"
    file.write_text("text,summary\n" + "".join('"{}","{}"\n'.format(*report(number)) for number in range(20)))
    return file


def test_a_head_answers_and_is_proved(saying: Place, cloister: Cloister, examples: Path) -> None:
    told = cloister("learn", "say", "--examples", examples)
    assert (told.code, "learned say from 20 examples" in told.out, "ROUGE-L" in told.out) == (0, True, True), told.err
    sha256 = re.findall(r"sha256: ([0-9a-f]{64})", told.out)[-1]
    job = saying.root / "jobs" / "say.yaml"
    job.write_text(job.read_text().replace("{name: tiny}", f"{{name: tiny, head: {{name: say, sha256: {sha256}}}}}"))
    for number in range(50, 55):
        saying.drop("say", f"{number}.txt", report(number)[0])
    assert cloister("run", "say").code == 0
    rows = cloister("results", "say", "--json").json
    assert [row["summary"].startswith("It was decided to build") for row in rows] == [True] * 5
    assert all(0 <= sentence["score"] <= 1 for row in rows for sentence in row["sentences"])
    assert cloister("audit", "verify").code == 0
    replayed = cloister("audit", "replay", "50.txt")
    assert (replayed.code, "identical" in replayed.out) == (0, True)
    admitted = cloister("model", "admit", "say", "--json").json
    assert (admitted["texts"], len(admitted["answers_sha256"])) == (8, 64)
    assert cloister("model", "verify", "say").code == 0
    again = cloister("learn", "say", "--examples", examples, "--json").json
    assert again["sha256"] == sha256
    assert again["rouge_l_of_best"] >= again["rouge_l"] > again["rouge_l_of_first"]


def test_several_summaries_of_a_text(saying: Place, cloister: Cloister, tmp_path: Path) -> None:
    file = tmp_path / "e.jsonl"
    lines = ({"text": text, "summary": [summary, "Something else"]} for text, summary in map(report, range(12)))
    file.write_text("".join(json.dumps(one) + "\n" for one in lines))
    assert cloister("learn", "say", "--examples", file, "--json").json["examples"] == 12


WRONG = {
    '"A text. And more.",""\n': ("examples.csv:22", "the summary ''"),
    ',"A summary"\n': ("examples.csv:22", "only summary"),
    '" ","A summary"\n': ("examples.csv:22", "a text that says nothing"),
    f'"{report(0)[0]}","Another"\n': ("examples.csv:22", "examples.csv:2", "Another"),
}


@pytest.mark.parametrize("line", WRONG)
def test_what_is_wrong_is_named_with_its_line(line: str, saying: Place, cloister: Cloister, examples: Path) -> None:
    with examples.open("a") as more:
        more.write(line)
    refused = cloister("learn", "say", "--examples", examples)
    assert refused.code == 2
    assert all(part in refused.out + refused.err for part in WRONG[line]), refused.err
    assert not list((saying.root / "models").glob("*.head"))


def test_examples_from_which_nothing_can_be_learned_are_refused(
    saying: Place, cloister: Cloister, tmp_path: Path
) -> None:
    for lines, told in [
        ([report(number) for number in range(4)], "4 different documents"),
        ([(f"One sentence only, number {number}.", "One") for number in range(12)], "0 documents of two sentences"),
        ([(report(number)[0], "Xyzzy") for number in range(12)], "share no word"),
    ]:
        file = tmp_path / "e.csv"
        file.write_text("text,summary\n" + "".join(f'"{text}","{summary}"\n' for text, summary in lines))
        refused = cloister("learn", "say", "--examples", file)
        assert (refused.code, told in refused.err) == (2, True), refused.err
    refused = cloister("learn", "say", "--examples", tmp_path)
    assert (refused.code, "a CSV or JSONL file" in refused.err) == (2, True)
