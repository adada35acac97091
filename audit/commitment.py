"""Salted commitments: an entry that says `hmac-sha256:…` instead of a value. FORMAT.md has the bytes.

Who has the salt can show which value it was, and no other; without it nobody can try values. So a salt that is thrown
away takes the value out of a log that stays provable.
"""

import hashlib
import hmac
import secrets
from typing import Any

from audit.canonical import canonical

PREFIX = "hmac-sha256:"
_SALT_BYTES = 32


def commit_to(value: Any) -> tuple[str, str]:
    """The commitment to a JSON value, and its salt, 64 hexadecimal digits, which no other value gets."""
    salt = secrets.token_bytes(_SALT_BYTES)
    return _commitment(salt, value), salt.hex()


def check_commitment(commitment: str, salt: str, value: Any) -> bool:
    """Whether this is the value, given its salt."""
    try:
        key = bytes.fromhex(salt)
    except ValueError:
        return False
    return len(key) == _SALT_BYTES and hmac.compare_digest(_commitment(key, value), commitment)


def is_commitment(value: Any) -> bool:
    """Whether a member of an entry is one by its form."""
    return isinstance(value, str) and value.startswith(PREFIX) and len(value) == len(PREFIX) + 64


def _commitment(salt: bytes, value: Any) -> str:
    return PREFIX + hmac.new(salt, canonical(value), hashlib.sha256).hexdigest()
