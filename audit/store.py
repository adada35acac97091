"""The files of a log: their names, and reading them with nothing taken for granted. All writing is in log.py.

    lock              empty; the writer holds its flock
    checkpoint        what was signed last
    entries/          000000000000.jsonl, 000000004096.jsonl, ...: the lines of 4096 entries each, the last one growing
    tile/             the tree's hashes, derived from the entries

A reader trusts no file to be regular, no line to be short and no listing to be complete.
"""

import contextlib
import errno
import os
import stat
from base64 import b64decode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from audit import entry
from audit.checkpoint import MAX_BYTES, Checkpoint, parse_checkpoint
from audit.durable import TEMPORARY
from audit.errors import LogUntrusted, LogUnwritable
from audit.sign import PublicKey

LOCK = "lock"
CHECKPOINT = "checkpoint"
NEW_CHECKPOINT = CHECKPOINT + TEMPORARY
ENTRIES = "entries"
TILES = "tile"
_DEEPEST = 12  # folders above another: tiles of 10**15 entries lie in eight
SEGMENT_ENTRIES = 4096  # a multiple of 256, so that the entries of one tile lie in one segment


def segment_of(n: int) -> str:
    """The file, relative to the log's folder, in which entry n lies."""
    return f"{ENTRIES}/{n - n % SEGMENT_ENTRIES:012d}.jsonl"


def locate(n: int) -> str:
    """Entry n, for people: its number, file and line."""
    return f"entry {n} ({segment_of(n)}, line {n % SEGMENT_ENTRIES + 1})"


def is_segment(path: str) -> bool:
    """Whether a segment of some log can have this name."""
    number = path.removeprefix(ENTRIES + "/").removesuffix(".jsonl")
    return number.isascii() and number.isdigit() and segment_of(int(number)) == path


def segments_of(size: int) -> list[str]:
    return [segment_of(n) for n in range(0, size, SEGMENT_ENTRIES)]


@dataclass(frozen=True)
class Listing:
    """The contents of a log's folder: files (relative path to size), folders, and what is neither, with its kind."""

    files: dict[str, int]
    folders: set[str]
    others: dict[str, str]

    def segments(self) -> dict[str, int]:
        return {path: size for path, size in sorted(self.files.items()) if path.startswith(ENTRIES + "/")}


def list_folder(folder: Path) -> Listing:
    """A full scan; links are not followed, nor are folders entered that lie deeper than any of a log."""
    listing, waiting = Listing({}, set(), {}), list[str]()
    try:
        _list(folder, "", listing, waiting)
        while waiting:
            with contextlib.suppress(FileNotFoundError):  # a writer removes old tiles meanwhile
                _list(folder, waiting.pop(), listing, waiting)
    except OSError as error:
        raise failure(error, str(folder)) from error
    return listing


def _list(folder: Path, prefix: str, listing: Listing, waiting: list[str]) -> None:
    """One folder; those in it are added to the ones that wait."""
    with os.scandir(folder / prefix) as found:
        for item in found:
            path = prefix + item.name
            if item.is_dir(follow_symlinks=False) and prefix.count("/") == _DEEPEST:
                listing.others[path] = "a folder deeper than any of a log, which was not looked into"
            elif item.is_dir(follow_symlinks=False):
                listing.folders.add(path)
                waiting.append(path + "/")
            elif item.is_file(follow_symlinks=False):
                with contextlib.suppress(FileNotFoundError):
                    listing.files[path] = item.stat(follow_symlinks=False).st_size
            else:
                listing.others[path] = "a symbolic link" if item.is_symlink() else "a device, pipe or socket"


def read_file(folder: Path, path: str, limit: int) -> bytes:
    """Read at most `limit` bytes of a file; LogUntrusted if it is missing or longer."""
    with open_file(folder, path) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise LogUntrusted(path, f"longer than the {limit} bytes that it can have")
    return data


def read_checkpoint(folder: Path, key: PublicKey) -> tuple[Checkpoint, bytes]:
    """The checkpoint and its bytes; LogUntrusted if it is missing or not what `key` signed."""
    note = read_file(folder, CHECKPOINT, MAX_BYTES)
    try:
        return parse_checkpoint(note, key), note
    except ValueError as error:
        raise LogUntrusted(CHECKPOINT, f"{error}{_other_key(note, key)}") from None


def read_new_checkpoint(folder: Path, listing: Listing) -> bytes | None:
    """The bytes of a checkpoint that was not put in place, at most one more than it can have; None if none is listed,
    empty if a running writer has put it in place meanwhile."""
    if NEW_CHECKPOINT not in listing.files:
        return None
    try:
        with open_file(folder, NEW_CHECKPOINT) as file:
            return file.read(MAX_BYTES + 1)
    except LogUntrusted:
        return b""


def _other_key(note: bytes, key: PublicKey) -> str:
    """Where the signature names another key, the one thing that can explain it."""
    try:
        id = b64decode(note.rpartition(b" ")[2])[:4]
    except ValueError:
        return ""
    hint = "`cloister audit key show` tells whether the key was rotated"
    return f", but as by one with the id {id.hex()}: {hint}" if len(id) == 4 and id != key.id else ""


@dataclass(frozen=True)
class Line:
    """One line of a segment, `at` bytes behind its start. `data` has no newline; `whole` is False for what follows the
    last newline."""

    n: int
    segment: str
    row: int  # from 1
    at: int
    data: bytes
    whole: bool

    @property
    def where(self) -> str:
        return f"entry {self.n} ({self.segment}, line {self.row})"


def read_lines(folder: Path, segments: Mapping[str, int], start: int = 0) -> Iterator[Line]:
    """The lines from entry `start` on, of `segments` (path to the number of bytes to read), until one is missing or
    not whole. A segment with more than 4096 lines gives one Line more, which then lies in the wrong segment."""
    n = start
    while (path := segment_of(n)) in segments:
        with open_file(folder, path) as file:
            for row, (at, data, whole) in enumerate(_split(file, segments[path]), 1):
                if row > n % SEGMENT_ENTRIES or segment_of(n) != path:
                    yield Line(n, path, row, at, data, whole)
                    n += 1
                if not whole:
                    return
        if segment_of(n) == path:
            return


def _split(file: BinaryIO, size: int) -> Iterator[tuple[int, bytes, bool]]:
    at = 0
    while at < size and (data := file.readline(min(size - at, entry.MAX_BYTES + 2))):
        yield at, data.removesuffix(b"\n"), data.endswith(b"\n")
        at += len(data)


def open_file(folder: Path, path: str) -> BinaryIO:
    """A regular file of the log, opened for reading; LogUntrusted if it is missing or anything else."""
    try:
        fd = os.open(folder / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise LogUntrusted(path, "not a regular file")
    except OSError as error:
        raise failure(error, path) from error
    return os.fdopen(fd, "rb")


def failure(error: OSError, where: str) -> LogUntrusted | LogUnwritable:
    """The error of the log for an OSError: something it needs is not there, or cannot be read or written."""
    if isinstance(error, FileNotFoundError):
        return LogUntrusted(where, "missing")
    if isinstance(error, NotADirectoryError | IsADirectoryError) or error.errno == errno.ELOOP:  # a symbolic link
        return LogUntrusted(where, error.strerror or str(error))
    return LogUnwritable(f"{where}: {error.strerror or error}")
