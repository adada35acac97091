"""Runs in a workspace that is encrypted: nothing of a document lies in the clear, and everything works as before."""

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import pipeline
from pipeline import Failure, RunPlan, Site
from pipeline.atrest.errors import DamagedError, NoKeyError
from pipeline.atrest.sealed import MAGIC, name_of
from pipeline.index.values import Filter
from pipeline.outbox.parts import key_name
from pipeline.plan import Rerun, Retention
from pipeline.proof.choose import Choice
from pipeline.proof.replay import replay
from pipeline.records.entries import read_entries
from pipeline.records.types import Document
from pipeline.review.seen import text_of
from pipeline.view.drawer import Drawer
from tests.pipeline.atrest.conftest import at_rest_of
from tests.pipeline.conftest import Witness
from tests.pipeline.test_containers import zipped

Drop = Callable[[str, bytes | str], Path]
SECRET = "the quartz heron of Lisbon"
LEASE = f"The landlord leases {SECRET} to the tenant. The rent is due on the first of the month.\n"
OTHER = "Invoice 2026-17. Total due: EUR 120.00. Please pay to the account below.\n"
BROKEN = f"%PDF-1.7\n{SECRET}"


def go(plan: RunPlan) -> pipeline.RunReport:
    return pipeline.run(plan, observer=Witness())


def files(root: Path, *folders: str) -> Iterator[Path]:
    return (path for name in folders for path in sorted((root / name).rglob("*")) if path.is_file())


def states(site: Site) -> dict[str, str]:
    return {row["path"]: row["state"] for row in pipeline.results(site)}


def documents(site: Site) -> dict[str, Document]:
    return {entry.path: entry for entry in read_entries(site) if isinstance(entry, Document)}


@pytest.fixture
def ran(plan: RunPlan, drop: Drop) -> RunPlan:
    """A lease, a copy of it, one in an archive, an invoice, and a broken document."""
    drop("lease.txt", LEASE)
    drop("copy.txt", LEASE)
    drop("more.zip", zipped({"inner.txt": LEASE.replace("first", "second").encode()}))
    drop("invoice.txt", OTHER)
    drop("broken.pdf", BROKEN)
    go(plan)
    return plan


def test_nothing_of_a_document_lies_in_the_clear(ran: RunPlan) -> None:
    root = ran.site.root
    with pipeline.index.open_index(ran.site) as queue:
        queue.refresh()
        assert queue.entries(Filter(text="lease"))
    for path in files(root, *(path.name for path in root.iterdir())):
        assert SECRET.encode() not in path.read_bytes(), path
    kept = [path for path in files(root, "archive", "failed") if not path.name.endswith(".reason.json")]
    assert len(kept) == 9
    assert all(path.read_bytes().startswith(MAGIC) for path in kept)
    assert [path.read_bytes()[:4] for path in ran.outbox.glob("*.parquet")] == [b"PARE"]
    assert not (ran.site.state / "index.sqlite").exists()


def test_everything_is_read_as_before(ran: RunPlan, drop: Drop) -> None:
    site = ran.site
    assert states(site) == {
        "broken.pdf": "failed", "copy.txt": "done", "invoice.txt": "done", "lease.txt": "duplicate",
        "more.zip": "done", "more.zip!/inner.txt": "done",
    }  # fmt: skip
    report = pipeline.verify(site)
    assert report.complete, report
    assert report.checked["archived"] == 4
    counts = replay(site, Choice(share=1.0)).counts
    assert (counts["identical"], counts["different"], counts["incomparable"]) == (5, 0, 0)
    entry = documents(site)["copy.txt"]
    assert text_of(site, entry) == LEASE.strip()
    with Drawer(site) as drawer:
        viewed = pipeline.view.open_document(site, entry.n, drawer)
    assert (viewed.text, viewed.no_text, viewed.row and viewed.row["state"]) == (LEASE.strip(), None, "done")
    other = replace(ran, task=replace(ran.task, threshold=1.0), rerun=Rerun())  # type: ignore[arg-type]
    assert go(other).counts["abstained"] == 3
    again = replace(ran, retry=frozenset(Failure))
    assert go(again).counts["failed"] == 1
    drop("copy.txt", LEASE)
    assert go(ran).counts["duplicate"] == 1
    assert pipeline.verify(site).complete


