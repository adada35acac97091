import errno
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import audit


def test_a_new_log_is_empty_and_verifies(site: Any) -> None:
    assert audit.read_checkpoint(site.folder, site.public_key).size == 0
    assert site.entries() == []
    report = site.verify()
    assert (report.origin, report.size, report.findings, report.notes) == ("example.org/cloister", 0, [], [])


def test_what_is_committed_is_read_back(site: Any) -> None:
    with site.open() as log:
        assert (log.next_index, log.cut, log.origin) == (0, None, "example.org/cloister")
        assert log.commit(site.records(3)) == 0
        assert log.commit([{"type": "run.finished", "run": "r", "counts": {"done": 3}}]) == 3
        assert log.next_index == 4
        assert [entry["n"] for entry in site.entries()] == [0, 1, 2, 3]  # while the writer holds the lock
    entries = site.entries()
    assert entries[3]["counts"] == {"done": 3}
    assert entries[2]["name"] == "döc 2"
    assert [entry["time"][-4:] for entry in entries] == ["001Z", "001Z", "001Z", "002Z"]
    assert [n for n, _ in audit.read_entries(site.folder, site.public_key, start=2)] == [2, 3]
    assert list(audit.read_entries(site.folder, site.public_key, start=4)) == []
    assert site.verify().size == 4


def test_same_records_and_stamps_give_the_same_bytes(tmp_path: Path, make_site: Any) -> None:
    """But for the grouping into commits, which only the stamps and no tile or root would show."""
    sites = [make_site(tmp_path / name) for name in ("one", "two")]
    for site in sites:
        site.commit(5, 300)
    contents = [
        {path.relative_to(site.folder): path.read_bytes() for path in site.folder.rglob("*") if path.is_file()}
        for site in sites
    ]
    assert contents[0] == contents[1]
    assert len(contents[0]) == 6


@pytest.mark.parametrize("sizes", [[1] * 5, [255, 1, 1], [256, 256], [4095, 1, 1], [4096, 1], [4097], [9000, 300]])
def test_sizes_around_tiles_and_segments(ram_folder: Path, make_site: Any, sizes: list[int]) -> None:
    site = make_site(ram_folder / "audit")
    site.commit(*sizes)
    with site.open() as log:
        assert log.next_index == sum(sizes)
        assert log.cut is None
    report = site.verify()
    assert (report.size, report.findings, report.notes) == (sum(sizes), [], [])
    last = sum(sizes) - 1
    assert [n for n, _ in audit.read_entries(site.folder, site.public_key, start=last)] == [last]


def test_a_record_that_cannot_be_an_entry_changes_nothing(site: Any) -> None:
    with site.open() as log:
        for bad in (
            [],
            [*site.records(2), {"type": "x", "run": "r", "n": 1}],
            [{"type": "x", "run": "r", "f": float("nan")}],
        ):
            with pytest.raises(ValueError, match=r"\w"):
                log.commit(bad)
        assert log.commit(site.records(1)) == 0
    assert site.verify().size == 1


def test_there_is_one_writer(site: Any) -> None:
    with site.open():
        with pytest.raises(audit.LogHeld, match=f"held by process {os.getpid()}, started 20..-.*Z, on ") as held:
            site.open()
        assert held.value.pid == os.getpid()
    site.open().close()


def test_another_process_is_named(site: Any) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", "import fcntl,sys; f=open(sys.argv[1]); fcntl.flock(f,2); print(flush=True); input()",
         str(site.folder / "lock")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert holder.stdout is not None
    holder.stdout.readline()
    with pytest.raises(audit.LogHeld) as held:
        site.open()
    assert held.value.pid == holder.pid
    holder.communicate(b"\n")
    site.open().close()


def test_a_closed_log_takes_nothing(site: Any) -> None:
    log = site.open()
    log.close()
    log.close()
    with pytest.raises(audit.LogUnwritable, match="closed"):
        log.commit(site.records(1))


def test_a_log_is_never_made_over_another(site: Any, tmp_path: Path) -> None:
    site.commit(1)
    with pytest.raises(audit.LogUnwritable, match="not empty"):
        audit.Log.create(site.folder, key_path=site.key_path, public_key=site.public_key)
    assert site.verify().size == 1
    (tmp_path / "file").touch()
    with pytest.raises(audit.LogUnwritable):
        audit.Log.create(tmp_path / "file", key_path=site.key_path, public_key=site.public_key)
    (tmp_path / "empty").mkdir()
    audit.Log.create(tmp_path / "empty", key_path=site.key_path, public_key=site.public_key)


