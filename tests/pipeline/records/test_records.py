"""What the log says beside rows: the table of its records, what is new when a run begins, inputs without a row, nights
without work."""

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import audit
import engine
import pipeline
from pipeline import Failure, RunPlan
from pipeline.plan import Retention
from pipeline.records import requests
from pipeline.records.entries import from_json
from pipeline.records.handover import folder_of
from pipeline.records.types import KINDS, members_of
from tests.models import write_bert_folder
from tests.pipeline.conftest import Witness, make_plan
from tests.pipeline.outbox.test_recover import run_and_die

TABLE = (Path(__file__).parents[3] / "pipeline" / "records" / "README.md").read_text()
LOG_ITSELF = {"v", "n", "time", "boot", "uptime_us", "host", "user", "type"}
LEASE = "The landlord leases the flat to the tenant. The rent is due on the first of the month.\n"
Drop = Callable[[str, bytes | str], Path]


def entries(plan: RunPlan, *kinds: str) -> list[dict[str, Any]]:
    read = audit.read_entries(plan.site.audit, plan.site.public_key)
    return [entry for _, entry in read if not kinds or entry["type"] in kinds]


def go(plan: RunPlan) -> pipeline.RunReport:
    return pipeline.run(plan, observer=Witness())


def inputs(plan: RunPlan) -> dict[str, tuple[str, str]]:
    """Path -> state and reason, by the last entry that says it."""
    said = [(path, (e["state"], e["reason"])) for e in entries(plan, "inputs") for path in e["paths"]]
    assert len(said) == len(set(said))
    return dict(said)


def test_the_table_on_the_page_is_the_one_in_the_code() -> None:
    rows = re.findall(r"^\| `([a-z._]+)` \| (.*?) \| (.*?) \|$", TABLE, re.M)
    written = {kind: (members, says) for kind, members, says in rows if kind in KINDS or "." in kind}
    expected = {
        name: (" ".join(f"`{each}`" for each in members_of(kind)), kind.MEANING) for name, kind in KINDS.items()
    }
    assert written == expected


def test_every_entry_has_exactly_the_members_of_the_table(plan: RunPlan, drop: Drop, tmp_path: Path) -> None:
    drop("lease.txt", LEASE)
    drop("copy.txt", LEASE)
    drop("broken.pdf", b"%PDF-1.7\nbroken")
    drop("~$lock.txt", "x")
    run_and_die(plan, 22)
    (plan.outbox / ".staging").mkdir(parents=True, exist_ok=True)
    (plan.outbox / ".staging" / "left").write_text("staged in vain")
    folder_of(plan.site).mkdir(parents=True)
    (folder_of(plan.site) / "bad.json").write_text("{}")
    go(plan)
    go(replace(plan, retry=frozenset(Failure)))
    go(plan)
    row = next(row for row in pipeline.results(plan.site) if row["label"])
    pipeline.decide(plan.site, pipeline.Review("sort", row["audit_index"], "accepted", "Ada"))
    (requests.folder_of(plan.site)).mkdir()
    (requests.folder_of(plan.site) / "bad.json").write_text("{}")
    pipeline.review.take_up_reviews(plan.site)
    pipeline.hold(plan.site, "lease.txt", "a lawsuit")
    pipeline.release(plan.site, "lease.txt", None, "it is over")
    pipeline.erase(plan.site, "lease.txt", "request 7", archive=True, rows=True)
    go(replace(plan, job_file_sha256="1" * 64, retention=Retention(rows_days=0)))
    with pytest.raises(pipeline.ModelRefusedError):
        go(replace(plan, model=replace(plan.model, sha256="0" * 64)))
    (plan.site.root / "version.json").write_text('{"format": 1, "version": "0.0.9"}')
    for kind, facts in COMMANDS.items():
        assert pipeline.records.record(plan.site, from_json({"type": kind, "run": "", **facts})).n is not None
    made = entries(plan)
    for entry in made:
        common = {"run", "job", "handed"}
        members = (
            members_of(KINDS[entry["type"]]).keys()
            - common
            - ({"review"} if entry["type"] == "document" and entry["run"] else set())
            - ({"worker", "earlier"} if entry["type"] == "document" else set())
        )
        assert entry.keys() - LOG_ITSELF - common == members, entry["type"]
        decided = entry["type"] in ("document", "part", "placed") and not entry["run"]  # what a person decided
        assert ("job" in entry) == (entry["run"] != "") or KINDS[entry["type"]].COMMAND or decided, entry
    unmade = KINDS.keys() - {entry["type"] for entry in made}
    assert unmade == {"key.rotated", "clock.stepped", "recovered.cut", "run.stopped"} | (
        COMMAND_KINDS - COMMANDS.keys() - {"model.admitted", "reviewer_key.admitted"}
    )


