"""A small sample of the replays of replay.py: other instruction sets, threads and company, the same bits."""

import subprocess
import sys
from pathlib import Path

import engine
from tests.thorough import ALL

RESULTS = 24 if ALL else 10


def test_results_are_made_again_bit_for_bit() -> None:
    """With one thread; `make torture` also with what nearly every CPU has, and with what every one has."""
    command = [sys.executable, "-m", "tests.faults.replay", "--results", str(RESULTS), "--under", f"{engine.isa()}:1"]
    command += ["--under", "avx2:2", "--under", "portable:1"] if ALL else []
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{RESULTS} of {RESULTS} identical" in done.stdout
