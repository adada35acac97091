"""Signatures: C2SP signed notes with Ed25519, verifier keys, and the file of the private key.

    note            TEXT "\\n" "— " ORIGIN " " base64(key id || signature) "\\n"        TEXT ends with a newline
    public key      ORIGIN "+" hex(key id) "+" base64(0x01 || 32 bytes)
    private key     "PRIVATE+KEY+" ORIGIN "+" hex(key id) "+" base64(0x01 || 32 bytes of seed) "\\n"    (mode 0600)
    key id          SHA-256(ORIGIN "\\n" 0x01 || public key)[:4]

https://c2sp.org/signed-note; the private key's form is that of Go's golang.org/x/mod/sumdb/note. Stricter than there: a
note has exactly one signature, and every text is formatted again and compared, so each note has one form only.
"""

import os
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import scrypt, sha256

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from audit.durable import StrPath, create_durably
from audit.errors import KeyRefused
from audit.private import read_private, refuse_shared_folder

_ED25519 = b"\x01"
_PRIVATE = "PRIVATE+KEY+"
_SEALED = "ENCRYPTED+KEY+"
_SALT = 16
_SCRYPT_N = 2**17  # 128 MiB and some 0.3 s for each guess, and for each start
_NO_PASSPHRASE = (
    "name the file that holds it as log: {passphrase_file: …} in site.yaml, or give it as the systemd credential "
    "cloister-key-passphrase"
)


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


def generate_key(path: StrPath, origin: str, passphrase_path: StrPath | None = None) -> str:
    """Write a new private key to a new file (0600) and return the public key as a string. The passphrase in the other
    file protects it, if that is named. KeyRefused if the file exists, others may write to its folder, or the origin
    cannot name a log (https://c2sp.org/signed-note: no spaces, no '+')."""
    if not origin or "+" in origin or not origin.isprintable() or len(origin.split()) != 1 or origin != origin.strip():
        raise KeyRefused(
            f"{origin!r} cannot name a log: expected one like example.org/cloister, without spaces and '+'"
        )
    passphrase = None if passphrase_path is None else _read_passphrase(passphrase_path)
    refuse_shared_folder(path)
    private = Ed25519PrivateKey.generate()
    public = PublicKey(origin, private.public_key().public_bytes_raw())
    seed = private.private_bytes_raw()
    line = _format_plain(public, seed) if passphrase is None else _seal(public, seed, passphrase)
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
    if text.startswith((_PRIVATE, _SEALED)):
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


def read_signer(path: StrPath, public_key: PublicKey, passphrase_path: StrPath | None = None) -> Signer:
    """The private key at `path`, opened by the passphrase in the other file if it needs one. KeyRefused if either is
    missing, malformed, readable by others than its owner, or in a folder that others may write to, or if the key is
    not the private half of `public_key`."""
    found = read_key_file(path).public
    if found != public_key:
        trusted = format_public_key(public_key)
        told = f"{path}: signs as {format_public_key(found)}, the trusted key is {trusted}"
        raise KeyRefused(told, "put the trusted one there; `cloister audit key show` tells of rotations")
    return open_signer(path, passphrase_path)


def open_signer(path: StrPath, passphrase_path: StrPath | None = None) -> Signer:
    """Open the signer in a key file, whatever its public half is."""
    found = read_key_file(path)
    if found.seed is not None:
        return Signer(found.public, Ed25519PrivateKey.from_private_bytes(found.seed))
    if passphrase_path is None:
        raise KeyRefused(f"{path}: protected by a passphrase", _NO_PASSPHRASE)
    if (seed := _unseal(found, _read_passphrase(passphrase_path))) is None:
        raise KeyRefused(f"{path}: the passphrase in {passphrase_path} does not open it")
    return Signer(found.public, Ed25519PrivateKey.from_private_bytes(seed))


def derive_secret(path: StrPath, public_key: str, purpose: str, passphrase_path: StrPath | None = None) -> bytes:
    """32 bytes that nobody can make without the private key, others for each purpose. KeyRefused as `read_signer`.

    SHA-256 of the signature of a text that is neither a note nor a cosignature: no line of theirs has a NUL.
    """
    signer = read_signer(path, parse_public_key(public_key), passphrase_path)
    return sha256(signer.sign_raw(b"cloister secret\0" + purpose.encode())).digest()


