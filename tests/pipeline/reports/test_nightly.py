"""Runs and the reports of their nights: made, recorded, made anew, verified, deleted, and no trouble to a run."""

import errno
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import audit
import pipeline
from pipeline import RunPlan
from pipeline.plan import Retention
from pipeline.records.entries import read_entries
from pipeline.records.nights import night_of, night_of_run
from pipeline.records.types import Reported
from pipeline.reports import nightly
from tests.pipeline.conftest import Witness
from tests.pipeline.outbox.test_recover import run_and_die
from tests.thorough import part

Drop = Callable[[str, bytes | str], Path]
LEASE = "The landlord leases the flat to the tenant. The rent is due on the first of the month.\n"
INVOICE = "Invoice 2026-17. Total due: EUR 120.00.\n"
EVENING = datetime(2026, 11, 24, 22, tzinfo=UTC)


class Clock:
    """The time at which runs begin, in the place of `datetime` of pipeline.run."""

    now_is = EVENING

    @classmethod
    def now(cls, zone: Any) -> datetime:
        return cls.now_is.astimezone(zone)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Clock]]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    assert callable(pipeline.run)  # the function is asked for first: then the module does not stand in its place
    monkeypatch.setattr(sys.modules["pipeline.run"], "datetime", Clock)
    Clock.now_is = EVENING
    yield Clock
    monkeypatch.undo()
    time.tzset()


def go(plan: RunPlan, **changes: Any) -> tuple[pipeline.RunReport, Witness]:
    witness = Witness()
    return pipeline.run(replace(plan, **changes), observer=witness), witness


def records(plan: RunPlan) -> list[Reported]:
    return [entry for entry in read_entries(plan.site) if isinstance(entry, Reported)]


def report_of(plan: RunPlan, night: str = "2026-11-24") -> Path:
    return plan.outbox / "_reports" / f"report-{night}.html"


@pytest.mark.parametrize(
    ("moment", "night"),
    [("2026-11-24T12:00:00+00:00", "2026-11-24"), ("2026-11-25T11:59:59+00:00", "2026-11-24"),
     ("2026-11-25T12:30:00+01:00", "2026-11-24"), ("2026-03-01T00:00:00+00:00", "2026-02-28")],
)  # fmt: skip
def test_a_night_goes_from_noon_to_noon(moment: str, night: str) -> None:
    assert night_of(datetime.fromisoformat(moment)).isoformat() == night


