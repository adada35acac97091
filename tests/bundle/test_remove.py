"""`cloister bundle remove`: versions that nothing needs are deleted, and no other one, wherever that is cut off."""

import shutil
import subprocess
import sys
from pathlib import Path
from signal import SIGKILL

import pytest

from jobs.bundle.install import install
from jobs.bundle.versions import complete_versions, locked, this_machine
from tests.bundle.disk import FIRST, UPDATE, Disk, runs
from tests.bundle.kills import LAUNCHER
from tests.jobs.conftest import Cloister

OLD = "0.9-000000000000"
REMOVE = """\
import sys
from pathlib import Path
from jobs.bundle.remove import remove
remove(Path(sys.argv[1]), sys.argv[2:])
"""


@pytest.fixture(scope="module")
def two(disk: Disk, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installation of two versions."""
    root = tmp_path_factory.mktemp("machine") / "opt"
    for name in ("first", "update"):
        install(disk.bundle(name), root, disk.public_key, "2026-11-27", this_machine(), lambda step: None)
    return root


@pytest.fixture
def opt(two: Path) -> Path:
    """The same, with an old version beside them."""
    shutil.rmtree(two / "versions" / OLD, ignore_errors=True)
    shutil.copytree(two / "versions" / FIRST.id(), two / "versions" / OLD, symlinks=True)
    return two


def test_only_what_nothing_needs_is_removed(opt: Path, cloister: Cloister) -> None:
    for version, why in (
        (UPDATE.id(), "it is the current version"),
        (FIRST.id(), "it is the version to which `rollback` goes"),
        ("../versions", "no such version is installed"),
    ):
        refused = cloister("bundle", "remove", OLD, version, "--prefix", opt)
        assert (refused.code, why in refused.err) == (2, True), refused.err
        assert OLD in complete_versions(opt)
    assert f"{OLD}  unused" in cloister("bundle", "list", "--prefix", opt).out
    assert cloister("bundle", "remove", OLD, OLD, "--prefix", opt).out == f"Removed {OLD}\n"
    assert sorted(path.name for path in (opt / "versions").iterdir()) == [FIRST.id(), UPDATE.id()]
    assert runs(opt) == "cloister 1.1 part"


def test_a_version_from_which_a_process_runs_is_kept(opt: Path, cloister: Cloister) -> None:
    command = [opt / "versions" / OLD / "venv/bin/python", "-I", "-c", "print(flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        refused = cloister("bundle", "remove", OLD, "--prefix", opt)
        assert (refused.code, f"processes run from it: {process.pid}" in refused.err) == (2, True), refused.err
        process.communicate(b"\n")
    assert cloister("bundle", "remove", OLD, "--prefix", opt, "--json").json == {"removed": [OLD], "prefix": str(opt)}


def test_where_nothing_is_installed(tmp_path: Path, cloister: Cloister) -> None:
    (tmp_path / "file").write_text("")
    for folder, told in ((tmp_path / "none", "no version is installed there"), (tmp_path / "file", "Not a directory")):
        for words in (["remove", OLD], ["rollback"]):
            refused = cloister("bundle", *words, "--prefix", folder)
            assert (refused.code, told in refused.err) == (2, True), refused.err
    assert cloister("bundle", "list", "--prefix", tmp_path / "file").code == 2


@pytest.mark.parametrize("last", [1, 2, 3, 9])
def test_a_removal_that_is_killed_leaves_no_half_version(last: int, opt: Path, tmp_path: Path) -> None:
    program = tmp_path / "remove.py"
    program.write_text(REMOVE)
    words = [sys.executable, "-c", LAUNCHER, str(last), str(program), str(opt), OLD]
    killed = subprocess.run(words, capture_output=True, start_new_session=True)
    assert killed.returncode == -SIGKILL, killed.stderr
    left = opt / "versions" / OLD
    whole = (left / "venv/bin/cloister").exists() and (left / "manifest.json").exists()
    assert whole or OLD not in complete_versions(opt)
    assert runs(opt) == "cloister 1.1 part"
    was = complete_versions(opt)
    with locked(opt):
        assert sorted(path.name for path in (opt / "versions").iterdir()) == was
