"""`cloister new`: a file that `check` accepts, for each task; what it asks; and that it overwrites nothing."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

import pipeline
from engine.gguf import GgmlType
from jobs.cli.init import examples
from jobs.config.asked import task_names
from jobs.config.load import load_job, load_site
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


def test_a_new_workspace(cloister: Cloister, tmp_path: Path) -> None:
    root = tmp_path / "a b" / "ws"
    done = cloister("init", root)
    assert done.code == 0
    assert "Next:" in done.out
    site = load_site(root / "site.yaml")
    assert site.log.origin.endswith("/ws")
    assert site.log.public_key in done.out
    assert (root / site.log.key).stat().st_mode & 0o777 == 0o600
    assert (root / "keys").stat().st_mode & 0o777 == 0o700
    assert {path.name for path in root.iterdir()} == {
        "site.yaml", "jobs", "inbox", "outbox", "archive", "failed", "models", "keys", "audit", "private", "state",
            "version.json", ".gitignore",
    }  # fmt: skip


def test_the_models_of_the_examples_are_named(cloister: Cloister, tmp_path: Path) -> None:
    told = cloister("init", tmp_path / "ws", "--example", "invoice-fields", "--example", "report-digest").out
    assert [line.split()[-1] for line in told.splitlines() if "model import" in line] == ["all-minilm-l6-v2-q8_0"]
    told = cloister("init", tmp_path / "other").out
    assert "--name NAME" in told
    assert "cloister new JOB; or copy an example: cloister init . --example " in told
    assert "begin one: cloister new JOB" in cloister("status", "--workspace", tmp_path / "other").out


def test_every_example_is_a_good_job_and_is_copied(cloister: Cloister, tmp_path: Path) -> None:
    names = sorted(examples())
    assert names
    done = cloister("init", tmp_path / "ws", *(word for name in names for word in ("--example", name)), "--json")
    assert done.json["jobs"] == names
    for name in names:
        assert load_job(tmp_path / "ws" / "jobs" / f"{name}.yaml").name == name
        assert (tmp_path / "ws" / "inbox" / name).is_dir()


def test_again_it_only_adds(cloister: Cloister, tmp_path: Path) -> None:
    root, name = tmp_path / "ws", sorted(examples())[0]
    cloister("init", root)
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    (root / "failed").rmdir()
    done = cloister("init", root, "--example", name)
    assert done.code == 0
    assert done.out.startswith("Completed")
    assert {path: path.read_bytes() for path in before} == before
    assert (root / "failed").is_dir()
    changed = root / "jobs" / f"{name}.yaml"
    changed.write_text("job: mine\n")
    assert cloister("init", root, "--example", name).code == 2
    assert changed.read_text() == "job: mine\n"
    assert cloister("init", root, "--origin", "another").code == 2


def test_no_workspace_within_the_folders_of_another(
    cloister: Cloister, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "ws"
    cloister("init", root)
    (root / "inbox").rmdir()
    (tmp_path / "scans").mkdir()
    (root / "inbox").symlink_to(tmp_path / "scans")
    for inner in ("inbox/a/b", "outbox", "audit/x", "state/new"):
        done = cloister("init", root / inner)
        assert (done.code, f"of the workspace {root}, which keeps its own" in done.err) == (2, True), inner
        assert not (root / inner / "site.yaml").exists()
    assert not list((tmp_path / "scans").iterdir())
    monkeypatch.chdir(root / "outbox")
    assert cloister("init", "x").code == 2
    assert cloister("init", "../../other").code == 0, "another place, whose path leads through the workspace"
    assert cloister("init", tmp_path / "archive" / "a").code == 0, "a folder of that name, and no workspace"


def test_a_folder_with_something_in_it_is_left_alone(cloister: Cloister, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    done = cloister("init", tmp_path)
    assert done.code == 2
    assert "choose another folder" in done.err
    assert cloister("init", tmp_path / "mine.txt").code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_an_unknown_example_makes_nothing(cloister: Cloister, tmp_path: Path) -> None:
    done = cloister("init", tmp_path / "ws", "--example", "nothing-such")
    assert done.code == 2
    assert "one of " in done.err
    assert not (tmp_path / "ws").exists()


def test_an_origin_that_no_checkpoint_may_bear(cloister: Cloister, tmp_path: Path) -> None:
    assert cloister("init", tmp_path / "ws", "--origin", "a b").code == 2
    assert not (tmp_path / "ws").exists()


def test_git_commits_neither_keys_nor_documents(cloister: Cloister, tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    subprocess.run(["git", "init", "--quiet", root], check=True)
    done = cloister("init", root, "--example", "invoice-fields")
    assert done.code == 0
    assert "made .gitignore: /audit/, /inbox/, /outbox/, /archive/, /failed/, /models/, /keys/" in done.out
    for name in ("inbox/invoice-fields/a.txt", "outbox/a", "archive/a", "failed/a", "state/a", "models/a", "private/a"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("x")
    subprocess.run(["git", "-C", root, "add", "--all"], check=True)
    files = subprocess.run(["git", "-C", root, "ls-files"], check=True, capture_output=True, text=True).stdout.split()
    assert files == [".gitignore", "jobs/invoice-fields.yaml", "jobs/job.schema.json", "site.yaml", "version.json"]


def test_a_gitignore_that_is_there_keeps_every_byte(cloister: Cloister, tmp_path: Path) -> None:
    root, theirs = tmp_path / "ws", b"*.swp\nkeys\n/archive/\n\xff"
    root.mkdir()
    (root / ".gitignore").write_bytes(theirs)
    assert "added to .gitignore: /audit/, /inbox/, /outbox/, /failed/, /models/, /private/, /state/" in (
        cloister("init", root).out
    )
    after = (root / ".gitignore").read_bytes()
    assert after.startswith(theirs + b"\n# ")
    assert b"/keys/" not in after
    again = cloister("init", root, "--json")
    assert again.json["told"] == []
    assert (root / ".gitignore").read_bytes() == after
    (root / ".gitignore").write_text("*\n")
    assert cloister("init", root, "--json").json["told"] == []
