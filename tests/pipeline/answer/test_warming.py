"""Models of later jobs are made ready in processes of their own, while the first one works."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import engine

PROGRAM = """
import sys
from pathlib import Path
import engine
from pipeline.answer.machine import Warming
from tests.pipeline.conftest import make_plan, make_site

site = make_site(Path(sys.argv[1]))
first, second, third = (make_plan(site, Path(path), job) for path, job in zip(sys.argv[2:], "abc"))
with Warming([first, second, third]) as warming:
    print(len(warming._processes))
    warming.wait_for(first, print, lambda: False)
    warming.wait_for(second, print, lambda: False)
    print(engine.kernels_of(second.model.path))
with Warming([first, second, third]) as warming:
    print(len(warming._processes))
    warming.wait_for(second, print, lambda: False)
"""
STOPS = """
import sys
from pathlib import Path
from pipeline.answer.machine import Warming
from tests.pipeline.conftest import make_plan, make_site

site = make_site(Path(sys.argv[1]))
plans = [make_plan(site, Path(path), job) for path, job in zip(sys.argv[2:], "ab")]
with Warming(plans) as warming:
    warming.wait_for(plans[1], print, lambda: True)
    (process,) = warming._processes.values()
print(process.poll() is not None)
"""


def run(program: str, cache: Path, *arguments: Path) -> list[str]:
    """Lines that a program writes, in a new cache and without a compiler, which would take long."""
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)], text=True, check=False, capture_output=True,
        env=os.environ | {"CLOISTER_CACHE": str(cache), "NUMBA_DISABLE_JIT": "1", "CLOISTER_THREADS": "2"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.skipif(engine.threads() < 2, reason="with one CPU models are made ready one after another")
def test_other_kinds_of_models_are_made_ready_meanwhile(
    tmp_path: Path, tiny_exact_model: Path, tiny_decoder: Path
) -> None:
    told = run(PROGRAM, tmp_path / "cache", tmp_path / "site", tiny_exact_model, tiny_decoder, tiny_decoder)
    waits = f"compiling kernels for {engine.isa()}, once per machine: they are being compiled since the first job began"
    assert told == ["1", waits, "('decoder', True)", "0"]


@pytest.mark.skipif(engine.threads() < 2, reason="with one CPU models are made ready one after another")
def test_a_run_that_is_stopped_does_not_wait(tmp_path: Path, tiny_exact_model: Path, tiny_decoder: Path) -> None:
    told = run(STOPS, tmp_path / "cache", tmp_path / "site", tiny_exact_model, tiny_decoder)
    assert told[-1] == "True"


def test_a_model_that_is_none_is_left_to_its_own_run(tmp_path: Path, tiny_exact_model: Path) -> None:
    (bad := tmp_path / "bad.gguf").write_bytes(b"no model")
    told = run(
        PROGRAM.partition("    warming.wait_for")[0], tmp_path / "cache", tmp_path / "site", tiny_exact_model, bad, bad
    )
    assert told == ["0"]
