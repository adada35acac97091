"""`cloister rerun`: archived documents are answered again after the job changed, by today's settings."""

from typing import Any

import pytest

import pipeline
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace
from tests.jobs.conftest import INVOICE, LEASE, SORT, Cloister, Place

OTHER = SORT.replace("an invoice: total due", "a bill for goods that were delivered")


@pytest.fixture
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
    return [pipeline.sentence(entry) for entry in pipeline.read_entries(make_site(open_workspace(place.root)))]


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
