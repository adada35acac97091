"""A share that is not mounted: what is told of it, and what a job can demand."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.config.load import load_job
from jobs.config.plan import digest_today
from jobs.config.workspace import mount_point, open_workspace
from tests.jobs.conftest import LEASE, SORT, Cloister, Place


@pytest.fixture
def share() -> Iterator[Path]:
    """A mount point with a file system in memory on it."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount")
    point = Path(tempfile.mkdtemp(prefix="cloister-share-"))
    done = subprocess.run(["mount", "-t", "tmpfs", "none", point], check=False)
    if done.returncode:
        point.rmdir()
        pytest.skip("no file system can be mounted here")
    yield point
    subprocess.run(["umount", point], check=False)
    subprocess.run(["rm", "-r", "--one-file-system", point], check=True)


def of(ready: Place, folder: Path | str, more: str = "") -> None:
    """The job takes its files from there."""
    ready.job("sort", SORT.replace("settle_seconds: 0,", f"settle_seconds: 0, folder: {folder}, {more}"))


def unmount(share: Path) -> None:
    subprocess.run(["umount", share], check=True)


def test_a_folder_that_is_missing_asks_for_its_mount(ready: Place, cloister: Cloister, tmp_path: Path) -> None:
    of(ready, tmp_path / "share/scans")
    done = cloister("run", "sort")
    assert done.code == 2
    assert f"no folder {tmp_path}/share/scans" in done.err
    assert "is the disk or share mounted on which it lies?" in done.err
    assert f"make it only if it is to lie on {mount_point(tmp_path)}" in done.err
    assert "mkdir" not in done.err
    of(ready, "share/scans")
    done = cloister("check", "sort")
    assert "no folder share/scans" in done.out
    assert "mkdir" not in done.out


