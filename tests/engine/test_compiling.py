"""Kernels are compiled once per machine, for the instruction set that was chosen, and work without a cache too."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import engine
from engine.compiling import FOLDER, ROOMS, code_digest, kernel_digest, stamp
from tests.thorough import ALL

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
    assert len([*FOLDER.rglob("bert.encode-*.nbc")]) == 1  # of one type of arguments, in calibration too


def test_another_installation_of_the_same_code_compiles_nothing(tiny_model: Path, tmp_path: Path) -> None:
    assert run(PROGRAM, tiny_model).returncode == 0
    package = Path(engine.__file__).parent
    shutil.copytree(package, tmp_path / "engine", ignore=shutil.ignore_patterns("__pycache__"))
    for file in (tmp_path / "engine").rglob("*.py"):
        os.utime(file, (1, 1))
    there = run(
        "import engine; print(engine.__file__)" + PROGRAM,
        tiny_model,
        PYTHONPATH=str(tmp_path),
        PYTHONSAFEPATH="1",
        NUMBA_DEBUG_CACHE="1",
    )
    told = there.stdout.splitlines()
    assert told[0] == str(tmp_path / "engine" / "__init__.py")
    assert [line for line in told if "bert.encode" in line and "[cache] data loaded from" in line]
    assert [line for line in told if "saved" in line or "compiling" in line] == []


SOME_KERNELS = """
from operator import attrgetter
from engine.simd.compiled import announced
from engine.simd.compiled import entry, kernel

@kernel
def half(x):
    return x // 2

@kernel
def both(x):
    return half(x) + half(x + 1)

@entry
def quarter(x):
    return half(both(x))

with announced(3, print):
    assert quarter(9) == 4
assert half.overloads and not any(code._is_added for code in map(attrgetter("library"), half.overloads.values()))
try:
    half(3)
except TypeError as error:
    print("refused", error)
"""


def test_how_far_compiling_is_and_what_is_compiled(tmp_path: Path) -> None:
    """A kernel that only others call gets no machine code, and cannot be called from Python."""
    (program := tmp_path / "some.py").write_text(SOME_KERNELS)
    done = run(f"import runpy; runpy.run_path({str(program)!r})", CLOISTER_CACHE=str(tmp_path / "cache"))
    assert (done.returncode, done.stderr) == (0, "")
    first, *told = done.stdout.splitlines()
    assert first == f"compiling kernels for {engine.isa()}, once per machine"
    assert told == [
        "compiling kernels: about 25 % done", "compiling kernels: about 50 % done",
        "refused bad argument type for built-in operation",
    ]  # fmt: skip


COMPILES = """
import numpy as np
import engine
from engine.compiling import FOLDER, LASTING
assert not LASTING
engine.softmax(np.ones((2, 3), np.float32), 3.0)
assert list(FOLDER.rglob("*.nbc"))
print(FOLDER)
"""


def test_a_cache_that_cannot_be_written_is_a_fact_and_no_failure(tiny_exact_model: Path) -> None:
    done = run(COMPILES, CLOISTER_CACHE="/proc/self/nothing")
    assert (done.returncode, done.stderr) == (0, "")
    assert not Path(done.stdout.strip()).exists()
    told = run(PROGRAM, tiny_exact_model, CLOISTER_CACHE="/proc/self/nothing", NUMBA_DISABLE_JIT="1").stdout
    assert told.startswith("compiling kernels for ")
    assert "at each start, for the cache folder cannot be written" in told


def test_that_kernels_are_compiled_is_told_once(tiny_exact_model: Path, tmp_path: Path) -> None:
    told = run(PROGRAM, tiny_exact_model, CLOISTER_CACHE=str(tmp_path), NUMBA_DISABLE_JIT="1").stdout
    assert (told.count("\n"), told.endswith(", once per machine\n")) == (1, True)


@pytest.mark.skipif(not ALL, reason="compiles everything once more")
def test_compiling_is_told_before_a_model_is_calibrated(tiny_model: Path, tmp_path: Path) -> None:
    told = run(PROGRAM, tiny_model, CLOISTER_CACHE=str(tmp_path)).stdout.splitlines()
    assert told[0].startswith("compiling kernels for ")
    assert len([*tmp_path.rglob("bert.encode-*.nbc")]) == 1


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


def test_a_comment_recompiles_nothing_outside_of_what_kernels_are_made_of(tmp_path: Path) -> None:
    shutil.copytree(Path(engine.__file__).parent, tmp_path / "engine", ignore=shutil.ignore_patterns("__pycache__"))
    root = tmp_path / "engine"
    before = kernel_digest(root)
    for path in (root / "convert" / "base.py", root / "generate" / "load.py", root / "engine.py"):
        path.write_text(path.read_text() + "# more\n")
        assert kernel_digest(root) == before, path
    digests = {before}
    for room in ROOMS:
        path = next((root / room).rglob("*.py"))
        path.write_text(path.read_text() + "# more\n")
        digests.add(kernel_digest(root))
    assert len(digests) == 1 + len(ROOMS)


def test_a_kernel_outside_of_those_folders_is_of_the_code_beside_it() -> None:
    package = Path(engine.__file__).parent
    inside, outside = package / "kernels" / "rows.py", package / "quant" / "search" / "scale.py"
    assert (stamp(inside), stamp(package / "models" / "bert.py")) == (FOLDER.name, FOLDER.name)
    assert stamp(outside) == stamp(outside.with_name("offset.py")) != stamp(package / "heads.py")
    assert stamp(outside).startswith(FOLDER.name)


def test_numba_imported_before_engine_is_an_error() -> None:
    done = run("import numba, engine", NUMBA_CPU_NAME="generic")
    assert done.returncode == 1
    assert "RuntimeError: numba was imported before engine" in done.stderr