def test_only_the_trusted_key_opens(site: Any, tmp_path: Path) -> None:
    other = audit.generate_key(tmp_path / "other", "example.org/cloister")
    with pytest.raises(audit.KeyRefused):
        audit.Log.open(site.folder, key_path=site.key_path, public_key=other)
    with pytest.raises(audit.LogUntrusted, match="checkpoint: not signed by"):
        audit.Log.open(site.folder, key_path=tmp_path / "other", public_key=other)
    with pytest.raises(audit.LogUntrusted):
        audit.read_checkpoint(site.folder, other)
    with pytest.raises(audit.KeyRefused):
        audit.read_checkpoint(site.folder, "no key")


@pytest.mark.parametrize(
    "path", ["checkpoint", "lock", "entries/000000000000.jsonl", "tile/0/000", "tile/0/001.p/44", "tile/1/000.p/1"]
)
def test_a_missing_file_is_not_a_new_log(site: Any, path: str) -> None:
    site.commit(300)
    (site.folder / path).unlink()
    with pytest.raises(audit.LogUntrusted, match="missing"):
        site.open()
    if path != "lock":  # readers and verification do not take it, but verification misses it
        assert path in [finding.where for finding in site.verify().findings]
    assert "missing" in str(site.verify().findings)


@pytest.mark.parametrize("path", ["checkpoint", "entries/000000000000.jsonl", "tile/0/001.p/44", "tile/1/000.p/1"])
@pytest.mark.parametrize("how", ["empty", "shorter", "changed", "link", "folder"])
def test_damage_below_the_checkpoint_stops_the_start(site: Any, path: str, how: str, tmp_path: Path) -> None:
    site.commit(300)
    file = site.folder / path
    data = file.read_bytes()
    if how in ("link", "folder"):
        file.rename(tmp_path / "moved")
        file.symlink_to(tmp_path / "moved") if how == "link" else file.mkdir()
    else:
        file.write_bytes({"empty": b"", "shorter": data[:-1], "changed": data[:-9] + b"\0" + data[-8:]}[how])
    before = sorted(site.folder.rglob("*"))
    with pytest.raises(audit.LogUntrusted):
        site.open()
    assert sorted(site.folder.rglob("*")) == before
    assert not site.verify().ok


def test_a_well_formed_change_in_the_last_tile_stops_the_start(site: Any) -> None:
    site.commit(300)
    segment = site.folder / "entries/000000000000.jsonl"
    lines = segment.read_bytes().splitlines(keepends=True)
    lines[257] = lines[257].replace(b"0.25", b"0.75")
    segment.write_bytes(b"".join(lines))
    with pytest.raises(audit.LogUntrusted, match=r"entry 257 \(entries/000000000000.jsonl, line 258\): hashes to"):
        site.open()


def test_the_sizes_of_all_segments_are_checked_at_the_start(ram_folder: Path, make_site: Any) -> None:
    site = make_site(ram_folder / "audit")
    site.commit(4100)
    segment = site.folder / "entries/000000000000.jsonl"
    data = segment.read_bytes()
    for changed in (data[:-1], data + b"x", data * 2):
        segment.write_bytes(changed)
        with pytest.raises(
            audit.LogUntrusted, match=r"the segments hold \d+ bytes, signed are|do not end with entry 4099"
        ):
            site.open()
    segment.write_bytes(data[1:])
    with pytest.raises(audit.LogUntrusted, match=r"the segments hold \d+ bytes, signed are"):
        site.open()


def test_a_folder_that_is_no_log(site: Any, tmp_path: Path) -> None:
    site.commit(1)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    for name in ("missing", "empty", "file"):
        with pytest.raises(audit.LogUntrusted):
            audit.Log.open(tmp_path / name, key_path=site.key_path, public_key=site.public_key)
        assert not audit.verify(tmp_path / name, site.public_key).ok


def test_an_interrupted_commit_is_cut_and_reported(site: Any) -> None:
    site.commit(3)
    old = (site.folder / "checkpoint").read_bytes()
    shutil.copytree(site.folder / "tile", site.folder.parent / "tile")
    size = (site.folder / "entries/000000000000.jsonl").stat().st_size
    site.commit(2)
    extra = (site.folder / "entries/000000000000.jsonl").stat().st_size - size
    (site.folder / "checkpoint").write_bytes(old)
    shutil.copytree(site.folder.parent / "tile", site.folder / "tile", dirs_exist_ok=True)
    assert len(site.entries()) == 3  # never read as entries
    report = site.verify()
    assert report.ok
    assert f"{extra} bytes (2 whole entries) beyond the checkpoint" in report.notes[0]
    with site.open() as log:
        assert log.cut == audit.Cut(bytes=extra, entries=2, files=1)
        assert log.next_index == 3
    assert (site.folder / "entries/000000000000.jsonl").stat().st_size == size
    assert (site.verify().findings, site.verify().notes) == ([], [])


