"""`cloister new`: a file that `check` accepts, for each task; what it asks; and that it overwrites nothing."""

import os
import pty
import subprocess
import sys

import pytest

import pipeline
from engine.gguf import GgmlType
from jobs.config.asked import task_names
from jobs.config.load import load_job
from tests.decoders import write_decoder
from tests.jobs.conftest import LEASE, Cloister, Done, Place

COMMAND = [sys.executable, "-P", "-c", "from jobs.cli import main; main()", "new"]
_ROOM = {"llama.context_length": 4096, "llama.rope.freq_base": 1e6}
GIVEN = {
    "classify": ["--label", "lease=a lease of a flat, or of a house", "--label", "no"],
    "extract": ["--field", "total:money=total amount due", "--field", r"order:regex=\bPO-\d{5}", "--field", "plain"],
    "summarize": ["--sentences", "3"],
    "ask": ["--question", 'Who said "no": the tenant?'],
    "batch": [],
}


@pytest.fixture
def both(ready: Place) -> Place:
    """A workspace with a model that embeds, one that writes, and one that writes and has no room for a question."""
    write_decoder(ready.root / "models/writer.gguf", "llama", GgmlType.Q8_0, metadata=_ROOM)
    write_decoder(ready.root / "models/small.gguf", "llama", GgmlType.Q8_0)
    return ready


def test_every_task_is_tried() -> None:
    assert list(GIVEN) == task_names()


@pytest.mark.parametrize("task", GIVEN)
def test_the_file_is_accepted(both: Place, cloister: Cloister, task: str) -> None:
    model = "writer" if pipeline.TASKS[task].needs == "text" else "tiny"
    done = cloister("new", "m24", "--task", task, "--model", model, *GIVEN[task], "--json")
    assert done.code == 0, done.out + done.err
    assert done.json == {
        "job": "m24", "file": "jobs/m24.yaml", "task": task, "model": model, "input": "inbox/m24/",
    }  # fmt: skip
    checked = cloister("check", "m24")
    assert (checked.code, "m24: in order" in checked.out) == (0, True), checked.out
    text = (both.root / "jobs/m24.yaml").read_text()
    assert text.startswith("# yaml-language-server: $schema=job.schema.json\n")
    assert text.endswith("\n")
    assert sum(line.lstrip().startswith("#") for line in text.splitlines()) >= 8
    assert max(map(len, text.splitlines())) <= 120


def test_what_was_given_stands_in_the_file(both: Place, cloister: Cloister) -> None:
    assert cloister("new", "a", "--task", "classify", "--model", "tiny", *GIVEN["classify"]).code == 0
    labels = load_job(both.root / "jobs/a.yaml").config.task.labels  # type: ignore[attr-defined]
    assert [(each.name, each.description) for each in labels] == [
        ("lease", "a lease of a flat, or of a house"), ("no", ""),
    ]  # fmt: skip
    assert cloister("new", "b", "--task", "extract", "--model", "tiny", *GIVEN["extract"]).code == 0
    fields = load_job(both.root / "jobs/b.yaml").config.task.fields  # type: ignore[attr-defined]
    assert [(each.name, each.type, each.description, each.pattern) for each in fields] == [
        ("total", "money", "total amount due", None),
        ("order", "regex", "", r"\bPO-\d{5}"),
        ("plain", "text", "", None),
    ]  # fmt: skip
    assert cloister("new", "c", "--task", "ask", *GIVEN["ask"]).code == 0, "one model alone can do it"
    config = load_job(both.root / "jobs/c.yaml").config
    assert (config.model.name, config.task.question) == ("writer", 'Who said "no": the tenant?')  # type: ignore[attr-defined]


def test_it_can_be_run_at_once(ready: Place, cloister: Cloister) -> None:
    assert cloister("new", "m24", "--task", "summarize").code == 0
    ready.drop("m24", "lease.txt", LEASE * 9)
    os.utime(ready.root / "inbox/m24/lease.txt", (1, 1))
    assert cloister("run", "m24").code == 0


def test_a_label_may_hold_a_colon(ready: Place, cloister: Cloister) -> None:
    words = ["m24", "--task", "classify", "--label", "lease: a rental", "--label", "no"]
    assert cloister("new", *words).code == 2 or load_job(ready.root / "jobs/m24.yaml").name == "m24"
    assert "unknown key" not in cloister("new", *words).err


