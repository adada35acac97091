"""`cloister rerun`: archived documents are answered again after the job changed, by today's settings."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import jobs.cli.run
import pipeline
from jobs.config.job import JobConfig
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace
from jobs.console.pages.home import grid
from jobs.nights.ahead import with_window
from pipeline.records.nights import night_of
from tests.jobs.conftest import INVOICE, LEASE, SORT, Cloister, Place, finished

OTHER = SORT.replace("an invoice: total due", "a bill for goods that were delivered")


@finished
def ran(ready: Place, cloister: Cloister) -> Place:
    """A workspace whose job `sort` has answered three documents and a copy, and failed on one."""
    ready.drop("sort", "lease.txt", LEASE)
    ready.drop("sort", "copy.txt", LEASE)
    ready.drop("sort", "invoice.txt", INVOICE)
    ready.drop("sort", "other.txt", f"{INVOICE} And another one.")
    ready.drop("sort", "empty.txt", "")
    assert cloister("run", "sort").code == 1
    return ready


def by_path(cloister: Cloister) -> dict[str, dict[str, Any]]:
    return {row["path"]: row for row in cloister("results", "sort", "--json").json}


def test_nothing_changed(ran: Place, cloister: Cloister) -> None:
    done = cloister("rerun", "sort")
    assert done.code == 0
    assert "nothing to do: no archived document that fits is answered again" in done.out
    assert "3 documents that fit were answered with today's settings: cloister rerun sort --all" in done.out
    assert cloister("rerun", "sort", "--all", "--json").json["runs"][0]["counts"]["done"] == 3


def test_a_label_changed(ran: Place, cloister: Cloister) -> None:
    before = by_path(cloister)
    ran.job("sort", OTHER)
    ran.drop("sort", "new.txt", f"{LEASE} New.")
    foreseen = cloister("rerun", "sort", "--dry-run", "--json").json["runs"][0]
    assert (foreseen["would"], foreseen["rerun"]["why"], foreseen["left"]) == (3, {"settings": 3}, [])
    assert by_path(cloister).keys() == before.keys()
    told = cloister("rerun", "sort", "--dry-run")
    assert (told.code, "sort: 3 documents would be answered again" in told.out) == (0, True)
    done = cloister("rerun", "sort", "--json")
    (run,) = done.json["runs"]
    assert (done.code, run["seen"], run["counts"]["done"], run["known"]) == (0, 3, 3, 0)
    assert run["rerun"] == {"why": {"settings": 3}, "same": 0, "continued": False}
    after = by_path(cloister)
    answered = ("copy.txt", "invoice.txt", "other.txt")
    assert {path: row["supersedes"] for path, row in after.items() if path in answered} == {
        path: before[path]["audit_index"] for path in answered
    }
    assert after["lease.txt"]["audit_index"] == before["lease.txt"]["audit_index"]  # a copy follows
    assert after["lease.txt"]["duplicate_of"] == "copy.txt"
    assert {row["run"] for path, row in after.items() if path in answered} == {run["run"]}
    assert (ran.root / "inbox" / "sort" / "new.txt").exists()
    assert cloister("rerun", "sort", "--json").json["runs"][0]["seen"] == 0
    assert cloister("audit", "verify").code == 0
    assert cloister("audit", "replay", "--sample", "100%").code == 0
    assert "copy.txt" in cloister("audit", "show", "copy.txt").out
    assert any("to answer archived documents again" in line for line in said(ran))


def said(place: Place) -> list[str]:
    """The log, entry by entry, in sentences."""
    return [entry.says() for entry in pipeline.records.read_entries(make_site(open_workspace(place.root)))]


def test_rows_of_yesterdays_settings_are_marked_until_they_are_answered_again(ran: Place, cloister: Cloister) -> None:
    def marked(*options: str) -> set[str]:
        rows = cloister("results", "sort", *options, "--json").json
        return {row["path"] for row in rows if row.get("other_settings")}

    assert marked() == marked("--sort", "score") == set()
    ran.job("sort", OTHER)
    everything = {"copy.txt", "empty.txt", "invoice.txt", "lease.txt", "other.txt"}
    assert marked() == marked("--sort", "score") == everything
    assert marked("--settings", "current") == set()
    assert cloister("results", "sort", "--settings", "current", "--sort", "score", "--json").json == []
    told = cloister("results", "sort").out
    assert "sort: 5 rows are of other settings than it has today: 5 of settings" in told
    assert "sort: cloister rerun sort answers these 3 again" in told
    assert cloister("rerun", "sort").code == 0
    assert marked() == marked("--sort", "path") == {"empty.txt", "lease.txt"}
    assert "cloister rerun" not in cloister("results", "sort").out
    rows = cloister("results", "sort", "--settings", "current", "--json").json
    assert rows == cloister("results", "sort", "--settings", "current", "--sort", "path", "--json").json
    assert cloister("results", "sort", "--settings", "current", "--sort", "path", "--limit", "1", "--json").json == [
        rows[0]
    ]


def test_a_job_that_is_broken_or_has_no_model_is_told_by_its_newest_row(ran: Place, cloister: Cloister) -> None:
    ran.job("sort", OTHER)
    (ran.root / "models" / "tiny.gguf").rename(ran.root / "models" / "away.gguf")
    assert "other settings" not in cloister("results", "sort").out
    (ran.root / "models" / "away.gguf").rename(ran.root / "models" / "tiny.gguf")
    assert "of other settings than it has today" in cloister("results", "sort").out
    (ran.root / "jobs" / "sort.yaml").write_text("job: [\n")
    assert "other settings" not in cloister("results", "sort").out


def test_what_is_remembered_of_a_model_holds_for_that_file_alone(ran: Place, cloister: Cloister) -> None:
    remembered, model = ran.root / "state" / "models.json", ran.root / "models" / "tiny.gguf"
    assert "other settings" not in cloister("results", "sort").out
    before = remembered.read_bytes()
    cloister("results", "sort")
    assert remembered.read_bytes() == before
    body = model.read_bytes()
    model.write_bytes(body + b"\0")
    assert "of other settings than it has today" in cloister("results", "sort").out
    assert remembered.read_bytes() != before
    model.write_bytes(body)
    remembered.write_text('{"tiny.gguf": [1, 2]}')
    assert "other settings" not in cloister("results", "sort").out
    remembered.write_bytes(b"\xff")
    assert "other settings" not in cloister("results", "sort").out


def test_what_a_person_decided_is_told_and_left(ran: Place, cloister: Cloister) -> None:
    row = by_path(cloister)["other.txt"]["audit_index"]
    assert cloister("review", "accept", str(row), "--as", "Ada").code == 0
    ran.job("sort", OTHER)
    assert "a person decided on it; cloister rerun sort --decided" in cloister("results", "sort").out
    done = cloister("rerun", "sort")
    assert "left     1 document:" in done.out
    assert "other.txt: Ada accepted it; --decided answers it again, too" in done.out
    assert by_path(cloister)["other.txt"]["review"]["by"] == "Ada"
    assert cloister("rerun", "sort", "--decided", "--json").json["runs"][0]["counts"]["done"] == 1
    assert by_path(cloister)["other.txt"]["review"] is None


def test_states_that_lie_elsewhere_and_seeds_without_a_sample(ran: Place, cloister: Cloister) -> None:
    done = cloister("rerun", "sort", "--state", "failed")
    assert (done.code, "cloister retry takes up what failed" in done.err) == (2, True)
    done = cloister("rerun", "sort", "--state", "duplicate")
    assert (done.code, "it follows the document that it is a copy of" in done.err) == (2, True)
    done = cloister("rerun", "sort", "--state", "abstaned")
    assert (done.code, "abstained" in done.err) == (2, True)
    done = cloister("rerun", "sort", "--seed", "x")
    assert (done.code, "--sample N" in done.err) == (2, True)


def test_a_job_of_batch_files_is_refused_and_others_go_on(ran: Place, cloister: Cloister) -> None:
    ran.job("lines", "job: {name}\nmodel: {{name: tiny}}\ntask: {{type: batch, models: [gpt-4o-mini]}}\n")
    done = cloister("rerun", "lines")
    assert done.code == 2
    assert "a job of batch files, whose requests are answered once" in done.err
    assert "put the batch file into the folder again" in done.err
    done = cloister("rerun", "sort", "lines", "--all", "--json")
    assert (done.code, done.json["runs"][0]["counts"]["done"], len(done.json["errors"])) == (2, 3, 1)
    done = cloister("rerun", "sort", "lines", "--dry-run")
    assert (done.code, "sort: nothing to do" in done.out) == (2, True)


def test_nothing_arrived_is_not_told_of_a_rerun_without_work(ran: Place, cloister: Cloister) -> None:
    out = ran.root / "called"
    ran.job("sort", SORT + "schedule: {{cron: \"0 22 * * *\", timezone: UTC}}\n"
            f"notify: {{{{command: [/bin/sh, -c, 'cat >> {out}'], on: [nothing_arrived]}}}}\n")  # fmt: skip
    assert cloister("rerun", "sort").code == 0
    assert not out.exists()
    assert cloister("run", "sort").code == 0
    assert "nothing_arrived" in out.read_text()


def test_a_model_that_is_missing(ran: Place, cloister: Cloister) -> None:
    (ran.root / "models" / "tiny.gguf").unlink()
    assert cloister("rerun", "sort").code == 3
    assert cloister("rerun", "sort", "--dry-run").code == 3


WINDOW = SORT + 'window: {{until: "06:00"}}\n'


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands are given a day too late for the window that was meant."""

    def of_yesterday(plan: pipeline.RunPlan, config: JobConfig, due: datetime) -> pipeline.RunPlan:
        return with_window(plan, config, due - timedelta(days=1))

    monkeypatch.setattr(jobs.cli.run, "with_window", of_yesterday)


