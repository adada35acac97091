"""A run on several machines gives what a run on one gives, and says who made each row."""

import io
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import pipeline
from pipeline import Choice, RunPlan, RunReport, Site, run
from pipeline.proof.judge import Verdict
from pipeline.records.entries import read_entries
from pipeline.records.types import Document
from tests.cluster.processes import Machines
from tests.pipeline.conftest import Witness, make_plan, make_site

LEASE = "The landlord leases the flat number {} to the tenant. The rent is due.\n"
INVOICE = "Invoice {}: the total due is {} EUR, payable at once.\n"
OF_RUN = {"run", "audit_index", "replaces", "supersedes", "seconds", "finished_at", "software"}


def fill(folder: Path, count: int = 60) -> None:
    """Put documents into an input folder: texts, a broken one, copies, an archive with documents."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        text = LEASE.format(number) * (1 + number % 7) if number % 2 else INVOICE.format(number, 10 * number)
        (folder / f"{number:03}.txt").write_text(text)
    (folder / "copy.txt").write_text((folder / "001.txt").read_text())
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing of a PDF")
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for number in range(5):
            file.writestr(zipfile.ZipInfo(f"in/{number}.txt"), LEASE.format(1000 + number))
    (folder / "many.zip").write_bytes(archive.getvalue())


def rows(plan: RunPlan) -> list[dict[str, Any]]:
    """The rows of a job without what differs between two runs, by path."""
    found = [row for part in sorted(plan.outbox.glob("*.parquet")) for row in pq.read_table(part).to_pylist()]
    return sorted(({k: v for k, v in row.items() if k not in OF_RUN} for row in found), key=lambda row: row["path"])


def makers(site: Site) -> list[tuple[str | None, str]]:
    """Who made each row with an answer, the name of a worker or None for the head, and the row's state."""
    entries = (entry for entry in read_entries(site, 0) if isinstance(entry, Document) and entry.tokens)
    return [(entry.worker.worker if entry.worker else None, entry.state) for entry in entries]


@pytest.fixture
def alone(tmp_path: Path, tiny_model: Path) -> tuple[RunPlan, RunReport]:
    """A job of another workspace with the same documents, which ran on this machine alone."""
    plan = make_plan(make_site(tmp_path / "alone"), tiny_model)
    fill(plan.input.folder)
    return plan, run(plan, observer=Witness())


@pytest.mark.usefixtures("ready_first")
def test_rows_are_those_of_one_machine(two: Machines, plan: RunPlan, alone: tuple[RunPlan, RunReport]) -> None:
    fill(plan.input.folder)
    report = run(replace(plan, cluster=two.cluster), observer=Witness())
    assert report.counts == alone[1].counts
    assert rows(plan) == rows(alone[0])
    assert {name for name, _ in makers(plan.site)} <= {"one", "two"}
    assert pipeline.verify(plan.site).sound
    assert {row.verdict for row in pipeline.replay(plan.site, Choice()).rows} <= {
        Verdict.IDENTICAL,
        Verdict.UNREPLAYABLE,
    }
