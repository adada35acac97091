"""The installed versions, and which of them is the current one.

    versions/<id>/   one version: venv/, the files of its bundle, manifest.json, and `complete`, written last
    current          a link to the version that runs; previous: a link to the one before, to which `rollback` goes
    flip             two lines, what `current` and `previous` are going to be; it is there only while they are changed
    trusted.key      the public key that signs the bundles of this installation
    bin/cloister     a link to the command of the current version
    lock             whoever changes something holds a flock on it

A link is replaced by a rename, so `current` always leads to a version that was complete before. A kill between the two
renames leaves `flip` behind, and whoever changes something next does them again. README.md has more.

This file is joined into install.py; nothing here is newer than Python 3.6.
"""

import ctypes
import errno
import fcntl
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from jobs.bundle.machine import RefusedError

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
