"""A disk that is full: see full.py. Only root may make a small one."""

import os
import subprocess
import sys

import pytest


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a small disk")
def test_a_full_disk_changes_nothing() -> None:
    command = ["unshare", "--mount", sys.executable, "-m", "tests.bundle.full"]
    done = subprocess.run(command, capture_output=True, text=True)
    if "unshare failed" in done.stderr:
        pytest.skip("this machine lets nobody mount a small disk")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
