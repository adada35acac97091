"""Wheels from a package registry: pip brings them, by its own configuration, for a Python that need not be here."""

import re
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from jobs.bundle.create.locked import Pinned
from jobs.bundle.create.tags import platforms
from jobs.errors import ConfigError, Problem

_ABOUT: Final = re.compile(r"(?:Collecting |Processing .*/)([A-Za-z0-9._]+)")
_NONE: Final = re.compile(r"No matching distribution found for ([^\s(]+)")
_OFFLINE: Final = "after connection broken by"  # how pip says that it tries again
_LINES = 400  # of what pip said

Told = Callable[[str], None]


def fetch(pinned: Iterable[Pinned], python: str, folder: Path, tell: Told) -> None:
    """Put the wheels of all requirements for this Python into the folder. pip compares each with its sha256. `tell`
    hears the name of each package. ConfigError if one is missing, or the registry cannot be reached."""
    listed = folder / f"requirements-{python}.txt"
    listed.write_text("".join(f"{one.to_line()}\n" for one in pinned), encoding="utf-8")
    said: deque[str] = deque(maxlen=_LINES)
    command = _command(listed, python, folder)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as pip:
        assert pip.stdout
        for line in pip.stdout:
            said.append(line.rstrip())
            if found := _ABOUT.match(line):
                tell(found[1])
    if pip.returncode:
        raise _refused(list(said), python)


def _command(listed: Path, python: str, folder: Path) -> list[str]:
    """pip prefers the platform that is named first, so the one with the lowest glibc comes first."""
    tag = f"cp{python.replace('.', '')}"
    target = ["--python-version", python, "--implementation", "cp", "--abi", tag]
    for platform in platforms():
        target += ["--platform", platform]
    about = ["--only-binary", ":all:", "--require-hashes", "--no-deps", "--disable-pip-version-check"]
    about += ["--progress-bar", "off"]
    return [sys.executable, "-m", "pip", "download", *about, "--dest", str(folder), *target, "-r", str(listed)]


def _refused(said: list[str], python: str) -> ConfigError:
    errors = (
        [line.removeprefix("ERROR: ") for line in said if line.startswith("ERROR: ")]
        or said[-1:]
        or ["it says nothing"]
    )
    if any("No module named pip" in line for line in said):
        return ConfigError(Problem("pip", "is not installed beside this Python", None, "python -m ensurepip"))
    if any(_OFFLINE in line for line in said):
        what = f"the package registry cannot be reached: {errors[0]}"
        return ConfigError(Problem("pip", what, "a network, or a folder of wheels", "--wheels FOLDER needs no network"))
    if missing := [found[1] for line in errors if (found := _NONE.search(line))]:
        what = f"there is no wheel of {', '.join(missing)} for Python {python} on x86-64 Linux"
        return ConfigError(Problem("pip", what, None, "another --python, or another version in the lock"))
    return ConfigError(Problem("pip", f"could not bring the wheels for Python {python}: {errors[-1]}"))
