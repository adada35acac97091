"""What a version needs of a machine; the installed versions, and which of them is the current one.

A link is replaced by a rename, so `current` always leads to a version that was complete before. A kill between the two
renames leaves `flip` behind, and whoever changes something next does them again. README.md has the files.

This file is joined into install.py, which an old Python has to be able to read: nothing here is newer than Python 3.6.
"""

import ctypes
import errno
import fcntl
import os
import platform
import re
import shutil
import stat
import struct
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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


VERSIONS, CURRENT, PREVIOUS, FLIP, TRUSTED = "versions", "current", "previous", "flip", "trusted.key"
COMPLETE, LOCK, COMMAND = "complete", "lock", "bin/cloister"


class HeldError(RefusedError):
    """Another process changes the installation."""


def default_root() -> Path:
    """The folder of the installation where none is named."""
    return Path("/opt/cloister") if os.geteuid() == 0 else Path("~/.local/share/cloister").expanduser()


@contextmanager
def told_errors() -> Iterator[None]:
    """A full disk or a folder that cannot be written is a RefusedError, too."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        room = "make room on that disk; `cloister bundle remove` deletes old versions"
        remedy = room if full else "choose another folder by --prefix, or another user"
        raise RefusedError(str(error.filename or "the installation"), str(error.strerror), "", remedy) from error


@contextmanager
def locked(root: Path, make: bool = False) -> Iterator[int]:
    """Nobody else changes the installation meanwhile. What an interrupted change left is finished or removed first.
    `make`: there may be none yet; if there still is none at the end, nothing stays behind. A child that inherits the
    descriptor keeps the lock until it has ended too. Raises HeldError, RefusedError."""
    check_safe(root)
    made = make and make_root(root)
    handle = os.open(str(root / LOCK), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        take(root, handle)
        try:
            finish_flip(root)
            remove_rests(root)
            yield handle
        finally:
            if version_of(root, CURRENT) is None and not complete_versions(root):
                remove_root(root, made)
    finally:
        os.close(handle)


@contextmanager
def changing(root: Path) -> Iterator[None]:
    """Hold the lock of an installation that has a version; RefusedError where there is none. HeldError, OSError."""
    if version_of(root, CURRENT) is None:
        raise RefusedError(str(root), "no version is installed there", "an installation", "name it by --prefix")
    with locked(root):
        yield


def take(root: Path, handle: int) -> None:
    """Take the lock. HeldError if another has it, or had it and took the folder away."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        held = not os.path.samestat(os.fstat(handle), (root / LOCK).stat())
    except (BlockingIOError, FileNotFoundError):
        held = True
    if held:
        raise HeldError(str(root), "another install or rollback is at work there", "", "wait until it has ended")


def make_root(root: Path) -> bool:
    """Make the folder of an installation, if it is not there; whether it was made. RefusedError for one that is
    something else."""
    made = not root.exists()
    root.mkdir(parents=True, exist_ok=True)
    if any(root.iterdir()) and not (root / LOCK).exists():
        found, remedy = f"{root} is not empty", "choose another folder by --prefix"
        raise RefusedError("no installation", found, "a new or empty folder", remedy)
    return made


def check_safe(root: Path) -> None:
    """RefusedError for an installation that others may change or replace: they would decide what runs."""
    expected, remedy = "a folder that is yours alone", "choose another one by --prefix"
    if root.exists() and root.stat().st_uid != os.geteuid():
        remedy = f"do it as the user to whom it belongs (uid {root.stat().st_uid}), or {remedy}"
        raise RefusedError("unsafe folder", f"{root} belongs to another user", expected, remedy)
    if root.exists() and root.stat().st_mode & 0o022:
        raise RefusedError("unsafe folder", f"others may write to {root}", expected, remedy)
    for folder in root.resolve().parents:
        mode = folder.stat().st_mode if folder.exists() else 0
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            found = f"all users may write to {folder}, and so replace what lies in it"
            raise RefusedError("unsafe folder", found, expected, remedy)


def remove_root(root: Path, made: bool) -> None:
    """Remove what was made of an installation that has no version; the caller holds its lock. The lock goes last: a
    folder that has anything else, and no lock, is taken for something else than an installation."""
    with suppress(OSError):
        for path in (root / COMMAND, root / TRUSTED):
            if os.path.lexists(str(path)):
                path.unlink()
        for folder in ((root / COMMAND).parent, root / VERSIONS):
            if folder.exists():
                folder.rmdir()
        (root / LOCK).unlink()
        if made:
            root.rmdir()


