"""The bundle of this repository, where a folder has the wheels of its lock; `make torture` has pip bring them."""

import os
import subprocess
import sys

import pytest

from tests.pages import ROOT

WHEELS = os.environ.get("CLOISTER_WHEELS")


@pytest.mark.skipif(not WHEELS, reason="CLOISTER_WHEELS names no folder of wheels")
def test_the_bundle_of_this_repository() -> None:
    command = [sys.executable, "-m", "tests.bundle.real", "--wheels", str(WHEELS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
