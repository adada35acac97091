"""AES-256-GCM, for keys that wrap other keys and for the chunks of a file; the only cryptography of this package.

A key is wrapped with a random nonce. A file has a key of its own, so the nonces of its chunks are their numbers, as in
STREAM (Hoang, Reyhanitabar, Rogaway and Vizár, 2015): seven zero bytes, the number in four, and one that is 1 for the
last chunk. So chunks cannot be left out, repeated, put in another order or taken for the end of the file.
"""

import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY = 32
"""Bytes of a key."""
TAG = 16
"""Bytes by which a chunk is longer when it is encrypted."""
_NONCE = 12
WRAPPED = _NONCE + KEY + TAG
"""Bytes of a wrapped key."""


class RefusedError(Exception):
    """These bytes were not encrypted with this key, or not for this place."""


def new_key() -> bytes:
    """A random key."""
    return secrets.token_bytes(KEY)


def wrap(key: bytes, secret: bytes, bound: bytes) -> bytes:
    """`secret`, encrypted with `key` and bound to other bytes, which have to be given again to unwrap it."""
    nonce = secrets.token_bytes(_NONCE)
    return nonce + AESGCM(key).encrypt(nonce, secret, bound)


def unwrap(key: bytes, wrapped: bytes, bound: bytes) -> bytes:
    """What `wrap` was given. RefusedError."""
    return _decrypted(AESGCM(key), wrapped[:_NONCE], wrapped[_NONCE:], bound)


class Chunks:
    """The cipher of one file, under a key that no other file has."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)

    def encrypt(self, number: int, last: bool, chunk: bytes) -> bytes:
        """The chunk, encrypted."""
        return self._cipher.encrypt(_nonce(number, last), chunk, None)

    def decrypt(self, number: int, last: bool, chunk: bytes) -> bytes:
        """The clear chunk. RefusedError."""
        return _decrypted(self._cipher, _nonce(number, last), chunk, None)


def _nonce(number: int, last: bool) -> bytes:
    return bytes(7) + number.to_bytes(4, "big") + bytes([last])


def _decrypted(cipher: AESGCM, nonce: bytes, data: bytes, bound: bytes | None) -> bytes:
    try:
        return cipher.decrypt(nonce, data, bound)
    except (InvalidTag, ValueError) as error:  # ValueError: too short to be either
        raise RefusedError from error
