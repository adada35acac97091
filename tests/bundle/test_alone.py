"""verify.py and install.py by themselves: one file each, of the standard library, with the code of the commands."""

import ast
import re
import subprocess
import sys
from collections import Counter

import pytest

from jobs.bundle import publish as difference
from jobs.bundle.publish import PROGRAMS, program
from tests.bundle.disk import FIRST, Disk

every_program = pytest.mark.parametrize("name", PROGRAMS)


@every_program
def test_it_needs_the_standard_library_alone(name: str) -> None:
    tree = ast.parse(program(name))
    modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    modules |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {module.split(".")[0] for module in modules} <= sys.stdlib_module_names
    assert not {"socket", "http", "urllib", "ssl", "__future__"} & modules
    assert name == "install.py" or not {"ctypes", "subprocess", "shutil", "tempfile"} & modules


@every_program
def test_an_old_python_can_read_it(name: str) -> None:
    """So that it can say itself that it is too old."""
    text = program(name)
    tree = ast.parse(text, feature_version=(3, 6))
    assert not re.search(r"removeprefix|removesuffix|is_relative_to|file_digest|pairwise|zip\(.*strict|:=", text)
    annotations = [getattr(node, member, None) for node in ast.walk(tree) for member in ("annotation", "returns")]
    assert all(isinstance(each, (ast.Name, ast.Constant)) for each in annotations if each is not None)


@every_program
def test_no_name_is_there_twice(name: str) -> None:
    names = Counter(found for node in ast.parse(program(name)).body for found in difference._defines(node))
    assert [found for found, count in names.items() if count > 1] == []


def test_it_verifies(disk: Disk) -> None:
    done = disk.start(disk.bundle("first"), "--key", disk.public_key, "--list", program="verify.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("WHOLE\n")
    assert all(f" {each['path']}\n" in done.stdout for each in FIRST.files())
    update = disk.start(disk.bundle("update"), "--key", disk.public_key, program="verify.py").stdout
    assert "needs     3 files of the installed version" in update


def test_it_says_what_is_wrong(disk: Disk) -> None:
    (disk.folder / "cut.bundle").write_bytes(disk.bundle("first").read_bytes()[:-1])
    done = disk.start(disk.bundle("cut"), "--key", disk.public_key, program="verify.py")
    assert (done.returncode, done.stderr) == (1, "")
    assert "only half copied, or cut" in done.stdout
    assert "CANNOT BE TRUSTED" in done.stdout


def test_what_cannot_be_checked_is_told(disk: Disk) -> None:
    for words in (["missing.bundle", "--key", disk.public_key], [disk.bundle("first"), "--key", "no/such/file"],
                  [disk.bundle("first"), "--key", "a+b+c"], [disk.bundle("first")]):  # fmt: skip
        assert disk.start(*words, program="verify.py").returncode == 2
    told = disk.start(disk.bundle("first"), "--key", "no/such/file", program="verify.py").stdout
    assert told == "NOT CHECKED: --key: no/such/file: No such file or directory\n"


def test_nothing_beside_it_is_imported(disk: Disk) -> None:
    """Whoever can put a file on the disk could otherwise have it run, by the name of a module of Python."""
    for name in ("json.py", "hashlib.py", "argparse.py"):
        (disk.folder / name).write_text("raise SystemExit('it was imported')\n")
    for name in PROGRAMS:
        done = subprocess.run([sys.executable, name, "--help"], cwd=disk.folder, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
