"""Retention in a job file, and the commands that hold and release documents."""

import os
import shutil
import subprocess
import sys
import threading
from datetime import UTC, datetime
from email.message import EmailMessage
from pathlib import Path

import pytest

import audit
from jobs.config.load import load_job, load_site
from jobs.config.plan import make_plan
from jobs.config.workspace import open_workspace
from pipeline.plan import Retention
from tests.jobs.conftest import LEASE, SORT, Cloister, Place, entries, held

RULES = SORT + "retention: {{archive_days: 30, rows_days: 3650}}\n"


def test_retention_of_a_job(ready: Place, cloister: Cloister) -> None:
    plan = make_plan(open_workspace(ready.root), load_job(ready.job("sort", RULES)))
    assert plan.retention == Retention(30, 3650)
    ready.job("sort", SORT + "retention: {{}}\n")
    refused = cloister("check", "sort")
    assert refused.code == 2
    assert "a retention without a rule" in refused.out
    ready.job("sort", SORT + "retention: {{archive_days: 0}}\n")
    assert cloister("check", "sort").code == 2


def test_hold_and_release(answered: Place, cloister: Cloister, tmp_path: Path) -> None:
    held = cloister("audit", "hold", "lease.txt", "--reason", "case 12", "--json").json
    assert held["reason"] == "case 12"
    second = cloister("audit", "hold", held["documents"][0][:8], "--reason", "case 13")
    assert "1 document" in second.out
    refused = cloister("audit", "release", "lease.txt", "--reason", "closed")
    assert refused.code == 2
    assert f"{held['number']}: case 12" in refused.err
    told = cloister("audit", "release", "lease.txt", "--hold", str(held["number"]), "--reason", "closed")
    assert (told.code, told.out) == (0, f"released the hold of entry {held['number']} (case 12)\n")
    assert cloister("audit", "hold", "nobody.txt", "--reason", "x").code == 2
    assert cloister("audit", "verify").code == 0


def test_erase_from_a_private_job(ready: Place, cloister: Cloister) -> None:
    ready.job("sort", SORT + "private: true\n")
    ready.drop("sort", "Anna.txt", LEASE)
    assert cloister("run", "sort").code == 0
    assert not any(b"Anna" in path.read_bytes() for path in (ready.root / "audit").rglob("*") if path.is_file())
    assert "Anna.txt" in cloister("audit", "show", "Anna.txt").out
    refused = cloister("audit", "erase", "Anna.txt", "--reason", "request 7", "--rows")
    assert refused.code == 2
    assert "--archive" in refused.err
    told = cloister("audit", "erase", "Anna.txt", "--reason", "request 7", "--archive", "--rows")
    assert told.code == 0
    assert "2 entries" in told.out, "the document's, and that of the report which shows it"
    assert "1 row erased" in told.out
    assert cloister("audit", "show", "Anna.txt").code == 2
    assert cloister("audit", "verify").code == 0
    assert cloister("results", "--json").json == []


def test_erase_says_which_names_stay_in_the_log(answered: Place, cloister: Cloister) -> None:
    assert cloister("audit", "erase", "lease.txt", "--reason", "request 7").code == 2
    told = cloister("audit", "erase", "lease.txt", "--reason", "request 7", "--archive", "--json").json
    assert len(told["named"]) == 1
    assert "deleted 1" in cloister("audit", "verify").out


