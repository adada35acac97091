"""A workspace as the version of 2026-11-23 left it is verified, told of, replayed and gone on with by today's.

golden/workspace/make.py says what is in it: every type of record that this version could write, rows of every state,
each task on each kind of model, a private job, runs that were killed, stopped and refused, deletions, holds, a new
key.
"""

import json
import re
import shutil
import subprocess
import sys
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import audit
import pipeline
from pipeline.records.entries import from_json
from pipeline.records.private import Reader
from tests.golden.workspace.models import write_models
from tests.golden.workspace.said import QUESTIONS, REPLAY, ask, ask_all

PACKED = Path(__file__).parent / "workspace" / "workspace.tar.xz"
SIZE = 259
TYPES = {
    "clock.stepped": 2, "deleted": 10, "deleted.by_rule": 4, "document": 77, "erased": 6, "exported": 1,
    "handover.refused": 1, "hold": 4, "inputs": 5, "job.admitted": 9, "job.changed": 3, "key.admitted": 1,
    "key.rotated": 1, "model.admitted": 3, "model.changed": 4, "part": 21, "placed": 21, "read.checkpoint": 1,
    "read.proof": 1, "read.recall": 1, "read.results": 4, "read.search": 2, "read.story": 5, "recovered.cut": 2,
    "recovered.undone": 1, "released": 1, "replayed": 2, "run.empty": 2, "run.finished": 22, "run.refused": 1,
    "run.started": 23, "run.stopped": 1, "service.ended": 1, "service.started": 1, "settings": 13, "verified": 2,
}  # fmt: skip
ADDED = ("v", "n", "time", "boot", "uptime_us", "host", "user", "private", "handed")
"""The members of an entry that are none of its record."""
SINCE: dict[tuple[str, str], Any] = {
    ("run.finished", "window_closed"): False,
    ("run.finished", "ready_seconds"): None,
    ("run.finished", "forecast"): None,
    ("document", "seconds"): None,
    ("run.started", "requests"): [],
    ("run.started", "rerun"): None,
    ("run.started", "silence"): None,
    ("run.started", "cluster"): None,
    ("run.started", "versions"): None,
}
"""What earlier versions did not write: the member of a type, and its value in what they wrote."""
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d):[\d.]+Z")
STATES = {"done": 50, "failed": 21, "duplicate": 3, "review": 2, "abstained": 1}


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the workspace, with its models, and said.json."""
    folder = tmp_path_factory.mktemp("golden")
    with tarfile.open(PACKED) as packed:
        packed.extractall(folder, filter="tar")
    write_models(folder / "workspace" / "models", folder / "scratch")
    return folder


@pytest.fixture
def workspace(unpacked: Path, tmp_path: Path) -> Path:
    """A copy of the workspace."""
    return Path(shutil.copytree(unpacked / "workspace", tmp_path / "workspace"))


@pytest.fixture(scope="module")
def said(unpacked: Path) -> dict[str, Any]:
    """Each question -> what that version answered."""
    answers: dict[str, Any] = json.loads((unpacked / "said.json").read_text())
    return answers


@pytest.fixture(scope="module")
def answers(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Each question -> what this version answers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("COLUMNS", raising=False)
        return ask_all(Path(shutil.copytree(unpacked / "workspace", tmp_path_factory.mktemp("asked") / "workspace")))


def lines(workspace: Path) -> list[bytes]:
    return [
        line for file in sorted((workspace / "audit" / "entries").iterdir()) for line in file.read_bytes().splitlines()
    ]


def drop(workspace: Path, job: str, name: str, text: str) -> None:
    (workspace / "inbox" / job / name).write_text(text)


def told(workspace: Path, *arguments: str, code: int = 0) -> Any:
    """The JSON that a command says, which ends with this exit code."""
    found, text = ask(workspace, *arguments, "--json")
    assert found == code, text
    return json.loads(text)


def states(workspace: Path, job: str) -> dict[str, str]:
    return {row["path"]: row["state"] for row in told(workspace, "results", job)}


def test_every_type_of_record_and_every_state_is_in_it(workspace: Path) -> None:
    entries = [json.loads(line) for line in lines(workspace)]
    assert [entry["n"] for entry in entries] == list(range(SIZE))
    assert Counter(entry["type"] for entry in entries) == TYPES
    assert set(TYPES) <= set(pipeline.records.KINDS)
    assert Counter(entry["state"] for entry in entries if entry["type"] == "document") == STATES


def test_entries_that_are_read_and_written_again_have_the_same_bytes(workspace: Path) -> None:
    """Also through the types of records: what is read of an entry, with what the log adds, is the entry."""
    opened, written = Reader(workspace), []
    for line in lines(workspace):
        entry = opened(audit.parse_canonical(line))
        added = {name: entry[name] for name in ADDED if name in entry}
        record = from_json(entry).to_json()
        for name in record.keys() - entry.keys():
            assert record.pop(name) == SINCE[entry["type"], name]
        assert record == {name: entry[name] for name in record}
        written.append({**added, **record, **_hidden(line)})
    assert [audit.canonical(entry) for entry in written] == lines(workspace)


def _hidden(line: bytes) -> dict[str, str]:
    """The members of an entry that are commitments."""
    return {name: value for name, value in json.loads(line).items() if audit.is_commitment(value)}


@pytest.mark.parametrize("question", [" ".join(question) for question in QUESTIONS])
def test_a_command_says_of_it_what_it_said(said: dict[str, Any], answers: dict[str, Any], question: str) -> None:
    """Verification, stories, results, searches and status, from the log and the tables as they were written. Since
    then `results` adds what to do about each class of failures, and about rows of other settings, which are told from
    those that the job has today, and no longer from those of its newest row; and `status` when what waits will be done,
    in times to the minute.
    """
    answer, remedies = answers[question], [f"{failure}: {failure.remedy}" for failure in pipeline.Failure]
    if question in ("results --failed", "results fields"):
        remedies.append("sort: cloister retry sort takes up what failed")
        told = [line.replace("than it has today", "than its newest one") for line in answer["said"]]
        told = [line for line in told if line not in remedies]
        assert len(told) < len(answer["said"])
        answer = {**answer, "said": told}
    if question == "status":
        answer = {**answer, "said": [line for line in answer["said"] if not line.startswith("  forecast ")]}
        then = [_TIME.sub(r"\1 \2 UTC", line) for line in said[question]["said"]]
        assert answer == {**said[question], "said": then}
        return
    assert _as_then(answer, said[question]) == said[question]


def _as_then(answer: Any, said: Any) -> Any:
    """The answer without the members of objects that came since."""
    if isinstance(answer, dict) and isinstance(said, dict):
        return {name: _as_then(value, said[name]) for name, value in answer.items() if name in said}
    if isinstance(answer, list) and isinstance(said, list) and len(answer) == len(said):
        return [_as_then(one, other) for one, other in zip(answer, said, strict=True)]
    return answer


CHANGED = (
    "11", "14", "16", "18", "19", "21", "24", "25", "37", "38", "44", "52", "64", "68", "82", "90", "91", "92", "93",
    "94", "96", "97", "178", "189", "202", "207", "229", "230", "231", "232",
)  # fmt: skip
"""The rows on models that embed: since 2026-11-24 values and sentences have other scores (pipeline/DECISIONS.md), and
since 2026-11-27 all of them, for the arithmetic is another one (engine/NUMERICS.md). Since 2026-11-28 19, whose reason
names the limit that was hit, and 24, an archive whose note counts what systems leave in it by name."""


def test_all_rows_are_made_again(said: dict[str, Any], answers: dict[str, Any]) -> None:
    question = " ".join(REPLAY)
    assert answers[question] == {"code": 1, "said": said[question]["said"] | dict.fromkeys(CHANGED, "changed")}
    assert Counter(said[question]["said"].values()) == {"identical": 64, "unreplayable": 13}
    assert {said[question]["said"][entry] for entry in CHANGED} == {"identical"}


def test_runs_go_on_with_it(workspace: Path) -> None:
    """New documents are answered, old ones known, failed ones taken up again; then all of it is whole."""
    before, log = states(workspace, "sort"), lines(workspace)
    drop(workspace, "sort", "new today.txt", "The tenant of another flat pays the rent today.")
    drop(workspace, "sort", "came again.txt", "A lease after all that.")
    (run,) = told(workspace, "run", "sort")["runs"]
    assert (run["counts"]["done"], run["counts"]["duplicate"], run["counts"]["failed"]) == (1, 1, 0)
    after = states(workspace, "sort")
    assert after == before | {"new today.txt": "done", "came again.txt": "duplicate"}
    (run,) = told(workspace, "run", "fields")["runs"]
    assert (run["counts"]["done"], run["counts"]["ignored"], run["known"]) == (0, 8, 8)
    (run,) = told(workspace, "retry", "sort", "--class", "corrupt", code=1)["runs"]
    assert (run["counts"]["failed"], run["retried"]) == (1, True)
    verified = told(workspace, "audit", "verify")
    assert (verified["ok"], verified["complete"], verified["size"] > SIZE) == (True, True, True)
    assert lines(workspace)[:SIZE] == log[:SIZE]


def test_private_jobs_batches_rules_and_erasures_go_on_with_it(workspace: Path) -> None:
    drop(workspace, "quiet", "Hanna.txt", "Hanna leases a flat, too.")
    drop(workspace, "quiet", "Copy of Gustav.txt", "Gustav leases a flat, too.")
    (run,) = told(workspace, "run", "quiet")["runs"]
    assert (run["counts"]["done"], run["counts"]["duplicate"]) == (1, 1)
    (run,) = told(workspace, "retry", "batch", "--class", "unanswered", code=1)["runs"]
    assert run["counts"]["failed"] == 1
    told(workspace, "audit", "release", "Anna.txt", "--reason", "closed")
    told(workspace, "audit", "erase", "Anna.txt", "--reason", "asked for", "--archive", "--rows")
    told(workspace, "audit", "erase", "M\\xfcller.txt", "--reason", "asked for", "--archive", "--rows")
    told(workspace, "run", "digest")
    assert states(workspace, "quiet") == {
        "Long.txt": "done", "Gustav.txt": "done", "Hanna.txt": "done", "Copy of Gustav.txt": "duplicate",
    }  # fmt: skip
    verified = told(workspace, "audit", "verify")
    assert (verified["ok"], verified["complete"]) == (True, True)


def test_an_export_of_it_proves_itself(workspace: Path, tmp_path: Path) -> None:
    exported = told(workspace, "audit", "export", str(tmp_path / "export"))
    assert exported["size"] == SIZE + 1
    key = told(workspace, "audit", "key", "show")["public_key"]
    command = [sys.executable, str(tmp_path / "export" / "verify.py"), "--key", key]
    assert subprocess.run(command, check=False, capture_output=True).returncode == 0
