"""The archive of a bundle: an uncompressed USTAR file (POSIX.1-1988) without a byte of freedom.

    manifest.json, manifest.sig, then the carried files sorted by path; two blocks of zeros; nothing after them

Each header follows from path and size alone: regular file, mode 0644, owner 0, no names, time 0. Python's tarfile
writes the fields of devices in one way in one version and in another way in the next, so they are written here. A path
has at most 100 bytes, so that none has to be split between the two fields that USTAR has for it.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Final

from jobs.bundle.manifest import MANIFEST, MOST_BYTES, SIGNATURE, File, Manifest, parse_manifest

BLOCK: Final = 512
MOST_SIZE: Final = 8**11 - 1  # bytes of a file, as eleven octal digits say them
MOST_PATH: Final = 100  # bytes
_SIGNATURE_BYTES: Final = 4096
_CHUNK: Final = 1 << 20

Progress = Callable[[int, int, str], None]


class BundleError(ValueError):
    """An archive that is no bundle, or not a whole one."""


def header(path: str, size: int) -> bytes:
    """The block before a file. ValueError for a path or a size that USTAR cannot say."""
    name = path.encode("ascii")
    if len(name) > MOST_PATH:
        raise ValueError(f"{path} is too long for an archive, whose paths have at most {MOST_PATH} characters")
    if not 0 <= size <= MOST_SIZE:
        raise ValueError(f"{path} has {size:,} bytes, an archive takes files of at most {MOST_SIZE:,}")
    fields = (
        name.ljust(MOST_PATH, b"\0"),
        b"0000644\0" + b"0000000\0" * 2,  # mode, user, group
        b"%011o\0" % size + b"00000000000\0",  # size, time
        b" " * 8,  # the checksum, as it is summed up
        b"0" + bytes(100),  # a regular file, which links to nothing
        b"ustar\0" + b"00" + bytes(64),  # without names of user and group
        b"0000000\0" * 2,  # no device
        bytes(167),  # no second half of the path
    )
    block = b"".join(fields)
    return block[:148] + b"%06o\0 " % sum(block) + block[156:]


def write_archive(
    stream: BinaryIO,
    manifest: Manifest,
    signature: bytes,
    read: Callable[[File], Iterable[bytes]],
    progress: Progress | None = None,
) -> str:
    """Write the archive, and return its sha256. `read` has the bytes of a carried file. OSError; BundleError if they
    are not those of the manifest; ValueError for what an archive cannot say."""
    digest, done = sha256(), 0
    total = sum(file.size for file in manifest.carried)

    def put(data: bytes) -> None:
        digest.update(data)
        stream.write(data)

    for name, data in ((MANIFEST, manifest.to_bytes()), (SIGNATURE, signature)):
        put(header(name, len(data)) + data + bytes(-len(data) % BLOCK))
    for file in manifest.carried:
        put(header(file.path, file.size))
        found = sha256()
        for block in read(file):
            found.update(block)
            put(block)
        if found.hexdigest() != file.sha256:
            raise BundleError(f"{file.path} has not the sha256 of the manifest: it was changed")
        put(bytes(-file.size % BLOCK))
        done += file.size
        if progress:
            progress(done, total, f"writing {file.path}")
    put(bytes(2 * BLOCK))
    return digest.hexdigest()


def archive_size(manifest: Manifest, signature: bytes) -> int:
    """The bytes that `write_archive` writes."""
    sizes = [len(manifest.to_bytes()), len(signature), *(file.size for file in manifest.carried)]
    return sum(BLOCK + size + -size % BLOCK for size in sizes) + 2 * BLOCK


class Archive:
    """A bundle that is read. Its signature and its files are checked by whoever uses them."""

    def __init__(self, stream: BinaryIO) -> None:
        """Read manifest and signature. BundleError unless the archive begins as a bundle does, and has its length."""
        self._stream = stream
        self.data = self._member(MANIFEST, MOST_BYTES)
        self.signature = self._member(SIGNATURE, _SIGNATURE_BYTES)
        try:
            self.manifest = parse_manifest(self.data)
        except ValueError as error:
            raise BundleError(f"is no bundle: {error}") from None
        self._places = dict(self._find())
        found, expected = os.fstat(stream.fileno()).st_size, archive_size(self.manifest, self.signature)
        if found != expected:
            raise BundleError(f"has {found:,} bytes instead of {expected:,}: it was not copied whole, or was changed")

    def read(self, file: File) -> Iterator[bytes]:
        """The bytes of a carried file, as they lie there."""
        self._stream.seek(self._places[file.path])
        left = file.size
        while left and (block := self._stream.read(min(left, _CHUNK))):
            left -= len(block)
            yield block

    def _find(self) -> Iterator[tuple[str, int]]:
        at = self._stream.tell()
        for file in self.manifest.carried:
            yield file.path, at + BLOCK
            at += BLOCK + file.size + -file.size % BLOCK

    def _member(self, name: str, most: int) -> bytes:
        """The file that comes next, which must be this one."""
        block = self._stream.read(BLOCK)
        try:
            size = int(block[124:135], 8)
            right = block == header(name, size) and size <= most
        except ValueError:
            right = False
        if not right:
            raise BundleError(f"is no bundle: {name} is missing at its beginning")
        data = self._stream.read(size + -size % BLOCK)
        return data[:size]


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """A bundle on this machine. BundleError, and OSError."""
    with path.open("rb") as stream:
        yield Archive(stream)
