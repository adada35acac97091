"""Cloister's own wheel, made from a source so that the same source gives the same bytes everywhere.

It is built by the setuptools of the lock, whatever is installed here, from a copy whose files all have one mode, and
put together again without compression: what deflate makes differs from one zlib to the next.
"""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Final

from jobs.bundle.create.source import Source
from jobs.bundle.create.tags import parse_wheel_name
from jobs.bundle.create.wheels import Wheel
from jobs.bundle.manifest import PRODUCT
from jobs.errors import ConfigError, Problem
from jobs.load import shown

_EPOCH: Final = 315_532_800  # 1980-01-01, before which a zip file knows no time
_FIRST: Final = (1980, 1, 1, 0, 0, 0)
_BUILD: Final = """\
import os, sys
os.umask(0o022)
sys.path.insert(0, sys.argv[1])
from setuptools import build_meta
build_meta.build_wheel(sys.argv[2])
"""


def build_wheel(source: Source, setuptools: Wheel, folder: Path) -> Path:
    """The wheel of a source, made in a folder that is empty. ConfigError if it cannot be built."""
    tools, tree, built = folder / "tools", folder / "tree", folder / "built"
    with zipfile.ZipFile(setuptools.path) as file:
        file.extractall(tools)
    built.mkdir()
    for name in source.files:
        if not name.startswith("tests/"):
            _copy(source.folder / name, tree / name)
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "SOURCE_DATE_EPOCH": str(_EPOCH),
        "TZ": "UTC",
        "LC_ALL": "C.UTF-8",
    }
    command = [sys.executable, "-I", "-S", "-c", _BUILD, str(tools.absolute()), str(built.absolute())]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, errors="replace")
    wheels = list(built.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        why = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
        raise ConfigError(Problem(shown(source.folder), f"its wheel cannot be built: {why}"))
    made = parse_wheel_name(wheels[0].name)
    if made is None or (made.name, made.version, made.platforms) != (PRODUCT, source.version, ("any",)):
        raise ConfigError(Problem(shown(source.folder), f"its wheel is {wheels[0].name}", "one without machine code"))
    return _store(wheels[0], folder / wheels[0].name)


def _copy(file: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, target)
    target.chmod(0o644)


def _store(wheel: Path, target: Path) -> Path:
    """The same wheel with its files in order, stored as they are, of one time and mode."""
    with zipfile.ZipFile(wheel) as file, zipfile.ZipFile(target, "x", zipfile.ZIP_STORED) as stored:
        for name in sorted(file.namelist(), key=_record_last):
            if not name.endswith("/"):
                member = zipfile.ZipInfo(name, _FIRST)
                member.create_system, member.external_attr = 3, 0o100644 << 16  # Unix, whatever this machine is
                stored.writestr(member, file.read(name))
    return target


def _record_last(name: str) -> tuple[bool, str]:
    """The folder of metadata comes last, as PEP 427 wishes."""
    return name.split("/", 1)[0].endswith(".dist-info"), name
