"""What a bundle says of itself, and its archive: an uncompressed USTAR file without a byte of freedom.

    manifest.json    RFC 8785 canonical JSON in one line, and a newline
    manifest.sig     a C2SP signed note over FORMAT "\\n" VERSION "\\n" SHA-256 of manifest.json "\\n"
    ...              the carried files sorted by path; two blocks of zeros; nothing after them

Every other byte of the archive follows from the manifest. reader.py reads what is written here.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, Final

import audit
from jobs.bundle.reader import BLOCK, FORMAT, MANIFEST, SIGNATURE, header, padding

PRODUCT: Final = "cloister"
SYSTEM: Final = "linux"
MACHINE: Final = "x86_64"


@dataclass(frozen=True)
class File:
    """A file of a bundle. `facts`: what its role says beside it, such as the version of a wheel."""

    path: str
    size: int
    sha256: str
    role: str
    carried: bool = True
    facts: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The member of `files`."""
        own = {"path": self.path, "size": self.size, "sha256": self.sha256, "role": self.role, "carried": self.carried}
        return dict(self.facts) | own


@dataclass(frozen=True)
class Manifest:
    """A bundle of one version. `glibc` is the highest that a wheel needs, None if none needs it. `base`: the sha256 of
    the manifest whose files an update rests on, None for a bundle that carries all of its files."""

    version: str
    pythons: tuple[str, ...]
    glibc: str | None
    expires: str | None
    files: tuple[File, ...]
    base: str | None = None

    def to_bytes(self) -> bytes:
        """The bytes of manifest.json."""
        return audit.canonical(self.to_json()) + b"\n"

    def to_json(self) -> dict[str, Any]:
        """The document, whose files are sorted by path."""
        return {
            "format": FORMAT,
            "product": PRODUCT,
            "version": self.version,
            "platform": {"system": SYSTEM, "machine": MACHINE, "glibc": self.glibc},
            "pythons": list(self.pythons),
            "expires": self.expires,
            "kind": "full" if self.base is None else "update",
            "base": self.base,
            "files": [file.to_json() for file in sorted(self.files, key=lambda file: file.path)],
        }

    @property
    def sha256(self) -> str:
        """The digest of manifest.json, by which a bundle is known."""
        return sha256(self.to_bytes()).hexdigest()

    @property
    def carried(self) -> tuple[File, ...]:
        """The files that lie in the archive, in their order there."""
        return tuple(sorted((file for file in self.files if file.carried), key=lambda file: file.path))

    @property
    def name(self) -> str:
        """The name of the archive."""
        tags = "-".join(f"cp{python.replace('.', '')}" for python in self.pythons)
        base = "" if self.base is None else f".from-{self.base[:12]}"
        return f"{PRODUCT}-{self.version}-{SYSTEM}-{MACHINE}-{tags}{base}.bundle"

    def signed_text(self) -> str:
        """The text that the key of the bundle signs."""
        return f"{FORMAT}\n{self.version}\n{self.sha256}\n"


@dataclass(frozen=True)
class Content:
    """A file to be carried: its bytes, or the file on this machine that has them."""

    path: str
    role: str
    source: bytes | Path
    facts: Mapping[str, Any] = field(default_factory=dict)

    def to_file(self) -> File:
        """The file as the manifest tells it, which reads it once. OSError."""
        if isinstance(self.source, bytes):
            return File(self.path, len(self.source), sha256(self.source).hexdigest(), self.role, True, self.facts)
        digest, size = sha256(), 0
        with self.source.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
                size += len(block)
        return File(self.path, size, digest.hexdigest(), self.role, True, self.facts)


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