def test_nothing_is_overwritten(ready: Place, cloister: Cloister) -> None:
    before = (ready.root / "jobs/sort.yaml").read_bytes()
    done = cloister("new", "sort", "--task", "summarize")
    assert (done.code, "jobs/sort.yaml: there is a job of this name" in done.err) == (2, True)
    assert (ready.root / "jobs/sort.yaml").read_bytes() == before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["m24"], "give it as --task, or on a terminal"),
        (["m24", "--task", "extraction"], "did you mean 'extract'?"),
        (["m24", "--task", "extract"], "give it as --field, once for each, or on a terminal"),
        (["m24", "--task", "classify", "--label", "a, b=c, d"], "once for each: --label a --label b"),
        (["m24", "--task", "extract", "--field", "total:regex"], "expected: NAME:regex=PATTERN"),
        (["m24", "--task", "extract", "--field", "total:regex= "], "expected: NAME:regex=PATTERN"),
        (["m24", "--task", "extract", "--folder", "inbox/m24x", "--field", "total:amount"], "did you mean 'money'?"),
        (["m24", "--task", "classify", "--label", "a"], "at least 2 labels"),
        (["m24", "--task", "extract", "--field", "total:amount"], "did you mean 'money'?"),
        (["m24", "--task", "extract", "--field", "total:regex=("], "cloister new: '(' is no regular expression"),
        (["m24", "--task", "extract", "--field", "=x"], "a text without anything in it"),
        (["m24", "--task", "summarize", "--label", "a"], "which has no labels"),
        (["m24", "--task", "summarize", "--model", "none"], "there is no file"),
        (["m24", "--task", "ask", "--question", "Why?"], "needs one that writes text"),
        (["m24", "--task", "summarize", "--folder", "/nowhere/scans"], "is the disk or share mounted"),
        (["m24", "--task", "summarize", "--folder", "inbox/sort"], "takes files too"),
        (["../x", "--task", "summarize"], "'job' is the text '../x'"),
        (["M 24", "--task", "summarize"], "'job' is the text 'M 24'"),
        (["m24.yml", "--task", "summarize"], "cloister new m24"),
    ],
)
def test_what_is_refused_writes_nothing(ready: Place, cloister: Cloister, words: list[str], told: str) -> None:
    done = cloister("new", *words)
    assert (done.code, told in done.err) == (2, True), done.err
    assert "made now" not in done.err
    assert [path.name for path in (ready.root / "jobs").glob("*.yaml")] == ["sort.yaml"]
    assert not list(ready.root.rglob("x.yaml"))
    assert not [path for path in (ready.root / "inbox").iterdir() if path.name.startswith("m24")]


def at_terminal(words: list[str], answers: str) -> Done:
    """The command at a terminal at which somebody types."""
    ours, theirs = pty.openpty()
    os.write(ours, answers.encode())
    done = subprocess.run(
        [*COMMAND, *words], stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, text=True, check=False
    )
    os.close(theirs)
    said = b""
    while True:
        try:
            said += os.read(ours, 4096)
        except OSError:
            break
    os.close(ours)
    return Done(done.returncode, done.stdout, said.decode())


def test_three_questions_at_a_terminal(both: Place, cloister: Cloister) -> None:
    done = at_terminal(["m24"], "classify\nlease=a lease, invoice\ntiny\n")
    assert done.code == 0, done.err
    assert [done.err.count(each) for each in ("Which task?", "Which labels?", "Which model?")] == [1, 1, 1]
    labels = load_job(both.root / "jobs/m24.yaml").config.task.labels  # type: ignore[attr-defined]
    assert [(each.name, each.description) for each in labels] == [("lease", "a lease"), ("invoice", "")]
    assert cloister("check", "m24").code == 0
    done = at_terminal(["r", "--task", "extract", "--model", "tiny"], "order:regex=[0-9]{2,3}, plain\n")
    assert (done.code, "with commas between them" in done.err) == (0, True), done.err
    fields = load_job(both.root / "jobs/r.yaml").config.task.fields  # type: ignore[attr-defined]
    assert [(each.name, each.pattern) for each in fields] == [("order", "[0-9]{2,3}"), ("plain", None)]
    done = at_terminal(["s"], "\x04")
    assert (done.code, "Interrupted." in done.err, "defect" in done.err) == (130, True, False), done.err
    assert at_terminal(["n", "--task", "summarize", "--model", "tiny"], "").err == "", "nothing is left to ask"
    assert at_terminal(["o"], "\n").code == 2
    assert not (both.root / "jobs/o.yaml").exists()
