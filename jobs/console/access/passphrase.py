"""Passphrases of people: kept as scrypt hashes (RFC 7914), never as they are."""

import base64
import hashlib
import hmac
import secrets
import threading
from dataclasses import dataclass
from typing import Final

FEWEST: Final = 12
MOST: Final = 200
_N: Final = 2**15
_R: Final = 8
_P: Final = 1
_MEMORY: Final = 64 * 2**20
_ONE_AT_A_TIME = threading.Lock()  # each takes 32 MiB and a tenth of a second


@dataclass(frozen=True)
class Hashed:
    """A hashed passphrase: salt and hash in base64, and the cost by which it was made."""

    salt: str
    hash: str
    n: int = _N


def why_refused(passphrase: str) -> str | None:
    """The sentence that refuses a passphrase; None for one that will do."""
    if len(passphrase) < FEWEST:
        return f"A passphrase has at least {FEWEST} characters; this one has {len(passphrase)}."
    if len(passphrase) > MOST:
        return f"A passphrase has at most {MOST} characters; this one has {len(passphrase)}."
    return None if len(set(passphrase)) > 4 else "This passphrase repeats a few characters; take several words."


def hash_passphrase(passphrase: str) -> Hashed:
    """Hash a passphrase with a salt of its own."""
    salt = secrets.token_bytes(16)
    return Hashed(_text(salt), _text(_scrypt(passphrase, salt, _N)))


def matches(passphrase: str, hashed: Hashed | None) -> bool:
    """Whether it is this passphrase. Takes as long where there is none to compare with, so that time tells nobody which
    names exist."""
    known = hashed or _NOBODY
    found = _scrypt(passphrase[: MOST + 1], base64.b64decode(known.salt), known.n)
    return hmac.compare_digest(found, base64.b64decode(known.hash)) and hashed is not None


def _scrypt(passphrase: str, salt: bytes, n: int) -> bytes:
    with _ONE_AT_A_TIME:
        return hashlib.scrypt(
            passphrase.encode("utf-8", "surrogatepass"), salt=salt, n=n, r=_R, p=_P, maxmem=_MEMORY, dklen=32
        )


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


_NOBODY: Final = Hashed(_text(bytes(16)), _text(bytes(32)))