@pytest.mark.parametrize("command", [("check", "sort"), ("run", "sort"), ("status",)])
def test_an_absolute_folder_is_told_as_it_stands_in_the_job(
    ready: Place, cloister: Cloister, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    of(ready, ready.root / "elsewhere")
    monkeypatch.chdir(ready.root.parent)
    done = cloister(*command, "--workspace", ready.root)
    assert f"no folder {ready.root}/elsewhere" in done.out + done.err
    monkeypatch.chdir(ready.root)
    of(ready, "elsewhere")
    assert "no folder elsewhere" in cloister("check", "sort").out


def test_a_job_demands_that_its_folder_is_mounted(ready: Place, cloister: Cloister, share: Path) -> None:
    (share / "scans").mkdir()
    (share / "scans/lease.txt").write_text(LEASE)
    of(ready, share / "scans", "mounted: true, ")
    assert cloister("check", "sort").code == 0
    unmount(share)
    (share / "scans").mkdir()  # as the remedy `mkdir -p` would have it
    (share / "scans/lost.txt").write_text(LEASE)
    for command in (("check", "sort"), ("run", "sort"), ("status", "--check")):
        done = cloister(*command)
        assert done.code in (2, 7)
        assert f"the folder {share}/scans, on which nothing is mounted" in done.out + done.err
        assert "is the disk or share mounted on which it lies?" in done.out + done.err
    assert (share / "scans/lost.txt").exists()
    of(ready, "inbox/sort", "mounted: true, ")
    assert "on which nothing is mounted" in cloister("check", "sort").out


def test_a_folder_that_lay_on_another_file_system_last_time(ready: Place, cloister: Cloister, share: Path) -> None:
    (share / "scans").mkdir()
    (share / "scans/lease.txt").write_text(LEASE)
    of(ready, share / "scans")
    assert cloister("run", "sort").code == 0
    unmount(share)
    (share / "scans").mkdir()
    (share / "scans/lost.txt").write_text(LEASE)
    for command in (("check", "sort"), ("run", "sort"), ("status", "--check")):
        done = cloister(*command)
        assert done.code in (2, 7)
        told = done.out + done.err
        assert f"the folder {share}/scans, which lies on / now, and lay on {share} last time" in told
        assert f"findmnt {share}" in told
    assert (share / "scans/lost.txt").exists()
    subprocess.run(["mount", "-t", "tmpfs", "none", share], check=True)
    (share / "scans").mkdir()
    assert cloister("check", "sort").code == 0, "it is mounted again"
    unmount(share)
    told = cloister("init", ready.root)
    assert f"{share}/scans lies on / now, and lay on {share} last time: it is taken as it is" in told.out
    assert cloister("run", "sort").code == 0
    assert not (share / "scans/lost.txt").exists()


def test_state_may_be_deleted_or_odd(ready: Place, cloister: Cloister, share: Path) -> None:
    of(ready, share)
    assert cloister("check", "sort").code == 0
    (kept,) = (ready.root / "state/mounts").iterdir()
    assert kept.read_text() == f"{share}\n{share}\n"
    for odd in (b"", b"\xff\n", b"one line\n", f"{share}\n".encode()):
        kept.write_bytes(odd)
        assert cloister("check", "sort").code == 0
        assert cloister("init", ready.root).code == 0
    of(ready, "inbox/sort")
    assert cloister("check", "sort").code == 0, "another folder of the same job"


_COMMANDS = [
    ("run",), ("check",), ("plan",), ("retry",), ("rerun",), ("results",), ("qualify", "--eval", "x"),
    ("learn", "--examples", "x"), ("review", "list"), ("review", "sample", "--size", "1"),
    ("review", "export", "-o", "x.csv"),
    ("model", "rollback", "--reason", "r"), ("audit", "search", "--job"), ("doctor", "--egress", "--job"),
    ("model", "diff", "tiny", "tiny", "--eval", "x", "--job"),
]  # fmt: skip


@pytest.mark.parametrize("command", _COMMANDS, ids=" ".join)
def test_a_job_file_with_another_ending_is_told(ready: Place, cloister: Cloister, command: tuple[str, ...]) -> None:
    job = ready.root / "jobs/m24.yml"
    (ready.root / "jobs/sort.yaml").rename(job)
    job.write_text(job.read_text().replace("job: sort", "job: m24"))
    done = cloister(*command, "m24")
    assert done.code == 2
    told = done.out + done.err
    assert "jobs/m24.yml: a job file that ends in .yml" in told
    assert "mv jobs/m24.yml jobs/m24.yaml" in told


@pytest.mark.parametrize("command", ["check", "plan"])
def test_a_misnamed_job_file_is_no_silence(ready: Place, cloister: Cloister, command: str) -> None:
    (ready.root / "jobs/m24.yml").write_text("job: m24\n")
    done = cloister(command)
    assert done.code == 2
    assert "mv jobs/m24.yml jobs/m24.yaml" in " ".join((done.out + done.err).split())


@pytest.mark.parametrize("name", ["jobs/m24.yml", "m24.yml", "./jobs/m24.yml", "jobs/m24.YAML"])
def test_a_path_with_another_ending_is_told(ready: Place, cloister: Cloister, name: str) -> None:
    (ready.root / "jobs/sort.yaml").rename(ready.root / "jobs" / Path(name).name)
    for command in ("run", "check", "plan"):
        done = cloister(command, name)
        assert done.code == 2
        assert f"a job file that ends in {Path(name).suffix}" in done.out + done.err
        assert "the ending .yaml" in done.out + done.err


def test_a_short_job_has_the_settings_of_the_long_one(ready: Place) -> None:
    place = open_workspace(None)
    long, short = (
        SORT.replace('{{name: lease, description: "a lease of a flat: landlord, tenant"}}', each).replace(
            "{{name: tiny}}", model
        )
        for each, model in (("{{name: lease}}", "{{name: tiny}}"), ("lease", "tiny"))
    )
    assert long != short
    digests = {digest_today(place, load_job(ready.job("sort", text))) for text in (long, short)}
    assert len(digests) == 1