COMMAND_KINDS = {name for name, kind in KINDS.items() if kind.COMMAND}
COMMANDS = {
    "read.results": {"job": None, "failed": True, "limit": 3},
    "read.story": {"document": "0" * 64},
    "service.started": {"pid": 1, "version": "0"},
    "service.ended": {"pid": 1, "why": "SIGTERM"},
    "model.changed": {"model": "tiny", "before": "0" * 64, "after": "1" * 64, "by": "import"},
    "qualified": {
        "job": "sort",
        "task": "classify",
        "eval": "eval.csv",
        "eval_sha256": "0" * 64,
        "examples": 8,
        "examples_sha256": "0" * 64,
        "job_digest": "1" * 64,
        "model": "tiny",
        "model_sha256": "2" * 64,
        "head": None,
        "head_sha256": None,
        "numerics": "n",
        "metrics": {"macro_f1": 0.5},
        "floor": {"macro_f1": 1},
        "passed": False,
    },
    "exported": {"from": "a", "before": "b", "first": 0, "end": 1, "export_sha256": "0" * 64},
    "verified": {"size": 1, "root": "0" * 64, "integrity": 0, "altered": 0, "added": 0, "absent": 0},
}


def test_a_run_says_first_under_which_key_with_which_job_and_model(plan: RunPlan, drop: Drop) -> None:
    drop("lease.txt", LEASE)
    go(plan)
    key, job, model = entries(plan)[:3]
    assert (key["type"], key["public_key"]) == ("key.admitted", plan.site.public_key)
    assert (job["type"], job["before"], job["after"]["job_file_sha256"]) == ("job.admitted", None, "0" * 64)
    assert (model["type"], model["before"], model["after"]) == ("model.admitted", None, plan.model.sha256)
    drop("other.txt", LEASE + "Another one.")
    go(plan)
    assert len(entries(plan, "key.admitted", "job.admitted", "model.admitted", "job.changed", "model.changed")) == 3


def test_another_file_of_the_job_or_the_model_is_said_with_what_it_was(
    plan: RunPlan, drop: Drop, tmp_path: Path
) -> None:
    go(plan)
    path = tmp_path / "tiny.gguf"
    engine.import_model(write_bert_folder(tmp_path / "hf", seed=2), path, file_type="q8_0", name="tiny")
    model = replace(plan.model, path=path, sha256=None)
    go(replace(plan, model=model, job_file_sha256="1" * 64))
    (job,) = entries(plan, "job.changed")
    assert (job["before"]["job_file_sha256"], job["after"]["job_file_sha256"]) == ("0" * 64, "1" * 64)
    assert job["before"]["job_digest"] != job["after"]["job_digest"]
    (changed,) = entries(plan, "model.changed")
    assert (changed["model"], changed["before"]) == ("tiny", plan.model.sha256)
    assert changed["after"] == entries(plan, "run.empty")[-1]["model_sha256"] != changed["before"]


