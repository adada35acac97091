"""What is deleted by rule is a record first, then gone, and never missing; what is held stays."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import audit
import pipeline
from pipeline import RunPlan
from pipeline.keep.retention import Shelf, due
from pipeline.plan import Retention
from pipeline.records.entries import from_json
from tests.pipeline.conftest import Witness, make_plan, make_site
from tests.pipeline.outbox.test_recover import fill, run_and_die, tree
from tests.pipeline.records.samples import completed
from tests.pipeline.test_containers import zipped

Drop = Callable[[str, bytes | str], Path]
LEASE = "The landlord leases the flat to the tenant."
AT_ONCE = Retention(0, 0)
NOW = datetime(2026, 11, 22, 4, tzinfo=UTC)


def run(plan: RunPlan, **changes: Any) -> pipeline.RunReport:
    return pipeline.run(replace(plan, **changes), observer=Witness())


def entries(plan: RunPlan, kind: str) -> list[dict[str, Any]]:
    return [e for _, e in audit.read_entries(plan.site.audit, plan.site.public_key) if e["type"] == kind]


def kept(plan: RunPlan) -> set[str]:
    folders = (plan.archive, plan.outbox)
    return {str(p.relative_to(plan.site.root)) for f in folders for p in f.rglob("*") if p.is_file()}


@pytest.fixture
def ran(plan: RunPlan, drop: Drop) -> RunPlan:
    drop("lease.txt", LEASE)
    drop("invoice.txt", "Invoice 7, total due 12.00.")
    run(plan)
    return plan


def test_the_archive_goes_by_rule_and_is_not_missing(ran: RunPlan) -> None:
    run(ran, retention=Retention(archive_days=0))
    assert not tree(ran.archive)
    (record,) = entries(ran, "deleted.by_rule")
    assert (record["rule"], record["days"], record["parts"]) == ("archive_days", 0, [])
    assert record["archive"] == [e["n"] for e in entries(ran, "document")]
    run(ran, retention=Retention(archive_days=0))
    assert len(entries(ran, "deleted.by_rule")) == 1
    assert [e["deletion"] for e in entries(ran, "deleted")] == [record["n"]]
    report = pipeline.verify(ran.site)
    assert (report.ok, report.absent, report.checked["deleted"], report.checked["rows"]) == (True, (), 2, 2)


def test_rows_go_by_rule_with_their_markdown(ran: RunPlan) -> None:
    run(ran, retention=Retention(rows_days=0))
    assert not list(ran.outbox.rglob("*.parquet"))
    assert not (ran.outbox / "_markdown").exists()
    assert list(pipeline.results(ran.site)) == []
    report = pipeline.verify(ran.site)
    assert (report.ok, report.absent, report.checked["deleted"], report.checked["archived"]) == (True, (), 5, 2)


def test_nothing_goes_before_its_day(ran: RunPlan) -> None:
    before = kept(ran)
    run(ran, retention=Retention(1, 1))
    assert kept(ran) == before
    assert not entries(ran, "deleted.by_rule")


def test_what_is_gone_without_a_record_is_still_missing(ran: RunPlan) -> None:
    run(ran, retention=Retention(rows_days=0))
    next(ran.archive.rglob("bytes/*")).parent.parent.rename(ran.site.root / "elsewhere")
    report = pipeline.verify(ran.site)
    assert len(report.absent) == 1
    assert "the archived document is gone" in report.absent[0].message


def test_what_was_deleted_and_lies_there_again_is_told(ran: RunPlan) -> None:
    part = next(ran.outbox.glob("*.parquet"))
    body = part.read_bytes()
    run(ran, retention=AT_ONCE)
    part.write_bytes(body)
    (note,) = [note for note in pipeline.verify(ran.site).notes if part.name in note]
    assert "deleted by entry" in note


def test_a_held_document_stays_with_its_row_until_it_is_released(ran: RunPlan) -> None:
    held = pipeline.hold(ran.site, "lease.txt", "case 12")
    run(ran, retention=AT_ONCE)
    assert [path.name for path in ran.archive.rglob("bytes/*")] == ["lease.txt"]
    assert list(ran.outbox.glob("*.parquet")), "its part, as a whole"
    assert [(hold.number, hold.reason) for hold in pipeline.holds(ran.site)] == [(held.number, "case 12")]
    pipeline.release(ran.site, "lease.txt", None, "case closed")
    run(ran, retention=AT_ONCE)
    assert not kept(ran)
    report = pipeline.verify(ran.site)
    assert (report.ok, report.absent, report.notes) == (True, (), ())


def test_of_two_holds_one_has_to_be_named(ran: RunPlan) -> None:
    first, second = (pipeline.hold(ran.site, "lease.txt", case) for case in ("case 12", "case 13"))
    with pytest.raises(LookupError, match=f"{first.number}: case 12; {second.number}: case 13"):
        pipeline.release(ran.site, "lease.txt", None, "closed")
    pipeline.release(ran.site, "lease.txt", first.number, "closed")
    assert pipeline.holds(ran.site) == [second]
    with pytest.raises(LookupError, match="no such hold"):
        pipeline.release(ran.site, "invoice.txt", None, "closed")


def test_a_hold_covers_what_was_inside(plan: RunPlan, drop: Drop) -> None:
    drop("post.zip", zipped({"a.txt": LEASE.encode(), "inner.zip": zipped({"b.txt": b"Total due: 3."})}))
    run(plan)
    assert len(pipeline.hold(plan.site, "post.zip", "case 12").documents) == 4
    run(plan, retention=AT_ONCE)
    assert not entries(plan, "deleted.by_rule")


def test_a_document_whose_row_is_deleted_is_new_when_it_comes_again(ran: RunPlan, drop: Drop) -> None:
    drop("again.txt", LEASE)
    report = run(ran, retention=AT_ONCE)
    assert (report.counts["done"], report.counts["duplicate"]) == (1, 0)
    drop("once more.txt", LEASE)
    assert run(ran).counts["duplicate"] == 1
    check = pipeline.verify(ran.site)
    assert (check.ok, check.absent, check.notes) == (True, (), ())


def test_a_kept_input_is_not_done_again_when_its_row_is_deleted(plan: RunPlan, drop: Drop) -> None:
    plan = replace(plan, input=replace(plan.input, afterwards="keep"))
    drop("lease.txt", LEASE)
    assert run(plan).counts["done"] == 1
    assert run(plan, retention=AT_ONCE).counts["ignored"] == 1
    assert not kept(plan)


def test_a_markdown_file_that_was_made_anew_stays(plan: RunPlan, drop: Drop) -> None:
    drop("a.txt", LEASE)
    run(plan)
    drop("a.txt", "Invoice 7, total due 12.00.")
    run(plan)
    old, new = entries(plan, "document")
    shelf = Shelf(plan.job)
    for entry in (old, new):
        shelf.take(from_json(entry))
    shelf.parts[new["part"]] = ("9999", [])
    (record,) = due(shelf, Retention(rows_days=0), datetime.now(UTC), ())
    assert (record.markdown, record.parts) == ((), (old["part"],))


def test_a_document_that_came_again_counts_from_its_last_time() -> None:
    shelf = Shelf("sort")
    facts = {"type": "document", "job": "sort", "part": "p", "markdown": None, "document": "d"}
    for number, (state, days) in enumerate([("done", 30), ("duplicate", 10), ("failed", 1)]):
        time = (NOW - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        shelf.take(from_json(completed({**facts, "n": number, "state": state, "time": time})))
    assert due(shelf, Retention(archive_days=11), NOW, ()) == []
    (record,) = due(shelf, Retention(archive_days=9), NOW, ())
    assert record.archive == (0, 1)
    assert due(shelf, Retention(archive_days=9), NOW, {"d"}) == []


def test_a_record_is_never_longer_than_an_entry_may_be() -> None:
    shelf = Shelf("j" * 64)
    for number in range(10**12, 10**12 + 9000):
        part = f"outbox/{'j' * 64}/part-20261120T220000Z-abcdef-{number}.parquet"
        said = {
            "type": "document", "job": "j" * 64, "part": part, "markdown": {"file": f"{number}.md", "sha256": "0"},
            "document": str(number), "state": "done", "n": number, "time": "2020-01-01T00:00:00.000000Z",
        }  # fmt: skip
        shelf.take(from_json(completed(said)))
    records = due(shelf, Retention(1, 1), NOW, ())
    assert max(len(audit.canonical(record.to_json())) for record in records) < 60_000
    assert sum(len(record.archive) for record in records) == 9000
    assert sum(len(record.parts) for record in records) == 9000


def test_killed_before_every_change_nothing_is_deleted_by_half(tmp_path: Path, tiny_model: Path) -> None:
    """The workspace is copied, so that the documents are computed once."""
    whole = make_plan(make_site(tmp_path / "whole"), tiny_model)
    run(fill(whole, {"a.txt": LEASE.encode()}))
    step, killed, redone = 4, True, 0
    while killed:
        root = shutil.copytree(whole.site.root, tmp_path / str(step))
        site = replace(whole.site, root=root, key_file=root / "keys" / "log.key")
        plan = replace(whole, site=site, input=replace(whole.input, folder=root / "inbox" / "sort"))
        killed = run_and_die(replace(plan, retention=AT_ONCE), step)
        if killed:
            run(plan)
        gone = bool(entries(plan, "deleted.by_rule"))
        redone += killed and gone
        assert bool(kept(plan)) != gone, step
        assert len(entries(plan, "deleted")) == len(entries(plan, "deleted.by_rule")), step
        report = pipeline.verify(plan.site)
        assert (report.ok, report.absent, report.notes) == (True, (), ()), step
        step += 3
    assert redone > 2
