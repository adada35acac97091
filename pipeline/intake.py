"""Take a file in: copy it once into staging, and hash the very bytes that were copied."""

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pipeline.beneath import open_beneath
from pipeline.discover import Candidate
from pipeline.errors import DocumentError, Failure
from pipeline.visible import shown

_CHUNK = 1 << 20
_REPLACED = (errno.ENOENT, errno.ENXIO, errno.ELOOP, errno.ENOTDIR)  # no file there, a socket, a link, no folder
_IN_USE = (errno.EBUSY, errno.ETXTBSY, errno.EAGAIN, errno.ESTALE)  # another program or machine has it open for itself


class StillChangingError(Exception):
    """The file was written to, replaced or taken away since it was found; what is there stays, for a later run."""


@dataclass(frozen=True)
class Arrival:
    """A file as it was taken in.

    `path` is below the input folder, as people read it; `raw` is the same as the system knows it. `sha256` is None for
    a file that could not be read; `copy` is the staged file of exactly those bytes, None where one is staged already.
    """

    path: str
    raw: str
    size: int
    sha256: str | None = None
    copy: Path | None = None


def staging_of(archive: Path, sha256: str) -> Path:
    """The folder of one document's copy, bytes/NAME, and parsed text, text/SHA256.txt, until they are committed."""
    return archive / ".staging" / sha256


def take(candidate: Candidate, folder: Path, archive: Path) -> Arrival:
    """Copy and hash one file. The copy lies in `staging_of(archive, sha256)`.

    Raises DocumentError (UNREADABLE) and StillChangingError; an OSError means that staging cannot be written.
    """
    incoming = archive / ".staging" / "incoming"
    incoming.parent.mkdir(parents=True, exist_ok=True)
    source = _open(folder, candidate)
    try:
        with incoming.open("wb") as copy:
            digest = hashlib.sha256()
            for chunk in _chunks(source, candidate):
                digest.update(chunk)
                copy.write(chunk)
        _refuse_changed(source, candidate)
    finally:
        os.close(source)
    staging = staging_of(archive, digest.hexdigest())
    kept = staging / "bytes" / Path(candidate.path).name
    fresh = not staging.exists()
    if fresh:
        kept.parent.mkdir(parents=True)
        incoming.rename(kept)
    return Arrival(shown(candidate.path), candidate.path, candidate.size, digest.hexdigest(), kept if fresh else None)


def _open(folder: Path, candidate: Candidate) -> int:
    try:
        descriptor = open_beneath(folder, candidate.path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno in _REPLACED:
            message = "it is gone, or something else is in its place, since the folder was looked at"
            raise StillChangingError(message) from error
        if error.errno in _IN_USE:
            raise StillChangingError(f"it does not open yet: {error.strerror}") from error
        raise DocumentError(Failure.UNREADABLE, f"it cannot be opened: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise StillChangingError("it is no longer a regular file")
    return descriptor


def _chunks(source: int, candidate: Candidate) -> Iterator[bytes]:
    try:
        while chunk := os.read(source, _CHUNK):
            yield chunk
    except OSError as error:
        raise DocumentError(Failure.UNREADABLE, f"it cannot be read: {error.strerror}") from error


def _refuse_changed(source: int, candidate: Candidate) -> None:
    now = os.fstat(source)
    if (now.st_size, now.st_mtime_ns, now.st_ino) != (candidate.size, candidate.mtime_ns, candidate.inode):
        raise StillChangingError("it changed while it was read")
