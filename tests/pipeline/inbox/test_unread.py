"""Files that are not read because of their size or mode: one row, no copy, and a place in every later run."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import audit
import pipeline
from pipeline import Failure, RunPlan
from tests.pipeline.conftest import Witness

Drop = Callable[[str, bytes | str], Path]
LEASE = "The landlord leases the flat to the tenant.\n"
HUGE = 10 << 30


def go(plan: RunPlan, **changes: Any) -> pipeline.RunReport:
    return pipeline.run(replace(plan, **changes), observer=Witness())


def rows(plan: RunPlan) -> list[dict[str, Any]]:
    found = audit.read_entries(plan.site.audit, plan.site.public_key)
    return [entry for _, entry in found if entry["type"] == "document"]


def with_limit(plan: RunPlan, limit: int) -> RunPlan:
    return replace(plan, site=replace(plan.site, max_document_bytes=limit))


def used(folder: Path) -> int:
    """Bytes of blocks on the disk, not of sizes."""
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*"))


@pytest.fixture
def huge(drop: Drop) -> Path:
    """Ten gigabytes that take no room: all of it a hole."""
    path = drop("huge.pdf", b"")
    os.truncate(path, HUGE)
    return path


def test_what_is_too_large_is_refused_before_it_is_copied_and_stays(plan: RunPlan, drop: Drop, huge: Path) -> None:
    drop("lease.txt", LEASE)
    before = (huge.stat().st_ino, huge.stat().st_mtime_ns)
    report = go(plan)
    assert (report.counts["failed"], report.counts["done"]) == (1, 1)
    assert used(plan.site.root) < 32 << 20
    assert (huge.stat().st_ino, huge.stat().st_mtime_ns, huge.stat().st_size) == (*before, HUGE)
    (row,) = [row for row in rows(plan) if row["path"] == "huge.pdf"]
    assert (row["document"], row["size"], row["failure"]) == (None, HUGE, "too_large")
    assert [path.name for path in plan.failed.iterdir()] == ["huge.pdf.reason.json"]
    told = json.loads((plan.failed / "huge.pdf.reason.json").read_text())
    assert told["reason"] == (
        f"it has {HUGE} bytes; limits.document_mib allows 10000000; it was not read, and lies where it lay: "
        "inbox/sort/huge.pdf"
    )
    assert pipeline.verify(plan.site).complete


def test_later_runs_leave_it_alone_until_it_changes(plan: RunPlan, huge: Path) -> None:
    go(plan)
    for _ in range(2):
        report = go(plan)
        assert report.counts["ignored"] == report.seen == 1
        assert report.ignored == (
            ("huge.pdf", "failed before as too_large, and is as it was; cloister retry takes it up again"),
        )
    assert len(rows(plan)) == 1
    os.truncate(huge, HUGE + 1)
    assert go(plan).counts["failed"] == 1
    assert rows(plan)[-1]["replaces"] == [rows(plan)[0]["n"]]
    assert pipeline.verify(plan.site).complete


def test_a_higher_limit_takes_it_in_and_its_reason_goes(plan: RunPlan, drop: Drop) -> None:
    path = drop("lease.txt", LEASE)
    assert go(with_limit(plan, 10)).counts["failed"] == 1
    assert path.exists()
    assert go(plan).counts["done"] == 1
    assert not path.exists()
    assert not any(plan.failed.glob("*.json"))
    assert pipeline.verify(plan.site).complete


def test_retry_takes_it_up_where_it_lies(plan: RunPlan, drop: Drop) -> None:
    drop("a.txt", LEASE)
    drop("b.pdf", b"%PDF-1.7\nbroken")
    small = with_limit(plan, 20)
    assert go(small).counts["failed"] == 2
    assert go(small, retry=frozenset({Failure.TIMEOUT})).seen == 0
    again = go(small, retry=frozenset({Failure.TOO_LARGE}))
    assert (again.seen, again.counts["failed"]) == (1, 1)
    done = go(plan, retry=frozenset(Failure))
    assert (done.counts["done"], done.counts["failed"]) == (1, 1)
    assert rows(plan)[-1]["replaces"] == [rows(plan)[-3]["n"]] or rows(plan)[-2]["replaces"]
    assert pipeline.verify(plan.site).complete


def test_a_copy_of_earlier_versions_in_failed_is_not_copied_again(plan: RunPlan, drop: Drop) -> None:
    """One that failed for another reason while the limit was higher: it keeps its sha256 and its place."""
    drop("b.pdf", b"%PDF-1.7\nbroken")
    go(plan)
    kept = plan.failed / "b.pdf"
    inode = kept.stat().st_ino
    report = go(with_limit(plan, 5), retry=frozenset(Failure))
    assert report.failed[0][1] == "too_large"
    assert rows(plan)[-1]["document"] == rows(plan)[0]["document"]
    assert kept.stat().st_ino == inode
    assert pipeline.verify(plan.site).complete
    assert go(plan, retry=frozenset(Failure)).failed[0][1] == "corrupt"
    assert pipeline.verify(plan.site).complete


def test_its_reason_is_written_again_where_a_run_was_killed(
    plan: RunPlan, huge: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class KilledError(Exception):
        pass

    def die(*_: object) -> None:
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(sys.modules["pipeline.outbox.commit"], "place", die)
        with pytest.raises(KilledError):
            go(plan)
    assert not plan.failed.exists()
    go(plan)
    assert [path.name for path in plan.failed.iterdir()] == ["huge.pdf.reason.json"]
    assert len(rows(plan)) == 1
    assert huge.stat().st_size == HUGE
    assert pipeline.verify(plan.site).complete


def test_private_jobs_hide_how_it_lay_and_know_it_again(plan: RunPlan, huge: Path) -> None:
    private = replace(plan, private=True)
    go(private)
    (row,) = rows(plan)
    assert row["unread"] not in (None, "")
    assert str(HUGE) not in json.dumps(row)
    assert go(private).counts["ignored"] == 1
    assert len(rows(plan)) == 1


def test_holes_of_a_file_that_is_taken_in_stay_holes(plan: RunPlan, drop: Drop) -> None:
    path = drop("sparse.pdf", b"%PDF-1.7\nbroken")
    os.truncate(path, 8 << 20)
    bytes_before = path.read_bytes()
    go(plan)
    kept = plan.failed / "sparse.pdf"
    assert kept.read_bytes() == bytes_before
    assert used(plan.failed) < 4 << 20


def test_what_is_too_large_asks_for_no_room(plan: RunPlan, drop: Drop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or a sparse file of more than the disk would end every run."""
    path = drop("huge.pdf", b"")
    os.truncate(path, 1 << 43)
    assert go(plan).counts["failed"] == 1


