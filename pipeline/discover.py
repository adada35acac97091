"""One full scan of a job's input folder, in sorted order; every path gets exactly one state."""

import fnmatch
import os
import re
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pipeline.plan import Input

_CONTROLS = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u2069\\ufeff]")


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
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return _CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def scan(source: Input, now: float | None = None) -> Scan:
    """Look at every path below `source.folder` once. `now` is the time (seconds) that settling is measured against."""
    now = time.time() if now is None else now
    ready: list[Candidate] = []
    settling: list[tuple[str, str]] = []
    ignored: list[tuple[str, str]] = []
    for path, status in _walk(source.folder):
        age = now - max(status.st_mtime, status.st_ctime)
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


def _walk(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Paths below `folder` that are not folders, sorted by the bytes of their names; links are not followed."""
    for root, folders, files in os.walk(folder):
        folders.sort(key=os.fsencode)
        links = [name for name in folders if Path(root, name).is_symlink()]
        for name in sorted(files + links, key=os.fsencode):
            path = os.path.join(root, name)  # noqa: PTH118 - names of any bytes, and this loop runs 100,000 times
            try:
                status = os.lstat(path)
            except OSError:  # taken away since the folder was listed, or a path too long for the system
                continue
            yield os.path.relpath(path, folder), status


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
