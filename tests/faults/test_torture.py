"""A few of the moments and positions of `make torture`, and that the harness notices what it looks for."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.faults import inject
from tests.faults.ends import End, differences
from tests.faults.inject import Fault, injected
from tests.faults.papers import papers
from tests.faults.torture import torture
from tests.faults.workplace import scratch
from tests.thorough import ALL, part

ROOT = Path(__file__).parents[2]
SAME = End({"a": [{"path": "a", "state": "done"}]}, {}, {"x": "1"}, {}, {})


def harness(name: str, *arguments: str) -> str:
    """In a process of its own: what it prints. Everything must hold, where it can be tried at all."""
    command = [sys.executable, "-m", f"tests.faults.{name}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    if done.stderr.startswith("not tried"):
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("encrypted", part([True, False], 2))
def test_runs_killed_at_random_moments_come_to_the_same_end(*, encrypted: bool) -> None:
    folder = scratch("kills")
    done = torture(folder, number=2, documents=12, seed=7, workers=1, most=2, encrypted=encrypted)
    assert done.kills >= 2  # more, where a run comes to its end before its moment
    assert done.histories
    assert done.wrong == []
    shutil.rmtree(folder)


def test_a_disk_that_fails_at_some_positions() -> None:
    assert "exit" in harness("disk", "--every", "400" if ALL else "800", "--workers", "1")


@pytest.mark.skipif(shutil.which("unshare") is None, reason="no unshare")
def test_a_disk_that_is_full() -> None:
    assert "1 of 1 times full, 0 wrong" in harness("full", "--number", "1")


def test_papers_are_the_same_each_time() -> None:
    assert list(papers(60)) == list(papers(60))
    assert len({name for name, _ in papers(300)}) == 300


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (replace(SAME, rows={}), "rows: a: missing, expected 1 of them"),
        (replace(SAME, rows={"a": [{"path": "a", "state": "failed"}]}), "rows: a: state is 'failed', expected 'done'"),
        (replace(SAME, rows={"a": SAME.rows["a"] * 2}), "rows: a: 2 of them, expected 1 of them"),
        (replace(SAME, archive={"x": "2"}), "archive: x: 2, expected 1"),
        (replace(SAME, failed={"y": "1"}), "failed: y: 1, expected missing"),
    ],
)
def test_a_difference_is_named(changed: End, told: str) -> None:
    assert differences(SAME, SAME) == []
    assert differences(changed, SAME) == [told]


def written(folder: Path) -> Callable[[], int]:
    """An action that writes, renames and makes a folder; its exit code is the number of the error."""

    def act() -> int:
        try:
            (folder / "new").write_bytes(b"a" * 100)
            (folder / "new").rename(folder / "file")
            (folder / "made").mkdir()
        except OSError as error:
            return error.errno or 99
        return 0

    return act


@pytest.mark.parametrize(
    ("fault", "code", "hit"),
    [
        (None, 0, None),
        (Fault("EIO", 0), 5, "create"),
        (Fault("EIO", 2), 5, "rename"),
        (Fault("ENOSPC", 1), 28, "write"),
        (Fault("short", 1), 0, "write"),
        (Fault("ENOSPC", 3), 28, "mkdir"),
        (Fault("EIO", 99), 0, None),
    ],
)
def test_a_call_is_made_to_fail(tmp_path: Path, fault: Fault | None, code: int, hit: str | None) -> None:
    if not inject.available():
        pytest.skip("no seccomp listener here")
    run = injected(written(tmp_path), tmp_path, fault)
    assert (run.code, run.hit and run.hit[0]) == (code, hit)
    if code == 0:
        assert (tmp_path / "file").stat().st_size == 100
