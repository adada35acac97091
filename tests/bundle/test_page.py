"""The commands that the page about bundles shows are run, with small bundles."""

import shutil
from pathlib import Path

import click

from jobs.cli.app import make_app
from tests.bundle.disk import FIRST, UPDATE, Disk, runs
from tests.pages import blocks


def test_its_commands(disk: Disk, root: Path) -> None:
    """Those of the two programs, with a folder of the test; and what `cloister` is told are commands that it has."""
    shutil.copy(disk.bundle("first"), disk.bundle("cloister-1.0"))
    shutil.copy(disk.bundle("update"), disk.bundle("cloister-1.1"))
    (disk.folder / "vendor.pub").write_text(disk.public_key + "\n")
    lines = [line[2:] for block in blocks("jobs/bundle/README.md", "text") for line in block.splitlines()
             if line.startswith("$ ")]  # fmt: skip
    said = []
    for line in lines:
        words = line.split()
        if words[0] == "python3":
            _, _, program, *words = words
            more = ["--prefix", str(root)] if program == "install.py" else []
            done = disk.start(*words, *more, program=program)
            assert (done.returncode, done.stderr) == (0, ""), line
            said.append(runs(root) if more else done.stdout.splitlines()[-1])
        else:
            assert words.pop(0) == "~/.local/share/cloister/bin/cloister", line
            assert is_command(make_app(), words), line
    versions = [f"cloister {small.version} part" for small in (FIRST, UPDATE, FIRST)]
    assert [each for each in said if each.startswith("cloister")] == versions
    assert said[:2] == ["WHOLE", "WHOLE"]


def is_command(command: click.Command, words: list[str]) -> bool:
    """Whether a command of these words takes them as they stand."""
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    with command.make_context("cloister", words):
        return True
