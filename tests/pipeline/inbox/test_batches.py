"""A batch is taken as a whole or not at all, and every path says what it waits for."""

import hashlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from pipeline import Input, RunPlan, run, scan
from pipeline.inbox import batches
from pipeline.inbox.batches import Comparing, Sightings
from pipeline.inbox.discover import Scan
from tests.pipeline.conftest import Witness

Drop = Callable[[str, bytes | str], Path]
HOUR = 3600.0
TODAY = "the manifest of a batch, not a document"


def put(folder: Path, *names: str) -> None:
    """Files whose bytes are their names."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(os.fsencode(name))


def sha256(name: str) -> str:
    return hashlib.sha256(os.fsencode(name)).hexdigest()


def manifest(folder: Path, names: Iterable[str], below: str = "") -> None:
    """As sha256sum would write it for `names` below that folder."""
    (folder / below).mkdir(exist_ok=True)
    lines = (f"{sha256(os.path.join(below, name))}  {name}\n" for name in names)  # noqa: PTH118
    (folder / below / "manifest.sha256").write_bytes(os.fsencode("".join(lines)))


def look(folder: Path, done: Iterable[str] = (), settle: float = HOUR, **options: Any) -> Scan:
    """A scan that compares, of a job that has processed `done`."""
    known = {(name, sha256(name)) for name in done}
    comparing = Comparing(lambda path, digest: (path, digest) in known)
    found = scan(Input(folder, ("*.txt",), settle, "archive"), **{"comparing": comparing, **options})
    paths = [*(c.path for c in found.ready), *(path for path, _ in (*found.pending, *found.ignored))]
    assert len(paths) == len(set(paths)) == sum(not path.is_dir() for path in folder.rglob("*"))
    return found


def ready(found: Scan) -> list[str]:
    return [candidate.path for candidate in found.ready]


def test_a_complete_batch_is_taken_without_waiting_and_others_are_not(tmp_path: Path) -> None:
    put(tmp_path, "a.txt", "in/b.txt", "in/beside.txt")
    manifest(tmp_path, ["in/b.txt", "a.txt"])
    found = look(tmp_path)
    assert ready(found) == ["a.txt", "in/b.txt"]
    assert [path for path, _ in found.settling] == ["in/beside.txt"]
    assert found.ignored == (("manifest.sha256", TODAY),)


def test_a_missing_file_holds_the_batch(tmp_path: Path) -> None:
    put(tmp_path, "in/a.txt", "in/deep/c.txt", "other.txt")
    manifest(tmp_path, ["a.txt", "b.pdf", "deep/c.txt"], "in")
    found = look(tmp_path, settle=0)
    assert ready(found) == ["other.txt"]
    reason = "held: in/manifest.sha256 names b.pdf, which is missing"
    assert found.held == (("in/a.txt", reason), ("in/deep/c.txt", reason))
    assert found.pending == found.held
    assert found.ignored == (("in/manifest.sha256", f"{TODAY}; it names b.pdf, which is missing"),)


def test_a_batch_of_which_nothing_has_come_is_told(tmp_path: Path) -> None:
    manifest(tmp_path, ["b.pdf"], "in")
    found = look(tmp_path)
    assert found.pending == ()
    assert found.ignored == (("in/manifest.sha256", f"{TODAY}; it names b.pdf, which is missing"),)
    later = "the bytes of its files are compared when a run starts"
    assert look(tmp_path, comparing=None).ignored == (("in/manifest.sha256", f"{TODAY}; {later}"),)


def test_a_differing_file_holds_the_batch(tmp_path: Path) -> None:
    put(tmp_path, "a.txt", "b.txt")
    manifest(tmp_path, ["a.txt", "b.txt"])
    (tmp_path / "b.txt").write_text("another")
    assert dict(look(tmp_path, settle=0).held) == dict.fromkeys(
        ("a.txt", "b.txt"), "held: manifest.sha256 names b.txt, whose bytes differ"
    )
    put(tmp_path, "b.txt")
    assert ready(look(tmp_path)) == ["a.txt", "b.txt"]


@pytest.mark.parametrize("instead", ["link", "folder", "pipe"])
def test_what_is_no_file_does_not_count_as_there(tmp_path: Path, instead: str) -> None:
    put(tmp_path, "a.txt")
    manifest(tmp_path, ["a.txt", "b.txt"])
    {"link": lambda b: b.symlink_to("a.txt"), "folder": Path.mkdir, "pipe": os.mkfifo}[instead](tmp_path / "b.txt")
    assert look(tmp_path, settle=0).held == (("a.txt", "held: manifest.sha256 names b.txt, which is missing"),)


def test_a_batch_that_was_cut_off_goes_on_and_one_that_is_over_binds_nothing(tmp_path: Path) -> None:
    put(tmp_path, "b.txt")
    manifest(tmp_path, ["a.txt", "b.txt"])
    assert ready(look(tmp_path, done=["a.txt"])) == ["b.txt"]
    over = look(tmp_path, done=["a.txt", "b.txt"])
    assert over.ignored == (
        ("manifest.sha256", "the manifest of a batch that is over: each of its files was processed before"),
    )
    assert [path for path, _ in over.settling] == ["b.txt"]
    (tmp_path / "b.txt").write_text("a new version")
    assert ready(look(tmp_path, done=["a.txt", "b.txt"], settle=0)) == ["b.txt"]


def test_a_file_that_is_no_document_still_belongs_to_its_batch(tmp_path: Path) -> None:
    put(tmp_path, "a.txt", "list.csv", ".hidden")
    manifest(tmp_path, ["a.txt", "list.csv", ".hidden", "_READY"])
    assert "names _READY, which is missing" in look(tmp_path).held[0][1]
    put(tmp_path, "_READY")
    assert ready(look(tmp_path)) == ["a.txt"]
    (tmp_path / "list.csv").write_text("another")
    found = look(tmp_path)
    assert found.held == (("a.txt", "held: manifest.sha256 names list.csv, whose bytes differ"),)
    assert dict(found.ignored)["list.csv"] == "matches none of input.include: *.txt"


def test_a_file_of_two_batches_waits_for_both(tmp_path: Path) -> None:
    put(tmp_path, "in/a.txt", "in/b.txt", "c.txt")
    manifest(tmp_path, ["in/a.txt", "c.txt"])
    manifest(tmp_path, ["a.txt", "b.txt", "none"], "in")
    found = look(tmp_path, settle=0)
    assert ready(found) == ["c.txt"]
    assert [path for path, _ in found.held] == ["in/a.txt", "in/b.txt"]


def test_a_bad_manifest_holds_its_folder_and_all_below(tmp_path: Path) -> None:
    put(tmp_path, "in/a.txt", "in/deep/b.txt", "in-/c.txt", "in/x.pdf")
    (tmp_path / "in" / "manifest.sha256").write_text(f"{sha256('a')}  ../c.txt\n")
    found = look(tmp_path, settle=0)
    assert ready(found) == ["in-/c.txt"]
    reason = (
        "held: in/manifest.sha256:1: found '../c.txt', expected the name of a file in the manifest's folder or below it"
    )
    assert dict(found.held) == dict.fromkeys(("in/a.txt", "in/deep/b.txt"), reason)
    assert dict(found.ignored).keys() == {"in/manifest.sha256", "in/x.pdf"}


def test_all_manifests_together_have_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "MAX_LINES", 5)
    for below in ("a", "b", "c"):
        put(tmp_path, f"{below}/1.txt", f"{below}/2.txt")
        manifest(tmp_path, ["1.txt", "2.txt"], below)
    found = look(tmp_path)
    assert ready(found) == ["a/1.txt", "a/2.txt", "b/1.txt", "b/2.txt"]
    assert "held: c/manifest.sha256:1: found more, expected at most 5 lines" in found.held[0][1]
    assert ready(look(tmp_path, done=["a/1.txt", "a/2.txt"])) == ["b/1.txt", "b/2.txt", "c/1.txt", "c/2.txt"]
    monkeypatch.setattr(batches, "_CHARACTERS", 3 * len("a1.txt"))
    assert ready(look(tmp_path)) == ["a/1.txt", "a/2.txt"]


@pytest.mark.skipif(os.geteuid() == 0, reason="every file can be read")
def test_a_manifest_that_may_not_be_read_holds_its_folder(tmp_path: Path) -> None:
    put(tmp_path, "a.txt")
    manifest(tmp_path, ["a.txt"])
    (tmp_path / "manifest.sha256").chmod(0)
    assert look(tmp_path).held == (("a.txt", "held: manifest.sha256 cannot be read: Permission denied"),)


def test_a_link_called_manifest_is_not_followed(tmp_path: Path) -> None:
    put(tmp_path, "a.txt")
    (tmp_path / "manifest.sha256").symlink_to("/etc/passwd")
    found = look(tmp_path, settle=0)
    assert ready(found) == ["a.txt"]
    assert found.ignored == (("manifest.sha256", "not a regular file: a symbolic link"),)


def test_names_of_any_bytes_in_a_manifest(tmp_path: Path) -> None:
    names = [
        os.fsdecode(name) for name in (b"\xff.txt", b"a\x1b[2J.txt", b" .txt", "ü‮.txt".encode(), b"n" * 251 + b".txt")
    ]
    put(tmp_path, *names)
    manifest(tmp_path, names)
    with (tmp_path / "manifest.sha256").open("ab") as file:
        put(tmp_path, "new\nline\\.txt")
        file.write(f"\\{sha256('new' + chr(10) + 'line' + chr(92) + '.txt')}  new\\nline\\\\.txt\n".encode())
    assert sorted(ready(look(tmp_path))) == sorted([*names, "new\nline\\.txt"])
    (tmp_path / names[0]).unlink()
    assert look(tmp_path).held[0][1] == "held: manifest.sha256 names \\xff.txt, which is missing"


def test_a_scan_that_does_not_compare_goes_by_presence_and_stillness(tmp_path: Path) -> None:
    put(tmp_path, "a.txt", "b.txt")
    manifest(tmp_path, ["a.txt", "b.txt"])
    (tmp_path / "b.txt").write_text("another")
    later = (tmp_path / "b.txt").stat().st_ctime + 2 * HOUR
    found = look(tmp_path, comparing=None, now=later)
    assert ready(found) == ["a.txt", "b.txt"]
    assert found.ignored == (("manifest.sha256", f"{TODAY}; the bytes of its files are compared when a run starts"),)
    young = look(tmp_path, comparing=None, now=later - HOUR - 1)
    assert not young.ready
    assert "which changed 3599.0 s ago; taken when still for 3600 s" in young.held[0][1]
    (tmp_path / "b.txt").unlink()
    assert "which is missing" in look(tmp_path, comparing=None, now=later).held[0][1]


def test_bytes_are_hashed_once_as_long_as_they_look_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "a.txt", "b.txt")
    manifest(tmp_path, ["a.txt", "b.txt"])
    sightings, opened = Sightings(), []
    real = os.open
    monkeypatch.setattr(os, "open", lambda path, *a, **k: (opened.append(str(path)), real(path, *a, **k))[1])
    for _ in range(3):
        assert len(look(tmp_path, sightings=sightings).ready) == 2
    put(tmp_path, "b.txt")
    assert len(look(tmp_path, sightings=sightings).ready) == 2
    for _ in range(3):  # looks that do not compare between those that do
        look(tmp_path, sightings=sightings, comparing=None)
    assert len(look(tmp_path, sightings=sightings).ready) == 2
    assert (opened.count("a.txt"), opened.count("b.txt")) == (1, 2)


def test_comparing_ends_when_the_run_is_to_stop(tmp_path: Path) -> None:
    put(tmp_path, "a.txt")
    manifest(tmp_path, ["a.txt"])
    found = look(tmp_path, comparing=Comparing(lambda *_: False, lambda: True))
    assert found.held == (("a.txt", "held: manifest.sha256 names a.txt, which was not compared: the run was to stop"),)


def test_a_marker_speaks_for_what_is_not_newer_in_its_folder_and_below(tmp_path: Path) -> None:
    put(tmp_path, "in/a.txt", "in/deep/b.txt", "in-/c.txt", "d.txt")
    put(tmp_path, "in/_READY")
    marked = (tmp_path / "in" / "_READY").stat().st_mtime_ns
    put(tmp_path, "in/late.txt")
    old = (marked - 10**9, marked - 10**9)
    put(tmp_path, "in/moved.txt")
    os.utime(tmp_path / "in" / "moved.txt", ns=old)  # its change time is that of now
    while (tmp_path / "in" / "late.txt").stat().st_mtime_ns <= marked:
        put(tmp_path, "in/late.txt", "in/moved.txt")
        os.utime(tmp_path / "in" / "moved.txt", ns=old)
    found = look(tmp_path)
    assert ready(found) == ["in/a.txt", "in/deep/b.txt"]
    assert [path for path, _ in found.settling] == ["d.txt", "in/late.txt", "in/moved.txt", "in-/c.txt"]
    assert found.ignored == (("in/_READY", "the marker of a complete batch, not a document"),)


def test_a_manifest_counts_more_than_a_marker(tmp_path: Path) -> None:
    put(tmp_path, "a.txt", "b.txt")
    manifest(tmp_path, ["a.txt", "none"])
    put(tmp_path, "_READY")
    found = look(tmp_path)
    assert ready(found) == ["b.txt"]
    assert [path for path, _ in found.held] == ["a.txt"]


def test_a_run_that_ends_within_a_batch_is_gone_on_with(plan: RunPlan, drop: Drop) -> None:
    texts = {f"{n:03}.txt": f"The landlord leases flat {n}." for n in range(300)}
    for name, text in texts.items():
        drop(name, text)
    drop("manifest.sha256", "".join(f"{hashlib.sha256(t.encode()).hexdigest()}  {n}\n" for n, t in texts.items()))
    witness = Witness()
    first = run(plan, observer=witness, stop=lambda: bool(witness.states))
    assert 0 < first.counts["done"] < 300
    assert len(list(plan.input.folder.iterdir())) == 301 - first.counts["done"]
    rest = run(plan, observer=Witness())
    assert first.counts["done"] + rest.counts["done"] == 300
    assert not rest.pending


def test_a_run_takes_a_batch_when_it_is_whole(plan: RunPlan, drop: Drop) -> None:
    texts = {"a.txt": "The landlord leases the flat.", "b.txt": "Total due: EUR 5."}
    drop("a.txt", texts["a.txt"])
    drop("manifest.sha256", "".join(f"{hashlib.sha256(t.encode()).hexdigest()}  {n}\n" for n, t in texts.items()))
    first = run(plan, observer=Witness())
    assert first.pending == (("a.txt", "held: manifest.sha256 names b.txt, which is missing"),)
    assert (first.counts["pending"], first.counts["ignored"], first.seen) == (1, 1, 2)
    drop("b.txt", texts["b.txt"])
    assert run(plan, observer=Witness()).counts["done"] == 2
    (over,) = run(plan, observer=Witness()).ignored
    assert over == ("manifest.sha256", "the manifest of a batch that is over: each of its files was processed before")
