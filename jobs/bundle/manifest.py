"""The manifest of a bundle: which files it has, and what its key signed.

    manifest.json    RFC 8785 canonical JSON in one line, and a newline
    manifest.sig     a C2SP signed note over FORMAT "\\n" VERSION "\\n" SHA-256 of manifest.json "\\n"

Every other byte of the archive follows from the manifest.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import audit

FORMAT: Final = "cloister-bundle/1"
PRODUCT: Final = "cloister"
SYSTEM: Final = "linux"
MACHINE: Final = "x86_64"
MANIFEST: Final = "manifest.json"
SIGNATURE: Final = "manifest.sig"
MOST_BYTES: Final = 2**24  # of a manifest; 45 wheels and 200 pages take 80 KB
ROLES: Final = ("wheel", "pip", "lock", "model", "head", "job", "page", "licence", "sbom")
_PATH: Final = re.compile(r"[A-Za-z0-9._+-]+(/[A-Za-z0-9._+-]+)*")


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
    """A bundle of one version. `glibc` is the highest that a wheel needs. `base`: the sha256 of
    the manifest whose files an update rests on, None for a bundle that carries all of its files."""

    version: str
    pythons: tuple[str, ...]
    glibc: str
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


def parse_manifest(data: bytes) -> Manifest:
    """The strict inverse of `Manifest.to_bytes`: ValueError for every other sequence of bytes."""
    if not data.endswith(b"\n"):
        raise ValueError("the manifest does not end with a newline")
    told = audit.parse_canonical(data[:-1])
    try:
        files = tuple(_file(one) for one in told["files"])
        glibc = told["platform"]["glibc"]
        found = Manifest(told["version"], tuple(told["pythons"]), glibc, told["expires"], files, told["base"])
        same = found.to_bytes() == data
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"the manifest has another form than {FORMAT}: {error!r}") from None
    if not same:
        raise ValueError(f"the manifest has another form than {FORMAT}")
    check_paths(file.path for file in files)
    return found


def _file(told: Mapping[str, Any]) -> File:
    own = {"path", "size", "sha256", "role", "carried"}
    facts = {name: value for name, value in told.items() if name not in own}
    return File(told["path"], told["size"], told["sha256"], told["role"], told["carried"], facts)


def check_paths(paths: Iterable[str]) -> None:
    """ValueError for a path that leaves its folder, that is there twice, or that has other characters than A-Z, a-z,
    0-9 and ._+-."""
    seen = {MANIFEST, SIGNATURE}
    for path in paths:
        if not _PATH.fullmatch(path) or {".", ".."} & set(path.split("/")):
            raise ValueError(f"{path!r} cannot be a path of a bundle")
        if path in seen:
            raise ValueError(f"{path!r} is there twice")
        seen.add(path)


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
