"""Files into a backup and out of it: copied with the sha256 of what was read, or linked to those of the one before."""

import errno
import hashlib
import os
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from pipeline.backup.tree import Item
from pipeline.paths.beneath import open_beneath

_CHUNK = 2**20
_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.EXDEV, errno.EINVAL, errno.ENOSYS})
"""What a file system says that has no hard links, or no more of them for this file."""


def copy_file(folder: Path, path: str, target: Path, item: Item, counted: Callable[[int], None]) -> str:
    """Copy the regular file folder/path, no part of which may be a link, to `target`, which is new, with the mode and
    times of `item`, and its owner where this process may give it; the sha256 of its bytes. `counted` hears how many
    were read. OSError."""
    digest = hashlib.sha256()
    with os.fdopen(_opened(folder, path), "rb", buffering=0) as source:
        if not stat.S_ISREG(os.fstat(source.fileno()).st_mode):
            raise OSError(errno.EINVAL, "no regular file", path)
        written = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(written, "wb", buffering=0) as copy:
            while data := source.read(_CHUNK):
                digest.update(data)
                _write(copy.fileno(), data, target)
                counted(len(data))
            give(copy.fileno(), item)
    return digest.hexdigest()


def link_file(source: Path, target: Path) -> bool:
    """Let `target` be a second name of `source`, without copying; False where the file system has no such names, or
    the file is gone. OSError."""
    try:
        os.link(source, target, follow_symlinks=False)
    except FileNotFoundError:
        return False
    except OSError as error:
        if error.errno in _NO_LINKS:
            return False
        raise
    return True


def give(place: int, item: Item) -> None:
    """Give an open file or folder the owner (as far as this process may), mode and times of `item`. OSError."""
    if os.geteuid() == 0:
        os.fchown(place, item.uid, item.gid)
    os.fchmod(place, item.mode & 0o777)  # set-id bits are not given: a sandbox refuses them
    os.utime(place, ns=(item.mtime_ns, item.mtime_ns))


def give_folder(place: Path, item: Item) -> None:
    """Give a folder the owner, mode and times of `item`; this user may always look into it. OSError."""
    handle = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        give(handle, replace(item, mode=item.mode | 0o700))
    finally:
        os.close(handle)


def _opened(folder: Path, path: str) -> int:
    try:
        return open_beneath(folder, path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(folder / path)) from error


def _write(file: int, data: bytes, target: Path) -> None:
    try:
        while data:
            data = data[os.write(file, data) :]
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from error
