"""What may make an encrypted workspace say what is not so, or show what it hides."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import pipeline
from pipeline import RunPlan, Site
from pipeline.atrest.errors import DamagedError
from pipeline.atrest.sealed import MAGIC
from pipeline.index.values import Filter
from pipeline.plan import Rerun
from tests.pipeline.atrest.conftest import at_rest_of
from tests.pipeline.atrest.test_at_rest import LEASE, Drop, documents, go


@pytest.fixture
def answered(plan: RunPlan, drop: Drop) -> RunPlan:
    """A lease, and a document that failed."""
    drop("lease.txt", LEASE)
    drop("broken.pdf", "%PDF-1.7\n")
    go(plan)
    return plan


def _renamed(data: bytes) -> bytes:
    """The file as if it were of a document whose key is nowhere."""
    return data[:20] + bytes([data[20] ^ 1]) + data[21:]


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "of another document": _renamed,
    "cut behind its mark": lambda data: data[:16],
    "cut in the name": lambda data: data[:30],
    "cut in the wrapped key": lambda data: data[:60],
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", ["archived", "failed"])
def test_a_head_that_was_changed_or_cut_is_no_lost_key(answered: RunPlan, change: str, kind: str) -> None:
    """It takes no key to see that a file is not of the document that it should be of."""
    path = next(answered.archive.glob("*/*/bytes/*")) if kind == "archived" else answered.failed / "broken.pdf"
    path.write_bytes(CHANGES[change](path.read_bytes()))
    report = pipeline.verify(answered.site)
    assert [finding.where for finding in report.altered] == [str(path.relative_to(answered.site.root))]
    assert not report.unreadable


def test_a_cut_head_is_damage_for_whoever_reads(answered: RunPlan) -> None:
    path = next(answered.archive.glob("*/*/bytes/*"))
    for size in (16, 60, 115):
        path.write_bytes(path.read_bytes()[:size])
        with pytest.raises(DamagedError, match="cut in its head"):
            answered.site.at_rest.read_bytes(path)


@pytest.mark.parametrize("lost", ["bytes", "key"])
def test_a_document_that_comes_again_is_kept_where_its_copy_is_lost(answered: RunPlan, drop: Drop, lost: str) -> None:
    """Else its last copy would go with the input: the head says of a file that was cut how long it was."""
    path = next(answered.archive.glob("*/*/bytes/*"))
    path.write_bytes(path.read_bytes()[:-20]) if lost == "bytes" else shutil.rmtree(answered.site.at_rest.keys or "")
    drop("lease.txt", LEASE)
    assert go(answered).counts["duplicate"] == 1
    assert answered.site.at_rest.read_bytes(path) == LEASE.encode()
    go(replace(answered, rerun=Rerun(everything=True)))
    assert not pipeline.verify(answered.site).altered, "its text is made anew, too"


def test_a_clear_document_may_begin_as_an_encrypted_file(plan: RunPlan, drop: Drop) -> None:
    """It came before there was encryption."""
    drop("odd.txt", MAGIC + b"\n" + LEASE.encode() * 3)
    go(replace(plan, site=replace(plan.site, at_rest=pipeline.atrest.AtRest())))
    assert pipeline.verify(plan.site).complete


def test_a_run_with_another_key_does_not_begin(answered: RunPlan, drop: Drop) -> None:
    """Else some documents would have the one key, some the other, and nobody would know before the first is needed."""
    site = answered.site
    other = replace(answered, site=replace(site, at_rest=at_rest_of(site.root, "other.key")))
    path = drop("later.txt", LEASE)
    with pytest.raises(
        pipeline.MachineRefusedError, match=r"was wrapped by .*; name the file of that one in site.yaml"
    ):
        go(other)
    assert path.exists()
    both = replace(answered, site=replace(site, at_rest=at_rest_of(site.root, "other.key", "rest.key")))
    assert go(both).counts["duplicate"] == 1
    for wrapped in (site.at_rest.keys or Path()).rglob("documents/*/*"):
        wrapped.write_bytes(b"spoilt")  # is told where it is needed
    both.site.at_rest.check()


def test_a_workspace_has_one_folder_in_memory_by_whatever_path(encrypted: Site, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(encrypted.root)
    there = at_rest_of(tmp_path / "link")
    assert there.cache(tmp_path) == encrypted.at_rest.cache(tmp_path)


def test_when_encryption_ends_the_index_stays_in_memory(answered: RunPlan) -> None:
    """It has words of documents that are encrypted still."""
    off = replace(answered.site, at_rest=at_rest_of(answered.site.root, encrypts=False))
    with pipeline.index.open_index(off) as queue:
        queue.refresh()
        assert queue.entries(Filter())
    assert not (off.state / "index.sqlite").exists()


def test_a_folder_that_somebody_else_made_hinders_no_erasure(answered: RunPlan) -> None:
    """/dev/shm is for all users of the machine, and the name of the folder can be guessed."""
    site = answered.site
    folder = site.at_rest.cache(site.state)
    shutil.rmtree(folder)
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(PermissionError, match="not a folder of this user alone"):
        site.at_rest.cache(site.state)
    with pipeline.index.open_index(site) as queue:
        queue.refresh()
        assert queue.entries(Filter())
    pipeline.erase(site, str(documents(site)["lease.txt"].document), "asked for", archive=True, rows=True)
    assert not any(folder.iterdir())
    folder.chmod(0o700)
