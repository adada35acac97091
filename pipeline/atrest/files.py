"""How a file that is kept of a document is read and written: encrypted where the site says so, else as it is.

What was written in the clear before, or is while `encrypts` is False, is read as it lies. Clear bytes go to readers in
memory alone (memfd_create), never to a disk.
"""

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO

import audit
from pipeline.atrest.ciphers import WRAPPED
from pipeline.atrest.errors import DamagedError, EncryptedError, NoKeyError
from pipeline.atrest.sealed import (
    MAGIC,
    Head,
    SealedFile,
    Written,
    is_whole,
    name_of,
    open_head,
    read_chunks,
    read_head,
)
from pipeline.atrest.store import Store
from pipeline.paths.names import file_sha256

_MEMORY = Path("/dev/shm")
_CLEAR_FLAGS = os.O_RDONLY | os.O_CLOEXEC


@dataclass(frozen=True)
class AtRest:
    """What a site says of encryption. `keys`: the folder of the wrapped keys; None where the site says nothing, and all
    is in the clear. `key_file` has the key that wraps them, `previous_file` the one before it. `encrypts`: what is
    written from now on."""

    keys: Path | None = None
    key_file: Path | None = None
    previous_file: Path | None = None
    encrypts: bool = True

    @property
    def on(self) -> bool:
        """Whether there may be encrypted files."""
        return self.keys is not None

    @property
    def writes(self) -> bool:
        """Whether what is written now is encrypted. What is made of documents for a while, such as an index, is in
        memory wherever there may be encrypted files."""
        return self.on and self.encrypts

    @cached_property
    def store(self) -> Store:
        """The wrapped keys."""
        assert self.keys is not None
        return Store(self.keys, self.key_file, self.previous_file)

    def check(self) -> None:
        """NoKeyError where something would be encrypted, and the key is not to be had, or another one than before."""
        if self.writes:
            self.store.check()

    def tidy(self) -> None:
        """Remove keys that a kill left without their place, as an erasure would not find them. OSError."""
        if self.on:
            self.store.tidy()

    def open(self, path: Path, flags: int = 0) -> int:
        """A descriptor of the clear bytes of a file, for reading. OSError, of them NoKeyError and DamagedError."""
        fd = os.open(path, _CLEAR_FLAGS | flags)
        try:
            head = read_head(fd) if self.on else None
            if head is None:
                return fd
            if len(head.wrapped) < WRAPPED:
                raise DamagedError(path, "it was cut in its head")
            memory = os.memfd_create("document", os.MFD_CLOEXEC)
            try:
                with os.fdopen(memory, "wb", closefd=False) as clear:
                    for chunk in read_chunks(path, fd, head, self._key_of(path, head.name)):
                        clear.write(chunk)
                os.lseek(memory, 0, os.SEEK_SET)
            except BaseException:
                os.close(memory)
                raise
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)
        return memory

    def read_bytes(self, path: Path) -> bytes:
        """The clear bytes of a file. OSError as for `open`."""
        with os.fdopen(self.open(path), "rb") as file:
            return file.read()

    def sha256(self, path: Path) -> str:
        """The SHA-256 of the clear bytes; "" for a file that was damaged, which has none. OSError, NoKeyError."""
        try:
            with os.fdopen(self.open(path), "rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except DamagedError:
            return ""

    def holds(self, path: Path, job: str, document: str | None, sha256: str | None) -> bool:
        """Whether a file of this document has the clear bytes of this SHA-256. One that is encrypted for another
        document has not, whoever has its key. OSError, NoKeyError."""
        if self.on:
            head = _head_of(path)
            if head and document is not None and head.name != name_of(job, document):
                return file_sha256(path) == sha256  # clear bytes may begin so, too
        return self.sha256(path) == sha256

    def size(self, path: Path) -> int:
        """How many clear bytes a file has, as it says itself. OSError."""
        if not self.on:
            return path.stat().st_size
        with _opened(path) as fd:
            head = read_head(fd)
            return os.fstat(fd).st_size if head is None else head.size

    def keeps(self, path: Path, size: int) -> bool:
        """Whether a file has so many clear bytes, as it says itself, and is whole, and its key opens it. OSError."""
        with _opened(path) as fd:
            head = read_head(fd) if self.on else None
            if head is None:
                return os.fstat(fd).st_size == size
            if head.size != size or not is_whole(fd, head):
                return False
            try:
                open_head(path, head, self._key_of(path, head.name))
            except EncryptedError:
                return False
            return True

    def is_of(self, path: Path, job: str, document: str | None) -> bool:
        """Whether a file holds this document, which needs no key: of an encrypted one its head is asked. OSError."""
        if self.on:
            with _opened(path) as fd:
                if head := read_head(fd):
                    return document is not None and head.name == name_of(job, document)
        return self.sha256(path) == document

    @contextlib.contextmanager
    def create(self, path: Path, job: str) -> Iterator[Written]:
        """A file of a document of this job, to be written anew; what is not finished is of no document. OSError."""
        with path.open("wb") as file:
            yield _Kept(file, job, self)

    def write(self, path: Path, data: bytes, job: str, document: str) -> None:
        """Write a file of a document at once. OSError, NoKeyError."""
        with self.create(path, job) as file:
            file.write(data)
            file.finish(document)

    def seal(self, file: IO[bytes], job: str) -> SealedFile:
        """An encrypted file that is written to `file`."""
        return SealedFile(file, job, lambda name: self.store.key_of(_place(name)))

    def memory(self) -> IO[bytes] | None:
        """A file in memory for what is unpacked of documents; None where it may be on a disk."""
        return os.fdopen(os.memfd_create("unpacked", os.MFD_CLOEXEC), "w+b", buffering=0) if self.on else None

    def cache(self, otherwise: Path) -> Path:
        """The folder for clear files that are made of documents: in memory, for this user alone, until the machine
        ends, or `otherwise`. PermissionError where somebody else has it."""
        if self.keys is None:
            return otherwise
        workspace = hashlib.sha256(os.fsencode(self.keys.resolve())).hexdigest()[:16]
        folder = _MEMORY / f"cloister-{os.geteuid()}-{workspace}"
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        status = folder.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
            raise PermissionError(errno.EACCES, "it is not a folder of this user alone", str(folder))
        return folder

    def forget(self, job: str, documents: Collection[str], failed: Path) -> None:
        """Remove the keys of these documents, but of those of which files lie in `failed` still. OSError."""
        if not self.on or not documents:
            return
        kept = {head.name for path in sorted(failed.rglob("*")) if (head := _head_of(path))}
        for name in {name_of(job, document) for document in documents} - kept:
            self.store.remove(_place(name))

    def _key_of(self, path: Path, name: str) -> bytes:
        try:
            return self.store.keys(_place(name))[-1]
        except FileNotFoundError as error:
            what = "it is encrypted, and its key is not in private/: it was erased, or private/ is not whole"
            raise NoKeyError(path, f"{what}; restore private/ from a backup") from error


CLEAR = AtRest()
"""Nothing is encrypted."""


class _Kept:
    """A file that is encrypted or not, by what the site says and how it begins: a clear file that begins as an
    encrypted one would be taken for one."""

    def __init__(self, file: IO[bytes], job: str, at_rest: AtRest) -> None:
        self._file, self._job, self._at_rest = file, job, at_rest
        self._to: Written | None = at_rest.seal(file, job) if at_rest.writes else None

    def write(self, chunk: bytes) -> None:
        if self._to is None:
            seals = self._at_rest.on and chunk.startswith(MAGIC)
            self._to = self._at_rest.seal(self._file, self._job) if seals else _Clear(self._file)
        self._to.write(chunk)

    def finish(self, document: str) -> None:
        if self._to is not None:
            self._to.finish(document)


class _Clear:
    """A clear file. Zeros are left out as a hole, so that a file which is mostly holes takes no more room than it
    did."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write(self, chunk: bytes) -> None:
        if chunk.count(0) == len(chunk):
            self._file.seek(len(chunk), os.SEEK_CUR)
        else:
            self._file.write(chunk)

    def finish(self, document: str) -> None:
        self._file.truncate()


def _place(name: str) -> str:
    """The file of a document's key in the store."""
    return f"documents/{name[:2]}/{name}"


def _head_of(path: Path) -> Head | None:
    with contextlib.suppress(OSError), _opened(path) as fd:
        return read_head(fd)
    return None


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    fd = os.open(path, _CLEAR_FLAGS | os.O_NONBLOCK)
    try:
        yield fd
    finally:
        os.close(fd)


@dataclass(frozen=True)
class Rewrapped:
    """The name of today's key, how many files of keys there are, and how many of them were wrapped anew."""

    key: str
    keys: int
    rewrapped: int


def rewrap(at_rest: AtRest) -> Rewrapped:
    """Wrap all keys anew that another key than today's has wrapped. NoKeyError, DamagedError, OSError.

    All new files are on the disk before the first one takes its place. Whatever is cut off leaves each key wrapped by
    the one key or the other, both of which site.yaml names until this has ended, and may be repeated."""
    store = at_rest.store
    store.tidy()
    now, names = store.kek(), list(store.names())
    staged = {name: store.rewrapped(name) for name in names if store.wrapped_by(name) != {now.name}}
    if staged:
        for name, new in staged.items():
            new.rename(store.folder / name)
        audit.sync_filesystem(store.folder)
    return Rewrapped(now.name, len(names), len(staged))
