"""Rows that people decided are private, kept, deleted, erased, verified, replayed and exported as other rows are."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import pipeline
from pipeline import Choice, Review, RunPlan, Site
from pipeline.plan import Retention
from pipeline.records import requests
from pipeline.records.entries import read_entries, recorded_entries
from pipeline.records.journal import open_journal
from pipeline.records.types import Document, Erased, ReviewRefused
from tests.pipeline.conftest import Witness

Drop = Callable[[str, bytes | str], Path]
LEASE, INVOICE = "The landlord leases the flat to the tenant.", "Invoice 7, total due 12.00 EUR."


def row(site: Site, path: str) -> dict[str, Any]:
    (found,) = [row for row in pipeline.results(site) if row["path"] == path]
    return found


def decide(site: Site, path: str, action: str = "rejected", **more: Any) -> int:
    number = pipeline.decide(site, Review("sort", row(site, path)["audit_index"], action, "Ada Byron", **more)).n
    assert number is not None
    return number


def run(plan: RunPlan, drop: Drop) -> Site:
    drop("lease.txt", LEASE)
    drop("invoice.txt", INVOICE)
    pipeline.run(plan, observer=Witness())
    return plan.site


def test_of_a_private_job_the_log_says_only_that_a_row_has_another_state(plan: RunPlan, drop: Drop) -> None:
    site = run(replace(plan, private=True), drop)
    label = "invoice" if row(site, "lease.txt")["label"] == "lease" else "lease"
    number = decide(site, "lease.txt", "corrected", reason="A secret reason.", answer={"label": label})
    said = dict(recorded_entries(site))[number]
    assert said["review"].startswith("hmac-sha256:")
    assert (said["state"], said["private"]) == ("done", number)
    log = b"".join(path.read_bytes() for path in sorted((site.audit / "entries").rglob("*")) if path.is_file())
    assert b"secret" not in log
    assert b"Ada " not in log
    (entry,) = [entry for entry in read_entries(site) if isinstance(entry, Document) and entry.is_decided]
    assert entry.review is not None
    assert entry.review.reason == "A secret reason."
    assert pipeline.verify(site).complete
    with open_journal(site):  # what is refused of it, too, is told without its names
        pipeline.decide(site, Review("sort", number, "rejected", "Ada Byron"))
        pipeline.decide(site, Review("sort", number, "accepted", "Bob"))
    pipeline.review.take_up_reviews(site)
    (refused,) = [entry for entry in read_entries(site) if isinstance(entry, ReviewRefused)]
    assert refused.reason.startswith("it was refused; the job is private")
    assert "Ada Byron rejected it" in pipeline.review.reviews_refused(site)[0].why


def test_an_erasure_that_was_killed_takes_what_was_made_of_the_document_with_it(
    plan: RunPlan, drop: Drop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next start ends it: a correction that waits says what is in the document, and so do vectors."""
    site = run(plan, drop)
    with open_journal(site):
        label = "invoice" if row(site, "lease.txt")["label"] == "lease" else "lease"
        pipeline.decide(
            site, Review("sort", row(site, "lease.txt")["audit_index"], "corrected", "Bob", None, {"label": label})
        )
    (site.state / "vectors").mkdir()
    (site.state / "vectors" / "sort.examples").write_bytes(b"of the lease")

    def killed(*folders: Path) -> None:
        raise KeyboardInterrupt

    document = str(row(site, "lease.txt")["document"])
    with monkeypatch.context() as cut:
        cut.setattr("pipeline.outbox.deletion.remove_index", killed)
        with pytest.raises(KeyboardInterrupt):
            pipeline.erase(site, document, "asked for", archive=True, rows=True)
    assert requests.waiting(site)
    pipeline.review.take_up_reviews(site)
    assert not any(requests.folder_of(site).iterdir())
    assert not (site.state / "vectors").exists()


