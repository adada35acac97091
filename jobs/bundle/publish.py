"""A finished bundle is put into a folder: the archive, and beside it the two programs that the other machine needs."""

import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import audit
from audit import standalone
from jobs.bundle.alone import PROGRAMS, program
from jobs.bundle.archive import Progress, archive_size, write_archive
from jobs.bundle.manifest import File, Manifest
from jobs.bundle.reader import read_bundle
from jobs.errors import ConfigError, Problem
from jobs.load import shown

MIB = 2**20
_ANY_DAY = "2000-01-01"  # a bundle that does not expire is whole on each


@dataclass(frozen=True)
class Key:
    """The private key of a bundle, which was opened before anything else was done."""

    public: str
    _sign: Callable[[str], bytes]

    def sign(self, manifest: Manifest) -> bytes:
        """The signed note of a manifest."""
        return self._sign(manifest.signed_text())


@dataclass(frozen=True)
class Published:
    """An archive that was put into a folder, and the programs beside it. `programs`: the sha256 of each by its path."""

    archive: Path
    sha256: str
    size: int
    manifest: Manifest
    programs: Mapping[Path, str]
    public_key: str


def open_key(file: Path, passphrase: Path | None) -> Key:
    """The private key in a file. ConfigError if it cannot be used."""
    try:
        if passphrase is None and audit.is_protected(file):
            what = f"{shown(file)} is protected by a passphrase"
            raise ConfigError(Problem("--key", what, None, "--passphrase-file FILE, the file that holds it"))
        signer = audit.open_signer(file, passphrase)
        return Key(audit.public_key_of(file), signer.sign)
    except audit.KeyRefused as error:
        raise ConfigError(Problem("--key", str(error), "a private key that `cloister audit key new` made")) from error


def make_folder(folder: Path) -> None:
    """The folder of a bundle, made if it is not there. ConfigError if it cannot be one."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise ConfigError(Problem("--out", f"{shown(folder)} is no folder", "a folder")) from None


def check_new(archive: Path) -> None:
    """ConfigError if the archive is there already."""
    if archive.exists():
        what = f"{shown(archive)} is there already; a bundle is never overwritten"
        raise ConfigError(Problem("--out", what, None, "name another folder, or remove the archive"))


def publish(
    folder: Path,
    manifest: Manifest,
    key: Key,
    read: Callable[[File], Iterable[bytes]],
    progress: Progress | None,
) -> Published:
    """Write the programs, then the archive, which has its name only when it is whole. ConfigError if there is no room,
    or if something else is in the way; OSError."""
    archive = folder / manifest.name
    check_new(archive)
    programs = {name: program(name).encode() for name in PROGRAMS}
    signature = key.sign(manifest)
    size = archive_size(manifest, signature)
    _check_room(folder, size + sum(map(len, programs.values())))
    digests = {folder / name: _put(folder / name, data) for name, data in programs.items()}
    partial = folder / f".{archive.name}.{os.getpid()}.part"
    try:
        with partial.open("xb") as stream:
            digest = write_archive(stream, manifest, signature, read, progress)
            stream.flush()
            os.fsync(stream.fileno())
        _check_whole(partial, archive, manifest, key)
        partial.replace(archive)
    finally:
        partial.unlink(missing_ok=True)
    audit.sync_folder(folder)
    return Published(archive, digest, size, manifest, digests, key.public)


def _check_whole(partial: Path, archive: Path, manifest: Manifest, key: Key) -> None:
    """ConfigError unless what was written is what the other machine will take: a file was changed while it was read,
    or has a name that a bundle cannot have."""
    try:
        read_bundle(partial, key.public, manifest.expires or _ANY_DAY)
    except standalone.WrongError as error:
        raise ConfigError(Problem(shown(archive), f"cannot be made: {error}")) from None


def _check_room(folder: Path, needed: int) -> None:
    if (free := shutil.disk_usage(folder).free) < needed:
        what = f"{shown(folder)} has {free / MIB:,.1f} MiB free, the bundle takes {needed / MIB:,.1f} MiB"
        raise ConfigError(Problem("--out", what, None, "make room on that disk, or name a folder on another one"))


def _put(path: Path, data: bytes) -> str:
    """Write a program unless it is there already; its sha256."""
    if path.exists() and path.read_bytes() != data:
        what = f"{shown(path)} is there, of another version"
        raise ConfigError(Problem("--out", what, None, "name a new folder: a program belongs to its bundle"))
    audit.write_file_atomically(path, data)
    return sha256(data).hexdigest()
