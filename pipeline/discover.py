"""One full scan of a job's input folder, in sorted order; every path gets exactly one state."""

import errno
import fnmatch
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pipeline.plan import Input
from pipeline.visible import visible

_DEEPEST = 200  # folders below the input folder


@dataclass(frozen=True, order=True)
class Candidate:
    """A settled file: its path below the input folder as the system knows it, and what told that it was still."""

    path: str
    size: int
    mtime_ns: int
    inode: int


@dataclass(frozen=True)
class Scan:
    """`ready` to be taken; `settling`: still being written; `ignored`: never taken. The latter two say why."""

    ready: tuple[Candidate, ...]
    settling: tuple[tuple[str, str], ...]
    ignored: tuple[tuple[str, str], ...]


def shown(path: str) -> str:
    """`path` for people, log and table: what is not UTF-8, or controls a terminal or the direction, is escaped."""
    return visible(os.fsencode(path).decode("utf-8", "backslashreplace"))


def scan(source: Input, now: float | None = None) -> Scan:
    """Look at every path below `source.folder` once. `now` is the time (seconds) that settling is measured against.

    Raises OSError where `source.folder` itself cannot be listed.
    """
    now = time.time() if now is None else now
    ready: list[Candidate] = []
    settling: list[tuple[str, str]] = []
    ignored: list[tuple[str, str]] = []
    for path, status in _walk(source.folder):
        if isinstance(status, str):
            ignored.append((shown(path), status))
            continue
        age = _age(status, now)
        if not stat.S_ISREG(status.st_mode):
            ignored.append((shown(path), f"not a regular file: {_kind(status.st_mode)}"))
        elif _temporary(path):
            ignored.append((shown(path), "a hidden or temporary name"))
        elif not _included(path, source.include):
            ignored.append((shown(path), f"matches none of input.include: {', '.join(source.include)}"))
        elif 0 <= age < source.settle_seconds:
            settling.append((shown(path), f"changed {age:.1f} s ago; taken when still for {source.settle_seconds:g} s"))
        else:
            ready.append(Candidate(path, status.st_size, status.st_mtime_ns, status.st_ino))
    return Scan(tuple(ready), tuple(settling), tuple(ignored))


def _walk(folder: Path) -> Iterator[tuple[str, os.stat_result | str]]:
    """Paths below `folder` that are not folders, each with its status; links are not followed.

    A folder's files come first, then its folders, each sorted by the bytes of their names. What cannot be looked at,
    a folder too, comes with the reason; what was taken away since its folder was listed does not come at all.
    """
    waiting = [("", 0)]
    while waiting:
        parent, depth = waiting.pop()
        if depth > _DEEPEST:
            yield parent, f"nested deeper than {_DEEPEST} folders"
            continue
        try:
            folders, files = _listed(os.path.join(folder, parent), follow=not parent)  # noqa: PTH118
        except OSError as error:
            if not parent:
                raise
            if error.errno != errno.ENOENT:
                yield parent, f"cannot be looked at: {error.strerror}"
            continue
        for name in files:
            path = os.path.join(parent, name)  # noqa: PTH118 - names of any bytes, and this loop runs 100,000 times
            try:
                yield path, os.lstat(os.path.join(folder, path))  # noqa: PTH118
            except OSError as error:
                if error.errno != errno.ENOENT:
                    yield path, f"cannot be looked at: {error.strerror}"
        waiting += [(os.path.join(parent, name), depth + 1) for name in reversed(folders)]  # noqa: PTH118


def _listed(path: str, follow: bool) -> tuple[list[str], list[str]]:
    """The names of the folders in the folder `path`, and of all else in it, sorted. `follow`: it may be a link."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW))
    folders: list[str] = []
    files: list[str] = []
    try:
        with os.scandir(descriptor) as entries:
            for entry in entries:
                (folders if entry.is_dir(follow_symlinks=False) else files).append(entry.name)
    finally:
        os.close(descriptor)
    return sorted(folders, key=os.fsencode), sorted(files, key=os.fsencode)


def _age(status: os.stat_result, now: float) -> float:
    """Seconds since the last change. A modification time in the future tells nothing: the change time alone counts.

    Negative where the change time, too, lies in the future: the clock was set back.
    """
    return now - (status.st_ctime if status.st_mtime > now else max(status.st_mtime, status.st_ctime))


def _temporary(path: str) -> bool:
    """Hidden files and folders, and what office programs and copying tools leave while they work."""
    parts = path.split("/")
    return any(p.startswith(".") for p in parts) or parts[-1].startswith("~$") or parts[-1].endswith((".part", ".tmp"))


def _included(path: str, patterns: tuple[str, ...]) -> bool:
    """A pattern is held against the file's name and against its whole path, without regard to case."""
    lower, name = path.lower(), os.path.basename(path).lower()  # noqa: PTH119
    return any(fnmatch.fnmatchcase(name, p.lower()) or fnmatch.fnmatchcase(lower, p.lower()) for p in patterns)


def _kind(mode: int) -> str:
    kinds = {stat.S_IFLNK: "a symbolic link", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")
