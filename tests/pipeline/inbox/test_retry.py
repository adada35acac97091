"""Failed documents taken up again from failed/: those that can be read now have an answer, and leave it."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pipeline
from pipeline import Failure, RunPlan
from tests.pipeline.conftest import Witness
from tests.pipeline.test_containers import LEASE, go, rows, states, zipped

Drop = Callable[[str, bytes | str], Path]
LONG = b"The landlord leases the flat to the tenant. " * 40


def small(plan: RunPlan, characters: int) -> RunPlan:
    """With a limit on the text that some documents are beyond."""
    limits = replace(plan.site.limits, output_characters=characters)
    return replace(plan, site=replace(plan.site, limits=limits))


def retry(plan: RunPlan, *classes: Failure) -> pipeline.RunReport:
    return go(replace(plan, retry=frozenset(classes or Failure)))


def test_what_failed_is_read_again_when_the_limit_is_raised(plan: RunPlan, drop: Drop) -> None:
    drop("sub/long.txt", LONG)
    drop("copy.txt", LONG)
    drop("broken.pdf", b"%PDF-1.7\nbroken")
    go(small(plan, 1000))
    before = rows(plan)
    assert states(plan) == {"copy.txt": "too_large", "sub/long.txt": "too_large", "broken.pdf": "corrupt"}
    report = retry(plan)
    assert states(plan) == {"copy.txt": "done", "sub/long.txt": "duplicate", "broken.pdf": "corrupt"}
    assert report.seen == 3
    assert rows(plan)["copy.txt"]["supersedes"] in {
        before["copy.txt"]["audit_index"],
        before["sub/long.txt"]["audit_index"],
    }
    left = sorted(str(path.relative_to(plan.failed)) for path in plan.failed.rglob("*"))
    assert left == ["broken.pdf", "broken.pdf.reason.json"]
    assert pipeline.verify(plan.site).ok
    assert retry(plan).seen == 1


def test_only_the_classes_that_are_asked_for(plan: RunPlan, drop: Drop) -> None:
    drop("long.txt", LONG)
    drop("broken.pdf", b"%PDF-1.7\nbroken")
    go(small(plan, 1000))
    assert retry(plan, Failure.TIMEOUT).seen == 0
    assert retry(plan, Failure.TOO_LARGE, Failure.TIMEOUT).counts["done"] == 1


def test_a_document_that_failed_inside_an_archive(plan: RunPlan, drop: Drop) -> None:
    drop("post.zip", zipped({"a/long.txt": LONG, "lease.txt": LEASE}))
    go(small(plan, 1000))
    assert states(plan)["post.zip!/a/long.txt"] == "too_large"
    retry(plan)
    row = rows(plan)["post.zip!/a/long.txt"]
    assert row["state"] == "done"
    assert row["parent"] == rows(plan)["post.zip"]["document"]
    assert not any(path.is_file() for path in plan.failed.rglob("*"))
    assert pipeline.verify(plan.site).ok


def test_an_archive_that_failed_brings_its_documents(plan: RunPlan, drop: Drop) -> None:
    limits = replace(plan.site.limits, unpacked_documents=1)
    drop("post.zip", zipped({"a.txt": LEASE, "b.txt": LONG}))
    go(replace(plan, site=replace(plan.site, limits=limits)))
    assert states(plan) == {"post.zip": "bomb"}
    assert retry(plan).counts["done"] == 3
    assert states(plan) == dict.fromkeys(("post.zip", "post.zip!/a.txt", "post.zip!/b.txt"), "done")


def test_kept_inputs_are_retried_too(plan: RunPlan, drop: Drop) -> None:
    plan = replace(plan, input=replace(plan.input, afterwards="keep"))
    drop("long.txt", LONG)
    go(small(plan, 1000))
    assert retry(plan).counts["done"] == 1
    assert (plan.input.folder / "long.txt").exists()
    assert go(plan).known == 1


def test_a_copy_that_somebody_took_away_or_changed_stays_failed(plan: RunPlan, drop: Drop) -> None:
    drop("gone.txt", LONG)
    drop("changed.txt", LONG + b"!")
    go(small(plan, 1000))
    (plan.failed / "gone.txt").unlink()
    (plan.failed / "changed.txt").write_bytes(b"other")
    report = retry(plan)
    assert report.counts["pending"] == report.seen == 2
    assert {reason for _, reason in report.pending} == {"its copy in failed/ is gone, or was changed"}
    assert set(states(plan).values()) == {"too_large"}


def test_a_document_dropped_again_leaves_failed_too(plan: RunPlan, drop: Drop) -> None:
    drop("long.txt", LONG)
    go(small(plan, 1000))
    drop("long.txt", LONG)
    go(plan)
    assert not any(path.is_file() for path in plan.failed.rglob("*"))
    assert pipeline.verify(plan.site).ok


def test_the_reason_says_what_it_means_and_what_to_do(plan: RunPlan, drop: Drop) -> None:
    drop("empty.txt", b"")
    pipeline.run(plan, observer=Witness())
    told = json.loads((plan.failed / "empty.txt.reason.json").read_text())
    assert told["meaning"] == Failure.EMPTY.sentence
    assert told["remedy"] == Failure.EMPTY.remedy