def test_an_erased_document_cannot_be_read_from_an_older_copy(ran: RunPlan, tmp_path: Path) -> None:
    """Who has archive/, failed/ and outbox/ from before, and everything else from after."""
    site, folders = ran.site, ("archive", "failed", "outbox")
    before = {path: path.read_bytes() for path in files(site.root, *folders)}
    shutil.copytree(site.at_rest.keys or "", tmp_path / "keys")
    lease, failed = documents(site)["lease.txt"], documents(site)["broken.pdf"]
    for entry in (lease, failed):
        pipeline.erase(site, str(entry.document), "asked for", archive=True, rows=True)
    assert pipeline.verify(site).ok
    assert set(states(site)) == {"invoice.txt", "more.zip", "more.zip!/inner.txt"}
    for path, body in before.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
    erased = {name_of(ran.job, str(entry.document)) for entry in (lease, failed)}
    its = [path for path in before if path.read_bytes()[16:48].hex() in erased]
    assert len(its) == 3  # the lease, its text, and the broken one
    for path in its:
        with pytest.raises(NoKeyError, match="it was erased, or private/ is not whole"):
            site.at_rest.read_bytes(path)
    with pytest.raises(pipeline.BadPartError):
        states(site)
    shutil.rmtree(site.at_rest.keys or "")
    shutil.copytree(tmp_path / "keys", site.at_rest.keys or "")  # it was the keys alone that were lacking
    assert {SECRET.encode() in site.at_rest.read_bytes(path) for path in its} == {True}
    assert "lease.txt" in states(site)


def test_retention_takes_the_keys_along_but_those_of_what_failed(plan: RunPlan, drop: Drop) -> None:
    drop("lease.txt", LEASE)
    drop("broken.pdf", BROKEN)
    go(plan)
    keys = plan.site.at_rest.keys
    assert keys is not None
    assert len(list(files(keys, "documents"))) == 2
    go(replace(plan, retention=Retention(archive_days=0, rows_days=0)))
    left = [path.name for path in files(keys, "documents", "parts")]
    assert left == [name_of(plan.job, str(documents(plan.site)["broken.pdf"].document))]
    assert go(replace(plan, retry=frozenset(Failure))).counts["failed"] == 1


def test_clear_and_encrypted_documents_lie_side_by_side(plan: RunPlan, drop: Drop) -> None:
    clear = replace(plan, site=replace(plan.site, at_rest=pipeline.atrest.AtRest()))
    drop("lease.txt", LEASE)
    go(clear)
    drop("invoice.txt", OTHER)
    go(plan)
    off = replace(plan, site=replace(plan.site, at_rest=at_rest_of(plan.site.root, encrypts=False)))
    drop("later.txt", LEASE.replace("first", "third"))
    drop("sealed.txt", MAGIC + LEASE.encode())  # in the clear it would be taken for an encrypted one
    go(off)
    kinds = {
        path.name: path.read_bytes().startswith(MAGIC) for path in files(plan.archive, "") if "bytes" in path.parts
    }
    assert kinds == {"lease.txt": False, "invoice.txt": True, "later.txt": False, "sealed.txt": True}
    for site in (plan.site, off.site):
        assert states(site) == dict.fromkeys(kinds, "done")
        assert pipeline.verify(site).complete
    assert go(replace(plan, rerun=Rerun(everything=True))).counts["done"] == 4
    assert all(path.read_bytes().startswith(MAGIC) for path in files(plan.archive, "")), "written anew"
    assert pipeline.verify(off.site).complete


def test_without_the_key_no_document_is_touched(plan: RunPlan, drop: Drop) -> None:
    path, key = drop("lease.txt", LEASE), plan.site.at_rest.key_file
    assert key is not None
    good = key.read_bytes()
    for spoil, told in (
        (lambda: key.unlink(), "rest.key: the key of what is encrypted cannot be read: No such file"),
        (lambda: key.write_bytes(b"word"), "no key of what is encrypted; `cloister encryption new FILE` makes one"),
        (lambda: key.chmod(0o640), "others may read it (mode 0640); chmod 600"),
    ):
        spoil()
        with pytest.raises(pipeline.MachineRefusedError) as refused:
            go(plan)
        assert told in str(refused.value)
        assert path.read_text() == LEASE
        assert not plan.archive.exists()
        key.unlink(missing_ok=True)
        key.write_bytes(good)
        key.chmod(0o600)
    assert go(plan).counts["done"] == 1


def test_what_cannot_be_opened_is_told(ran: RunPlan) -> None:
    """A key that is another one leaves files unreadable; bytes that are other ones are altered."""
    site = ran.site
    other = replace(site, at_rest=at_rest_of(site.root, "other.key"))
    with pytest.raises(NoKeyError, match=r"was wrapped by .*; name the file of that one in site.yaml"):
        states(other)
    report = pipeline.verify(other)
    assert (report.ok, report.complete) == (True, False)
    assert len(report.unreadable) == 6
    (kept,) = [path for path in files(ran.archive, "") if path.name == "invoice.txt"]
    body = bytearray(kept.read_bytes())
    body[-1] ^= 1
    kept.write_bytes(body)
    with pytest.raises(DamagedError, match="chunk 1 of 1"):
        site.at_rest.read_bytes(kept)
    report = pipeline.verify(site)
    assert [finding.where.rpartition("/")[2] for finding in report.altered] == ["invoice.txt"]
    (part,) = ran.outbox.glob("*.parquet")
    name = key_name(part)
    wrapped = site.root / "private" / ".atrest" / name
    wrapped.write_bytes(wrapped.read_bytes()[:-9] + b"AAAAAAA=\n")
    with pytest.raises(DamagedError, match="wrapped key"):
        states(site)


