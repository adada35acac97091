"""private/.atrest/, the wrapped keys of what is encrypted: a file for each document of a job, and for each part.

They are not beside what they open, so that a copy of archive/, failed/ or outbox/ holds none: when a key is removed
here, nothing opens such a copy any more. A file has a line for each key, the newest one last: the name of the key that
wrapped it, and the wrapped key in base64, which is bound to the name of the file. A part has two keys while it is
written anew without erased rows.
"""

import base64
import contextlib
import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import audit
from pipeline.atrest.ciphers import KEY, RefusedError, new_key, unwrap, wrap
from pipeline.atrest.errors import DamagedError, NoKeyError

WHAT = "key of what is encrypted"
_BEGIN = "cloister-encryption-key-1 "


@dataclass(frozen=True)
class Kek:
    """A key that wraps keys. `name`: 16 hexadecimal digits of a digest of it, by which keys say what wrapped them."""

    name: str
    key: bytes = field(repr=False)


def make_kek(path: Path) -> Kek:
    """Write a new key to a new file, durably. OSError, of them FileExistsError where there is one."""
    key = new_key()
    audit.create_durably(path, f"{_BEGIN}{base64.b64encode(key).decode()}\n".encode(), mode=0o600)
    return _named(key)


def read_kek(path: Path) -> Kek:
    """The key in a file, which others may not read. NoKeyError."""
    try:
        data = audit.read_private(path, WHAT)
    except audit.KeyRefused as error:
        raise NoKeyError(path, str(error).removeprefix(f"{path}: ")) from error
    try:
        key = base64.b64decode(data.removeprefix(_BEGIN.encode()).removesuffix(b"\n"), validate=True)
    except ValueError:
        key = b""
    if not data.startswith(_BEGIN.encode()) or len(key) != KEY:
        raise NoKeyError(path, f"no {WHAT}; `cloister encryption new FILE` makes one")
    return _named(key)


def _named(key: bytes) -> Kek:
    return Kek(hashlib.sha256(_BEGIN.encode() + key).hexdigest()[:16], key)


NAME = ".atrest"
"""The folder in private/. No job is called so."""
_NEW = ".new"
"""The folder in it of files that wait for their names. What a kill leaves there is removed at the next start: it would
outlive an erasure."""
_KEK = re.compile(r"[0-9a-f]{16}", re.ASCII)
"""The name of a key that wraps others."""


def store_of(root: Path) -> Path:
    """The folder of the keys of a workspace."""
    return root / "private" / NAME


