"""The service's lock: one at a time, gone with its process, seen by the kernel's list."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.stop import ServiceHeldError, holder, service_lock

HOLD = "import sys; from pathlib import Path; from jobs.stop import service_lock\n"
HOLD += "with service_lock(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"


def test_one_at_a_time(tmp_path: Path) -> None:
    with service_lock(tmp_path):
        assert holder(tmp_path) == os.getpid()
        with pytest.raises(ServiceHeldError, match=str(os.getpid())), service_lock(tmp_path):
            pass
    assert holder(tmp_path) is None
    with service_lock(tmp_path):
        pass


def test_nobody_holds_what_is_not_there(tmp_path: Path) -> None:
    assert holder(tmp_path / "none") is None


def test_the_kernel_lets_go_when_the_holder_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        assert holder(tmp_path) == other.pid
        with pytest.raises(ServiceHeldError, match=f"process {other.pid}"), service_lock(tmp_path):
            pass
        other.kill()
        other.wait()
        with service_lock(tmp_path):
            pass


def test_a_link_in_the_place_of_the_folder_is_no_lock(tmp_path: Path) -> None:
    (tmp_path / "audit").symlink_to(tmp_path)
    with pytest.raises(NotADirectoryError), service_lock(tmp_path / "audit"):
        pass