def test_check_says_what_a_run_would_be_refused_for(
    ready: Place, cloister: Cloister, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may write everywhere, so the answer is given for it."""
    inbox, access = ready.root / "inbox" / "sort", os.access
    monkeypatch.setattr(os, "access", lambda path, mode, **how: Path(path) != inbox and access(path, mode, **how))
    for command in ("check", "run"):
        told = cloister(command, "sort")
        assert (told.code, "documents cannot be moved out of it" in told.out + told.err) == (2, True), told
    ready.job("sort", afterwards="keep")
    assert [cloister(command, "sort").code for command in ("check", "run")] == [0, 0]


def test_what_is_held_needs_a_reason_and_several_holds_name_the_option(answered: Place, cloister: Cloister) -> None:
    for command in ("hold", "release"):
        told = cloister("audit", command, "lease.txt", "--reason", " ")
        assert (told.code, "--reason: is empty" in told.err) == (2, True), told.err
    for _ in range(2):
        assert cloister("audit", "hold", "lease.txt", "--reason", "case 12").code == 0
    told = cloister("audit", "release", "lease.txt", "--reason", "closed")
    assert (told.code, "choose one with --hold N: " in told.err) == (2, True), told.err
    told = cloister("audit", "show", "nope.docx")
    assert (told.code, told.err.startswith("DOC: the log knows no document 'nope.docx': ")) == (2, True), told.err


def test_what_holds_releases_and_erases_needs_the_log_and_waits_for_it(answered: Place, cloister: Cloister) -> None:
    before = entries(answered)
    commands = (("hold",), ("release",), ("erase", "--archive", "--rows"))
    with held(answered) as log:
        for command in commands:
            told = cloister("audit", command[0], "lease.txt", "--reason", "case 12", *command[1:], "--wait", "0.05")
            assert (told.code, told.out, "held by process" in told.err) == (5, "", True), told
        assert entries(answered) == before
        assert not (answered.root / "state" / "handover").exists()
        timer = threading.Timer(0.5, log.close)
        timer.start()
        told = cloister("audit", "hold", "lease.txt", "--reason", "case 12", "--wait", "60")
        timer.join()
    assert told.code == 0, told.err
    assert [entry["reason"] for entry in entries(answered, "hold")] == ["case 12"]


def test_a_search_beside_private_jobs_names_nobody_in_the_log(ready: Place, cloister: Cloister) -> None:
    ready.job("sort", SORT + "private: true\n")
    ready.drop("sort", "Anna.txt", LEASE)
    assert cloister("run", "sort").code == 0
    for _ in range(2):
        assert cloister("audit", "search", "--name", "Anna Meier", "--outcome", "done").code == 0
        assert [entry["query"] for entry in entries(ready, "read.search")][-1] == {"name": "private", "outcome": "done"}
        shutil.rmtree(ready.root / "private", ignore_errors=True)
    assert len(entries(ready, "read.search")) == 2


def test_verify_says_first_that_private_is_missing_and_accuses_nobody(ready: Place, cloister: Cloister) -> None:
    ready.job("sort", SORT + "private: true\n")
    ready.drop("sort", "Anna.txt", LEASE)
    ready.drop("sort", "empty.txt", "")
    assert cloister("run", "sort").code == 1
    (ready.root / "private").rename(ready.root / "elsewhere")
    told = cloister("audit", "verify")
    first, _, second = told.out.splitlines()[:3]
    assert told.code == 2
    assert first == "NOT ALL COULD BE JUDGED: private/ is missing: 3 entries of private jobs cannot be opened."
    assert second.startswith("NOTHING WAS ALTERED, BUT NOT ALL COULD BE READ. The audit log test.example/log is whole")
    assert "integrity     whole, root " in told.out
    assert "added" not in told.out
    assert "an entry that cannot be opened may have made it" in told.out
    report = cloister("audit", "verify", "--json").json
    assert (report["ok"], report["complete"], report["exit_code"], len(report["unjudged"])) == (True, False, 2, 4)
    (ready.root / "elsewhere").rename(ready.root / "private")
    assert cloister("audit", "verify").code == 0
    (ready.root / "private" / "sort" / "evil.txt").write_text("x")
    assert cloister("audit", "verify").code == 4


def test_erase_says_where_the_bytes_of_an_attachment_remain(ready: Place, cloister: Cloister) -> None:
    mail = EmailMessage()
    mail.set_content("Please see the attachment.")
    mail.add_attachment(LEASE.encode(), maintype="text", subtype="plain", filename="Anna.txt")
    (ready.root / "inbox" / "sort" / "letter.eml").write_bytes(bytes(mail))
    assert cloister("run", "sort").code == 0
    told = cloister("audit", "erase", "letter.eml!/Anna.txt", "--reason", "request 7", "--archive", "--rows")
    assert told.code == 0
    assert "BUT ITS BYTES REMAIN" in told.out
    assert "--containers" in told.out
    assert "letter.eml of job sort: cloister audit erase " in told.out
    assert list(ready.root.glob("archive/sort/*/*/bytes/letter.eml"))
    more = ("--archive", "--rows", "--containers", "--json")
    told = cloister("audit", "erase", "letter.eml!/Anna.txt", "--reason", "request 7", *more)
    assert told.json["around"] == []
    assert not list(ready.root.glob("archive/sort/*/*/bytes/*"))
    assert cloister("audit", "verify").code == 0


def test_what_was_done_to_a_document_is_told_in_words(ready: Place, cloister: Cloister) -> None:
    ready.drop("sort", "lease.txt", LEASE)
    ready.drop("sort", "copy.txt", LEASE)
    assert cloister("run", "sort").code == 0
    assert cloister("audit", "hold", "lease.txt", "--reason", "case 12").code == 0
    assert cloister("audit", "release", "lease.txt", "--reason", "case 12 is closed").code == 0
    told = cloister("audit", "erase", "lease.txt", "--reason", "request 7", "--archive", "--rows")
    assert told.code == 0, told.err
    first, second = (entry["n"] for entry in entries(ready, "document"))
    shown = cloister("audit", "show", "lease.txt").out
    assert f"bytes and text erased entries {first} to {second}\n" in shown
    assert f"parts written anew    outbox/sort/{ready.parts('sort')[0].name} without the rows of entries" in shown
    assert "reason                request 7" in shown
    assert not set("{}[]'") & set(shown)


def test_an_export_is_made_recorded_and_checked(answered: Place, cloister: Cloister, tmp_path: Path) -> None:
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    told = cloister("audit", "export", "--from", "2026-01-01", "--to", today, tmp_path / "out")
    assert told.code == 0, told.err
    key = load_site(answered.root / "site.yaml").log.public_key
    assert told.out.endswith(f"    python3 {tmp_path}/out/verify.py --key {key}\n")
    verify = [sys.executable, "-I", "-S", tmp_path / "out/verify.py", "--key", key]
    checked = subprocess.run(verify, capture_output=True, text=True, cwd="/")
    assert (checked.returncode, checked.stderr, checked.stdout.splitlines()[-1]) == (0, "", "WHOLE")
    page = (tmp_path / "out/report.html").read_text()
    assert "lease.txt" in page
    assert [entry["type"] for _, entry in audit.read_entries(answered.root / "audit", key)][-1] == "exported"
    assert cloister("audit", "verify").code == 0


def test_an_export_of_days_without_records_says_so(answered: Place, cloister: Cloister, tmp_path: Path) -> None:
    told = cloister("audit", "export", "--from", "2026-01-01", "--to", "2026-01-02", tmp_path / "out")
    assert told.out.startswith(f"{tmp_path}/out: 0 records, as the signed checkpoint proves: none is of these days.\n")


def test_json(answered: Place, cloister: Cloister, tmp_path: Path) -> None:
    told = cloister("audit", "export", tmp_path / "out", "--json").json
    assert told["recorded"]["n"] == told["size"] - 1 == told["records"]
    assert told["folder"] == str(tmp_path / "out")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--from", "yesterday"], "'yesterday' is no day"),
        (["--to", "2026-02-30"], "'2026-02-30' is no day"),
        (["--from", "2026-02-02", "--to", "2026-02-01"], "lies before 2026-02-02"),
    ],
)
def test_days_that_are_none(place: Place, cloister: Cloister, tmp_path: Path, arguments: list[str], said: str) -> None:
    told = cloister("audit", "export", *arguments, tmp_path / "out")
    assert (told.code, said in told.err) == (2, True), told.err
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_not_empty(place: Place, cloister: Cloister) -> None:
    told = cloister("audit", "export", place.root)
    assert (told.code, "no empty folder" in told.err) == (2, True), told.err


def test_while_a_run_holds_the_log(answered: Place, cloister: Cloister, tmp_path: Path) -> None:
    log = load_site(answered.root / "site.yaml").log
    with audit.Log.open(answered.root / "audit", key_path=answered.root / log.key, public_key=log.public_key):
        for wait in ("0", "0.3"):
            told = cloister("audit", "export", "--wait", wait, tmp_path / "out")
            assert (told.code, "held by process" in told.err, told.out) == (5, True, ""), told.err
    assert not (tmp_path / "out").exists()