@dataclass(frozen=True)
class KeyFile:
    """The contents of the file of a private key. Without a passphrase there is a seed, else a salt and a box."""

    public: PublicKey
    seed: bytes | None
    salt: bytes = b""
    box: bytes = b""


def read_key_file(path: StrPath) -> KeyFile:
    """The file of a private key, without opening what is protected by a passphrase. KeyRefused."""
    data = read_private(path, "signing key")
    refuse_shared_folder(path)
    try:
        text = data.decode()
        found = _parse_sealed(text) if text.startswith(_SEALED) else _parse_plain(text)
    except UnicodeDecodeError:
        raise KeyRefused(f"{path}: no signing key: not text") from None
    except ValueError as error:
        raise KeyRefused(f"{path}: no signing key: {error}") from None
    return found


def public_key_of(path: StrPath) -> str:
    """The public half of the private key at `path`, without its passphrase. KeyRefused."""
    return format_public_key(read_key_file(path).public)


def is_protected(path: StrPath) -> bool:
    """Whether the private key at `path` needs a passphrase. KeyRefused."""
    return read_key_file(path).seed is None


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


def _format_key(public: PublicKey, data: bytes) -> str:
    return f"{public.origin}+{public.id.hex()}+{b64encode(_ED25519 + data).decode()}"


def _key_bytes(rest: str, size: int = 32) -> bytes:
    raw = b64decode(rest.partition("+")[2], validate=True)
    if len(raw) != 1 + size or raw[:1] != _ED25519:
        raise ValueError("not an Ed25519 key")
    return raw[1:]


def _format_plain(public: PublicKey, seed: bytes) -> str:
    return _PRIVATE + _format_key(public, seed) + "\n"


def _parse_plain(text: str) -> KeyFile:
    origin, _, rest = text.removeprefix(_PRIVATE).partition("+")
    seed = _key_bytes(rest.removesuffix("\n"))
    public = PublicKey(origin, Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw())
    if text != _format_plain(public, seed):
        raise ValueError("its parts do not fit each other")
    return KeyFile(public, seed)


def _format_sealed(public: PublicKey, salt: bytes, box: bytes) -> str:
    return _SEALED + _format_key(public, public.raw + salt + box) + "\n"


def _parse_sealed(text: str) -> KeyFile:
    origin, _, rest = text.removeprefix(_SEALED).partition("+")
    raw = _key_bytes(rest.removesuffix("\n"), 32 + _SALT + 48)
    found = KeyFile(PublicKey(origin, raw[:32]), None, raw[32 : 32 + _SALT], raw[32 + _SALT :])
    if text != _format_sealed(found.public, found.salt, found.box):
        raise ValueError("its parts do not fit each other")
    return found


def _seal(public: PublicKey, seed: bytes, passphrase: bytes) -> str:
    salt = os.urandom(_SALT)
    return _format_sealed(public, salt, _cipher(passphrase, salt).encrypt(bytes(12), seed, _bound(public)))


def _unseal(key: KeyFile, passphrase: bytes) -> bytes | None:
    """The seed; None if the passphrase is another one, or a bit of the file was changed."""
    try:
        seed = _cipher(passphrase, key.salt).decrypt(bytes(12), key.box, _bound(key.public))
    except InvalidTag:
        return None
    private = Ed25519PrivateKey.from_private_bytes(seed)
    return seed if private.public_key().public_bytes_raw() == key.public.raw else None


def _cipher(passphrase: bytes, salt: bytes) -> ChaCha20Poly1305:
    """A key for one box only, so its nonce may be 0."""
    return ChaCha20Poly1305(scrypt(passphrase, salt=salt, n=_SCRYPT_N, r=8, p=1, maxmem=2**28, dklen=32))


def _bound(public: PublicKey) -> bytes:
    """The bytes to which a box is bound: it opens for this public key only."""
    return _ED25519 + public.raw + public.origin.encode()


def _read_passphrase(path: StrPath) -> bytes:
    """The bytes of that file, without the newline at its end; KeyRefused if there are none."""
    passphrase = read_private(path, "passphrase").removesuffix(b"\n")
    if not passphrase:
        raise KeyRefused(f"{path}: no passphrase: the file is empty")
    return passphrase
