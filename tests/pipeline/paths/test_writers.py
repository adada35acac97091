"""What the kernel says of who writes to a file, and what is said where it does not."""

import os
from pathlib import Path

import pytest

from pipeline.paths.beneath import Writers, is_leased, lease, release, shared_with

MOUNT = "22 1 0:20 / {folder} rw - {kind} source rw\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_text("text")
    return path


def proc(folder: Path, kind: str, *processes: Path) -> Path:
    """A /proc in which the folder lies on that file system, with those folders fd/ of processes."""
    here = folder / "proc"
    (here / "self").mkdir(parents=True)
    (here / "self" / "mountinfo").write_text(MOUNT.format(folder=folder, kind=kind))
    for number, process in enumerate(processes, 1):
        (here / str(number)).symlink_to(process)
    return here


def test_a_lease_is_refused_beside_a_writer_and_granted_after_it(file: Path) -> None:
    with file.open("rb") as read:
        with file.open("ab"):
            assert lease(read.fileno()) is False
            assert Writers(file.parent).hold(read.fileno()) is True
        with file.open("rb"):
            assert Writers(file.parent).hold(read.fileno()) is False
        assert lease(read.fileno()) is True
        assert is_leased(read.fileno())
        with pytest.raises(BlockingIOError):
            os.open(file, os.O_WRONLY | os.O_NONBLOCK)
        assert not is_leased(read.fileno())
        release(read.fileno())
        os.close(os.open(file, os.O_WRONLY | os.O_NONBLOCK))


def test_writers_are_kept_away_for_a_while(file: Path) -> None:
    with file.open("rb") as read:
        with Writers(file.parent).kept_away(read.fileno()) as nobody_writes:
            assert nobody_writes()
            with pytest.raises(BlockingIOError):
                os.open(file, os.O_WRONLY | os.O_NONBLOCK)
            assert not nobody_writes()
        with file.open("ab"), Writers(file.parent).kept_away(read.fileno()) as nobody_writes:
            assert not nobody_writes()


@pytest.mark.parametrize(("kind", "shared"), [("nfs4", True), ("cifs", True), ("fuse.sshfs", True), ("ext4", False)])
def test_of_a_share_a_refused_lease_says_nothing(file: Path, tmp_path: Path, kind: str, shared: bool) -> None:
    """As NFS refuses each lease without a delegation: only who is seen writing on this machine holds it."""
    nobody, me = proc(tmp_path / "a", kind), proc(tmp_path / "b", kind, Path(f"/proc/{os.getpid()}"))
    for here in (nobody, me):
        (here / "self" / "mountinfo").write_text(MOUNT.format(folder=tmp_path, kind=kind))
    assert shared_with(tmp_path, me / "self" / "mountinfo") == (kind if shared else None)
    with file.open("rb") as read, file.open("ab"):
        assert Writers(tmp_path, processes=nobody).hold(read.fileno()) is (None if shared else True)
        assert Writers(tmp_path, processes=me).hold(read.fileno()) is True


def test_a_look_through_the_processes_is_good_for_a_second(file: Path, tmp_path: Path) -> None:
    clock = [0.0]
    mine = proc(tmp_path / "b", "nfs", Path(f"/proc/{os.getpid()}"))
    (mine / "self" / "mountinfo").write_text(MOUNT.format(folder=tmp_path, kind="nfs"))
    writers = Writers(tmp_path, lambda: clock[0], mine)
    with file.open("rb") as read:
        with file.open("ab"):
            assert writers.hold(read.fileno()) is True
        with file.open("ab"):
            clock[0] = 2.0
            assert writers.hold(read.fileno()) is True
            (mine / "1").unlink()
            assert writers.hold(read.fileno()) is True
            clock[0] = 4.0
            assert writers.hold(read.fileno()) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="nobody else can be become")
def test_of_another_users_file_it_cannot_be_told(file: Path) -> None:
    with file.open("rb") as read, file.open("ab") as written:
        child = os.fork()
        if child == 0:
            os.close(written.fileno())
            os.setuid(65534)  # whose lease is refused, and to whom the processes of others do not open
            os._exit(Writers(Path("/"), processes=Path("/proc")).hold(read.fileno()) is not None)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
