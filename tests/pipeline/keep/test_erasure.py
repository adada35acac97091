"""A document is erased with everything that tells of it, on request, and nothing else is."""

import shutil
from dataclasses import replace
from email.message import EmailMessage
from pathlib import Path

import pytest

import pipeline
from pipeline import Failure, RunPlan
from pipeline.keep.about import about
from tests.pipeline.conftest import make_plan, make_site
from tests.pipeline.outbox.test_recover import POST, fill, run_and_die, tree
from tests.pipeline.records.test_private import LEASE, Drop, log_bytes, of_kind, plan, run
from tests.pipeline.test_containers import zipped

__all__ = ["plan"]


def test_erased_nothing_opens_it_and_the_log_is_as_right_as_before(plan: RunPlan, drop: Drop) -> None:
    drop("Anna.txt", LEASE)
    drop("Bernd.txt", "Invoice 7, total due 12.00.")
    run(plan)
    before = log_bytes(plan)
    with pytest.raises(pipeline.keep.ErasureRefusedError, match="--archive"):
        pipeline.erase(plan.site, "Anna.txt", "asked for", rows=True)
    with pytest.raises(pipeline.keep.ErasureRefusedError, match="--rows"):
        pipeline.erase(plan.site, "Anna.txt", "asked for", archive=True)
    erased = pipeline.erase(plan.site, "Anna.txt", "asked for", archive=True, rows=True)
    assert (len(erased.entries), erased.rows, erased.named) == (2, 1, ()), "the document, and the report that shows it"
    assert log_bytes(plan).startswith(before)
    assert not [path for path in plan.site.root.rglob("*") if path.is_file() and b"Anna" in path.read_bytes()]
    assert [row["path"] for row in pipeline.results(plan.site)] == ["Bernd.txt"]
    report = pipeline.verify(plan.site)
    assert (report.ok, report.absent, report.notes) == (True, (), ())
    with pytest.raises(LookupError):
        pipeline.story(plan.site, "Anna.txt")
    drop("Anna.txt", LEASE)
    assert run(plan).counts["done"] == 1, "it is new: nobody knows that it was here"
    pipeline.erase(plan.site, "Bernd.txt", "asked for", archive=True, rows=True)
    assert pipeline.verify(plan.site).complete


def test_a_failed_document_is_erased_with_its_reason(plan: RunPlan, drop: Drop) -> None:
    drop("Anna.pdf", "%PDF-1.7\nbroken")
    run(plan)
    pipeline.erase(plan.site, "Anna.pdf", "asked for", archive=True, rows=True)
    assert not tree(plan.failed)
    assert pipeline.verify(plan.site).complete
    assert run(plan, retry=frozenset(Failure)).seen == 0


def test_a_failed_document_is_erased_also_without_its_reason(plan: RunPlan, drop: Drop) -> None:
    """Somebody took the reason away, by which it was known whose it is; its bytes tell that, too."""
    drop("broken.pdf", "%PDF-1.7")
    run(plan)
    (plan.failed / "broken.pdf.reason.json").unlink()
    pipeline.erase(plan.site, "broken.pdf", "asked for", archive=True, rows=True)
    assert not any(plan.failed.iterdir())


def test_what_is_inside_is_erased_too(plan: RunPlan) -> None:
    fill(plan, {"post.zip": POST["post.zip"]})
    run(plan)
    pipeline.erase(plan.site, "post.zip", "asked for", archive=True, rows=True)
    assert list(pipeline.results(plan.site)) == []
    assert not tree(plan.archive)
    assert pipeline.verify(plan.site).complete


def letter(attached: bytes) -> bytes:
    mail = EmailMessage()
    mail["Subject"], mail["From"] = "A flat", "ada@example.org"
    mail.set_content("Please see the attachment.")
    mail.add_attachment(attached, maintype="application", subtype="octet-stream", filename="post.zip")
    return bytes(mail)


@pytest.mark.parametrize("private", [True, False])
def test_what_an_erased_document_came_in_is_told_and_erased_on_demand(
    plan: RunPlan, drop: Drop, tmp_path: Path, tiny_model: Path, private: bool
) -> None:
    """An attachment of a mail in an archive, another mail with the same one, and a document of its own."""
    plan = replace(plan, private=private)
    body = b"Anna Meier owes 12.00. " * 40
    inner = letter(zipped({"Anna.txt": body, "other.txt": b"Total due: 3."}))
    drop("mails.zip", zipped({"first.eml": inner, "beside.txt": b"An invoice."}))
    drop("Bernd.txt", "Bernd leases a flat.")
    run(plan)
    whole = shutil.copytree(plan.site.root, tmp_path / "whole")
    (anna,) = (row["document"] for row in pipeline.results(plan.site) if row["path"].endswith("Anna.txt"))

    erased = pipeline.erase(plan.site, anna, "request 7", archive=True, rows=True)
    around = sorted((each.path, each.job) for each in erased.around)
    assert [path for path, _ in around] == ["mails.zip", "mails.zip!/first.eml", "mails.zip!/first.eml!/post.zip"]
    assert pipeline.verify(plan.site).complete
    for each in erased.around:
        assert about(plan.site, each.document[:16]).document == each.document

    site = replace(plan.site, root=whole, key_file=whole / "keys" / "log.key")
    erased = pipeline.erase(site, anna, "request 7", archive=True, rows=True, containers=True)
    assert erased.around == ()
    assert [row["path"] for row in pipeline.results(site)] == ["Bernd.txt"]
    kept = [path.name for path in (whole / "archive").rglob("bytes/*")]
    assert kept == ["Bernd.txt"]
    assert pipeline.verify(site).complete