@pytest.mark.usefixtures("late")
def test_a_window_that_closed_is_exit_6_and_no_failure_wherever_it_is_told(ready: Place, cloister: Cloister) -> None:
    ready.job("sort", WINDOW)
    ready.job("open")
    path = ready.drop("sort", "lease.txt", LEASE)
    ready.drop("open", "lease.txt", LEASE)
    done = cloister("run", "sort", "open")
    assert done.code == 6
    assert "sort: the window closed before the first document was finished" in done.out
    assert "the rest is first in the next run" in done.out
    assert path.exists()
    assert len(ready.parts("open")) == 1  # the window of one job is not that of another
    told = cloister("run", "sort", "--json").json
    assert told["exit_code"] == 6
    assert (told["runs"][0]["window_closed"], told["runs"][0]["interrupted"]) == (True, False)
    assert "  last     window closed 20" in cloister("status").out
    last = next(job for job in cloister("status", "--json").json["jobs"] if job["job"] == "sort")["last_run"]
    assert (last["state"], last["counts"]["pending"]) == ("window_closed", 1)
    ready.drop("sort", "empty.txt", "")
    assert cloister("retry", "sort").code == 0  # it takes nothing from the folder, and nothing has failed


@pytest.mark.usefixtures("late")
def test_documents_that_failed_before_wait_for_the_next_window_too(ready: Place, cloister: Cloister) -> None:
    ready.drop("sort", "empty.txt", "")
    assert cloister("run", "sort").code == 1
    ready.job("sort", WINDOW)
    assert cloister("retry", "sort").code == 6
    assert (ready.root / "failed" / "sort" / "empty.txt").exists()