def test_an_erasure_takes_the_decision_with_it(plan: RunPlan, drop: Drop) -> None:
    site = run(replace(plan, private=True), drop)
    number = decide(site, "lease.txt")
    with open_journal(site):
        pipeline.decide(site, Review("sort", number, "corrected", "Bob", "Mrs Doe", {"label": "lease"}))
        pipeline.decide(site, Review("sort", number, "corrected", "Cy", "Mrs Doe too", {"label": "lease"}))
    name, other = requests.waiting(site)
    (requests.folder_of(site) / other).rename(requests.folder_of(site) / other.replace(".json", ".refused"))
    (requests.folder_of(site) / other.replace(".json", ".why")).write_text("Mrs Doe")
    assert requests.waiting(site) == [name]
    document = str(row(site, "lease.txt")["document"])
    erased = pipeline.erase(site, document, "asked", archive=True, rows=True)
    assert number in erased.entries
    assert list(requests.folder_of(site).iterdir()) == []
    assert [each["path"] for each in pipeline.results(site)] == ["invoice.txt"]
    closed = next(entry for entry in read_entries(site) if isinstance(entry, Document) and entry.n == number)
    assert closed.is_decided
    assert pipeline.verify(site).complete
    status = pipeline.status(site)[0]
    assert (status.seen, dict(status.decisions)) == (2, {"rejected": 1})
    drop("new.txt", "Another lease.")
    assert pipeline.run(replace(plan, private=True), observer=Witness()).counts["pending"] == 0


def test_what_a_rule_deletes_goes_with_its_own_part(plan: RunPlan, drop: Drop) -> None:
    """The archive goes by the time at which the document came, rows by that of their part."""
    site = run(plan, drop)
    decide(site, "lease.txt")
    short = replace(plan, retention=Retention(archive_days=1e-9, rows_days=None))
    pipeline.run(short, observer=Witness())
    assert pipeline.verify(site).complete
    number = decide(site, "invoice.txt", "accepted")  # the text is gone, and no place is asked for
    assert pipeline.verify(site).complete
    pipeline.run(replace(plan, retention=Retention(rows_days=1e-9)), observer=Witness())
    assert list(pipeline.results(site)) == []
    assert not list((plan.outbox / "_markdown").rglob("*.md"))
    assert pipeline.verify(site).complete
    assert number > 0


def test_a_held_document_keeps_its_decision(plan: RunPlan, drop: Drop) -> None:
    site = run(plan, drop)
    decide(site, "lease.txt")
    pipeline.hold(site, "lease.txt", "a case")
    pipeline.run(replace(plan, retention=Retention(rows_days=1e-9, archive_days=1e-9)), observer=Witness())
    assert row(site, "lease.txt")["state"] == "rejected"


def test_it_is_not_replayed_and_says_where_the_model_answered(plan: RunPlan, drop: Drop) -> None:
    site = run(plan, drop)
    site.models.mkdir()
    shutil.copy(plan.model.path, site.models / "tiny.gguf")
    seen = row(site, "lease.txt")["audit_index"]
    decide(site, "lease.txt")
    again = decide(site, "lease.txt", "corrected", answer={"label": "lease"})
    verdicts = {each.entry: each for each in pipeline.replay(site, Choice()).rows}
    assert verdicts[seen].verdict == "identical"
    assert verdicts[again].reason == f"decided by a person; the model's own answer is entry {seen}"
    assert pipeline.replay(site, Choice(share=0.5)).of == 2


def test_a_decision_that_nobody_signed_is_found(plan: RunPlan, drop: Drop) -> None:
    """Also by who has the key of the log: the key of decisions is another one."""
    site = run(plan, drop)
    decide(site, "lease.txt")
    real = [entry for entry in read_entries(site) if isinstance(entry, Document)][-1]
    assert real.review is not None
    changed = replace(real.review, by="Eve", id="0" * 32)
    forged = [replace(real, said={}, review=changed), replace(real, said={})]
    with open_journal(site) as log:
        first = log.next_index
        log.commit(forged)
    told = {each.where: each.message for each in pipeline.verify(site).altered}
    assert "the key that was admitted then did not sign the decision" in told[f"entry {first}"]
    assert "the decision was taken up before" in told[f"entry {first + 1}"]


def test_an_export_and_a_search_tell_of_it(plan: RunPlan, drop: Drop, tmp_path: Path) -> None:
    site = run(plan, drop)
    number = decide(site, "lease.txt", reason="no <b>lease</b>")
    (found,) = pipeline.search(site, pipeline.proof.Query(outcome="rejected")).rows
    assert (found["entry"], found["decided_by"], found["decision"]) == (number, "Ada Byron", "rejected")
    pipeline.export(site, tmp_path / "export")
    report = (tmp_path / "export" / "report.html").read_text()
    assert "a person decided on a row" in report
    assert "no &lt;b&gt;lease&lt;/b&gt;" in report
    assert not [entry for entry in read_entries(site) if isinstance(entry, Erased)]
