"""A person's decision is a row of its own that takes the place of the one that was seen, signed and in the log."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pipeline
from pipeline import Review, RunPlan, Site
from pipeline.records.entries import read_entries
from pipeline.records.types import Document
from tests.pipeline.conftest import Witness

Drop = Callable[[str, bytes | str], Path]
LEASE, INVOICE = "The landlord leases the flat to the tenant.", "Invoice 7, total due 12.00 EUR."


def documents(site: Site) -> list[Document]:
    return [entry for entry in read_entries(site) if isinstance(entry, Document)]


def current(site: Site) -> dict[str, dict[str, Any]]:
    return {row["path"]: row for row in pipeline.results(site)}


@pytest.fixture
def done(plan: RunPlan, drop: Drop) -> RunPlan:
    """A job with two answers and a failure."""
    drop("lease.txt", LEASE)
    drop("invoice.txt", INVOICE)
    drop("broken.pdf", b"%PDF-1.7 and nothing else")
    pipeline.run(plan, observer=Witness())
    return plan


def entry_of(site: Site, path: str) -> int:
    return int(current(site)[path]["audit_index"])


def test_a_label_is_corrected(done: RunPlan) -> None:
    site, seen = done.site, entry_of(done.site, "lease.txt")
    before = current(site)["lease.txt"]
    label = "invoice" if before["label"] == "lease" else "lease"
    outcome = pipeline.decide(site, Review("sort", seen, "corrected", "Ada", "it says so", {"label": label}))
    row = current(site)["lease.txt"]
    assert outcome.n == row["audit_index"]
    assert (row["label"], row["score"], row["state"]) == (label, None, "done")
    assert row["review"] == {"action": "corrected", "by": "Ada", "reason": "it says so", "of": seen}
    assert row["replaces"] == [seen]
    assert row["scores"] == before["scores"]
    markdown = (done.outbox / "_markdown" / "lease.txt.md").read_text()
    assert f"**{label}**" in markdown
    assert "**Corrected** by Ada: it says so" in markdown
    verified = pipeline.verify(site)
    assert verified.complete, verified
    entry = documents(site)[-1]
    assert entry.review is not None
    assert entry.review.by == "Ada"
    assert (entry.run, entry.job, entry.model) == ("", "sort", "tiny")


def test_a_row_is_accepted_and_rejected(done: RunPlan) -> None:
    site = done.site
    pipeline.decide(site, Review("sort", entry_of(site, "lease.txt"), "accepted", "Ada"))
    pipeline.decide(site, Review("sort", entry_of(site, "invoice.txt"), "rejected", "Bob", "no document"))
    rows = current(site)
    assert (rows["lease.txt"]["state"], rows["invoice.txt"]["state"]) == ("done", "rejected")
    assert rows["invoice.txt"]["label"] is None
    assert pipeline.verify(site).complete


def test_a_run_afterwards_knows_the_documents_still(done: RunPlan, drop: Drop) -> None:
    pipeline.decide(done.site, Review("sort", entry_of(done.site, "lease.txt"), "rejected", "Ada"))
    drop("lease.txt", LEASE)
    report = pipeline.run(done, observer=Witness())
    assert report.counts["duplicate"] == 1
    states = {row["state"] for row in pipeline.results(done.site) if row["path"] == "lease.txt"}
    assert states == {"rejected", "duplicate"}  # that it came again takes the place of no answer
