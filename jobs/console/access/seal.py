"""Texts that pages give to a browser to be sent back: one that is not what a page gave is known as such."""

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from typing import Final

_HEX: Final = 32


@dataclass(frozen=True)
class Seal:
    """The key of one console, by which it knows its own texts until it ends."""

    _key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def closed(self, use: str, text: str) -> str:
        """The text with its seal for one use."""
        return f"{self._mac(use, text)}{text}"

    def opened(self, use: str, sealed: str) -> str | None:
        """The text that was sealed for this use; None for anything else."""
        mac, text = sealed[:_HEX], sealed[_HEX:]
        return text if hmac.compare_digest(mac.encode(), self._mac(use, text).encode()) else None

    def _mac(self, use: str, text: str) -> str:
        return hmac.new(self._key, f"{use}\0{text}".encode(), hashlib.sha256).hexdigest()[:_HEX]
