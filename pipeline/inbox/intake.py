"""Take a file in: copy it once into staging, encrypted where the site says so, and hash the very bytes that were
copied."""

import errno
import hashlib
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pipeline.atrest.errors import NoKeyError
from pipeline.atrest.files import AtRest
from pipeline.document import Member
from pipeline.errors import DocumentError, Failure
from pipeline.inbox.discover import Candidate
from pipeline.paths.beneath import HELD_OPEN, Writers, open_beneath
from pipeline.paths.names import archive_place, failed_apart, failed_name
from pipeline.records.types import Document, Earlier
from pipeline.text.visible import shown

_CHUNK = 1 << 20
_REPLACED = (errno.ENOENT, errno.ENXIO, errno.ELOOP, errno.ENOTDIR)  # no file there, a socket, a link, no folder
_IN_USE = (errno.EBUSY, errno.ETXTBSY, errno.EAGAIN, errno.ESTALE)  # another program or machine has it open for itself


GONE = "its bytes are not in the archive any more"
ALTERED = "its bytes in the archive are not those that were answered; cloister audit verify tells more"


class LeftError(Exception):
    """An archived document is not answered again; the message says why. Its row stays."""


class StillChangingError(Exception):
    """The file was written to, replaced or taken away since it was found; what is there stays, for a later run."""


@dataclass(frozen=True)
class Arrival:
    """A document as it was taken in.

    `path` is below the input folder, as people read it; `raw` is the same as the system knows it. `sha256` is None for
    one that was not read, of which `unread` may say how it lay (inbox/find.py); else its bytes are staged, in the
    folder `staging`. `parent` is the sha256 of the container that it was in. `of`: the entry of the one row whose place
    the new one may take; None where that is for the rule to say (records/current.py). `earlier`: what was taken from
    the same path before, if that had other bytes.
    """

    path: str
    raw: str
    size: int
    sha256: str | None = None
    parent: str | None = None
    staging: str | None = None
    unread: str | None = None
    of: int | None = None
    earlier: Earlier | None = None

    @property
    def name(self) -> str:
        """The last part of its path: a hint of what it is."""
        return self.raw.rpartition("/")[2]

    def staged(self, archive: Path) -> Path:
        """The file of exactly those bytes."""
        assert self.staging is not None
        return staging_of(archive, self.staging) / COPY


@dataclass(frozen=True)
class Kept(Arrival):
    """A document whose bytes are in a file that stays where it is."""

    file: Path = Path()

    def staged(self, archive: Path) -> Path:
        """The file of exactly those bytes."""
        return self.file


@dataclass(frozen=True)
class Again:
    """A failed document that is taken up again, from its place below failed/."""

    path: str  # as the system knows it, as of a Candidate
    size: int
    sha256: str
    parent: str | None


@dataclass(frozen=True)
class Archived:
    """An archived document that is answered again; `of` is the entry of its current row, whose place the new one
    takes."""

    path: str  # as the system knows it, as of a Candidate
    size: int
    sha256: str
    parent: str | None
    of: int


COPY = "copy"
INSIDE = "!/"
"""Between the path of a container and that of a document in it."""
_LIKE_INSIDE = re.compile(r"(!_*)/")


def staging_of(archive: Path, name: str) -> Path:
    """The folder of one document, its COPY and its parsed text, text/SHA256.txt, until they are in place.

    Its name is anything that no other has; when the document is committed, it is the number of its entry.
    """
    return archive / ".staging" / name


def inner_path(container: Arrival, member: Member) -> tuple[str, str]:
    """The path of a document in a container, for people and for the system.

    Folders whose names end in "!" get a "_" behind, so that none looks like a container.
    """
    name = _LIKE_INSIDE.sub(r"\1_/", member.name)
    return f"{container.path}{INSIDE}{name}", f"{container.raw}{INSIDE}{name}"


