"""Results and archive held against the log: altered is tampering, absent is reported."""

from collections.abc import Callable
from pathlib import Path

import pytest

import pipeline
from pipeline import RunPlan
from tests.pipeline.conftest import Witness

Drop = Callable[[str, bytes | str], Path]


@pytest.fixture
def ran(plan: RunPlan, drop: Drop) -> RunPlan:
    drop("lease.txt", "The landlord leases the flat to the tenant.")
    drop("invoice.txt", "Invoice 7, total due 12.00.")
    pipeline.run(plan, observer=Witness())
    assert pipeline.verify(plan.site).ok
    return plan


def flip(path: Path) -> None:
    body = bytearray(path.read_bytes())
    body[len(body) // 2] ^= 1
    path.write_bytes(body)


@pytest.mark.parametrize(
    "pattern", ["outbox/*/*.parquet", "outbox/*/markdown/*.md", "archive/*/*/*/bytes/*", "archive/*/*/*/text/*"]
)
def test_a_changed_byte_is_found_and_named(ran: RunPlan, pattern: str) -> None:
    path = next(iter(ran.site.root.glob(pattern)))
    flip(path)
    report = pipeline.verify(ran.site)
    assert not report.ok
    assert any(finding.where in str(path) for finding in report.altered)


@pytest.mark.parametrize("pattern", ["outbox/*/*.parquet", "outbox/*/markdown/*.md"])
def test_a_removed_result_is_absent_not_tampering(ran: RunPlan, pattern: str) -> None:
    next(iter(ran.site.root.glob(pattern))).unlink()
    report = pipeline.verify(ran.site)
    assert report.ok
    assert len(report.absent) == 1


def test_a_part_that_nobody_committed_is_found(ran: RunPlan) -> None:
    part = next(iter(ran.outbox.glob("*.parquet")))
    part.with_name("part-forged.parquet").write_bytes(part.read_bytes())
    assert [finding.where for finding in pipeline.verify(ran.site).altered] == ["outbox/sort/part-forged.parquet"]


def test_a_changed_log_is_found_first(ran: RunPlan) -> None:
    flip(next(path for path in sorted((ran.site.audit).rglob("*.jsonl"))))
    report = pipeline.verify(ran.site)
    assert report.integrity
    assert report.checked["parts"] == 0


def test_of_two_markdown_files_of_one_name_the_later_is_checked(plan: RunPlan, drop: Drop) -> None:
    for text in ("The landlord leases the flat.", "Invoice 7, total due 12.00."):
        drop("a.txt", text)
        pipeline.run(plan, observer=Witness())
    report = pipeline.verify(plan.site)
    assert report.ok
    assert not report.absent
    assert report.checked["markdown"] == len(list(plan.outbox.glob("markdown/*.md")))
