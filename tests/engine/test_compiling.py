"""Kernels are compiled once per machine, for the instruction set that was chosen, and work without a cache too."""

import os
import subprocess
import sys
from pathlib import Path

from engine.compiling import code_digest

PROGRAM = """
import sys, engine
model = engine.load(sys.argv[1], progress=print)
vectors = model.embed(["the lease", "a date " * 30])
engine.softmax(engine.similarity(vectors, vectors), 3.0)
"""
SET_UP = """
import numba
print("numba.core.typing.cffi_utils" in sys.modules)
numba.njit(lambda number: number)(1)
print("numba.core.typing.cffi_utils" in sys.modules)
"""


def run(program: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)], env=os.environ | environment, text=True, check=False,
        capture_output=True,
    )  # fmt: skip


def test_the_second_process_compiles_nothing(tiny_model: Path) -> None:
    """In the cache of all tests: to compile once more for this one takes long."""
    first = run(PROGRAM, tiny_model)
    assert first.returncode == 0, first.stderr
    second = run(PROGRAM + SET_UP, tiny_model, NUMBA_DEBUG_CACHE="1")
    assert (second.returncode, second.stderr) == (0, "")
    told = second.stdout.splitlines()
    assert [line for line in told if "bert.encode" in line and "[cache] data loaded from" in line]
    assert [line for line in told if "saved" in line or "compiling" in line] == []
    assert told[-2:] == ["False", "True"]  # what compiles is set up when it has to


COMPILES = """
import numpy as np
import engine
from engine.compiling import FOLDER, LASTING
assert not LASTING
engine.softmax(np.ones((2, 3), np.float32), 3.0)
assert list(FOLDER.rglob("*.nbc"))
print(FOLDER)
"""


def test_a_cache_that_cannot_be_written_is_a_fact_and_no_failure(tiny_model: Path) -> None:
    done = run(COMPILES, CLOISTER_CACHE="/proc/self/nothing")
    assert (done.returncode, done.stderr) == (0, "")
    assert not Path(done.stdout.strip()).exists()
    told = run(PROGRAM, tiny_model, CLOISTER_CACHE="/proc/self/nothing", NUMBA_DISABLE_JIT="1").stdout
    assert told.startswith("compiling kernels for ")
    assert "at each start, for the cache folder cannot be written" in told


def test_that_kernels_are_compiled_is_told_once(tiny_model: Path, tmp_path: Path) -> None:
    told = run(PROGRAM, tiny_model, CLOISTER_CACHE=str(tmp_path), NUMBA_DISABLE_JIT="1").stdout
    assert (told.count("\n"), told.endswith(", once per machine\n")) == (1, True)


def test_a_change_in_any_file_is_other_code(tmp_path: Path) -> None:
    digests = [code_digest(tmp_path)]
    (tmp_path / "models").mkdir()
    for path in (tmp_path / "a.py", tmp_path / "models" / "b.py"):
        for text in ("A = 1\n", "A = 2\n"):
            path.write_text(text)
            digests.append(code_digest(tmp_path))
    assert len(set(digests)) == len(digests)
    (tmp_path / "README.md").write_text("more")
    assert code_digest(tmp_path) == digests[-1]


def test_numba_imported_before_engine_is_an_error() -> None:
    done = run("import numba, engine", NUMBA_CPU_NAME="generic")
    assert done.returncode == 1
    assert "RuntimeError: numba was imported before engine" in done.stderr