def test_inputs_without_a_row_are_said_once_with_their_reason(plan: RunPlan, drop: Drop) -> None:
    plan = replace(plan, input=replace(plan.input, include=("*.txt",)))
    drop("lease.txt", LEASE)
    drop("~$lease.txt", "x")
    drop("photo.heic", b"\0")
    drop("sub/waits.txt", LEASE)
    manifest = drop("sub/manifest.sha256", f"{'0' * 64}  waits.txt\n")
    for _ in range(3):
        go(plan)
    said = inputs(plan)
    assert {path: state for path, (state, _) in said.items()} == {
        "~$lease.txt": "ignored",
        "photo.heic": "ignored",
        "sub/manifest.sha256": "ignored",
        "sub/waits.txt": "pending",
    }
    assert said["photo.heic"][1] == "matches none of input.include: *.txt"
    assert "differ" in said["sub/waits.txt"][1]
    before = len(entries(plan, "inputs"))
    manifest.write_text(f"{'0' * 64}  gone.txt\n{'0' * 64}  waits.txt\n")
    go(plan)
    assert "gone.txt, which is missing" in inputs(plan)["sub/waits.txt"][1]
    manifest.unlink()
    go(plan)
    assert {entry["path"] for entry in entries(plan, "document")} == {"lease.txt", "sub/waits.txt"}
    drop("sub/waits.txt", LEASE + "anew")
    manifest.write_text(f"{'0' * 64}  gone.txt\n{'0' * 64}  waits.txt\n")
    go(plan)
    assert len(entries(plan, "inputs")) > before + 1  # after a row it is another file, and said again


def test_what_a_stopped_run_leaves_is_said(plan: RunPlan, drop: Drop) -> None:
    for number in range(300):
        drop(f"{number:03}.txt", f"{LEASE} {number}")
    witness = Witness()
    report = pipeline.run(plan, observer=witness, stop=lambda: len(witness.states) >= 100)
    done = {entry["path"] for entry in entries(plan, "document")}
    left = inputs(plan)
    assert set(left.values()) == {("pending", "the run was stopped before its turn")}
    assert left.keys() == {f"{number:03}.txt" for number in range(300)} - done
    assert len(left) == report.counts["pending"] > 0
    assert entries(plan)[-1]["type"] == "run.finished"


def test_many_inputs_stand_in_several_entries(plan: RunPlan) -> None:
    for number in range(1000):
        (plan.input.folder / (f"{number:04}" + "\x01" * 60 + ".tmp")).touch()
    go(plan)
    assert len(inputs(plan)) == 1000
    assert len(entries(plan, "inputs")) > 3


def test_a_night_without_work_is_one_record_while_nothing_changes(
    plan: RunPlan, drop: Drop, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        go(plan)
    (empty,) = entries(plan, "run.empty")
    assert (empty["seen"], empty["done"], empty["job_digest"]) == (0, 0, entries(plan, "settings")[0]["job_digest"])
    size = len(entries(plan))
    go(plan)
    assert len(entries(plan)) == size
    drop("a.tmp", "x")
    go(plan)
    assert [e["ignored"] for e in entries(plan, "run.empty")] == [0, 1]
    drop("lease.txt", LEASE)
    go(plan)
    go(plan)
    assert [e["type"] for e in entries(plan) if e["type"].startswith("run.")] == [
        "run.empty", "run.empty", "run.started", "run.finished", "run.empty"
    ]  # fmt: skip
    (job,) = pipeline.status(plan.site)
    assert (job.last_run, job.last_state) == (entries(plan, "run.empty")[-1]["run"], "finished")
    now = audit.stamp_now()
    tomorrow = replace(now, time=f"2099{now.time[4:]}", uptime_us=now.uptime_us + 10**15)
    monkeypatch.setattr(audit, "stamp_now", lambda: tomorrow)
    go(plan)
    assert len(entries(plan, "run.empty")) == 4


def test_an_empty_run_after_one_that_was_cut_off_is_a_whole_run(plan: RunPlan, drop: Drop) -> None:
    drop("lease.txt", LEASE)
    assert run_and_die(plan, 30)
    shutil.rmtree(plan.input.folder)
    plan.input.folder.mkdir()
    go(plan)
    assert [e["type"] for e in entries(plan) if e["type"].startswith("run.")][-2:] == ["run.started", "run.finished"]


def test_two_jobs_do_not_share_their_nights(plan: RunPlan, tiny_model: Path) -> None:
    other = make_plan(plan.site, tiny_model, job="other")
    for each in (plan, other, plan, other):
        go(each)
    assert [e["job"] for e in entries(plan, "run.empty")] == ["sort", "other"]
    assert [e["job"] for e in entries(plan, "job.admitted")] == ["sort", "other"]
