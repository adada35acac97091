"""The archive of a bundle is written: an uncompressed USTAR file without a byte of freedom, as reader.py demands it.

manifest.json, manifest.sig, then the carried files sorted by path; two blocks of zeros; nothing after them
"""

from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import BinaryIO, Final

from jobs.bundle.manifest import File, Manifest
from jobs.bundle.reader import BLOCK, MANIFEST, SIGNATURE, header, padding

MOST_SIZE: Final = 8**11 - 1  # bytes of a file, as eleven octal digits say them
MOST_PATH: Final = 100  # bytes of a path that needs no second field

Progress = Callable[[int, int, str], None]


def write_archive(
    stream: BinaryIO,
    manifest: Manifest,
    signature: bytes,
    read: Callable[[File], Iterable[bytes]],
    progress: Progress | None = None,
) -> str:
    """Write the archive, and return its sha256. `read` has the bytes of a carried file. OSError."""
    digest, done = sha256(), 0
    total = sum(file.size for file in manifest.carried)

    def put(data: bytes) -> None:
        digest.update(data)
        stream.write(data)

    for name, data in ((MANIFEST, manifest.to_bytes()), (SIGNATURE, signature)):
        put(header(name, len(data)) + data + padding(len(data)))
    for file in manifest.carried:
        put(header(file.path, file.size))
        for block in read(file):
            put(block)
        put(padding(file.size))
        done += file.size
        if progress:
            progress(done, total, f"writing {file.path}")
    put(bytes(2 * BLOCK))
    return digest.hexdigest()


def archive_size(manifest: Manifest, signature: bytes) -> int:
    """The bytes that `write_archive` writes."""
    sizes = [len(manifest.to_bytes()), len(signature), *(file.size for file in manifest.carried)]
    return sum(BLOCK + size + len(padding(size)) for size in sizes) + 2 * BLOCK