def test_a_container_that_is_held_is_not_erased_with_what_was_in_it(plan: RunPlan, drop: Drop) -> None:
    drop("post.zip", zipped({"Anna.txt": LEASE.encode()}))
    run(plan)
    pipeline.hold(plan.site, "post.zip", "case 12")
    with pytest.raises(pipeline.keep.ErasureRefusedError, match="held by entry"):
        pipeline.erase(plan.site, "post.zip!/Anna.txt", "x", archive=True, rows=True, containers=True)
    pipeline.release(plan.site, "post.zip", None, "closed")
    assert pipeline.erase(plan.site, "post.zip!/Anna.txt", "x", archive=True, rows=True, containers=True).around == ()


def test_a_held_document_is_not_erased(plan: RunPlan, drop: Drop) -> None:
    drop("Anna.txt", LEASE)
    run(plan)
    hold = pipeline.hold(plan.site, "Anna.txt", "case 12")
    with pytest.raises(pipeline.keep.ErasureRefusedError, match=f"held by entry {hold.number}: case 12"):
        pipeline.erase(plan.site, "Anna.txt", "asked for", archive=True, rows=True)
    assert pipeline.verify(plan.site).complete


def test_of_a_job_that_is_not_private_bytes_and_rows_are_erased(plan: RunPlan, drop: Drop) -> None:
    drop("Anna.txt", LEASE)
    run(plan, private=False)
    with pytest.raises(pipeline.keep.ErasureRefusedError, match="its names stay in the log"):
        pipeline.erase(plan.site, "Anna.txt", "asked for")
    erased = pipeline.erase(plan.site, "Anna.txt", "asked for", archive=True)
    assert (erased.archive, erased.named) == (1, (of_kind(plan, "document")[0]["n"],))
    assert not tree(plan.archive)
    assert len(list(pipeline.results(plan.site))) == 1
    assert pipeline.verify(plan.site).complete
    assert pipeline.erase(plan.site, "Anna.txt", "asked for", archive=True, rows=True).rows == 1
    with pytest.raises(pipeline.keep.ErasureRefusedError, match="nothing of it is left"):
        pipeline.erase(plan.site, "Anna.txt", "asked for", archive=True, rows=True)
    assert pipeline.verify(plan.site).complete


def test_a_part_that_was_changed_is_not_written_anew(plan: RunPlan, drop: Drop) -> None:
    drop("Anna.txt", LEASE)
    run(plan)
    (part,) = plan.outbox.glob("*.parquet")
    part.write_bytes(part.read_bytes()[::-1])
    with pytest.raises(pipeline.keep.ErasureRefusedError, match="not the part that the log proves"):
        pipeline.erase(plan.site, "Anna.txt", "asked for", archive=True, rows=True)


def test_rows_changed_after_an_erasure_are_found(plan: RunPlan, drop: Drop) -> None:
    drop("Anna.txt", LEASE)
    drop("Bernd.txt", "Invoice 7, total due 12.00.")
    run(plan)
    pipeline.erase(plan.site, "Anna.txt", "asked for", archive=True, rows=True)
    (part,) = plan.outbox.glob("*.parquet")
    body = bytearray(part.read_bytes())
    body[len(body) // 2] ^= 1
    part.write_bytes(body)
    assert not pipeline.verify(plan.site).ok


def test_killed_anywhere_an_erasure_is_done_or_not_begun(tmp_path: Path, tiny_model: Path) -> None:
    whole = replace(make_plan(make_site(tmp_path / "whole"), tiny_model), private=True)
    run(fill(whole, {"Anna.txt": LEASE.encode(), "Bernd.txt": b"Total due: 3."}))
    step, killed, redone = 2, True, 0
    while killed:
        root = shutil.copytree(whole.site.root, tmp_path / str(step))
        site = replace(whole.site, root=root, key_file=root / "keys" / "log.key")
        plan = replace(whole, site=site, input=replace(whole.input, folder=root / "inbox" / "sort"))
        killed = run_and_die(
            plan, step, lambda site=site: pipeline.erase(site, "Anna.txt", "asked for", archive=True, rows=True)
        )
        if killed:
            report = pipeline.verify(site)
            assert (report.integrity, report.altered, report.added, report.absent) == ((), (), (), ()), step
            run(plan)
        gone = bool(of_kind(plan, "erased"))
        redone += killed and gone
        assert [row["path"] for row in pipeline.results(site)] == ["Anna.txt", "Bernd.txt"][gone:], step
        assert pipeline.verify(site).complete, step
        everything = b"".join(path.read_bytes() for path in root.rglob("*") if path.is_file())
        assert (b"Anna" in everything) != gone, step
        step += 3
    assert redone > 2