def version_of(root: Path, link: str) -> str | None:
    """The id of the version to which `current` or `previous` leads; None if there is none."""
    try:
        return Path(os.readlink(str(root / link))).name  # noqa: PTH115  Path has it since Python 3.9
    except FileNotFoundError:
        return None


def complete_versions(root: Path) -> list[str]:
    """The ids of the installed versions, in order."""
    return sorted(each.parent.name for each in root.glob(f"{VERSIONS}/*/{COMPLETE}"))


def remove_rests(root: Path) -> None:
    """Remove the versions of installs and removals that were cut off. A file that somebody put there stays."""
    current = version_of(root, CURRENT)
    for folder in root.glob(f"{VERSIONS}/*"):
        is_rest = folder.is_dir() and not folder.is_symlink() and not (folder / COMPLETE).exists()
        if is_rest and folder.name != current:
            shutil.rmtree(str(folder))


def discard(folder: Path) -> None:
    """Delete a version. Wherever that is cut off, what is left is not taken for a version, and removed later."""
    (folder / COMPLETE).unlink()
    sync(folder)
    shutil.rmtree(str(folder))


def order_of(version: str) -> list[tuple[int, int]]:
    """What versions are compared by: numbers as numbers; 1.0.dev1, 1.0a1, 1.0b1 and 1.0rc1 come before 1.0, in this
    order, and 1.0.post1 after it, as PEP 440 has it. What follows a + does not count."""
    ranks = {"dev": -4, "a": -3, "b": -2, "rc": -1}
    parts = re.findall("[0-9]+|[a-z]+", version.lower().partition("+")[0])
    return [(2, int(part)) if part.isdigit() else (ranks.get(part, 1), 0) for part in parts] + [(0, 0)]


def flip(root: Path, current: str, previous: str | None) -> None:
    """Make one version the current one, and another the one to which `rollback` goes. What fails before the first is
    the current one is not done later either. OSError."""
    write_whole(root / FLIP, f"{current}\n{previous or ''}\n")
    try:
        finish_flip(root)
    except OSError:
        if version_of(root, CURRENT) != current:
            (root / FLIP).unlink()
        raise


def finish_flip(root: Path) -> None:
    """Do what `flip` says, from its beginning. It may have been done before in part, or whole; and somebody may have
    deleted a version since."""
    if not (root / FLIP).exists():
        return
    current, previous = (root / FLIP).read_text().splitlines()
    complete = complete_versions(root)
    if current in complete:
        replace_link(root / CURRENT, f"{VERSIONS}/{current}")
        if previous in complete:
            replace_link(root / PREVIOUS, f"{VERSIONS}/{previous}")
    (root / FLIP).unlink()
    sync(root)


def replace_link(path: Path, target: str) -> None:
    """Have a link lead elsewhere: at each moment it leads to the old target or to the new one."""
    new = path.with_name(path.name + ".new")
    if os.path.lexists(str(new)):
        new.unlink()
    new.symlink_to(target)
    new.replace(path)
    sync(path.parent)


def write_whole(path: Path, text: str) -> None:
    """Write a file that is there whole or not at all."""
    new = path.with_name(path.name + ".new")
    try:
        with new.open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError:
        with suppress(OSError):
            new.unlink()
        raise
    sync(path.parent)


def sync(folder: Path) -> None:
    """The names in a folder are on the disk."""
    handle = os.open(str(folder), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_filesystem(folder: Path) -> None:
    """All that was written to the file system of a folder is on the disk. Others, such as a share that hangs, are not
    waited for."""
    handle = os.open(str(folder), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if ctypes.CDLL(None, use_errno=True).syncfs(handle) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(folder))
    finally:
        os.close(handle)


def check_start(folder: Path) -> None:
    """RefusedError unless the command of the version in this folder starts, with the modules of its own environment."""
    command = [str(folder / "venv/bin/cloister"), "--version"]
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd="/", env=own, timeout=300)
        told, right = done.stdout.decode("utf-8", "replace").strip(), done.returncode == 0
    except (OSError, subprocess.TimeoutExpired) as error:
        told, right = str(error), False
    if not right:
        raise RefusedError(command[0], f"does not start: {(told.splitlines() or ['it says nothing'])[-1]}")


def roll_back(root: Path) -> tuple[str, str]:
    """Go back to the version before; returns its id and that of the version which was current. RefusedError."""
    with told_errors(), changing(root):
        current, previous = version_of(root, CURRENT), version_of(root, PREVIOUS)
        if current is None or previous is None or previous not in complete_versions(root):
            raise RefusedError(str(root), f"there is no version before the current one, {current}")
        check_start(root / VERSIONS / previous)
        flip(root, previous, current)
    return previous, current
