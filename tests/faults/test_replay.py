"""A small sample of the replays of replay.py: other instruction sets, threads and company, the same bits."""

import subprocess
import sys
from pathlib import Path

RESULTS = 24


def test_results_are_made_again_bit_for_bit() -> None:
    """With what every CPU has, and with what nearly every one has."""
    command = [sys.executable, "-m", "tests.faults.replay", "--results", str(RESULTS)]
    command += ["--under", "portable:1", "--under", "avx2:2"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{RESULTS} of {RESULTS} identical" in done.stdout
