"""Statements: what a key other than the log's signs, each for one purpose.

    signed bytes    "cloister statement" 0x00 PURPOSE 0x00 DATA
    signature       base64 of the 64 bytes of RFC 8032

No note and no cosignature has a NUL, so none of them is a statement; and a statement for one purpose is none for
another.
"""

from base64 import b64decode, b64encode

from audit.durable import StrPath
from audit.errors import KeyRefused
from audit.sign import is_signed, open_signer, parse_public_key, public_key_of

_BYTES = 64


def sign_statement(path: StrPath, purpose: str, data: bytes) -> str:
    """The signature of the private key at `path` under these bytes. KeyRefused."""
    return b64encode(open_signer(path).sign_raw(_signed(purpose, data))).decode()


def check_statement(public_key: str, purpose: str, data: bytes, signature: str) -> bool:
    """Whether this is the one signature of the key under these bytes. False for a key or signature that is none."""
    try:
        key, raw = parse_public_key(public_key), b64decode(signature, validate=True)
    except (KeyRefused, ValueError):
        return False
    return len(raw) == _BYTES and b64encode(raw).decode() == signature and is_signed(key, raw, _signed(purpose, data))


def key_id_of(public_key: str) -> str:
    """The id by which signed notes name a public key, as 8 hexadecimal digits. KeyRefused."""
    return parse_public_key(public_key).id.hex()


def signing_key(path: StrPath) -> str:
    """The public half of the private key at `path`, which needs no passphrase. KeyRefused."""
    open_signer(path)
    return public_key_of(path)


def _signed(purpose: str, data: bytes) -> bytes:
    return b"cloister statement\0" + purpose.encode() + b"\0" + data
