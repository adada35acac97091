"""Signatures: C2SP signed notes with Ed25519, verifier keys, and the file of the private key.

    note            TEXT "\\n" "— " ORIGIN " " base64(key id || signature) "\\n"        TEXT ends with a newline
    public key      ORIGIN "+" hex(key id) "+" base64(0x01 || 32 bytes)
    private key     "PRIVATE+KEY+" ORIGIN "+" hex(key id) "+" base64(0x01 || 32 bytes of seed) "\\n"    (mode 0600)
    key id          SHA-256(ORIGIN "\\n" 0x01 || public key)[:4]

https://c2sp.org/signed-note; the private key's form is that of Go's golang.org/x/mod/sumdb/note. Stricter than there: a
note has exactly one signature, and every text is formatted again and compared, so each note has one form only.
"""

import os
import stat
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from audit.durable import StrPath, create_durably
from audit.errors import KeyRefused

_ED25519 = b"\x01"
_PRIVATE = "PRIVATE+KEY+"


@dataclass(frozen=True)
class PublicKey:
    origin: str
    raw: bytes  # 32

    @property
    def id(self) -> bytes:
        return sha256(self.origin.encode() + b"\n" + _ED25519 + self.raw).digest()[:4]


@dataclass(frozen=True)
class Signer:
    public: PublicKey
    _private: Ed25519PrivateKey

    def sign(self, text: str) -> bytes:
        """The note of `text`, which must end with a newline."""
        return sign_note(text, self)

    def sign_raw(self, data: bytes) -> bytes:
        """The 64 bytes of RFC 8032."""
        return self._private.sign(data)


def generate_key(path: StrPath, origin: str) -> str:
    """Write a new private key to a new file (0600) and return the public key as a string. KeyRefused if the file
    exists or the origin cannot name a log (https://c2sp.org/signed-note: no spaces, no '+')."""
    if not origin or "+" in origin or not origin.isprintable() or len(origin.split()) != 1 or origin != origin.strip():
        raise KeyRefused(
            f"{origin!r} cannot name a log: expected one like example.org/cloister, without spaces and '+'"
        )
    private = Ed25519PrivateKey.generate()
    public = PublicKey(origin, private.public_key().public_bytes_raw())
    line = _PRIVATE + _format_key(public, private.private_bytes_raw()) + "\n"
    try:
        create_durably(path, line.encode(), mode=0o600)
    except FileExistsError:
        raise KeyRefused(f"{path}: exists already; a key is never overwritten") from None
    except OSError as error:
        raise KeyRefused(f"{path}: the key cannot be written: {error.strerror}") from error
    return format_public_key(public)


def format_public_key(key: PublicKey) -> str:
    return _format_key(key, key.raw)


def parse_public_key(text: str) -> PublicKey:
    """KeyRefused unless `text` is exactly what format_public_key gives for some key.

    What was given is not repeated: it may be a secret.
    """
    if text.startswith(_PRIVATE):
        raise KeyRefused("this is a private key, which nobody else should see; expected its public half")
    origin, _, rest = text.partition("+")
    try:
        key = PublicKey(origin, _key_bytes(rest))
        Ed25519PublicKey.from_public_bytes(key.raw)
    except ValueError as error:
        raise KeyRefused(f"this is no public key: {error}; expected ORIGIN+HASH+BASE64") from None
    if not origin or format_public_key(key) != text:
        raise KeyRefused("this is no public key: its hash does not fit; expected ORIGIN+HASH+BASE64")
    return key


def read_signer(path: StrPath, public_key: PublicKey) -> Signer:
    """The private key at `path`. KeyRefused if it is missing, malformed, readable by others than its owner, or not
    the private half of `public_key`."""
    signer = open_signer(path)
    if signer.public != public_key:
        trusted = format_public_key(public_key)
        raise KeyRefused(f"{path}: signs as {format_public_key(signer.public)}, the trusted key is {trusted}")
    return signer


def open_signer(path: StrPath) -> Signer:
    """The same, whatever its public half is."""
    text = _read_private(Path(path))
    origin, _, rest = text.removeprefix(_PRIVATE).partition("+")
    try:
        private = Ed25519PrivateKey.from_private_bytes(seed := _key_bytes(rest.removesuffix("\n")))
    except ValueError as error:
        raise KeyRefused(f"{path}: no signing key: {error}") from None
    public = PublicKey(origin, private.public_key().public_bytes_raw())
    if text != _PRIVATE + _format_key(public, seed) + "\n":
        raise KeyRefused(f"{path}: no signing key: its parts do not fit each other")
    return Signer(public, private)


def sign_note(text: str, *signers: Signer) -> bytes:
    """The note of `text`, which must end with a newline, with a signature of each, in this order."""
    return _format_note(text, [(signer.public, signer.sign_raw(text.encode())) for signer in signers])


def open_note(note: bytes, *keys: PublicKey) -> str:
    """The text that `keys` signed; ValueError unless `note` is exactly that text with exactly one signature of each, in
    this order."""
    text, _, block = note.decode().rpartition("\n\n")
    text += "\n"
    signatures = [b64decode(line.rpartition(" ")[2])[4:] for line in block.removesuffix("\n").split("\n")]
    for key, signature in zip(keys, signatures, strict=False):
        if not is_signed(key, signature, text.encode()):
            raise ValueError(f"not signed by {format_public_key(key)}")
    if len(signatures) < len(keys) or note != _format_note(text, list(zip(keys, signatures, strict=False))):
        names = " and ".join(map(format_public_key, keys))
        raise ValueError(f"signed by {names}, but not in the one form that a note has")
    return text


def is_signed(key: PublicKey, signature: bytes, data: bytes) -> bool:
    """RFC 8032, with the checks that make a signature the only one of its key over these bytes."""
    try:
        Ed25519PublicKey.from_public_bytes(key.raw).verify(signature, data)
    except InvalidSignature:
        return False
    return True


def _format_note(text: str, signatures: Sequence[tuple[PublicKey, bytes]]) -> bytes:
    lines = [f"— {key.origin} {b64encode(key.id + signature).decode()}\n" for key, signature in signatures]
    return f"{text}\n{''.join(lines)}".encode()


def _format_key(public: PublicKey, secret_or_public: bytes) -> str:
    return f"{public.origin}+{public.id.hex()}+{b64encode(_ED25519 + secret_or_public).decode()}"


def _key_bytes(rest: str) -> bytes:
    raw = b64decode(rest.partition("+")[2], validate=True)
    if len(raw) != 33 or raw[:1] != _ED25519:
        raise ValueError("not an Ed25519 key")
    return raw[1:]


def _read_private(path: Path) -> str:
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise KeyRefused(f"{path}: no signing key: not a regular file")
            if status.st_mode & 0o077:
                raise KeyRefused(f"{path}: others may read it (mode {status.st_mode & 0o777:04o}); chmod 600 {path}")
            data: bytes = file.read(4096)
            return data.decode()
    except UnicodeDecodeError:
        raise KeyRefused(f"{path}: no signing key: not text") from None
    except OSError as error:
        raise KeyRefused(f"{path}: the signing key cannot be read: {error.strerror}") from error