def take(candidate: Candidate, writers: Writers, archive: Path, at_rest: AtRest) -> Arrival:
    """Copy and hash one file of the folder of `writers` into staging.

    Raises DocumentError (UNREADABLE, CHANGED_WHILE_READING) and StillChangingError; an OSError means that staging
    cannot be written.
    """
    try:
        source = open_beneath(writers.folder, candidate.path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno in _REPLACED:
            message = "it is gone, or something else is in its place, since the folder was looked at"
            raise StillChangingError(message) from error
        if error.errno in _IN_USE:
            raise StillChangingError(f"it does not open yet: {error.strerror}") from error
        raise DocumentError(Failure.UNREADABLE, f"it cannot be opened: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(source).st_mode):
        os.close(source)
        raise StillChangingError("it is no longer a regular file")
    try:
        if not candidate.named and writers.hold(source):
            raise StillChangingError(HELD_OPEN)
        if not _is_as_found(source, candidate):
            raise StillChangingError("it changed since the folder was looked at")
        arrival = Arrival(shown(candidate.path), candidate.path, candidate.size)
        chunks = _chunks(source, candidate.size)
        return _stage(arrival, chunks, archive, at_rest, lambda: _refuse_changed(source, candidate))
    finally:
        os.close(source)


def take_member(member: Member, unpacked: int, container: Arrival, archive: Path, at_rest: AtRest) -> Arrival:
    """Copy and hash one document of a container, whose bytes lie in the file open at `unpacked`.

    Raises DocumentError where the container could not give it.
    """
    if member.offset is None:
        assert member.failure is not None
        raise DocumentError(member.failure, member.reason or member.failure.sentence)
    path, raw = inner_path(container, member)
    arrival = Arrival(path, raw, member.size, parent=container.sha256)
    return _stage(arrival, _range(unpacked, member.offset, member.size), archive, at_rest)


def take_again(again: Again, failed: Path, archive: Path, at_rest: AtRest) -> Arrival:
    """Copy a document that failed from its place below failed/. StillChangingError where it is no longer there."""
    arrival = Arrival(shown(again.path), again.path, again.size, parent=again.parent)
    for name in (failed_name(again.path), failed_apart(again.path, again.sha256)):
        try:
            source = at_rest.open(failed / name, os.O_NOFOLLOW)
        except NoKeyError as error:
            raise StillChangingError(error.strerror) from error
        except OSError:
            continue
        try:
            staged = _stage(arrival, _chunks(source, again.size), archive, at_rest)
        finally:
            os.close(source)
        if staged.sha256 == again.sha256:
            return staged
        shutil.rmtree(staged.staged(archive).parent)
    raise StillChangingError("its copy in failed/ is gone, or was changed")


def take_archived(archived: Archived, limit: int, archive: Path, at_rest: AtRest) -> Arrival:
    """Copy an archived document of at most `limit` bytes. LeftError where it is not there as it was."""
    if archived.size > limit:
        raise LeftError(f"it has {archived.size} bytes; limits.document_mib allows {limit}")
    arrival = Arrival(
        shown(archived.path), archived.path, archived.size, archived.sha256, archived.parent, of=archived.of
    )
    reason = GONE
    for path in sorted((archive / archive_place(archived.sha256) / "bytes").glob("*")):
        try:
            if staged := _stage_same(path, arrival, archive, at_rest):
                return staged
        except NoKeyError as error:
            raise LeftError(error.strerror) from error
        reason = ALTERED
    raise LeftError(reason)


def with_earlier(arrival: Arrival, before: Document | None, archive: Path, at_rest: AtRest) -> Arrival:
    """The arrival with what it follows, if `before` is what was taken last from its path; and whether it begins with
    those very bytes. OSError."""
    if before is None or before.document in (None, arrival.sha256) or before.closed:
        return arrival
    document, size, grown = str(before.document), before.size, False
    if size < arrival.size:
        source = at_rest.open(arrival.staged(archive))
        try:
            digest = hashlib.sha256()
            for chunk in _range(source, 0, size):
                digest.update(chunk)
            grown = digest.hexdigest() == document
        finally:
            os.close(source)
    return replace(arrival, earlier=Earlier(before.n, document, size, grown))


def _stage_same(path: Path, arrival: Arrival, archive: Path, at_rest: AtRest) -> Arrival | None:
    """The arrival with its bytes in staging; None where the file has others, or cannot be read. OSError."""
    try:
        source = at_rest.open(path, os.O_NOFOLLOW | os.O_NONBLOCK)
    except NoKeyError:
        raise
    except OSError:
        return None
    try:
        status = os.fstat(source)
        if not stat.S_ISREG(status.st_mode) or status.st_size != arrival.size:
            return None
        staged = _stage(arrival, _chunks(source, arrival.size), archive, at_rest)
    except DocumentError:
        return None
    finally:
        os.close(source)
    if staged.sha256 == arrival.sha256:
        return staged
    shutil.rmtree(staged.staged(archive).parent)
    return None


def _stage(
    arrival: Arrival, chunks: Iterable[bytes], archive: Path, at_rest: AtRest, check: Callable[[], None] = lambda: None
) -> Arrival:
    """The arrival with its sha256, its bytes in staging; `check` raises where they are not to be trusted."""
    staging = archive / ".staging"
    staging.mkdir(parents=True, exist_ok=True)
    folder, digest = staging / f"new-{secrets.token_hex(8)}", hashlib.sha256()
    folder.mkdir(mode=0o700)
    try:
        with at_rest.create(folder / COPY, archive.name) as copy:
            for chunk in chunks:
                digest.update(chunk)
                copy.write(chunk)
            copy.finish(digest.hexdigest())
        check()
    except DocumentError:
        shutil.rmtree(folder)
        raise
    return replace(arrival, sha256=digest.hexdigest(), staging=folder.name)


def _chunks(source: int, size: int) -> Iterator[bytes]:
    """The first `size` bytes: what is written behind them meanwhile may have no end."""
    try:
        yield from _range(source, 0, size)
    except OSError as error:
        raise DocumentError(Failure.UNREADABLE, f"it cannot be read: {error.strerror}") from error


def _range(source: int, offset: int, size: int) -> Iterator[bytes]:
    """`size` bytes from `offset`, without moving the file's own."""
    end = offset + size
    while offset < end and (chunk := os.pread(source, min(_CHUNK, end - offset), offset)):
        yield chunk
        offset += len(chunk)


def _is_as_found(source: int, candidate: Candidate) -> bool:
    now = os.fstat(source)
    return (now.st_size, now.st_mtime_ns, now.st_ino) == (candidate.size, candidate.mtime_ns, candidate.inode)


def _refuse_changed(source: int, candidate: Candidate) -> None:
    if not _is_as_found(source, candidate):
        raise DocumentError(Failure.CHANGED_WHILE_READING, "it was written to while it was read")
