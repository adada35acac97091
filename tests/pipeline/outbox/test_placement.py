"""What is put in place, and that an input goes only when its bytes are kept."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import audit
import pipeline
from pipeline import RunPlan
from pipeline.inbox.intake import COPY
from pipeline.outbox import commit, placement
from pipeline.reports import nightly
from tests.pipeline.conftest import Witness, make_plan, make_site

Drop = Callable[[str, bytes | str], Path]
LEASE = "The landlord leases the flat to the tenant."


def go(plan: RunPlan) -> pipeline.RunReport:
    return pipeline.run(plan, observer=Witness())


def kept(plan: RunPlan) -> list[bytes]:
    return [path.read_bytes() for path in plan.archive.glob("*/*/bytes/*")]


def test_an_input_that_comes_again_is_kept_though_the_archive_was_emptied(plan: RunPlan, drop: Drop) -> None:
    drop("a.txt", LEASE)
    go(plan)
    shutil.rmtree(plan.archive)
    drop("b.txt", LEASE)
    assert go(plan).counts["duplicate"] == 1
    assert not any(plan.input.folder.iterdir())
    assert kept(plan) == [LEASE.encode()]


def test_several_parts_hold_what_the_log_says(plan: RunPlan, drop: Drop) -> None:
    plan = replace(plan, part_documents=4)
    for i in range(10):
        drop(f"{i}.txt", f"{LEASE} Number {i}.")
    report = go(plan)
    assert len(report.parts) == 3
    rows = list(pipeline.results(plan.site))
    entries = {
        e["n"]: e for _, e in audit.read_entries(plan.site.audit, plan.site.public_key) if e["type"] == "document"
    }
    assert [entries[row["audit_index"]]["path"] for row in rows] == [f"{i}.txt" for i in range(10)]
    checked = {"parts": 3, "rows": 10, "markdown": 10, "reports": 2, "archived": 10}
    assert {kind: count for kind, count in pipeline.verify(plan.site).checked.items() if count} == checked


def test_an_inbox_and_a_workspace_behind_links(tmp_path: Path, tiny_model: Path) -> None:
    site = make_site(tmp_path / "real" / "workspace")
    share = tmp_path / "share"
    share.mkdir()
    (site.root / "inbox").mkdir()
    (site.root / "inbox" / "sort").symlink_to(share)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    site = replace(site, root=tmp_path / "link" / "workspace", key_file=tmp_path / "link/workspace/keys/log.key")
    plan = make_plan(site, tiny_model)
    (share / "a.txt").write_text(LEASE)
    (share / "empty.txt").write_text("")
    report = go(plan)
    assert (report.counts["done"], report.counts["failed"]) == (1, 1)
    assert not any(share.iterdir())
    assert go(plan).seen == 0
    assert pipeline.verify(site).ok


def test_an_inbox_elsewhere(tmp_path: Path, plan: RunPlan) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "a.txt").write_text(LEASE)
    plan = replace(plan, input=replace(plan.input, folder=folder))
    assert go(plan).counts["done"] == 1
    assert not any(folder.iterdir())


@pytest.fixture
def other_disk(plan: RunPlan) -> Iterator[Path]:
    """A folder on another file system than the workspace."""
    for parent in (Path("/dev/shm"), Path("/tmp"), Path("/var/tmp"), Path.home()):
        if os.access(parent, os.W_OK) and parent.stat().st_dev != plan.site.root.stat().st_dev:
            folder = Path(tempfile.mkdtemp(prefix="cloister-", dir=parent))
            yield folder
            shutil.rmtree(folder)
            return
    pytest.skip("there is no other file system")


def test_failed_on_another_disk_and_killed_while_a_document_is_copied_there(
    plan: RunPlan, drop: Drop, other_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (plan.site.root / "failed").symlink_to(other_disk)
    body = b"%PDF-1.7 which is none" * 1000
    drop("a.pdf", body)

    def half(source: Path, target: Path) -> None:
        Path(target).write_bytes(Path(source).read_bytes()[:100])
        raise KeyboardInterrupt

    with monkeypatch.context() as dying:
        dying.setattr(shutil, "copyfile", half)
        with pytest.raises(KeyboardInterrupt):
            go(plan)
    assert pipeline.verify(plan.site).ok
    go(plan)
    assert {path.name for path in other_disk.rglob("*") if path.is_file()} == {"a.pdf", "a.pdf.reason.json"}
    assert (other_disk / plan.job / "a.pdf").read_bytes() == body
    assert pipeline.verify(plan.site).complete


def test_what_goes_to_another_disk_is_there_before_it_goes_here(
    plan: RunPlan, drop: Drop, other_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the disk: its bytes before they have their name, and the name before the copy beside the archive goes."""
    (plan.site.root / "failed").symlink_to(other_disk)
    drop("a.pdf", b"%PDF-1.7 which is none")
    there, seen = other_disk / plan.job, list[tuple[str, bool, bool]]()

    def noted(sync: Callable[[Path], None]) -> Callable[[Path], None]:
        def look(folder: Path) -> None:
            here = any(plan.archive.glob(f".staging/*/{COPY}"))
            if folder.stat().st_dev == other_disk.stat().st_dev:
                seen.append((sync.__name__, (there / "a.pdf").exists(), here))
            sync(folder)

        return look

    for sync in (audit.sync_filesystem, audit.sync_folder):
        monkeypatch.setattr(audit, sync.__name__, noted(sync))
    go(plan)
    assert seen[:2] == [("sync_filesystem", False, True), ("sync_folder", True, True)]


