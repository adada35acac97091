"""A log is verified while it grows, and when a commit of it was cut off."""

import shutil
from pathlib import Path
from typing import Any

import pytest

import audit
from audit import snapshot, store

SEGMENT = "entries/000000000000.jsonl"


def test_a_checkpoint_that_was_not_put_in_place(ram_folder: Path, make_site: Any) -> None:
    site = make_site(ram_folder / "audit")
    site.commit(3)
    shutil.copytree(site.folder, ram_folder / "base")
    site.commit(2)
    new, base = (site.folder / "checkpoint").read_bytes(), ram_folder / "base"
    shutil.copy(site.folder / SEGMENT, base / SEGMENT)
    for length in range(len(new) + 1):
        (base / "checkpoint.tmp").write_bytes(new[:length])
        report = site.verify(base)
        assert report.ok
        assert "checkpoint.tmp: of a commit that was interrupted" in report.notes[1]
    for wrong in (new + b"x", new[:30] + b"x" + new[31:], b"x" * 5000, b"x"):
        (base / "checkpoint.tmp").write_bytes(wrong)
        assert [finding.where for finding in site.verify(base).findings] == ["checkpoint.tmp"]


def test_a_checkpoint_that_a_later_commit_is_about_to_put_in_place(ram_folder: Path, make_site: Any) -> None:
    """One was there when the files were listed; while the entries are read, a writer is at the one after it."""
    site = make_site(ram_folder / "audit")
    site.commit(3)
    shutil.copytree(site.folder, ram_folder / "base")
    site.commit(2)
    base, news = ram_folder / "base", [(site.folder / "checkpoint").read_bytes()]
    shutil.copy(site.folder / SEGMENT, base / SEGMENT)
    site.commit(1)
    news.append((site.folder / "checkpoint").read_bytes())
    (base / "checkpoint.tmp").write_bytes(news[0])
    report = audit.verify(base, site.public_key, lambda *_: (base / "checkpoint.tmp").write_bytes(news[1]) and None)
    assert report.findings == []
    assert [finding.where for finding in site.verify(base).findings] == ["checkpoint.tmp"]


def test_a_growing_log_is_verified_without_the_lock(ram_folder: Path, make_site: Any) -> None:
    """A commit in the middle of each verification: the report is of the checkpoint before or after it."""
    site = make_site(ram_folder / "audit")
    site.commit(255)
    with site.open() as log:
        for commits in range(8):
            report = audit.verify(site.folder, site.public_key, lambda done, size: log.commit(site.records(3)) and None)
            assert (report.findings, report.size) == ([], 255 + commits * 6)


def test_a_commit_while_the_files_are_listed(ram_folder: Path, make_site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names from before a commit and sizes from after it would accuse an innocent writer."""
    site = make_site(ram_folder / "audit")
    site.commit(3)
    with site.open() as log:
        commits = iter([2, 300])

        def list_folder(folder: Path) -> store.Listing:
            log.commit(site.records(count)) if (count := next(commits, 0)) else None
            return store.list_folder(folder)

        monkeypatch.setattr(snapshot, "list_folder", list_folder)
        report = site.verify()
    assert (report.findings, report.notes, report.size) == ([], [], 305)
