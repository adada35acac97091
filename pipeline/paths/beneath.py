"""Files below a folder, reached without a way out of it: no part of a path may be a link, `..` or absolute.

The folder itself may be reached over links. Below it the path is walked part by part from an open folder to the next,
so what is swapped for a link meanwhile is refused and never followed (openat(2), O_NOFOLLOW). And the kernel says
whether somebody has a file open for writing.
"""

import contextlib
import errno
import fcntl
import os
import signal
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

import audit

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


# The kernel refuses a read lease (F_SETLEASE, fcntl(2)) as long as anybody on this machine has the file open for
# writing. It is for files of one's own, or with CAP_LEASE, on local file systems. Of other files /proc shows who has
# them open, as far as this user may look. What another machine does on a share neither of them shows.

HELD_OPEN: Final = "held open by a writer; taken when it is closed"

_MACHINES = frozenset({"autofs", "prl_fs", "vboxsf", "virtiofs"})  # folders of another machine, though not on a network
_FRESH = 1.0  # seconds for which a look through /proc is good
_Identity = tuple[int, int]  # device and inode


def shared_with(folder: Path, *mounts: Path) -> str | None:
    """The type of the file system that the folder lies on, if other machines may write there unseen by this one;
    `mounts` is another file than /proc/self/mountinfo."""
    kind = audit.file_system_of(folder, *mounts)
    return kind if kind in _MACHINES or kind.startswith("fuse") or audit.is_network(kind) else None


@dataclass
class Writers:
    """Tells who writes to the files below `folder`. `clock` counts seconds; `processes` is /proc."""

    folder: Path
    clock: Callable[[], float] = time.monotonic
    processes: Path = Path("/proc")
    _open: frozenset[_Identity] = field(default=frozenset(), init=False)
    _looked: float | None = field(default=None, init=False)

    def hold(self, descriptor: int) -> bool | None:
        """Whether anybody has the file open for writing that is open at `descriptor` for reading; None where that
        cannot be told."""
        leased = lease(descriptor)
        release(descriptor)
        if leased or (leased is False and not self._is_shared):  # a share may refuse it whoever writes
            return not leased
        status = os.fstat(descriptor)
        return (status.st_dev, status.st_ino) in self._opened() or None

    @contextlib.contextmanager
    def kept_away(self, descriptor: int) -> Iterator[Callable[[], bool]]:
        """Keep away whoever would open the file for writing that is open at `descriptor` for reading, where the kernel
        does; gives what says whether nobody is known to write to it, or to wait for that."""
        leased = lease(descriptor)
        try:
            yield lambda: is_leased(descriptor) if leased else self.hold(descriptor) is not True
        finally:
            release(descriptor)

    @cached_property
    def _is_shared(self) -> bool:
        return shared_with(self.folder, self.processes / "self" / "mountinfo") is not None

    def _opened(self) -> frozenset[_Identity]:
        if self._looked is None or self.clock() - self._looked > _FRESH:
            self._open, self._looked = frozenset(self._of_processes()), self.clock()
        return self._open

    def _of_processes(self) -> Iterator[_Identity]:
        for process in os.scandir(self.processes):
            if process.name.isdigit():
                with contextlib.suppress(OSError):  # it has ended, or is another user's
                    yield from _written(Path(process.path) / "fd")


def lease(descriptor: int) -> bool | None:
    """Take a read lease on a file that is open for reading: until it is given back, whoever opens it for writing has to
    wait. False if somebody has it open for writing, None where no lease can be had."""
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)  # to nobody; SIGIO would end this process
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def is_leased(descriptor: int) -> bool:
    """Whether a lease that was taken holds, and nobody waits for its end to write."""
    return fcntl.fcntl(descriptor, fcntl.F_GETLEASE) == fcntl.F_RDLCK


def release(descriptor: int) -> None:
    """Give a lease back, if there is one."""
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError:
        return


def _written(folder: Path) -> Iterator[_Identity]:
    """The regular files that a process has open for writing: the mode of a link below /proc/PID/fd says for what."""
    for name in os.listdir(folder):  # noqa: PTH208 - of each process of the machine
        try:
            if os.lstat(folder / name).st_mode & stat.S_IWUSR:
                status = os.stat(folder / name)  # noqa: PTH116
                if stat.S_ISREG(status.st_mode):
                    yield status.st_dev, status.st_ino
        except FileNotFoundError:  # closed meanwhile
            continue