def test_failed_documents_below_a_folder_called_like_a_reason(plan: RunPlan, drop: Drop) -> None:
    drop("a.txt.reason.json/x", b"")
    go(plan)
    shutil.rmtree(plan.input.folder / "a.txt.reason.json")
    drop("a.txt", b"")
    assert go(plan).counts["failed"] == 1
    assert pipeline.verify(plan.site).ok


def test_what_was_staged_in_vain_goes_when_a_run_breaks(plan: RunPlan, drop: Drop) -> None:
    for i in range(3):
        drop(f"{i}.txt", f"{LEASE} {i}")

    class Breaking(Witness):
        def finished(self, path: str, state: str, reason: str | None) -> None:
            raise OSError(28, os.strerror(28))

    with pytest.raises(OSError, match="No space"):
        pipeline.run(plan, observer=Breaking())
    assert not list(plan.site.root.rglob(".staging"))
    assert go(plan).counts["done"] == 3


@pytest.mark.parametrize("state", ["done", "failed"])
def test_a_folder_swapped_for_a_link_after_the_commit_loses_nothing_outside(
    plan: RunPlan, drop: Drop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    text = LEASE if state == "done" else ""
    inside, outside = drop("in/a.txt", text).parent, tmp_path / "outside"
    place = placement.place

    def swap_and_place(*arguments: Any) -> None:
        inside.rename(outside)
        inside.symlink_to(outside)
        place(*arguments)

    monkeypatch.setattr("pipeline.outbox.commit.place", swap_and_place)
    assert go(plan).counts[state] == 1
    assert (outside / "a.txt").read_text() == text
    assert inside.is_symlink()
    assert go(plan).ignored == (("in", "not a regular file: a symbolic link"),)


def test_a_file_swapped_for_another_with_a_link_to_it_stays(plan: RunPlan, drop: Drop, tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text(LEASE)
    drop("b.txt", LEASE)
    (plan.input.folder / "a.txt").symlink_to(tmp_path / "outside.txt")
    assert go(plan).counts["done"] == 1
    assert (tmp_path / "outside.txt").read_text() == LEASE
    assert [path.name for path in plan.input.folder.iterdir()] == ["a.txt"]


def test_what_an_earlier_version_made_lies_where_it_lay_until_it_is_made_anew(
    plan: RunPlan, drop: Drop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Markdown and reports lay beside the tables: they hold, go with their documents, and never stand there twice."""
    with monkeypatch.context() as before:
        before.setattr(commit, "MARKDOWN", "markdown")
        before.setattr(nightly, "REPORTS", ".")
        for name in ("a", "b", "c", "d"):
            drop(f"{name}.txt", f"{LEASE} It is {name}.")
        report = go(plan)
    old, new = plan.outbox / "markdown", plan.outbox / "_markdown"
    assert (len(list(old.iterdir())), new.exists(), report.report) == (4, False, plan.outbox / report.report.name)
    assert pipeline.verify(plan.site).ok
    pipeline.erase(plan.site, "d.txt", "asked for", archive=True, rows=True)
    drop("a.txt", f"{LEASE} It is a.")
    other = replace(plan, task=replace(plan.task, threshold=0.01))
    assert go(other).counts["done"] == 1
    assert ({path.name for path in old.iterdir()}, {path.name for path in new.iterdir()}) == (
        {"b.txt.md", "c.txt.md"},
        {"a.txt.md"},
    )
    assert not list(plan.outbox.glob("report-*"))
    assert {path.suffix for path in (plan.outbox / "_reports").iterdir()} == {".html", ".md"}
    found = pipeline.verify(plan.site)
    assert (found.ok, found.complete, found.checked["markdown"], found.checked["reports"]) == (True, True, 3, 2)
    (old / "b.txt.md").write_text("another answer")
    (old / "a.txt.md").write_text("put back")
    found = pipeline.verify(plan.site)
    assert [each.where for each in found.altered] == ["outbox/sort/markdown/b.txt.md"]
    assert [each.where for each in found.added] == ["outbox/sort/markdown/a.txt.md"]


@pytest.mark.parametrize("at", ["a.txt.md", "report"])
def test_killed_between_the_new_place_and_the_old_one(
    plan: RunPlan, drop: Drop, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    with monkeypatch.context() as before:
        before.setattr(commit, "MARKDOWN", "markdown")
        before.setattr(nightly, "REPORTS", ".")
        drop("a.txt", LEASE)
        go(plan)
    drop("a.txt", LEASE)
    other = replace(plan, task=replace(plan.task, threshold=0.01))

    def killed(path: Path, missing_ok: bool = False) -> None:
        if path.parent in (plan.outbox, plan.outbox / "markdown") and path.name.startswith(at):
            raise KeyboardInterrupt
        unlink(path, missing_ok)

    unlink = Path.unlink
    with monkeypatch.context() as cut:
        cut.setattr(Path, "unlink", killed)
        with pytest.raises(KeyboardInterrupt):
            go(other)
    go(other)
    assert not list(plan.outbox.glob("report-*"))
    assert not (plan.outbox / "markdown" / "a.txt.md").exists()
    assert pipeline.verify(plan.site).complete