def test_an_evening_is_that_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 22:00 in Sydney it is before noon in UTC."""
    monkeypatch.setenv("TZ", "Australia/Sydney")
    time.tzset()
    try:
        assert str(night_of_run("20261124T110000Z-1f133d")) == "2026-11-24"
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_run_names_its_night() -> None:
    assert str(night_of_run("20261125T030405Z-1f133d")) == "2026-11-24"
    assert night_of_run("") is night_of_run("review") is None


def test_a_run_that_did_something_has_a_report(plan: RunPlan, drop: Drop) -> None:
    drop("a/lease.txt", LEASE)
    drop("bad.pdf", b"%PDF-1.4 nothing")
    report, _ = go(plan)
    assert (report.report, report.no_report) == (report_of(plan), None)
    text = report_of(plan).read_text()
    assert "1 of 2 documents was answered; 1 needs a person: 1 failed." in text
    assert 'href="../../../failed/sort/bad.pdf"' in text
    assert "a/lease.txt" in text.replace("<wbr>", "")
    (record,) = records(plan)
    assert (record.night, record.run, record.job) == ("2026-11-24", report.run, "sort")
    assert record.shares is not None
    assert record.shares.states == {"done": 1, "failed": 1}
    assert len(record.rows or ()) == 2
    assert not (plan.outbox / ".staging").exists()
    found = pipeline.verify(plan.site)
    assert (found.complete, found.checked["reports"]) == (True, 2)
    again, _ = go(plan)
    assert (again.report, len(records(plan))) == (None, 1), "nothing to do"
    (status,) = pipeline.status(plan.site)
    assert status.report == "outbox/sort/_reports/report-2026-11-24.html"


def test_a_night_has_one_report_of_all_its_runs(plan: RunPlan, drop: Drop, clock: type[Clock]) -> None:
    drop("lease.txt", LEASE)
    go(plan)
    clock.now_is += timedelta(hours=9)
    drop("invoice.txt", INVOICE)
    go(plan)
    text = report_of(plan).read_text()
    assert "All 2 documents were answered" in text
    assert {"lease.txt", "invoice.txt"} <= {
        each for each in ("lease.txt", "invoice.txt") if each in text.replace("<wbr>", "")
    }
    first, second = records(plan)
    assert first.shares is not None
    assert second.shares is not None
    assert (second.first, second.shares.runs, second.shares.states) == (first.first, 2, {"done": 2})
    assert len(second.rows or ()) == 2
    clock.now_is += timedelta(hours=6)
    drop("third.txt", "A third one.\n")
    go(plan)
    assert report_of(plan, "2026-11-25").is_file()
    assert report_of(plan).read_text() == text
    assert pipeline.verify(plan.site).complete


def test_what_is_tried_again_is_one_document(plan: RunPlan, drop: Drop) -> None:
    drop("lease.txt", LEASE * 400)
    site = replace(plan.site, limits=replace(plan.site.limits, output_characters=100))
    go(replace(plan, site=site))
    assert "0 of 1 document were answered" in report_of(plan).read_text()
    go(plan, retry=frozenset(pipeline.Failure))
    text = report_of(plan).read_text()
    assert "The one document was answered; none needs a person." in text
    assert "Failed</h2>" not in text
    shares = records(plan)[-1].shares
    assert shares is not None
    assert (shares.states, shares.failures) == ({"done": 1}, {})


def test_a_changed_and_a_foreign_report_are_found(plan: RunPlan, drop: Drop) -> None:
    drop("lease.txt", LEASE)
    go(plan)
    report_of(plan).write_text(report_of(plan).read_text().replace("1", "2"))
    report_of(plan, "2026-11-23").write_text("made by nobody")
    found = pipeline.verify(plan.site)
    assert [finding.where for finding in found.altered] == ["outbox/sort/_reports/report-2026-11-24.html"]
    assert [finding.where for finding in found.added] == ["outbox/sort/_reports/report-2026-11-23.html"]
    report_of(plan).unlink()
    absent = [finding.where for finding in pipeline.verify(plan.site).absent]
    assert absent == ["outbox/sort/_reports/report-2026-11-24.html"]


def test_no_report_is_no_trouble_to_a_run(plan: RunPlan, drop: Drop, monkeypatch: pytest.MonkeyPatch) -> None:
    drop("lease.txt", LEASE)

    def full(*_: object) -> str:
        raise OSError(errno.ENOSPC, "No space left on device", "outbox")

    monkeypatch.setattr(nightly, "page", full)
    report, witness = go(plan)
    assert report.counts["done"] == 1
    assert (report.report, report.no_report) == (None, "outbox: No space left on device")
    assert ("no report of the night could be made", {"reason": "outbox: No space left on device"}) in witness.notes
    assert records(plan) == []
    assert pipeline.verify(plan.site).complete
    monkeypatch.undo()


def test_what_no_report_tells_of_is_told_by_the_next(
    plan: RunPlan, drop: Drop, monkeypatch: pytest.MonkeyPatch, clock: type[Clock]
) -> None:
    """As after a run that was killed: its rows are in the log, and no report has them."""
    drop("first.txt", "A first one.\n")
    go(plan)
    clock.now_is += timedelta(days=1)
    with monkeypatch.context() as patched:
        patched.setattr(nightly.Nightly, "make", lambda self, report: [])
        drop("lease.txt", LEASE)
        go(plan)
    assert not report_of(plan, "2026-11-25").exists()
    clock.now_is += timedelta(hours=2)
    drop("invoice.txt", INVOICE)
    go(plan)
    assert "All 2 documents were answered" in report_of(plan, "2026-11-25").read_text()
    with monkeypatch.context() as patched:
        patched.setattr(nightly.Nightly, "make", lambda self, report: [])
        clock.now_is += timedelta(days=1)
        drop("late.txt", "Another one.\n")
        go(plan)
    clock.now_is += timedelta(days=1)
    drop("later.txt", "And another one.\n")
    report, _ = go(plan)
    assert report.report == report_of(plan, "2026-11-27")
    assert "The one document was answered" in report_of(plan, "2026-11-26").read_text()
    assert [record.night for record in records(plan)] == ["2026-11-24", "2026-11-25", "2026-11-26", "2026-11-27"]
    assert pipeline.verify(plan.site).complete


def test_a_log_without_reports_begins_with_this_night(
    plan: RunPlan, drop: Drop, monkeypatch: pytest.MonkeyPatch, clock: type[Clock]
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(nightly.Nightly, "make", lambda self, report: [])
        drop("old.txt", LEASE)
        go(plan)
    clock.now_is += timedelta(days=3)
    drop("new.txt", INVOICE)
    go(plan)
    assert [record.night for record in records(plan)] == ["2026-11-27"]


def test_killed_anywhere_the_report_is_whole(plan: RunPlan, drop: Drop, tmp_path: Path) -> None:
    """The run is killed at steps of its end: afterwards the next run makes or places what is due."""
    drop("lease.txt", LEASE)
    go(plan)
    steps = []
    for step in part(range(40, 140, 3), 5):
        drop("invoice.txt", f"{INVOICE} {step}")
        killed = run_and_die(plan, step, lambda: go(plan))
        found = pipeline.verify(plan.site)
        assert (found.altered, found.added, found.absent) == ((), (), ()), step
        steps.append(killed)
        go(plan)
        assert pipeline.verify(plan.site).complete, step
        last = records(plan)[-1].shares
        assert last is not None
        rows = len(list(pipeline.results(plan.site)))
        assert last.states["done"] == rows, step
    assert True in steps


def test_a_private_job_hides_what_its_report_counts(plan: RunPlan, drop: Drop) -> None:
    plan = replace(plan, private=True)
    drop("Anna Meier.txt", LEASE)
    go(plan)
    said = [
        entry for _, entry in audit.read_entries(plan.site.audit, plan.site.public_key) if entry["type"] == "reported"
    ]
    assert audit.is_commitment(said[0]["shares"])
    assert audit.is_commitment(said[0]["rows"])
    assert "lease" not in json.dumps(said)
    (record,) = records(plan)
    assert record.shares is not None
    assert record.shares.states == {"done": 1}
    assert "Anna Meier.txt" in report_of(plan).read_text().replace("<wbr>", "")
    first = report_of(plan).read_text()
    assert pipeline.verify(plan.site).complete
    assert first.rstrip().endswith("-->")
    assert len(first.rstrip().rpartition("<!-- ")[2].removesuffix(" -->")) == 64


@pytest.mark.parametrize("private", [False, True])
def test_a_report_that_shows_what_is_erased_goes(plan: RunPlan, drop: Drop, private: bool, clock: type[Clock]) -> None:
    plan = replace(plan, private=private)
    drop("Anna.txt", LEASE)
    go(plan)
    clock.now_is += timedelta(days=1)
    drop("Bernd.txt", INVOICE)
    go(plan)
    pipeline.erase(plan.site, "Anna.txt", "asked for", archive=True, rows=True)
    assert not report_of(plan).exists()
    assert not report_of(plan).with_suffix(".md").exists()
    assert report_of(plan, "2026-11-25").is_file()
    found = pipeline.verify(plan.site)
    assert (found.complete, found.notes) == (True, ())
    erased = [entry for entry in read_entries(plan.site) if isinstance(entry, Reported) and entry.closed]
    assert len(erased) == private
    clock.now_is += timedelta(hours=1)
    drop("Clara.txt", "A third one.\n")
    go(plan)
    assert "All 2 documents were answered" in report_of(plan, "2026-11-25").read_text()
    assert pipeline.verify(plan.site).complete


def test_a_report_stays_where_the_bytes_alone_are_erased(plan: RunPlan, drop: Drop) -> None:
    drop("Anna.txt", LEASE)
    go(plan)
    pipeline.erase(plan.site, "Anna.txt", "asked for", archive=True)
    assert report_of(plan).is_file()


def test_a_report_goes_with_the_rows_of_its_night(plan: RunPlan, drop: Drop, clock: type[Clock]) -> None:
    drop("lease.txt", LEASE)
    go(plan)
    clock.now_is += timedelta(days=1)
    drop("invoice.txt", INVOICE)
    go(plan, retention=Retention(rows_days=0))
    assert not report_of(plan).exists()
    assert report_of(plan, "2026-11-25").is_file()
    found = pipeline.verify(plan.site)
    assert (found.complete, found.notes) == (True, ())
