"""What a version needs of a machine, and what this machine has: one message where that does not fit.

This file is joined into install.py, which an old Python has to be able to read: nothing here is newer than Python 3.6.
"""

import os
import platform
import shutil
import struct
import sys
import sysconfig
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from jobs.bundle.reader import Bundle, BundleFile, open_regular

MARGIN = 64 * 2**20  # bytes that stay free on the disk


class RefusedError(Exception):
    """Nothing was installed or changed, because something has to be otherwise. `told` has what it is about, what was
    found, what was expected, and what to do; the last two may be empty."""

    def __init__(self, what: str, found: str, expected: str = "", remedy: str = "") -> None:
        self.told = (what, found, expected, remedy)
        more = [("expected: ", expected), ("remedy:   ", remedy)]
        super().__init__("\n".join([f"{what}: {found}", *(f"    {name}{text}" for name, text in more if text)]))


class Machine(NamedTuple):
    """The facts of a machine on which it depends whether a version runs there."""

    system: str
    machine: str
    glibc: str  # such as 2.36; empty where the C library is another one
    python: str  # such as 3.11
    flavour: str  # empty for the usual Python, else what is unusual


def this_machine() -> Machine:
    """The machine and the Python that this process runs on."""
    name, _, glibc = glibc_version().partition(" ")
    flavour = "" if platform.python_implementation() == "CPython" else platform.python_implementation()
    flavour = "32-bit Python" if struct.calcsize("P") != 8 else flavour
    flavour = "Python without a global lock" if sysconfig.get_config_var("Py_GIL_DISABLED") else flavour
    python = "{}.{}".format(*sys.version_info[:2])
    found = os.uname()
    return Machine(found.sysname.lower(), found.machine, glibc if name == "glibc" else "", python, flavour)


def glibc_version() -> str:
    """The C library's name and version, such as "glibc 2.36"; empty for one that does not tell."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (ValueError, OSError):
        return ""


def check_machine(told: dict[str, Any], machine: Machine) -> None:
    """RefusedError if the version of this manifest cannot run on this machine."""
    wanted = told["platform"]
    if (machine.system, machine.machine) != (wanted["system"], wanted["machine"]):
        found, expected = f"{machine.system} {machine.machine}", f"{wanted['system']} {wanted['machine']}"
        raise RefusedError("wrong platform", found, expected, "take the bundle for this platform, if there is one")
    if wanted["glibc"] and (not machine.glibc or as_numbers(machine.glibc) < as_numbers(wanted["glibc"])):
        found, expected = f"glibc {machine.glibc}" if machine.glibc else "no glibc", f"glibc {wanted['glibc']} or newer"
        raise RefusedError("wrong C library", found, expected, "use a newer release of the operating system")
    if machine.python not in told["pythons"] or machine.flavour:
        there = [f"python{each}" for each in told["pythons"] if shutil.which(f"python{each}")]
        remedy = f"start install.py with {there[0]}" if there else "install one of them from the operating system"
        found, expected = machine.flavour or f"Python {machine.python}", f"Python {' or '.join(told['pythons'])}"
        raise RefusedError("wrong Python", found, expected, remedy)


def as_numbers(version: str) -> list[int]:
    """A version such as 2.36 as numbers, which compare as versions do."""
    return [int(each) for each in version.split(".")]


def check_space(bundle: Bundle, folder: Path, wheels: list[BundleFile], sources: dict[str, Path]) -> None:
    """RefusedError if there is no room for a version, installed with these wheels, where `folder` lies or will lie."""
    needed = room_needed(bundle, wheels, sources)
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(str(folder)).free
    if free < needed:
        found, expected = f"{free / 2**20:,.0f} MiB free on the file system of {folder}", f"{needed / 2**20:,.0f} MiB"
        remedy = "make room there (`cloister bundle remove` deletes old versions), or choose another folder by --prefix"
        raise RefusedError("too little room", found, expected, remedy)


def room_needed(bundle: Bundle, wheels: list[BundleFile], sources: dict[str, Path]) -> int:
    """The bytes that a version takes, installed with these wheels. Files that an installed version has, the `sources`,
    take none: they get a second name."""
    new = sum(each.size for each in bundle.files if each.path not in sources)
    return MARGIN + new + sum(unpacked(bundle, each, sources) for each in wheels)


def unpacked(bundle: Bundle, wheel: BundleFile, sources: dict[str, Path]) -> int:
    """The bytes that a wheel takes when it is installed, with the compiled form of its modules."""
    data: Any = sources.get(wheel.path)
    if wheel.at is not None:
        with open_regular(bundle.archive) as file:
            file.seek(wheel.at)
            data = BytesIO(file.read(wheel.size))
    try:
        with zipfile.ZipFile(data if wheel.at is not None else str(data)) as names:
            return sum(each.file_size * (2 if each.filename.endswith(".py") else 1) for each in names.infolist())
    except zipfile.BadZipFile as error:
        found = f"{wheel.path} is no wheel, or was changed since it was checked: {error}"
        raise RefusedError(str(bundle.archive), found, "", "copy the bundle again, or ask its maker") from None
