"""The file of the key that wraps all others: one line of text, for its owner alone."""

import base64
import hashlib
from dataclasses import dataclass, field
from pathlib import Path

import audit
from pipeline.atrest.ciphers import KEY, new_key
from pipeline.atrest.errors import NoKeyError

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
