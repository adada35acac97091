"""The format of an encrypted file, and how it is written and read.

    16  "cloister sealed" and the version, 1
    32  the name of the key that opens it (store.py): the SHA-256 of job, a zero byte and the document's sha256
     8  how many clear bytes it has, big-endian
    60  the key of this file alone, wrapped by that key and bound to all that stands above
     …  the chunks of 65,536 clear bytes, the last one shorter, each with its 16 bytes of authentication (ciphers.py)

The head is written last, when the document's sha256 is known: a file that was cut off while it was written has none.
"""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple, Protocol

from pipeline.atrest.ciphers import TAG, WRAPPED, Chunks, RefusedError, new_key, unwrap, wrap
from pipeline.atrest.errors import DamagedError

MAGIC = b"cloister sealed\x01"
CHUNK = 1 << 16
_NAME = 32
_BOUND = len(MAGIC) + _NAME + 8
HEAD = _BOUND + WRAPPED
"""Bytes before the first chunk."""


class Head(NamedTuple):
    """What stands before the chunks; `bound` is what the wrapped key is bound to."""

    name: str
    size: int
    wrapped: bytes
    bound: bytes


class Written(Protocol):
    """A file that is being written. `finish` ends it: the file is of this document, or its text."""

    def write(self, chunk: bytes) -> None: ...
    def finish(self, document: str) -> None: ...


class KeyOf(Protocol):
    """Gives the key of a name."""

    def __call__(self, name: str) -> bytes: ...


def name_of(job: str, document: str) -> str:
    """The name of the key of a document in a job, in hexadecimal digits."""
    return hashlib.sha256(f"{job}\0{document}".encode()).hexdigest()


def read_head(fd: int) -> Head | None:
    """The head of the file open at `fd`; None where the file is not encrypted. OSError."""
    data = os.pread(fd, HEAD, 0)
    if not data.startswith(MAGIC):
        return None
    bound = data[:_BOUND]
    name, size = bound[len(MAGIC) : len(MAGIC) + _NAME].hex(), int.from_bytes(bound[-8:], "big")
    return Head(name, size, data[_BOUND:], bound)


def is_whole(fd: int, head: Head) -> bool:
    """Whether the file is as long as its head says. OSError."""
    return os.fstat(fd).st_size == HEAD + head.size + _chunks_of(head) * TAG


def open_head(path: Path, head: Head, key: bytes) -> Chunks:
    """What decrypts the chunks of a file. DamagedError."""
    try:
        return Chunks(unwrap(key, head.wrapped, head.bound))
    except RefusedError as error:
        raise DamagedError(path, "its head is another one") from error


def read_chunks(path: Path, fd: int, head: Head, key: bytes) -> Iterator[bytes]:
    """The clear bytes, chunk by chunk, each of them authenticated. DamagedError, OSError."""
    chunks = open_head(path, head, key)
    count = _chunks_of(head)
    if not is_whole(fd, head):
        raise DamagedError(path, "it was cut, or something was put behind it")
    for number in range(count):
        data = os.pread(fd, CHUNK + TAG, HEAD + number * (CHUNK + TAG))
        try:
            yield chunks.decrypt(number, number == count - 1, data)
        except RefusedError as error:
            raise DamagedError(path, f"chunk {number + 1} of {count} is another one") from error


def _chunks_of(head: Head) -> int:
    return max(1, -(-head.size // CHUNK))


class SealedFile:
    """A new encrypted file."""

    def __init__(self, file: IO[bytes], job: str, key_of: KeyOf) -> None:
        self._file, self._job, self._key_of = file, job, key_of
        self._key = new_key()
        self._chunks = Chunks(self._key)
        self._waiting = bytearray()
        self._size = self._count = 0
        file.write(bytes(HEAD))

    def write(self, chunk: bytes) -> None:
        """Add clear bytes."""
        self._waiting += chunk
        self._size += len(chunk)
        while len(self._waiting) > CHUNK:  # the last chunk is told apart, so one is always kept back
            self._put(last=False)

    def finish(self, document: str) -> None:
        """Write the last chunk, and the head."""
        self._put(last=True)
        name = name_of(self._job, document)
        bound = MAGIC + bytes.fromhex(name) + self._size.to_bytes(8, "big")
        self._file.seek(0)
        self._file.write(bound + wrap(self._key_of(name), self._key, bound))

    def _put(self, *, last: bool) -> None:
        chunk = bytes(self._waiting[:CHUNK])
        del self._waiting[:CHUNK]
        self._file.write(self._chunks.encrypt(self._count, last, chunk))
        self._count += 1