MODE_000 = """
import json, os, sys
from pathlib import Path
from pipeline.parse.sandbox import drop_capabilities
drop_capabilities()  # of root, to whom every file can be read
import pipeline
from pipeline import Failure
from dataclasses import replace
from tests.pipeline.conftest import Witness, make_plan, make_site
plan = make_plan(make_site(Path(sys.argv[1])), Path(sys.argv[2]))
path = plan.input.folder / "lease.txt"
path.write_text("The landlord leases the flat to the tenant.")
path.chmod(0)
def go(**changes):
    report = pipeline.run(replace(plan, **changes), observer=Witness())
    return {state: count for state, count in report.counts.items() if count}
told = [go(), go(), go(), go(retry=frozenset(Failure)), go()]
path.chmod(0o200)
told += [go(), go()]
path.chmod(0o600)
told += [go()]
print(json.dumps([told, pipeline.verify(plan.site).complete, path.exists()]))
"""


def test_a_file_that_may_not_be_read_is_tried_once_until_its_mode_changes(tmp_path: Path, tiny_model: Path) -> None:
    command = [sys.executable, "-c", MODE_000, str(tmp_path / "workspace"), str(tiny_model)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3])
    told, whole, there = json.loads(done.stdout.splitlines()[-1])
    once, again = {"failed": 1}, {"ignored": 1}
    assert told == [once, again, again, once, again, once, again, {"done": 1}]
    assert (whole, there) == (True, False)
