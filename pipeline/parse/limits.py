"""What one document may cost."""

from dataclasses import dataclass

MIB = 2**20


@dataclass(frozen=True)
class Limits:
    """Limits on the parsing of one document; each is named in the reason of the failure that it causes.

    `seconds` is wall time; `memory_bytes` the address space of a child; `output_characters` the longest parsed text.
    A child is replaced after `documents_per_child` documents, so that what leaks in a library does not add up.
    """

    seconds: float = 60.0
    memory_bytes: int = 1024 * MIB
    output_characters: int = 10_000_000
    documents_per_child: int = 100

    @property
    def reply_bytes(self) -> int:
        """The longest answer that a child may send: every character escaped, and room for the notes."""
        return 6 * self.output_characters + MIB
