"""The manifest of a bundle: which files it has, and what its key signed.

    manifest.json    RFC 8785 canonical JSON in one line, and a newline
    manifest.sig     a C2SP signed note over FORMAT "\\n" VERSION "\\n" SHA-256 of manifest.json "\\n"

Every other byte of the archive follows from the manifest. reader.py reads what is written here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import audit
from jobs.bundle.reader import FORMAT

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