def test_a_checkpoint_put_back_is_noticed(site: Any) -> None:
    """Alone it misses the tiles of its edge. With the tiles, several commits lie beyond it, and it is not cut."""
    site.commit(256)
    old = (site.folder / "checkpoint").read_bytes()
    site.commit(3)
    edge = (site.folder / "checkpoint").read_bytes()
    site.commit(1)
    (site.folder / "checkpoint").write_bytes(edge)
    with pytest.raises(audit.LogUntrusted, match=r"tile/0/001\.p/3: missing"):
        site.open()
    (site.folder / "checkpoint").write_bytes(old)
    with pytest.raises(audit.LogUntrusted, match=r"covers 256 entries, but those that follow .* older than the log"):
        site.open()
    assert [finding.where for finding in site.verify().findings] == ["checkpoint"]


def test_unknown_files_do_not_stop_the_start_but_are_found(site: Any) -> None:
    site.commit(3)
    (site.folder / "notes.txt").write_text("x")
    site.open().close()
    assert [finding.where for finding in site.verify().findings] == ["notes.txt"]


def test_a_failed_commit_leaves_the_log_as_it_was(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    site.commit(255)
    before = {path: path.read_bytes() for path in site.folder.rglob("*") if path.is_file()}
    real, failed_at = os.fsync, 0
    while True:
        calls = 0

        def fsync(fd: int, at: int = failed_at) -> None:
            nonlocal calls
            calls += 1
            if calls - 1 == at:
                raise OSError(errno.EIO, "Input/output error")
            real(fd)

        log = site.open()
        monkeypatch.setattr(os, "fsync", fsync)
        with pytest.raises(audit.LogUnwritable, match="Input/output error"):
            log.commit(site.records(3))
        monkeypatch.undo()
        with pytest.raises(audit.LogUnwritable, match="a commit of it failed"):
            log.commit(site.records(1))
        log.close()
        if audit.read_checkpoint(site.folder, site.public_key).size == 258:
            break  # the checkpoint was renamed, and only the sync of its folder failed
        assert {path: path.read_bytes() for path in site.folder.rglob("*") if path.is_file()} == before
        failed_at += 1
    assert failed_at > 5
    assert site.verify().ok


def test_a_full_disk_leaves_the_log_as_it_was(site: Any) -> None:
    site.commit(3)
    before = {path: path.read_bytes() for path in site.folder.rglob("*") if path.is_file()}
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with site.open() as log:
            resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))  # a write beyond that fails in the middle
            try:
                log.commit(site.records(100))
            except audit.LogUnwritable:
                os._exit(42)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 42
    assert {path: path.read_bytes() for path in site.folder.rglob("*") if path.is_file()} == before


def test_a_disk_that_is_full_already_is_noticed_at_the_start(site: Any) -> None:
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        try:
            site.open()
        except audit.LogUnwritable:
            os._exit(42)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 42
    assert site.verify().ok


def test_reading_goes_on_while_a_writer_commits(site: Any) -> None:
    site.commit(5)
    reader = audit.read_entries(site.folder, site.public_key)
    first = next(reader)
    site.commit(300)
    assert [n for n, _ in (first, *reader)] == [0, 1, 2, 3, 4]


def test_reading_refuses_what_is_no_entry(site: Any) -> None:
    site.commit(5)
    segment = site.folder / "entries/000000000000.jsonl"
    lines = segment.read_bytes().splitlines(keepends=True)
    for damaged in (
        lines[:4],
        [*lines[:4], lines[4][:-1]],
        [*lines[:2], lines[3], lines[2], lines[4]],
        [*lines[:3], b"\n", *lines[3:]],
    ):
        segment.write_bytes(b"".join(damaged))
        with pytest.raises(audit.LogUntrusted, match=r"entry|entries"):
            site.entries()


def test_progress_is_told(site: Any) -> None:
    site.commit(5)
    seen = list[tuple[int, int]]()
    audit.verify(site.folder, site.public_key, progress=lambda done, size: seen.append((done, size)))
    assert seen == [(0, 5), (5, 5)]
