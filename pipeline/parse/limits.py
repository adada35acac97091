"""The limits of what one document may cost."""

from dataclasses import dataclass

MIB = 2**20


@dataclass(frozen=True)
class Limits:
    """Limits on the parsing of one document; each is named in the reason of the failure that it causes.

    `seconds` is wall time; `memory_bytes` the address space of a child beyond its code; `output_characters` the
    longest parsed text.
    A document that holds others may unpack to `unpacked_documents` and `unpacked_bytes` in all, `unpacked_depth` deep,
    and beyond UNSUSPICIOUS bytes to no more than `unpacked_ratio` times its own size.
    A child is replaced after `documents_per_child` documents, so that what leaks in a library does not add up.
    """

    seconds: float = 60.0
    memory_bytes: int = 1024 * MIB
    output_characters: int = 10_000_000
    unpacked_depth: int = 5
    unpacked_documents: int = 10_000
    unpacked_bytes: int = 1024 * MIB
    unpacked_ratio: int = 200
    documents_per_child: int = 1000

    def named(self, limit: str) -> str:
        """A limit as people know it: its key in site.yaml, and its value there."""
        key, size, unit = _KEYS[limit]
        value = getattr(self, limit) / size
        return f"limits.{key} ({int(value) if value.is_integer() else value:,}{unit})"

    @property
    def reply_bytes(self) -> int:
        """The longest answer that a child may send beside the text, or request that it may get: with what OCR read."""
        return 6 * self.output_characters + 32 * MIB


_KEYS = {
    "seconds": ("parse_seconds", 1, " s"),
    "memory_bytes": ("parse_memory_mib", MIB, " MiB"),
    "output_characters": ("text_characters", 1, ""),
    "unpacked_depth": ("unpacked_depth", 1, ""),
    "unpacked_documents": ("unpacked_documents", 1, ""),
    "unpacked_bytes": ("unpacked_mib", MIB, " MiB"),
    "unpacked_ratio": ("unpacked_ratio", 1, ""),
}
"""The key of each limit below `limits` in site.yaml, how much of it one there is, and the unit that people read."""

UNSUSPICIOUS = 64 * MIB
"""Bytes up to which any ratio is believed: a table of zeros is no attack."""