def test_check_says_until_when_the_next_run_may_compute(
    ready: Place, cloister: Cloister, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready.job("sort", WINDOW + 'schedule: {{cron: "0 22 24 12 *", timezone: Europe/Berlin}}\n')
    told = cloister("check", "sort").out
    assert "  window  until 06:00 (Europe/Berlin); from the next start, until " in told
    assert "-12-25 06:00 CET" in told
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    ready.job("sort", WINDOW)
    assert "  window  until 06:00 (Asia/Tokyo); if it began now, until " in cloister("check", "sort").out
    ready.job("sort")
    assert "  window " not in cloister("check", "sort").out


def test_check_refuses_a_window_that_excludes_every_start(ready: Place, cloister: Cloister) -> None:
    ready.job("sort", WINDOW + 'schedule: {{cron: "0 6 * * 1-5", timezone: UTC}}\n')
    done = cloister("check", "sort")
    assert done.code == 2
    assert "jobs/sort.yaml:10:17: a window until 06:00 for a job that only starts at 06:00" in done.out


def test_the_console_shows_a_night_whose_window_closed_as_no_failure() -> None:
    night = pipeline.index.Night(
        "2026-11-27", "sort", "window_closed", ("r",), 1.0, {"done": 3, "failed": 1, "pending": 9}
    )
    _, cells = grid([night], None)
    cell = cells["sort"]["2026-11-27"]
    assert (cell.look, cell.number, cell.says) == ("window-closed", 4, "window closed")


LONG = LEASE * 40


def limit(place: Place, line: str) -> None:
    """Another limit in site.yaml, instead of all others."""
    site = place.root / "site.yaml"
    site.write_text(f"{site.read_text().partition('limits:')[0]}limits: {{{line}}}\n")


def failed(place: Place) -> list[Path]:
    return [path for path in (place.root / "failed" / "sort").rglob("*") if path.is_file()]


def test_a_raised_limit_and_a_retry(ready: Place, cloister: Cloister) -> None:
    limit(ready, "text_characters: 1000")
    ready.drop("sort", "long.txt", LONG)
    ready.drop("sort", "broken.pdf", "%PDF-1.7 broken")
    first = cloister("run", "sort")
    assert first.code == 1
    assert "long.txt: too_large: " in first.out
    assert "cloister retry sort takes them up again" in first.out
    limit(ready, "text_characters: 100000")
    done = cloister("retry", "sort", "--class", "too_large", "--json")
    (run,) = done.json["runs"]
    assert (done.code, run["seen"], run["counts"]["done"], run["retried"]) == (0, 1, 1, True)
    assert {path.name for path in failed(ready)} == {"broken.pdf", "broken.pdf.reason.json"}
    assert cloister("retry", "sort").code == 1
    assert cloister("audit", "verify").code == 0


def test_nothing_to_retry(ready: Place, cloister: Cloister) -> None:
    ready.drop("sort", "new.txt", LEASE)
    done = cloister("retry", "sort")
    assert done.code == 0
    assert "nothing to do: no such failed document" in done.out
    assert (ready.root / "inbox" / "sort" / "new.txt").exists()


def test_a_class_that_is_none(ready: Place, cloister: Cloister) -> None:
    done = cloister("retry", "sort", "--class", "bored", "--class", "timeout")
    assert done.code == 2
    assert "--class bored: no class of failures" in done.err
    assert "needs_ocr" in done.err


def test_a_file_that_is_too_large_is_not_shown_as_waiting_once_it_has_failed(ready: Place, cloister: Cloister) -> None:
    path = ready.drop("sort", "huge.txt", "")
    os.truncate(path, 257 << 20)
    assert cloister("run", "sort").code == 1
    (job,) = cloister("status", "--json").json["jobs"]
    assert (job["ready"], job["ignored"]) == (0, 1)
    assert cloister("run", "sort").code == 0
    assert path.exists()


def test_run_ends_with_the_report_and_status_names_it(ready: Place, cloister: Cloister) -> None:
    ready.drop("sort", "lease.txt", LEASE)
    before = night_of(datetime.now(UTC))
    told = cloister("run", "sort")
    (page,) = (ready.root / "outbox" / "sort" / "_reports").glob("report-*.html")
    assert page.name.startswith(f"report-{before}") or night_of(datetime.now(UTC)) != before
    assert told.out.splitlines()[-1].startswith("  report   ")
    assert told.out.splitlines()[-1].endswith(f"outbox/sort/_reports/{page.name}")
    assert "The one document was answered" in page.read_text()
    assert f"  report   outbox/sort/_reports/{page.name}\n" in cloister("status").out
    assert cloister("status", "--json").json["jobs"][0]["report"] == f"outbox/sort/_reports/{page.name}"
    assert "report   " not in cloister("run", "sort").out, "nothing to do"
    ready.drop("sort", "invoice.txt", INVOICE)
    done = cloister("run", "sort", "--json").json["runs"][0]
    assert (Path(done["report"]).name, done["no_report"]) == (page.name, None)
    assert cloister("audit", "verify").code == 0
    page.unlink()
    assert "report   " not in cloister("status").out


def test_a_run_without_room_for_a_report_says_so_and_stands(ready: Place, cloister: Cloister) -> None:
    ready.drop("sort", "lease.txt", LEASE)
    cloister("run", "sort")
    (page,) = (ready.root / "outbox" / "sort" / "_reports").glob("report-*.html")
    page.unlink()
    page.mkdir()
    ready.drop("sort", "invoice.txt", INVOICE)
    told = cloister("run", "sort")
    assert told.code == 0
    assert "  report   none could be made: " in told.out
    ready.drop("sort", "third.txt", "A third one.\n")
    assert cloister("run", "sort").code == 0, "nor does what waits for its place keep the next run from beginning"
    page.rmdir()
    ready.drop("sort", "fourth.txt", "A fourth one.\n")
    assert cloister("run", "sort").code == 0
    assert page.is_file()
    assert cloister("audit", "verify").code == 0


def test_an_export_says_that_it_shows_answers(ready: Place, cloister: Cloister, tmp_path: Path) -> None:
    ready.drop("sort", "lease.txt", LEASE)
    cloister("run", "sort")
    told = cloister("audit", "export", tmp_path / "out").out
    assert "report.html shows 1 answer from the documents; --no-answers leaves them out." in told
    assert "report.html shows" not in cloister("audit", "export", tmp_path / "other", "--no-answers").out
