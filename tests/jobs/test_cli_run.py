"""`cloister run` and `check` on a small model: exit codes, what is told, what is left alone."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import audit
import pipeline
from jobs.cli.run import lost_rows, report_lines
from jobs.config.load import load_job, load_site
from jobs.config.workspace import open_workspace
from jobs.errors import ExitCode
from tests.jobs.conftest import INVOICE, LEASE, SORT, Cloister, Place


def test_documents_become_results_and_a_second_run_says_that_there_is_nothing(ready: Place, cloister: Cloister) -> None:
    ready.drop("sort", "lease.txt", LEASE)
    ready.drop("sort", "invoice.txt", INVOICE)
    done = cloister("run", "sort")
    assert done.code == 0
    assert "sort: 2 documents in" in done.out
    assert 'sha256: "' in done.out  # the job pins none yet
    assert len(ready.parts("sort")) == 1
    again = cloister("run", "sort")
    assert again.code == 0
    assert "nothing to do: no file lies there" in again.out


def test_kept_files_were_done_before(ready: Place, cloister: Cloister) -> None:
    ready.job("keep", afterwards="keep")
    ready.drop("keep", "lease.txt", LEASE)
    assert cloister("run", "keep").code == 0
    again = cloister("run", "keep")
    assert (again.code, len(ready.parts("keep"))) == (0, 1)
    assert "nothing to do: 1 document was done before" in again.out


def test_a_failed_document_is_exit_1_and_told(ready: Place, cloister: Cloister) -> None:
    ready.drop("sort", "lease.txt", LEASE)
    ready.drop("sort", "empty.txt", "")
    done = cloister("run", "sort")
    assert done.code == 1
    assert "failed/sort/, each with a .reason.json" in done.out
    assert "empty.txt: " in done.out
    assert any(json.loads(line)["event"] == "document failed" for line in done.err.splitlines())


def test_json_is_one_document(ready: Place, cloister: Cloister) -> None:
    ready.drop("sort", "empty.txt", "")
    done = cloister("run", "sort", "--json")
    (run,) = done.json["runs"]
    assert (done.code, done.json["exit_code"], done.json["errors"]) == (1, 1, [])
    assert run["seen"] == sum(run["counts"].values()) == 1
    assert run["failed"][0]["path"] == "empty.txt"
    assert run["failed"][0]["failure"] == "empty"


def test_mistakes_in_jobs_are_told_together_and_the_others_run(ready: Place, cloister: Cloister) -> None:
    document = ready.drop("sort", "lease.txt", LEASE)
    ready.job("other", SORT.replace("labels:", "lables:"))
    done = cloister("run", "sort", "other", "third", "--json")
    assert (done.code, done.json["exit_code"]) == (2, 2)
    assert [(p["where"], p["line"], p["column"]) for error in done.json["errors"] for p in error["problems"]] == [
        ("jobs/other.yaml", 4, 1),
        ("jobs/other.yaml", 7, 3),
        ("jobs/third.yaml", None, None),
    ]
    assert "jobs/other.yaml:7:3: unknown key 'lables' in task" in done.err
    assert not document.exists()
    assert len(ready.parts("sort")) == 1
    refused = cloister("run", "other", "third", "--json")
    assert len(refused.json["error"]["problems"]) == 3


@pytest.mark.parametrize("command", ["run", "check"])
def test_a_folder_that_was_made_is_told(ready: Place, cloister: Cloister, command: str) -> None:
    ready.job("odd", SORT.replace("input: {{", "input: {{folder: inbox/scna, "))
    told = "odd: the folder inbox/scna was not there; made now\n"
    first, second = cloister(command, "odd"), cloister(command, "odd")
    assert (first.code, told in first.err, told in second.err) == (0, True, False), first.err
    (ready.root / "inbox/sort").rmdir()
    assert "made now" not in cloister(command, "sort").err, "the folder of a job that names none"


def test_a_missing_folder_is_told_at_its_place(ready: Place, cloister: Cloister) -> None:
    ready.job("other", SORT.replace("settle_seconds: 0,", "settle_seconds: 0, folder: nowhere,"))
    done = cloister("run", "other")
    assert done.code == 2
    assert "jobs/other.yaml:2:36: no folder nowhere" in done.err
    assert "remedy:   is the disk or share mounted on which it lies?" in done.err
    (ready.root / "inbox" / "sort").rmdir()
    (ready.root / "inbox" / "sort").write_text("")
    assert "jobs/sort.yaml:1:6: inbox/sort, which is no folder" in cloister("run", "sort").err


@pytest.mark.parametrize("folder", ["outbox", "outbox/sort", ".", "audit", "keys", "archive"])
def test_a_folder_of_ours_is_no_input(ready: Place, cloister: Cloister, folder: str) -> None:
    (ready.root / "outbox" / "sort").mkdir(parents=True)
    ready.job("other", SORT.replace("settle_seconds: 0,", f"settle_seconds: 0, folder: {folder},"))
    done = cloister("run", "other")
    assert done.code == 2
    assert "jobs/other.yaml:2:36: the folder" in done.err


def test_a_bad_pattern_is_told_at_its_place(ready: Place, cloister: Cloister) -> None:
    text = "job: {name}\nmodel: {{name: tiny}}\ntask:\n  type: extract\n  fields:\n"
    ready.job("other", text + "    - {{name: a, type: regex, pattern: '(x'}}\n    - {{name: b}}\n")
    done = cloister("check", "other")
    assert done.code == 2
    assert "jobs/other.yaml:6:39: " in done.out


def test_a_refused_model_ends_its_job_only_and_touches_no_document(ready: Place, cloister: Cloister) -> None:
    ready.job("pinned", SORT.replace("name: tiny", f"name: tiny, sha256: {'0' * 64}"))
    document = ready.drop("pinned", "lease.txt", LEASE)
    ready.drop("sort", "lease.txt", LEASE)
    done = cloister("run", "pinned", "sort")
    assert done.code == 3
    assert "Model refused: model tiny: " in done.err
    assert document.exists()
    assert not (ready.root / "archive" / "pinned").exists()
    assert len(ready.parts("sort")) == 1


def test_a_held_workspace_is_exit_5(ready: Place, cloister: Cloister) -> None:
    site = load_site(ready.root / "site.yaml")
    with audit.Log.open(ready.root / "audit", key_path=ready.root / site.log.key, public_key=site.log.public_key):
        done = cloister("run", "sort", "--json")
        assert (done.code, done.json["exit_code"]) == (5, 5)
        assert f"{os.getpid()}" in done.json["errors"][0]["message"]
    assert cloister("run", "sort").code == 0


def test_a_log_that_does_not_fit_is_exit_4(ready: Place, cloister: Cloister) -> None:
    document = ready.drop("sort", "lease.txt", LEASE)
    checkpoint = ready.root / "audit" / "checkpoint"
    checkpoint.write_bytes(checkpoint.read_bytes().replace(b"\n0\n", b"\n1\n"))
    done = cloister("run", "sort")
    assert done.code == 4
    assert "Nothing more was processed." in done.err
    assert document.exists()


def test_a_change_deep_in_the_log_is_exit_4(answered: Place, cloister: Cloister) -> None:
    """An entry that stays well-formed, before the last tile: what is done already would be decided by it."""
    site = load_site(answered.root / "site.yaml")
    with audit.Log.open(
        answered.root / "audit", key_path=answered.root / site.log.key, public_key=site.log.public_key
    ) as log:
        log.commit([{"type": "other", "run": "r"}] * 300)
    (segment,) = (answered.root / "audit" / "entries").iterdir()
    number = next(n for n, line in enumerate(segment.read_bytes().splitlines()) if b"lease.txt" in line)
    segment.write_bytes(segment.read_bytes().replace(b"lease.txt", b"leash.txt", 1))
    document = answered.drop("sort", "invoice.txt", INVOICE)
    done = cloister("run", "sort")
    assert done.code == 4
    assert f"entry {number} (entries/000000000000.jsonl, line {number + 1}): not the entry that was signed" in done.err
    assert document.exists()
    assert len(answered.parts("sort")) == 1
    for command in (["status"], ["audit", "show", "invoice.txt"]):
        assert cloister(*command).code == 4


def test_what_nobody_signed_behind_the_log_is_exit_4_and_stays(answered: Place, cloister: Cloister) -> None:
    (segment,) = (answered.root / "audit" / "entries").iterdir()
    data = segment.read_bytes()
    segment.write_bytes(data + b"hello\n")
    answered.drop("sort", "invoice.txt", INVOICE)
    for command in (["run", "sort"], ["audit", "verify"]):
        done = cloister(*command)
        assert done.code == 4
        assert "neither a signed entry nor what an interrupted commit leaves" in done.out + done.err
    assert segment.read_bytes() == data + b"hello\n"
    segment.write_bytes(data)
    assert cloister("run", "sort").code == 0


def test_a_defect_is_exit_70_and_kept(ready: Place, cloister: Cloister, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("pipeline.run", broken)
    done = cloister("run", "sort", "--json")
    assert (done.code, done.json["exit_code"]) == (70, 70)
    (kept,) = (ready.root / "state" / "crashes").iterdir()
    assert str(kept) in done.err
    assert "RuntimeError: broken" in kept.read_text()


def test_sigterm_ends_a_run_with_130_and_the_next_run_goes_on(ready: Place, cloister: Cloister) -> None:
    for n in range(300):
        ready.drop("sort", f"{n:04}.txt", f"{LEASE} Flat {n}.")
    command = [sys.executable, "-P", "-c", "from jobs.cli import main; main()", "run", "sort", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr is not None
        assert run.stdout is not None
        while "documents found" not in (line := run.stderr.readline()):
            assert line, "it ended before it found documents"
        run.send_signal(signal.SIGTERM)
        told, err = run.communicate(timeout=600)
    assert run.returncode == 130, err
    (report,) = json.loads(told)["runs"]
    assert report["interrupted"]
    assert report["counts"]["pending"] > 0
    again = cloister("run", "sort", "--json").json["runs"][0]
    assert again["counts"]["done"] + report["counts"]["done"] == 300
    assert cloister("audit", "verify").code == 0


def report(seen: dict[str, int], **facts: Any) -> pipeline.RunReport:
    values: dict[str, Any] = {
        "run": "r", "job": "sort", "counts": dict.fromkeys(pipeline.State, 0) | seen, "known": 0, "parts": (),
        "tokens": 0, "seconds": 0.5, "interrupted": False, "model_sha256": "", "pinned": True, "retried": False,
        "lost": (), "ignored": (), "pending": (), "failed": (),
    }  # fmt: skip
    return pipeline.RunReport(**(values | facts))


@pytest.mark.parametrize(
    ("seen", "facts", "lines"),
    [
        (
            {"done": 3, "pending": 205},
            {"interrupted": True},
            ["sort: 3 documents in 0.5 s", "stopped  what is finished is committed",
             "pending  205 documents are still to be done: run again"],
        ),
        ({"pending": 1}, {"interrupted": True}, [
            "sort: stopped before the first document was finished", "stopped  what is finished is committed",
            "pending  1 document is still to be done: run again"]),
        ({"pending": 1}, {"window_closed": True}, [
            "sort: the window closed before the first document was finished",
            "window   closed before all was done: what is finished is committed; the rest is first in the next run",
            "pending  1 document is still to be done: run again"]),
        ({"pending": 1}, {"pending": (("a.txt", "changed 0.1 s ago"),)}, [
            "sort: nothing is ready yet", "pending  1 document is still to be done: run again",
            "a.txt: changed 0.1 s ago"]),
        ({"pending": 1200}, {"pending": tuple((f"{n}", "held") for n in range(1000))}, [
            "sort: nothing is ready yet", "pending  1,200 documents are still to be done: run again",
            *(f"{n}: held" for n in range(10)), "and 1,190 more"]),
        ({"ignored": 14}, {"known": 2, "ignored": tuple((f"{n}.tmp", "temporary") for n in range(12))}, [
            "sort: nothing to do: 2 documents were done before", "before   2 documents done in an earlier run",
            "ignored  12 files:", *(f"{n}.tmp: temporary" for n in range(10)), "and 2 more"]),
        ({"failed": 21}, {"failed": tuple((f"{n}", "empty", "no text") for n in range(21))}, [
            "sort: 21 documents in 0.5 s", "failed   failed/sort/, each with a .reason.json:",
            *(f"{n}: empty: no text" for n in range(20)), "and 1 more",
            "again    cloister retry sort takes them up again, when you have changed something"]),
        ({}, {"retried": True, "lost": (("a.jsonl", "why"),)}, ["sort: nothing was taken up again"]),
    ],
)  # fmt: skip
def test_what_is_told_of_a_run(ready: Place, seen: dict[str, int], facts: dict[str, Any], lines: list[str]) -> None:
    workspace = open_workspace(ready.root)
    job = load_job(ready.root / "jobs" / "sort.yaml")
    told = "\n".join(report_lines(workspace, job, report(seen, **facts)))
    assert [line.strip() for line in told.splitlines()] == lines


def test_what_is_told_of_rows_that_are_gone() -> None:
    ending = lost_rows(report({}, retried=True, lost=(("a.jsonl", "why"), ("b.jsonl", "why too"))))
    first, *lines, remedy = ending.message.splitlines()
    assert first.startswith("sort: failed requests of 2 batch files were not taken up again, because rows are gone")
    assert lines == ["  a.jsonl: why", "  b.jsonl: why too"]
    assert remedy.startswith("    remedy:   bring the rows back from a backup and retry; or drop the batch file again")
    assert (ending.code, len(ending.problems)) == (ExitCode.AUDIT_FAILED, 2)


def test_a_job_file_that_is_a_folder(ready: Place, cloister: Cloister) -> None:
    (ready.root / "jobs" / "a.yaml").mkdir()
    assert "jobs/a.yaml: a folder, not a file" in cloister("run", "a").err
    assert "jobs/a.yaml: a folder, not a file" in cloister("status").out


@pytest.mark.parametrize(("variable", "as_json"), [("CLOISTER_ISA", False), ("CLOISTER_THREADS", True)])
def test_check_tells_what_the_machine_lacks(ready: Place, variable: str, as_json: bool) -> None:
    def ask(*arguments: str) -> subprocess.CompletedProcess[str]:  # a process of its own: it looks only once
        command = [sys.executable, "-P", "-c", "from jobs.cli import main; main()", *arguments]
        poor = os.environ | {variable: "nonsense"}
        return subprocess.run(command, capture_output=True, text=True, check=False, env=poor)

    done = ask("check", "sort", *["--json"] * as_json)
    assert done.returncode == 2
    if as_json:
        assert variable in json.loads(done.stdout)["site"][0]["sentence"]
    else:
        assert f"no job runs: The engine does not compute here: {variable} is 'nonsense'" in done.stdout
        assert "sort: in order" in done.stdout
        assert ask("serve").returncode == 2


def test_check_and_status_name_what_is_not_taken(ready: Place, cloister: Cloister) -> None:
    ready.job("sort", SORT.replace("settle_seconds: 0", "settle_seconds: 600"))
    ready.drop("sort", "lease.txt", LEASE)
    for n in range(5):
        ready.drop("sort", f"{n}.part", "")
    few = ", ".join(f"{n}.part (a name that only systems and programs give (*.part))" for n in range(3))
    told = cloister("check", "sort").out
    assert "0 files ready and 1 still settling" in told
    assert f"ignored 5 files: 5 *.part; {few} and 2 more" in told
    assert f"ignored  5 files: 5 *.part; {few} and 2 more" in cloister("status").out
    assert cloister("status", "--json").json["jobs"][0]["ignored_files"][4]["path"] == "4.part"


def test_files_that_are_held_open_are_counted_and_named(ready: Place, cloister: Cloister) -> None:
    path = ready.drop("sort", "scan.txt", LEASE)
    ready.drop("sort", "other.txt", INVOICE)
    with path.open("ab"):
        assert "1 file ready, 1 held open by a writer" in cloister("check", "sort").out
        assert "waiting  1 file in inbox/sort, 1 held open by a writer" in cloister("status").out
        (job,) = cloister("status", "--json").json["jobs"]
        assert (job["held_open"], job["settling"]) == (["scan.txt"], 1)
        done = cloister("run", "sort").out
        assert "of them 1 file held open by a writer" in done
        assert f"scan.txt: {pipeline.paths.HELD_OPEN}" in done
        assert cloister("run", "sort", "--json").json["runs"][0]["held_open"] == ["scan.txt"]
    assert "sort: 1 document in" in cloister("run", "sort").out


def test_a_path_to_a_job_anywhere(ready: Place, cloister: Cloister, tmp_path: Path) -> None:
    ready.drop("sort", "lease.txt", LEASE)
    elsewhere = tmp_path / "mine.yaml"
    elsewhere.write_text(SORT.format(name="sort", afterwards="archive"))
    assert cloister("run", elsewhere).code == 0
    assert len(ready.parts("sort")) == 1
    (ready.root / "jobs" / "other.yaml").write_text(elsewhere.read_text())
    done = cloister("run", "other")
    assert done.code == 2
    assert "jobs/other.yaml:1:6: the job 'sort' in a file named other.yaml" in done.err


def test_check_tells_what_would_happen(ready: Place, cloister: Cloister) -> None:
    ready.drop("sort", "lease.txt", LEASE)
    done = cloister("check", "sort")
    assert done.code == 0
    for words in (
        "sort: in order",
        "1 file ready",
        "classify as lease, invoice",
        "(not pinned:",
        "outbox/sort (parquet)",
    ):
        assert words in done.out
    plan = cloister("check", "sort", "--json").json["jobs"][0]["plan"]
    assert plan["model"] == "tiny, bert"
    assert ready.parts("sort") == []