def test_a_lost_key_leaves_its_document_as_it_is(ran: RunPlan) -> None:
    keys = ran.site.at_rest.keys
    assert keys is not None
    shutil.rmtree(keys / "documents")
    before = {path: path.read_bytes() for path in files(ran.site.root, "archive", "failed")}
    report = go(replace(ran, retry=frozenset(Failure)))
    assert (report.counts["pending"], report.counts["failed"]) == (1, 0)
    report = go(replace(ran, rerun=Rerun(everything=True)))
    assert report.counts["done"] == 0
    assert {path: path.read_bytes() for path in files(ran.site.root, "archive", "failed")} == before
    checked = pipeline.verify(ran.site)
    assert (checked.ok, len(checked.unreadable)) == (True, 5)
    assert "it was erased, or private/ is not whole" in checked.unreadable[0].message


@pytest.mark.parametrize("other", ["archived", "text", "failed"])
def test_a_file_in_the_place_of_another_is_found(ran: RunPlan, other: str) -> None:
    entries = documents(ran.site)
    folder = {path: ran.archive / str(entries[path].document)[:2] / str(entries[path].document) for path in entries}
    source = next((folder["invoice.txt"] / "bytes").iterdir())
    target = {
        "archived": folder["more.zip!/inner.txt"] / "bytes" / "inner.txt",
        "text": next((folder["invoice.txt"] / "text").iterdir()),
        "failed": ran.failed / "broken.pdf",
    }[other]
    target.write_bytes(source.read_bytes())
    report = pipeline.verify(ran.site)
    assert [finding.where for finding in report.altered] == [str(target.relative_to(ran.site.root))]


def test_keys_are_wrapped_anew_whatever_is_cut_off(ran: RunPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed before each rename, and then once more to the end: the old key is needed no more."""
    root = ran.site.root
    rows, step, renamed = states(ran.site), 0, Path.rename
    names = list(ran.site.at_rest.store.names())
    assert len(names) == 6
    old = "rest.key"
    while True:
        new = f"rest-{step}.key"
        both = replace(ran.site, at_rest=at_rest_of(root, new, old))

        def rename(path: Path, target: Path, left: list[int] = [step]) -> Path:  # noqa: B006
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt
            return renamed(path, target)

        with monkeypatch.context() as cut:
            cut.setattr(Path, "rename", rename)
            try:
                done = pipeline.rewrap(both.at_rest)
            except KeyboardInterrupt:
                done = None
        assert states(both) == rows
        done = done or pipeline.rewrap(both.at_rest)
        assert (done.keys, done.rewrapped) == (6, 6 if step == 6 else 6 - step)
        (root / "keys" / old).unlink()
        alone = replace(ran.site, at_rest=at_rest_of(root, new))
        assert states(alone) == rows
        assert pipeline.verify(alone).complete
        if step == len(names):
            break
        old, step = new, step + 1
    assert pipeline.rewrap(alone.at_rest).rewrapped == 0


def test_a_copy_of_the_keys_from_before_is_worth_nothing_without_their_key(ran: RunPlan, tmp_path: Path) -> None:
    site = ran.site
    shutil.copytree(site.root / "private", tmp_path / "private")
    new = replace(site, at_rest=at_rest_of(site.root, "rest-2.key", "rest.key"))
    pipeline.rewrap(new.at_rest)
    old = replace(site.at_rest, keys=tmp_path / "private" / ".atrest", key_file=site.root / "keys" / "rest-2.key")
    (path,) = [path for path in files(ran.archive, "") if path.name == "invoice.txt"]
    with pytest.raises(NoKeyError):
        old.read_bytes(path)


def test_clear_bytes_are_given_in_memory_alone(ran: RunPlan) -> None:
    (path,) = [path for path in files(ran.archive, "") if path.name == "invoice.txt"]
    fd = ran.site.at_rest.open(path)
    try:
        assert str(Path(f"/proc/self/fd/{fd}").readlink()).startswith("/memfd:")
        assert os.read(fd, 100) == OTHER.encode()
    finally:
        os.close(fd)
