"""Files below a folder, reached without a way out of it: no part of a path may be a link, `..` or absolute.

The folder itself may be reached over links. Below it the path is walked part by part from an open folder to the next,
so what is swapped for a link meanwhile is refused and never followed (openat(2), O_NOFOLLOW).
"""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC  # searched, not read: as with any path, `x` is enough


def open_beneath(folder: Path, path: str, flags: int) -> int:
    """A descriptor of folder/path. OSError: ELOOP or ENOTDIR where a link is in the way, EXDEV where it leads out."""
    with _parent(folder, path) as (parent, name):
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)


class Walk:
    """Opens files below a folder one after another, and goes to a folder once for all files of it that come together.
    Close it at the end."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._at, self._open = folder, "", -1

    def open(self, folder: str, name: str, flags: int) -> int:
        """A descriptor of the file `name` of a folder below. OSError, as for `open_beneath`."""
        if self._open < 0 or folder != self._at:
            self.close()
            self._open = open_beneath(self._folder, folder, _FOLDER) if folder else os.open(self._folder, _FOLDER)
            self._at = folder
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._open)

    def close(self) -> None:
        """Close the folder that it went to last."""
        if self._open >= 0:
            os.close(self._open)
            self._open = -1


def unlink_beneath(folder: Path, path: str, descriptor: int) -> None:
    """Remove folder/path if it still is the file that `descriptor` has open; nothing happens if it is another.

    OSError, as for `open_beneath`.
    """
    with _parent(folder, path) as (parent, name):
        if os.path.samestat(os.stat(name, dir_fd=parent, follow_symlinks=False), os.fstat(descriptor)):
            os.unlink(name, dir_fd=parent)


@contextlib.contextmanager
def _parent(folder: Path, path: str) -> Iterator[tuple[int, str]]:
    """The open folder in which `path` has its last part, and that part."""
    *above, name = path.split("/")
    if not {"", ".", ".."}.isdisjoint([*above, name]):
        raise OSError(errno.EXDEV, "the path leads out of its folder", path)
    parent = os.open(folder, _FOLDER)
    try:
        for part in above:
            below = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=parent)
            os.close(parent)
            parent = below
        yield parent, name
    finally:
        os.close(parent)