@dataclass(frozen=True)
class Store:
    """The folder of the wrapped keys; the files of the key that wraps new ones, and of the one before it."""

    folder: Path
    key_file: Path | None
    previous_file: Path | None = None

    def key_of(self, name: str) -> bytes:
        """The key of this name, which is made, durably, if there is none. NoKeyError, DamagedError, OSError."""
        with contextlib.suppress(FileNotFoundError):
            return self.keys(name)[-1]
        key = new_key()
        if not self._create(name, self._lines(name, [key])):
            return self.keys(name)[-1]
        return key

    def keys(self, name: str) -> list[bytes]:
        """All keys of this name. FileNotFoundError, NoKeyError, DamagedError."""
        path = self.folder / name
        if lines := path.read_bytes().splitlines():
            return [self._unwrapped(path, name, line) for line in lines]
        raise DamagedError(path, "the file of its key is empty")

    def has(self, name: str) -> bool:
        """Whether there are keys of this name, whatever is in their file. OSError."""
        return os.path.lexists(self.folder / name)

    def add(self, name: str) -> bytes:
        """Make another key of this name, behind those that there are. NoKeyError, DamagedError, OSError."""
        path, key = self.folder / name, new_key()
        before = self.keys(name) if path.exists() else []
        self._make_folder(path.parent)
        self._new_file(self._lines(name, [*before, key])).rename(path)
        return key

    def keep_last(self, name: str) -> None:
        """Remove all keys of this name but the newest one; may be repeated. OSError."""
        path = self.folder / name
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        if len(lines) > 1:
            audit.rename_durably(self._new_file(lines[-1]), path)

    def remove(self, name: str) -> None:
        """Remove the keys of this name; may be repeated. OSError."""
        audit.remove_durably(self.folder / name)

    def check(self) -> None:
        """NoKeyError where the key that wraps new ones is not to be had, or wrapped keys that are there by another one
        which no file has: of each folder one is asked."""
        self.kek()
        for folder in (self.folder, *sorted(self.folder.glob("*")), *sorted(self.folder.glob("*/*"))):
            if folder.name != _NEW and (path := _first_file(folder)):
                for by in filter(_KEK.fullmatch, self.wrapped_by(str(path.relative_to(self.folder)))):
                    self._kek(path, by)

    def kek(self) -> Kek:
        """The key that wraps new ones. NoKeyError where it is not to be had."""
        if self.key_file is None:
            what = "site.yaml names no encryption.key_file, and systemd gave no credential cloister-encryption-key"
            raise NoKeyError(self.folder, f"the key of what is encrypted is missing: {what}")
        return read_kek(self.key_file)

    def names(self) -> Iterator[str]:
        """The names of all keys."""
        for path in sorted(self.folder.rglob("*")):
            if path.is_file() and path.parent.name != _NEW:
                yield str(path.relative_to(self.folder))

    def wrapped_by(self, name: str) -> set[str]:
        """The names of the keys that wrapped those of this name. OSError."""
        return {line.split(b" ")[0].decode(errors="replace") for line in (self.folder / name).read_bytes().splitlines()}

    def rewrapped(self, name: str) -> Path:
        """A new file with the keys of this name, wrapped by today's key. NoKeyError, DamagedError, OSError."""
        return self._new_file(self._lines(name, self.keys(name)))

    def tidy(self) -> None:
        """Remove new files that a kill left: nobody else writes meanwhile. OSError."""
        if (self.folder / _NEW).is_dir():
            shutil.rmtree(self.folder / _NEW)

    def _lines(self, name: str, keys: Sequence[bytes]) -> bytes:
        kek = self.kek()
        wrapped = (base64.b64encode(wrap(kek.key, key, name.encode())).decode() for key in keys)
        return "".join(f"{kek.name} {line}\n" for line in wrapped).encode()

    def _unwrapped(self, path: Path, name: str, line: bytes) -> bytes:
        by, _, wrapped = line.partition(b" ")
        kek = self._kek(path, by.decode(errors="replace"))
        try:
            return unwrap(kek.key, base64.b64decode(wrapped, validate=True), name.encode())
        except (RefusedError, ValueError) as error:
            raise DamagedError(path, "the wrapped key in it is not what was put there") from error

    def _kek(self, path: Path, name: str) -> Kek:
        """The key that wrapped another, by its name. NoKeyError where none of the files has it."""
        now = self.kek()
        if now.name == name:
            return now
        if self.previous_file is not None and (before := read_kek(self.previous_file)).name == name:
            return before
        remedy = "name the file of that one in site.yaml (encryption.key_file, or previous_key_file)"
        raise NoKeyError(
            str(self.key_file), f"it is the key {now.name}, and {path.name} was wrapped by {name!r}; {remedy}"
        )

    def _create(self, name: str, lines: bytes) -> bool:
        """Write a file whole, unless another thread was faster."""
        path = self.folder / name
        self._make_folder(path.parent)
        new = self._new_file(lines)
        try:
            os.link(new, path)
        except FileExistsError:
            return False
        finally:
            new.unlink()
        return True

    def _new_file(self, lines: bytes) -> Path:
        """A file that is on the disk but for its name, which the next commit syncs: what was not committed may lose
        it."""
        new = self.folder / _NEW / secrets.token_hex(16)
        self._make_folder(new.parent)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with os.fdopen(os.open(new, flags, 0o600), "wb") as file:
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())
        return new

    def _make_folder(self, folder: Path) -> None:
        if not folder.is_dir():
            self._make_folder(folder.parent)
            with contextlib.suppress(FileExistsError):
                folder.mkdir(mode=0o700)
            audit.sync_folder(folder.parent)


def _first_file(folder: Path) -> Path | None:
    """The first file in a folder as the system gives them; None where there is none."""
    if not folder.is_dir():
        return None
    with os.scandir(folder) as there:
        return next((Path(each.path) for each in there if each.is_file()), None)
